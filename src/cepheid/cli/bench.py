"""cepheid bench: numbers beside baselines of the same run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cepheid.cli.failures import report_failures
from cepheid.errors import InvalidInput
from cepheid.extras import require_extra

bench = typer.Typer(help="Measure, beside a baseline of the same run.", no_args_is_help=True)
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object, nothing else on stdout")]
Host = Literal["embedded", "spark", "both"]
Save = Annotated[Path | None, typer.Option(help="A folder for the result, as NAME.json")]


@bench.command()
def kernel(
    events: Annotated[int, typer.Option(help="Events in each run")] = 5_000_000,
    repeats: Annotated[int, typer.Option(help="How many times each is measured")] = 5,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Compiled Q5 on arrays, one thread, against a numpy sort."""
    from cepheid.bench.kernel import measure_kernel

    with report_failures():
        _show(measure_kernel(events, repeats), as_json, save)


@bench.command()
def spark(
    events: Annotated[int, typer.Option(help="Events in a large batch")] = 5_000_000,
    repeats: Annotated[int, typer.Option(help="How many times each is measured")] = 3,
    part: Annotated[
        list[str] | None,
        typer.Option(help="Only this part: throughput, small, first, keys, level, state or kafka"),
    ] = None,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Streams on Spark, against stateful PySpark operators written by hand and against Spark itself."""
    from cepheid.bench.spark import PARTS, measure_spark

    with report_failures():
        if unknown := [name for name in part or () if name not in PARTS]:
            raise InvalidInput(f'bench spark has no part "{unknown[0]}"', hint=f"parts: {', '.join(PARTS)}")
        _show(measure_spark(events, repeats, part or list(PARTS)), as_json, save)


@bench.command()
def patterns(
    events: Annotated[int, typer.Option(help="Events in each run")] = 5_000_000,
    repeats: Annotated[int, typer.Option(help="How many times each is measured")] = 7,
    on_spark: Annotated[bool, typer.Option("--spark/--no-spark", help="Measure on a Spark stream, too")] = True,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Every strategy and kind of pattern, on one core and on Spark, against a numpy sort."""
    from cepheid.bench.patterns import measure_patterns

    with report_failures():
        _show(measure_patterns(events, repeats, on_spark), as_json, save)


@bench.command()
def windows(
    events: Annotated[int, typer.Option(help="Events in each run")] = 5_000_000,
    repeats: Annotated[int, typer.Option(help="How many times each is measured")] = 5,
    hours: Annotated[int, typer.Option(help="Length of the window of Q6, and of its run, in event time")] = 12,
    rate: Annotated[int, typer.Option(help="Events per second of event time, for Q6")] = 100_000,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Windows, joins and what they need in memory, on one core, against a numpy sort."""
    from cepheid.bench.windows import measure_windows

    with report_failures():
        _show(measure_windows(events, repeats, hours, rate), as_json, save)


@bench.command()
def simulation(
    repeats: Annotated[int, typer.Option(help="How many times each is measured, long ones less often")] = 5,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Thousands of queries on simulated machines, beside what CEPSim's authors published."""
    from cepheid.bench.simulation import measure_simulation

    with report_failures():
        _show(measure_simulation(repeats), as_json, save)


@bench.command()
def latency(
    rate: Annotated[int, typer.Option(help="Events per second")] = 10_000,
    seconds: Annotated[float, typer.Option(help="How long each pattern runs")] = 6.0,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """A push of 1 to 100 events in your own process, and the first push of a new one."""
    from cepheid.bench.latency import measure_latency

    with report_failures():
        _show(measure_latency(rate, seconds), as_json, save)


@bench.command()
def compilation(
    counts: Annotated[
        list[int] | None, typer.Option("--queries", help="How many queries at once; may be repeated")
    ] = None,
    repeats: Annotated[int, typer.Option(help="How many times each is measured")] = 3,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Many different queries compiled together, and one more added to them."""
    from cepheid.bench.compilation import measure_compilation

    with report_failures():
        _show(measure_compilation(tuple(sorted(counts or (100, 1000, 4000))), repeats), as_json, save)


@bench.command()
def session(
    queries: Annotated[int, typer.Option(help="How many queries run")] = 1000,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """A query added to, altered in and retired from a live session of many."""
    from cepheid.bench.session import measure_session

    with report_failures():
        _show(measure_session(queries), as_json, save)


@bench.command()
def prediction(
    host: Annotated[Host, typer.Option(help="Where queries run")] = "both",
    report: Annotated[Path | None, typer.Option(help="A picture to draw, FILE.png")] = None,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Q2 and Q5 as the simulator predicts them, calibrated here, against what they do (up to 10 minutes)."""
    from cepheid.bench.prediction import measure_prediction
    from cepheid.bench.prediction_report import draw_report, list_rows

    with report_failures():
        if report is not None:
            require_extra("plots")  # now, not after minutes of measuring
        result = measure_prediction(host)
    if save is not None:
        _save(result, save)
    _show(result if as_json else {**result, "predictions": list_rows(result)}, as_json, None)
    if report is not None:
        report.parent.mkdir(parents=True, exist_ok=True)
        draw_report(result, report)


@bench.command()
def disorder(
    quick: Annotated[bool, typer.Option("--quick", help="Less of everything: each part within a minute")] = False,
    part: Annotated[
        list[str] | None,
        typer.Option(help="Only this part: waiting, speculation, late, throughput, engines or instances"),
    ] = None,
    pictures: Annotated[Path | None, typer.Option(help="A folder for pictures")] = None,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Events that come late: how long rules wait for them, what rows cost that come earlier and are corrected."""
    from rich.console import Console
    from rich.progress import Progress

    from cepheid.bench.disorder.measure_disorder import FULL, PARTS, QUICK, count_steps, measure_disorder
    from cepheid.bench.disorder.pictures import draw_pictures

    with report_failures():
        if unknown := [name for name in part or () if name not in PARTS]:
            raise InvalidInput(f'bench disorder has no part "{unknown[0]}"', hint=f"parts: {', '.join(PARTS)}")
        if pictures is not None:
            require_extra("plots")  # now, not after minutes of measuring
        extent, parts = QUICK if quick else FULL, part or list(PARTS)
        with Progress(console=Console(stderr=True), transient=True) as progress:
            bars = {name: progress.add_task(name, total=count_steps(name, extent)) for name in parts}
            result = measure_disorder(extent, parts, lambda name: progress.advance(bars[name]))
    if save is not None:
        _save(result, save)
    drawn = [] if pictures is None else draw_pictures(result, pictures)
    if as_json:
        typer.echo(json.dumps(result))
        return
    _show_disorder(result, drawn)


def _save(result: dict[str, Any], save: Path) -> None:
    save.mkdir(parents=True, exist_ok=True)
    (save / f"{result['benchmark']}.json").write_text(json.dumps(result, indent=2) + "\n")


def _show(result: dict[str, Any], as_json: bool, save: Path | None) -> None:
    if save is not None:
        _save(result, save)
    if as_json:
        typer.echo(json.dumps(result))
        return
    for name, value in result.items():
        if isinstance(value, dict):
            typer.echo(f"\n{name}")
            _show_table(value)
        else:
            typer.echo(f"{name:28} {value}")


def _show_disorder(result: dict[str, Any], drawn: list[Path]) -> None:
    """Tables, below what they were measured with."""
    from rich.console import Console

    from cepheid.bench.disorder.tables import list_tables

    console = Console(highlight=False)
    told = (f"{name} {result[name]}" for name in ("cepheid", "commit", "python", "cores", "machine", "seed"))
    console.print(f"{result['question']}\n{', '.join(told)}\n")
    for each in list_tables(result):
        console.print(each)
    for path in drawn:
        console.print(f"picture: {path}")


def _show_table(rows: dict[str, dict[str, Any]]) -> None:
    columns = list(next(iter(rows.values())))
    lines = [["", *columns], *([name, *(_show_value(row[column]) for column in columns)] for name, row in rows.items())]
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    for line in lines:
        first, *others = (
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        typer.echo("  ".join(["", first, *others]))


def _show_value(value: Any) -> str:
    if isinstance(value, list):
        return "-".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
