"""The city's day on one page: its streets as the buses drew them, and what was found there and when.

    +---------------------------+--------+
    | streets, gatherings,      | legend |
    | breakdowns                |        |
    +---------------------------+--------+
    | mean delay and buses in service,   |
    | over the day                       |
    +------------------------------------+

Streets are not drawn from a plan but lit by the reports themselves: the more reports, the brighter; the
later the buses, the redder.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheid.extras import require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

NIGHT, PAPER, INK, FAINT = "#0b1220", "#131d30", "#e9edf5", "#7f8ca3"
GATHERING, BREAKDOWN, SERVICE, DELAY = "#ff4d6d", "#f4f1de", "#4f7cac", "#ffb84d"
DELAY_COLOURS = ("#2a6fbb", "#4fc3d9", "#f2d16b", "#f98e3c", "#e5383b")
LATEST_S = 240.0  # mean delay at which a street is fully red
CELL_M = 12.0


@dataclass(frozen=True)
class CityFeed:
    """The columns the picture needs, arrays [reports]; minute is counted from the first full hour."""

    start: datetime
    minute: Floats
    x: Floats
    y: Floats
    delay: Floats
    bus: NDArray[np.int64]
    lines: int


def draw_city(feed: pa.Table, gatherings: pa.Table, jumps: pa.Table, path: Path) -> None:
    """Write the picture, 1600 x 1200 pixels, as the kind of file that the path's ending names."""
    require_extra("plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    day = read_feed(feed)
    figure = Figure(figsize=(16, 12), dpi=100, facecolor=NIGHT)
    FigureCanvasAgg(figure)
    city = figure.add_axes((0.02, 0.265, 0.69, 0.665))
    side = figure.add_axes((0.725, 0.265, 0.255, 0.665))
    over_day = figure.add_axes((0.055, 0.06, 0.885, 0.165))
    draw_streets(city, day)
    mark_breakdowns(city, jumps)
    mark_gatherings(city, gatherings)
    draw_scale_bar(city)
    draw_legend(side, day, gatherings, jumps)
    draw_day(over_day, day, gatherings, jumps)
    write_title(figure, day)
    figure.savefig(path, facecolor=NIGHT)


def read_feed(table: pa.Table) -> CityFeed:
    ts = table.column("ts").cast(pa.int64()).to_numpy()
    start_s = int(ts.min()) // 3_600_000_000 * 3_600
    return CityFeed(
        start=datetime.fromtimestamp(start_s, UTC),
        minute=(ts / 1e6 - start_s) / 60,
        x=table.column("x").to_numpy(),
        y=table.column("y").to_numpy(),
        delay=table.column("delay").to_numpy(),
        bus=table.column("bus").to_numpy().astype(np.int64),
        lines=len(table.column("line").unique()),
    )


def blur(cells: Floats, spread: float) -> Floats:
    """Spread each cell over its neighbours, as a bell `spread` cells wide."""
    reach = np.arange(-int(3 * spread), int(3 * spread) + 1)
    bell = np.exp(-((reach / spread) ** 2) / 2)
    for axis in (0, 1):
        cells = sum(
            (weight * np.roll(cells, int(by), axis) for by, weight in zip(reach, bell / bell.sum(), strict=True)),
            start=np.zeros_like(cells),
        )
    return cells


def light_streets(day: CityFeed) -> tuple[Floats, tuple[float, float, float, float]]:
    """Colours of the city's cells, float64[rows, columns, 3], and the left, right, bottom, top they cover."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    edges = [np.arange(along.min() - 250, along.max() + 250, CELL_M) for along in (day.y, day.x)]
    counts, _, _ = np.histogram2d(day.y, day.x, bins=edges)
    seconds, _, _ = np.histogram2d(day.y, day.x, bins=edges, weights=day.delay)
    lateness = blur(seconds, 3) / np.maximum(blur(counts, 3), 1e-9) / LATEST_S
    colours = LinearSegmentedColormap.from_list("lateness", DELAY_COLOURS)(lateness.clip(0, 1))[..., :3]
    # Logarithms, or the queues would outshine every street.  The halo grows with the traffic.
    core, halo = np.log1p(blur(counts, 0.8)), np.log1p(blur(counts, 5)) ** 2
    bright = (core / np.quantile(core[counts > 0], 0.9) + 0.35 * halo / np.quantile(halo, 0.995)).clip(0, 1)
    night = np.array(to_rgb(NIGHT))
    image = night + (colours - night) * bright[..., None]
    return image, (edges[1][0], edges[1][-1], edges[0][0], edges[0][-1])


def draw_streets(axes: Axes, day: CityFeed) -> None:
    image, extent = light_streets(day)
    axes.imshow(image, extent=extent, origin="lower", interpolation="bilinear")
    axes.set_aspect("equal")
    axes.set_axis_off()


def mark_breakdowns(axes: Axes, jumps: pa.Table) -> None:
    x, y = (jumps.column(name).to_numpy() for name in ("x", "y"))
    axes.scatter(x, y, s=62, marker="x", color=NIGHT, linewidths=4.5, zorder=3)
    axes.scatter(x, y, s=46, marker="x", color=BREAKDOWN, linewidths=1.8, zorder=4)


def mark_gatherings(axes: Axes, gatherings: pa.Table) -> None:
    """A ring as wide as the crowd, and a label that points away from the middle of the city."""
    middle = sum(axes.get_xlim()) / 2
    for row in gatherings.to_pylist():
        size = 120 + 14 * row["buses"]
        for area, width, alpha in ((size * 3.2, 1.0, 0.45), (size * 1.9, 1.5, 0.75), (size, 2.6, 1.0)):
            axes.scatter(
                row["x"],
                row["y"],
                s=area,
                facecolors="none",
                edgecolors=GATHERING,
                linewidths=width,
                alpha=alpha,
                zorder=5,
            )
        outwards = 1 if row["x"] >= middle else -1
        axes.annotate(
            f"{row['ts']:%H:%M}  {row['buses']} buses",
            (row["x"], row["y"]),
            xytext=(outwards * 46, 30),
            textcoords="offset points",
            ha="left" if outwards > 0 else "right",
            va="center",
            fontsize=13,
            fontweight="bold",
            color=INK,
            bbox={"boxstyle": "round,pad=0.35", "facecolor": PAPER, "edgecolor": GATHERING, "alpha": 0.92},
            arrowprops={"arrowstyle": "-", "color": GATHERING, "shrinkB": 12},
            zorder=6,
        )


def draw_scale_bar(axes: Axes, length_m: int = 2_000) -> None:
    left, bottom = axes.get_xlim()[0] + 250, axes.get_ylim()[0] + 250
    axes.plot([left, left + length_m], [bottom, bottom], color=INK, linewidth=3, solid_capstyle="butt")
    for mark in range(0, length_m + 1, 500):
        axes.plot([left + mark] * 2, [bottom, bottom + 90], color=INK, linewidth=1.5)
    axes.text(left + length_m / 2, bottom + 150, f"{length_m // 1000} km", color=INK, ha="center", fontsize=12)


def draw_legend(axes: Axes, day: CityFeed, gatherings: pa.Table, jumps: pa.Table) -> None:
    """What the marks mean, how the colours run, and the numbers of the day."""
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.set_axis_off()
    axes.scatter([0.06] * 2, [0.955] * 2, s=[420, 200], facecolors="none", edgecolors=GATHERING, linewidths=2)
    write_entry(
        axes,
        0.955,
        f"{gatherings.num_rows} gatherings",
        "more than 10 late buses within 10 m;\ntime first seen, most buses",
    )
    axes.scatter([0.06], [0.815], s=90, marker="x", color=BREAKDOWN, linewidths=2)
    write_entry(
        axes,
        0.815,
        f"{jumps.num_rows} breakdowns",
        "delay rises over five reports,\nthen jumps by more than 2 minutes",
    )
    draw_colour_key(axes, 0.615)
    figures = (
        (f"{len(day.delay):,}", "reports"),
        (f"{len(np.unique(day.bus)):,}", "buses"),
        (f"{day.lines}", "lines"),
        (f"{day.delay.mean():.0f} s", "mean delay"),
    )
    for number, (value, what) in enumerate(figures):
        axes.text(0.52, 0.40 - number * 0.085, value, color=INK, fontsize=24, ha="right", fontweight="bold")
        axes.text(0.56, 0.40 - number * 0.085, what, color=FAINT, fontsize=15)


def write_entry(axes: Axes, height: float, name: str, meaning: str) -> None:
    axes.text(0.14, height, name, color=INK, fontsize=16, fontweight="bold", va="center")
    axes.text(0.14, height - 0.032, meaning, color=FAINT, fontsize=12.5, va="top", linespacing=1.35)


def draw_colour_key(axes: Axes, height: float) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    ramp = np.linspace(0, 1, 256)[None]
    axes.text(0.02, height + 0.022, "Streets: mean delay over the day", color=INK, fontsize=13)
    axes.imshow(
        ramp,
        extent=(0.02, 0.92, height - 0.022, height),
        aspect="auto",
        cmap=LinearSegmentedColormap.from_list("lateness", DELAY_COLOURS),
    )
    axes.set(xlim=(0, 1), ylim=(0, 1))
    for share in (0, 0.25, 0.5, 0.75, 1):
        unit = "+ min" if share == 1 else ""
        axes.text(
            0.02 + 0.9 * share,
            height - 0.032,
            f"{share * LATEST_S / 60:.0f}{unit}",
            color=FAINT,
            fontsize=12,
            va="top",
            ha="left" if share == 0 else "right" if share == 1 else "center",
        )
    axes.text(0.02, height - 0.085, "brighter: more reports", color=FAINT, fontsize=12.5, va="top")


def draw_day(axes: Axes, day: CityFeed, gatherings: pa.Table, jumps: pa.Table) -> None:
    """Mean delay (line, left) over buses in service (area, right), five minutes at a time."""
    slot = (day.minute // 5).astype(np.int64)
    reports = np.bincount(slot)
    hours = (np.arange(len(reports)) + 0.5) / 12
    mean_delay = np.bincount(slot, weights=day.delay) / np.maximum(reports, 1)
    in_service = np.bincount(np.unique(slot * 1_000_000 + day.bus) // 1_000_000, minlength=len(reports))
    behind = axes.twinx()
    behind.fill_between(hours, in_service, color=SERVICE, alpha=0.35, linewidth=0)
    behind.set_ylim(0, in_service.max() * 1.35)
    behind.set_ylabel("buses in service", color="#8fb3d9", fontsize=13)
    axes.plot(hours, mean_delay, color=DELAY, linewidth=2.4)
    axes.set_ylim(min(0, mean_delay.min()), mean_delay.max() * 1.45)
    axes.set_ylabel("mean delay, s", color=DELAY, fontsize=13)
    mark_alerts(axes, day.start, gatherings, jumps)
    axes.set_xlim(0, np.ceil(hours[-1]))
    ticks = np.arange(0, np.ceil(hours[-1]) + 1, 3 if hours[-1] > 12 else 1)
    axes.set_xticks(ticks, [f"{day.start + timedelta(hours=tick):%H:%M}" for tick in ticks.tolist()])
    axes.set_zorder(behind.get_zorder() + 1)
    axes.patch.set_alpha(0)
    behind.set_facecolor(PAPER)
    for panel in (axes, behind):
        panel.tick_params(colors=FAINT, labelsize=12, length=0, pad=7)
        panel.spines[:].set_visible(False)


def mark_alerts(axes: Axes, start: datetime, gatherings: pa.Table, jumps: pa.Table) -> None:
    """Gatherings as rings on stems from the top, breakdowns as crosses at the foot."""
    top, foot = axes.get_ylim()[1], axes.get_ylim()[0]
    at, broke = (count_hours(table, start) for table in (gatherings, jumps))
    axes.vlines(at, foot, top * 0.9, color=GATHERING, linewidth=1.2, alpha=0.8)
    axes.scatter(
        at,
        np.full(len(at), top * 0.9),
        s=110,
        facecolors=NIGHT,
        edgecolors=GATHERING,
        linewidths=2.2,
        zorder=4,
    )
    axes.scatter(
        broke,
        np.full(len(broke), foot + 0.06 * (top - foot)),
        s=32,
        marker="x",
        color=BREAKDOWN,
        linewidths=1.3,
        zorder=4,
    )


def count_hours(table: pa.Table, start: datetime) -> Floats:
    ts = table.column("ts").cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()
    return np.asarray((ts / 1e6 - start.timestamp()) / 3600, dtype=np.float64)


def write_title(figure: Figure, day: CityFeed) -> None:
    figure.text(0.02, 0.957, "A day of the city's buses", color=INK, fontsize=28, fontweight="bold")
    end = day.start + timedelta(minutes=float(np.ceil(day.minute.max())))
    span = f"synthetic feed, {day.start:%A, %d %B %Y, %H:%M} to {end:%H:%M}"
    figure.text(0.98, 0.96, span, color=FAINT, fontsize=15, ha="right")
