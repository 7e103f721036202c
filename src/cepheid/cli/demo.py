"""cepheid demo: a day of city buses through Spark in under two minutes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from cepheid.cli.failures import report_failures
from cepheid.extras import require_extra


def demo(
    out: Annotated[Path, typer.Option(help="Where the picture and the alerts go")] = Path("demo-output"),
    seed: Annotated[int, typer.Option(help="Each seed is another day")] = 7,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object at the end, nothing else on stdout")] = False,
) -> None:
    """Play a day of 911 city buses through Spark and draw what was found."""
    with report_failures():
        require_extra("spark")
        require_extra("plots")
    from cepheid.demo.city_picture import draw_city
    from cepheid.demo.play_day import as_tables, play_day, save_alerts, temporary_folder

    console = Console(stderr=as_json)
    began = time.perf_counter()
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with report_failures(), Progress(*columns, console=console) as progress, temporary_folder() as folder:
        bar = progress.add_task("starting", total=None)

        def notify(what: str, facts: dict[str, Any]) -> None:
            if what == "step":
                progress.update(bar, description=facts["text"])
            elif what == "events":
                progress.update(bar, completed=facts["done"], total=facts["total"])
            elif what == "gathering":
                progress.console.print(
                    f"[bold red]gathering[/]  {facts['ts']:%H:%M:%S}  {facts['buses']} late buses within 10 m"
                    f" at ({facts['x']:.0f} m, {facts['y']:.0f} m)"
                )
            else:
                progress.console.print(
                    f"[yellow]breakdown[/]  {facts['ts']:%H:%M:%S}  bus {facts['bus']}: delay"
                    f" {facts['delay_before']:.0f} s, then {facts['delay_after']:.0f} s"
                )

        day = play_day(notify, Path(folder), seed=seed)
        progress.update(bar, description="drawing the city")
        out.mkdir(parents=True, exist_ok=True)
        gatherings, breakdowns = as_tables(day)
        draw_city(day.feed, gatherings, breakdowns, out / "city.png")
        save_alerts(day, out)
        progress.update(bar, description="done")
    elapsed = time.perf_counter() - began
    if as_json:
        typer.echo(json.dumps(_summary(day, elapsed, out)))
    else:
        _print_summary(console, day, elapsed, out)


def _summary(day: Any, elapsed_s: float, out: Path) -> dict[str, Any]:
    return {
        "reports": len(day.feed),
        "events_through_spark": day.events,
        "events_per_s": round(day.events / day.spark_s),
        "gatherings": len(day.gatherings),
        "breakdowns": len(day.breakdowns),
        "elapsed_s": round(elapsed_s, 1),
        "picture": str(out / "city.png"),
    }


def _print_summary(console: Console, day: Any, elapsed_s: float, out: Path) -> None:
    table = Table(
        "first seen", "until", "place (m)", "most buses", title="Gatherings: more than 10 late buses within 10 m"
    )
    for row in sorted(day.gatherings, key=lambda row: row["ts"]):
        place = f"{row['x']:.0f}, {row['y']:.0f}"
        table.add_row(f"{row['ts']:%H:%M:%S}", f"{row['until']:%H:%M:%S}", place, str(row["buses"]))
    console.print(table)
    console.print(
        f"{len(day.feed):,} reports, two queries: {day.events:,} events through Spark in {day.spark_s:.1f} s "
        f"({day.events / day.spark_s:,.0f}/s); {len(day.gatherings)} gatherings, {len(day.breakdowns)} breakdowns"
    )
    console.print(f"picture: {out / 'city.png'}   ({elapsed_s:.0f} s in all)")
