"""Predicted and measured side by side: as rows, and as a picture.

+----------------+----------------+
| Q2 embedded    | Q5 embedded    |     throughput over offered rate: line and ring as predicted,
+----------------+----------------+     dots as measured, filled where the host kept up
| Q2 spark       | Q5 spark       |
+----------------+----------------+
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cepheid.extras import require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAPER, INK, FAINT = "#ffffff", "#1d2433", "#8a93a6"
PREDICTED, MEASURED, WITHIN = "#c2410c", "#1d4ed8", "#e8edf7"


def list_rows(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """One row for each comparison."""
    return {
        f"{title}, {row['what']}": {
            "offered": row["offered_per_s"] if row["offered_per_s"] is not None else "",
            "predicted": row["predicted_per_s"],
            "measured": row["measured_per_s"],
            "error": f"{row['error']:+.1%}",
        }
        for title, compared in result["predictions"].items()
        for row in compared["rows"]
    }


def draw_report(result: dict[str, Any], path: Path) -> None:
    """As the kind of file that the path's ending names."""
    require_extra("plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    compared = result["predictions"]
    rows = -(-len(compared) // 2)
    figure = Figure(figsize=(13, 5.4 * rows + 1.0), dpi=110, facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(
        f"Predicted by the simulator, then measured: worst error {result['worst_error']:.1%} "
        f"(asked: {result['asked']:.0%})\n{result['cores']} cores, commit {result['commit']}, "
        f"load before {result['load_before']}",
        color=INK,
        fontsize=13,
    )
    for axes, (title, each) in zip(figure.subplots(rows, 2, squeeze=False).flat, compared.items(), strict=False):
        _draw_one(axes, title, each, result["asked"])
    figure.savefig(path)


def _draw_one(axes: Axes, title: str, each: dict[str, Any], asked: float) -> None:
    *rows, overload = each["rows"]
    limit, found = overload["predicted_per_s"] / 1e6, overload["measured_per_s"] / 1e6
    runs = each["runs"]
    right = max([run["offered_per_s"] / 1e6 for run in runs] + [limit, found]) * 1.08
    line = [(0.0, 0.0), (limit, limit), (right, limit)]
    xs, ys = [x for x, _ in line], [y for _, y in line]
    lower, upper = [y * (1.0 - asked) for y in ys], [y * (1.0 + asked) for y in ys]
    axes.fill_between(xs, lower, upper, color=WITHIN, label=f"within {asked:.0%}")
    axes.plot(xs, ys, color=PREDICTED, linewidth=1.6, label="predicted")
    axes.scatter(
        [row["offered_per_s"] / 1e6 for row in rows],
        [row["predicted_per_s"] / 1e6 for row in rows],
        s=110, facecolors="none", edgecolors=PREDICTED, linewidths=1.6,
    )  # fmt: skip
    for overloaded, label in ((False, "measured, kept up"), (True, "measured, backlog grew")):
        chosen = [run for run in runs if run["overloaded"] == overloaded]
        axes.scatter(
            [run["offered_per_s"] / 1e6 for run in chosen],
            [run["throughput_per_s"] / 1e6 for run in chosen],
            s=42, facecolors=PAPER if overloaded else MEASURED, edgecolors=MEASURED, linewidths=1.5, label=label,
            zorder=3,
        )  # fmt: skip
    low, high = (rate / 1e6 for rate in each["overload_between"])
    axes.axvspan(low, high, color=MEASURED, alpha=0.13, linewidth=0)
    axes.axvline(limit, color=PREDICTED, linestyle=":", linewidth=1.2)
    axes.text(
        0.98, 0.04, f"overload: predicted {limit:.3g} M/s, measured {found:.3g} M/s ({overload['error']:+.1%})\n"
        f"{each['overhead_ms']:,.4g} ms a batch + {each['event_us']:.3g} us an event",
        transform=axes.transAxes, ha="right", va="bottom", fontsize=9, color=INK,
    )  # fmt: skip
    axes.set_title(title, loc="left", color=INK, fontsize=12)
    axes.set_xlabel("offered, million events/s", color=INK)
    axes.set_ylabel("throughput, million events/s", color=INK)
    axes.set_xlim(0.0, right)
    axes.set_ylim(0.0, None)
    axes.tick_params(colors=FAINT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", frameon=False, fontsize=9)
