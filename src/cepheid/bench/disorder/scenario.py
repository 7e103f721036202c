"""One stream in disorder, described so that it can be had again: how many events, of which sources, how late.

title = "one source of four is cut off"
events = 1_000_000
sources = 4                 # each event is of one of them, by chance
interval_ns = 1_000_000     # between two events
seed = 1
fifo = [2]                  # sources whose events do not overtake each other; true: all

[[delay]]                   # delays add up
kind = "exponential"
mean_ms = 10

[[delay]]
kind = "outage"
every_s = 60
length_s = 5
sources = [2]               # left out: of all
from_s = 100                # a change of regime: these bounds may be left out, too
until_s = 400
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cepheid.bench.disorder.delays.delay import Delay
from cepheid.bench.disorder.delays.read_delay import read_delay
from cepheid.errors import InvalidInput, suggest_name
from cepheid.toml_files.reading import parse_table, places_in, read_text
from cepheid.toml_files.table import Table

SCENARIOS = Path(__file__).parent / "scenarios"  # those that come with the package
KEYS = ("title", "events", "sources", "interval_ns", "seed", "fifo", "delay")
MORE_OF_DELAYS = ("sources", "from_s", "until_s")
MOST_EVENTS = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedDelay:
    """A delay of these sources (None: of all), of events from one time until before another."""

    delay: Delay
    sources: frozenset[int] | None = None
    from_s: float = 0.0
    until_s: float = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """fifo: the sources whose events do not overtake each other.  seed: of the sources and the delays."""

    title: str
    events: int
    sources: int
    interval_ns: int
    delays: tuple[PlacedDelay, ...]
    seed: int = 1
    fifo: frozenset[int] = frozenset()


def list_scenarios() -> list[str]:
    """The names of those that come with the package."""
    return sorted(path.stem for path in SCENARIOS.glob("*.toml"))


def load_scenario(name: str) -> Scenario:
    """One that comes with the package, or a file."""
    path = Path(name)
    if path.suffix == ".toml":
        return read_scenario(path)
    if name not in list_scenarios():
        hint = suggest_name(name, list_scenarios()) or "give one of those, or a file that ends with .toml"
        raise InvalidInput(f'the scenario of disorder "{name}" does not exist', hint=hint)
    return read_scenario(SCENARIOS / f"{name}.toml")


def read_scenario(path: Path) -> Scenario:
    hint = f"those that come with the package: {', '.join(list_scenarios())}"
    return parse_scenario(read_text(path, "scenario of disorder", hint), path)


def parse_scenario(text: str, path: Path) -> Scenario:
    """path: what the text is called in messages, and where paths in it begin."""
    with places_in(text, path):
        table = parse_table(text, "the scenario", KEYS)
        sources = table.whole("sources", 1, most=100_000)
        return Scenario(
            title=table.text("title", path.stem),
            events=table.whole("events", most=MOST_EVENTS),
            sources=sources,
            interval_ns=table.whole("interval_ns", most=10**15),
            seed=table.whole("seed", 1, least=0, most=2**62),
            fifo=_read_fifo(table, sources),
            delays=tuple(_read_delays(table, sources, path.parent)),
        )


def _read_fifo(table: Table, sources: int) -> frozenset[int]:
    if isinstance(table.fields.get("fifo", False), bool):
        return frozenset(range(sources)) if table.flag("fifo", False) else frozenset()
    return _read_sources(table, "fifo", sources)


def _read_delays(table: Table, sources: int, folder: Path) -> Iterator[PlacedDelay]:
    for number, fields in enumerate(table.elements("delay")):
        if not isinstance(fields, dict):
            hint = "write [[delay]], and its keys below"
            raise table.mistake(f"has a delay that is {fields!r}", "delay", number, hint=hint)
        each = Table(fields, f"delay {number + 1}", None, ("delay", number), table.kind)
        delay = read_delay(each, folder, MORE_OF_DELAYS)
        from_s, until_s = each.number("from_s", 0.0, zero=True), each.number("until_s", float("inf"), endless=True)
        if until_s <= from_s:
            hint = "until_s is the later one"
            raise each.mistake(f"lasts from {from_s:g} s until {until_s:g} s", "until_s", hint=hint)
        only = _read_sources(each, "sources", sources) if each.has("sources") else None
        yield PlacedDelay(delay=delay, sources=only, from_s=from_s, until_s=until_s)


def _read_sources(table: Table, key: str, sources: int) -> frozenset[int]:
    for place, number in enumerate(table.elements(key)):
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < sources:
            hint = f"there are {sources}: 0 to {sources - 1}" if sources > 1 else "there is one: 0"
            raise table.mistake(f"has no source {number!r}", key, place, hint=hint)
    return frozenset(table.elements(key))
