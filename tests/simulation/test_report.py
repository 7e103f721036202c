"""Reports say what came out, whoever named the queries and however many there are."""

from __future__ import annotations

import io
import random
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cepheid.deployment import Retire, TimedAction
from cepheid.errors import MissingExtra
from cepheid.simulation.arrivals import make_arrivals
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.exploration.plan import CapacityPlan
from cepheid.simulation.exploration.sweep import Axis, Sweep, SweepPoint
from cepheid.simulation.outcome import Outcome
from cepheid.simulation.report.chart_layout import lay_out_chart
from cepheid.simulation.report.charts import Chart, LineChart
from cepheid.simulation.report.digest import digest_outcome
from cepheid.simulation.report.drawing import TextLabel
from cepheid.simulation.report.html import compose_page, write_report
from cepheid.simulation.report.looks import LETTERS, LOOKS, write_styles
from cepheid.simulation.report.outcome_charts import chart_throughput, map_queues
from cepheid.simulation.report.pictures import draw_outcome, draw_sweep
from cepheid.simulation.report.quantities import (
    clean_name,
    write_count,
    write_duration,
    write_money,
    write_share,
    write_value,
)
from cepheid.simulation.report.query_drawing import arrange_vertices, draw_query
from cepheid.simulation.report.scales import linear_scale, logarithmic_scale, scale_across
from cepheid.simulation.report.scenario_text import write_scenario
from cepheid.simulation.report.sweep_charts import chart_curves, map_feasible
from cepheid.simulation.report.sweep_curves import choose_across, find_overload, gather_curves, thin_curves
from cepheid.simulation.report.terminal import draw_bar, draw_steps, show_outcome, show_plan, show_sweep
from cepheid.simulation.scenario import Failure, Query, Scenario, ScenarioEdge, ScenarioVertex, Vm
from cepheid.simulation.simulate import simulate

NASTY = '<script>alert("1")</script> [red]$\\frac$ & \x1b[31m'


def make_query(name: str = "q", rate: float = 100.0, copies: int = 1, vm: str = "vm1", queue: float = 2048) -> Query:
    vertices = (
        ScenarioVertex(id="spout", kind="producer", ipe=1_000.0, arrivals=Uniform(rate)),
        ScenarioVertex(id="work", kind="operator", ipe=2_000_000.0, queue=queue),
        ScenarioVertex(id="end", kind="consumer", ipe=1_000.0, queue=queue),
    )
    edges = (ScenarioEdge("spout", "work", 1.0), ScenarioEdge("work", "end", 0.5))
    return Query(name=name, vertices=vertices, edges=edges, placement={each.id: vm for each in vertices}, copies=copies)


def run(*queries: Query, duration_s: float = 121.0, vms: tuple[Vm, ...] = (), **settings: Any) -> Outcome:
    scenario = Scenario(
        queries=queries,
        vms=vms or (Vm(name="vm1", price_per_hour=3.6),),
        duration_s=duration_s,
        tick_s=0.5,
        **settings,
    )
    return simulate(scenario, "reference", merges_equal=False)


@pytest.fixture(scope="module")
def calm() -> Outcome:
    return run(make_query("q"))


def show(shown: Outcome | Sweep | CapacityPlan, width: int = 160) -> str:
    text = io.StringIO()
    console = Console(file=text, width=width, color_system=None)
    match shown:
        case Outcome():
            show_outcome(shown, console)
        case Sweep():
            show_sweep(shown, console)
        case CapacityPlan():
            show_plan(shown, console)
    return text.getvalue()


def make_point(rate: float, engines: int = 1, most: float = 20_000.0, **values: Any) -> SweepPoint:
    carried = min(rate, most * engines)
    return SweepPoint(
        values={"rate": rate, "engines": engines} | values,
        latency_ms=10.0 * rate / engines / 1000.0,
        latency_p99_ms=20.0 * rate / engines / 1000.0,
        throughput_per_s=carried,
        offered_per_s=rate,
        utilisation=carried / most / engines,
        most_waiting=0.0,
        dropped=0.0,
        cost_per_hour=0.5 * engines,
        behind="" if carried == rate else f"gets {carried:,.0f} of {rate:,.0f} events/s",
    )


RATES = tuple(range(5_000, 40_001, 5_000))
ENGINES = (1, 2, 3)
OVER_RATE = Sweep((Axis("rate", RATES),), tuple(make_point(rate) for rate in RATES))
OVER_BOTH = Sweep(
    (Axis("rate", RATES), Axis("engines", ENGINES)),
    tuple(make_point(rate, engines) for rate in RATES for engines in ENGINES),
)
OVER_WORDS = Sweep(
    (Axis("scheduler", ("simple", NASTY)),),
    (make_point(30_000.0, scheduler="simple"), make_point(10_000.0, scheduler=NASTY)),
)


class Page(HTMLParser):
    """What is open, what is linked, and what is written."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "srcset", "data"}]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "srcset", "data", "xlink:href"}]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


SHOWN = {"rate": OVER_RATE, "rate and engines": OVER_BOTH, "words": OVER_WORDS}


@pytest.mark.parametrize("name", [*SHOWN, "run"])
def test_page_is_one_well_formed_file_that_needs_nothing_else(name: str, calm: Outcome, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(SHOWN.get(name) or calm, path)
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert not page.open
    assert not page.links
    assert "script" not in page.tags
    assert not re.search(r"https?:|@import|url\((?!#)", text)
    drawings = re.findall(r"<svg .*?</svg>", text, re.DOTALL)
    assert len(drawings) > 2
    for drawing in drawings:
        ET.fromstring(drawing)
    assert not re.search(r"\b(nan|inf)\b", "".join(drawings))


def test_names_of_users_are_text_everywhere(tmp_path: Path) -> None:
    query = make_query(NASTY, vm=NASTY)
    vertices = (*query.vertices[:2], replace(query.vertices[2], id=NASTY))
    query = replace(
        query,
        vertices=vertices,
        edges=(query.edges[0], ScenarioEdge("work", NASTY)),
        placement={each.id: NASTY for each in vertices},
    )
    outcome = run(query, make_query("_渋滞", vm=NASTY), vms=(Vm(name=NASTY),))
    text = compose_page(outcome)
    page = Page(text)
    assert not page.open
    assert "script" not in page.tags
    assert "\x1b" not in text
    assert any("<script>" in words for words in page.words)
    terminal = show(outcome, width=300)
    tables = re.split(r"^(?:Consumers|By minute|Machines|Vertices)", terminal, flags=re.MULTILINE)[1:]
    assert ["[red]" in table for table in tables] == [True] * 4
    assert "\x1b" not in terminal
    draw_outcome(outcome, tmp_path / "run.png")
    draw_sweep(OVER_WORDS, tmp_path / "sweep.png")


def test_page_and_terminal_tell_the_figures_of_the_outcome(calm: Outcome) -> None:
    (consumer,) = calm.consumers()
    assert consumer.latency_ms is not None
    told = (write_duration(consumer.latency_ms), write_duration(consumer.latency_p99_ms), "reference engine")
    words, terminal = " ".join(Page(compose_page(calm)).words), " ".join(show(calm).split())
    for each in told:
        assert each in words
        assert each in terminal
    assert write_money(3.6 * 121.0 / 3600.0) in terminal


def test_minute_that_has_hardly_begun_is_not_drawn_as_a_fall(calm: Outcome) -> None:
    digest = digest_outcome(calm)
    assert digest.minutes == (0, 1)  # 121 s: the third has 1.5 s
    (achieved, offered) = chart_throughput(digest, calm.scenario).lines
    assert [y for _, y in achieved.points] == pytest.approx([100.0] * 2, rel=0.05)
    assert [y for _, y in offered.points] == [100.0] * 2
    assert digest_outcome(run(make_query(), duration_s=10.0)).minutes == (0,)


def test_offered_is_what_the_producers_of_a_consumer_give() -> None:
    query = make_query("q", rate=40.0)
    second = ScenarioVertex(id="other", kind="producer", ipe=1_000.0, arrivals=Uniform(2.0))
    far = ScenarioVertex(id="far", kind="consumer", ipe=1_000.0)
    both = replace(
        query,
        vertices=(*query.vertices, second, far),
        edges=(*query.edges, ScenarioEdge("other", "work"), ScenarioEdge("other", "far")),
        placement={**query.placement, "other": "vm1", "far": "vm1"},
    )
    rows = {row.name.split()[-1]: row.offered_per_s for row in digest_outcome(run(both, duration_s=5.0)).consumers}
    assert rows == {"end": 42.0, "far": 2.0}


def test_copies_are_grouped_with_their_spread_when_there_are_many() -> None:
    outcome = run(make_query("many", rate=10.0, copies=30), make_query("one", rate=20.0), duration_s=20.0)
    digest = digest_outcome(outcome)
    many, one = digest.consumers
    assert len(many.members) == 30
    assert "30" in many.name
    assert len(one.members) == 1
    assert many.offered_per_s == pytest.approx(300.0)
    spread, each = many.latency(), [member.latency_ms or 0.0 for member in many.members]
    assert spread is not None
    assert (spread.low, spread.high) == (min(each), max(each))
    assert many.name in show(outcome)
    few = digest_outcome(run(make_query("few", copies=3), duration_s=5.0))
    assert [len(row.members) for row in few.consumers] == [1, 1, 1]


def test_queries_whose_shortened_names_are_equal_stay_apart() -> None:
    names = ["x" * 40 + middle + "y" * 40 for middle in "ab"]
    digest = digest_outcome(run(*map(make_query, names), duration_s=5.0))
    assert [row.members[0].query for row in digest.consumers] == names
    assert len(digest.vertices) == 6


def test_of_many_queries_the_worst_are_shown_and_nothing_is_lost() -> None:
    vms = (Vm(name="vm1", mips=2_500.0), Vm(name="slow", mips=25.0))
    calm = [make_query(f"q{number}", rate=1.0) for number in range(60)]
    outcome = run(*calm, make_query("slow one", rate=30.0, vm="slow"), vms=vms, duration_s=30.0)
    digest = digest_outcome(outcome, most=10)
    assert len(digest.consumers) == len(digest.vertices) == 10
    assert digest.consumers[0].name.startswith("slow one")
    assert digest.consumers[-1].name == "52 others"
    assert sum(len(row.members) for row in digest.consumers) == 61
    assert sum(row.offered_per_s for row in digest.consumers) == pytest.approx(90.0)
    assert sum(row.processed() for row in digest.vertices) == pytest.approx(digest.handled)
    assert "others" in show(outcome)
    assert not Page(compose_page(outcome)).open


def test_waiting_events_are_mapped_where_they_wait() -> None:
    digest = digest_outcome(run(make_query("q", rate=3_000.0, queue=0)))
    chart = map_queues(digest)
    assert chart is not None
    assert any(row.endswith("work") for row in chart.rows)
    number = next(place for place, row in enumerate(chart.rows) if row.endswith("work"))
    assert max(cell.share or 0.0 for row in chart.cells for cell in row) == 1.0
    assert max(chart.cells[number], key=lambda cell: cell.share or 0.0).share == 1.0


def test_run_in_which_nothing_arrives_can_be_shown(tmp_path: Path) -> None:
    query = make_query("q", rate=0.001)
    outcome = run(replace(query, edges=(query.edges[0], ScenarioEdge("work", "end", 0.0))), duration_s=3.0)
    assert next(iter(outcome.consumers())).latency_ms is None
    assert "nothing was consumed" in compose_page(outcome)
    assert "–" in show(outcome)  # noqa: RUF001
    draw_outcome(outcome, tmp_path / "run.png")


def test_changes_are_marked_at_their_minute(calm: Outcome) -> None:
    scenario = replace(calm.scenario, failures=(Failure(at_s=90.0, machine="vm1"),))
    (moment,) = chart_throughput(digest_outcome(calm), scenario).moments
    assert moment.x == 1.0  # the middle of minute 1
    assert moment.name == "fail vm1"


def test_machines_without_a_server_and_transfers_are_told(calm: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Outcome, "unhosted", lambda _: ["big one"])
    monkeypatch.setattr(Outcome, "transfer_cost", lambda _: 7.25)
    for told in (show(calm), " ".join(Page(compose_page(calm)).words)):
        assert "No server has room for big one" in told
        assert "7.25" in told
        assert write_money(7.25 + 3.6 * 121.0 / 3600.0) in told


def test_overload_is_found_and_shaded_between_the_points_around_it() -> None:
    across = choose_across(OVER_RATE)
    assert across is not None
    (curve,) = gather_curves(OVER_RATE, across)
    last, first = find_overload(curve)
    assert last is not None
    assert first is not None
    assert (last.values["rate"], first.values["rate"]) == (20_000, 25_000)
    throughput, latency, *_ = chart_curves(OVER_RATE, across)
    (shade,) = throughput.shades
    assert (shade.begin, shade.end) == (22_500.0, float("inf"))
    assert throughput.moments[0].name == "keeps up to 20,000"
    assert latency.logarithmic
    assert {line.name for line in throughput.lines} == {"achieved", "offered"}
    assert throughput.lines[0].hollow == frozenset({25_000.0, 30_000.0, 35_000.0, 40_000.0})


def test_too_few_engines_are_shaded_from_the_left() -> None:
    sweep = Sweep((Axis("engines", ENGINES),), tuple(make_point(50_000.0, engines) for engines in ENGINES))
    (shade,) = chart_curves(sweep, sweep.axes[0])[0].shades
    assert (shade.begin, shade.end) == (float("-inf"), 2.5)


def test_map_of_two_axes_has_every_point_and_crosses_what_does_not_keep_up() -> None:
    (chart,) = map_feasible(OVER_BOTH, OVER_BOTH.axes[0])
    assert chart.rows == ["3 engines", "2 engines", "1 engine"]
    crossed = [[cell.crossed for cell in row] for row in chart.cells]
    assert [row.count(False) for row in crossed] == [8, 8, 4]
    assert all(row == sorted(row) for row in crossed)
    shares = [cell.share for row in chart.cells for cell in row if not cell.crossed and cell.share is not None]
    assert (min(shares), max(shares)) == (0.0, 1.0)
    assert 'class="border"' in compose_page(OVER_BOTH)


def test_sweep_table_tells_how_much_each_number_of_engines_carries() -> None:
    lines = show(OVER_BOTH).splitlines()
    (row,) = [line.split() for line in lines if line.startswith("1 engine ")]
    assert row[2:4] == ["20,000", "25,000"]
    assert sum("behind" in line for line in lines if "gets" not in line) >= 4


def test_long_sweep_is_summed_up_in_the_terminal() -> None:
    rates = tuple(range(1_000, 100_001, 1_000))
    told = show(Sweep((Axis("rate", rates),), tuple(make_point(rate) for rate in rates)))
    assert len(told.splitlines()) < 20
    assert "20,000" in told


@pytest.mark.parametrize("sweep", SHOWN.values(), ids=SHOWN)
def test_pictures_of_sweeps_are_drawn(sweep: Sweep, tmp_path: Path) -> None:
    from matplotlib.image import imread

    draw_sweep(sweep, tmp_path / "sweep.png")
    pixels = imread(tmp_path / "sweep.png")
    assert pixels.shape[1] == 1540
    assert pixels[..., :3].min() < 0.3  # something is drawn
    assert pixels[2:6, :, :3].min() == 1.0  # and nothing touches the edge
    assert pixels[:, -4:, :3].min() == 1.0


def test_picture_of_a_run_is_drawn(calm: Outcome, tmp_path: Path) -> None:
    draw_outcome(calm, tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_three_axes_give_one_map_for_each_value_of_the_third(tmp_path: Path) -> None:
    points = tuple(
        make_point(rate, engines, scheduler=name)
        for rate in RATES
        for engines in ENGINES
        for name in ("simple", "dynamic")
    )
    sweep = Sweep((*OVER_BOTH.axes, Axis("scheduler", ("simple", "dynamic"))), points)
    titles = [chart.title for chart in map_feasible(sweep, sweep.axes[0])]
    assert titles == ["Latency p99: scheduler simple", "Latency p99: scheduler dynamic"]
    assert not Page(compose_page(sweep)).open
    draw_sweep(sweep, tmp_path / "sweep.png")


def test_points_without_latency_and_single_points_can_be_shown(tmp_path: Path) -> None:
    silent = replace(make_point(1_000.0), latency_ms=None, latency_p99_ms=None, throughput_per_s=0.0, behind="silent")
    for points in ((silent,), (silent, make_point(2_000.0))):
        sweep = Sweep((Axis("rate", tuple(point.values["rate"] for point in points)),), points)
        assert not Page(compose_page(sweep)).open
        assert "behind" in show(sweep)
        draw_sweep(sweep, tmp_path / "sweep.png")


def test_plan_tells_the_answer_and_why_not_fewer() -> None:
    tried = tuple(make_point(50_000.0, engines) for engines in ENGINES)
    plan = CapacityPlan({"latency_p99": 2_000.0}, 50_000.0, 3, tried[2], tried[1], tried, "2 engines are too few")
    told = show(plan)
    assert told.startswith("3 engines carry 50,000 events/s with latency_p99 <= 2 s for 1.50 per hour.")
    assert "2 engines are too few" in told
    assert [line.split()[-1] for line in told.splitlines()[-3:]] == ["behind", "behind", "enough"]
    none = CapacityPlan({"cost": 1.0}, 50_000.0, None, tried[2], tried[1], tried, "3 engines cost more")
    assert show(none).startswith("No number of engines carries 50,000 events/s with cost <= 1.00.")


def test_scenario_in_the_report_is_a_scenario_file() -> None:
    query = make_query(NASTY, rate=12.5, copies=3)
    window = ScenarioVertex(
        id="w", kind="window", ipe=5.0, window_s=15.0, advance_s=5.0, output=10, limits_output=False, queue=1024
    )
    query = replace(query, vertices=(*query.vertices, window), placement={**query.placement, "w": "vm 2"})
    scenario = Scenario(
        queries=(query,),
        vms=(Vm(name="vm1", pes=2), Vm(name="vm 2", price_per_hour=0.25)),
        duration_s=301.0,
        fidelity="corrected",
        actions=(TimedAction(5.0, Retire(name=NASTY)),),
    )
    read = tomllib.loads(write_scenario(scenario))
    assert read["simulation"] == {"duration_s": 301.0, "tick_s": 0.1, "fidelity": "corrected"}
    assert read["vm"][1] == {"name": "vm 2", "pes": 1, "mips": 2500.0, "price_per_hour": 0.25}
    (told,) = read["query"]
    assert (told["name"], told["copies"]) == (NASTY, 3)
    assert told["vertices"][0] == {"id": "spout", "kind": "producer", "ipe": 1000.0, "rate_per_s": 12.5}
    assert told["vertices"][3]["limit_output"] is False
    assert told["edges"] == [["spout", "work", 1.0], ["work", "end", 0.5]]
    assert told["placement"] == {"vm1": ["spout", "work", "end"], "vm 2": ["w"]}
    assert read["change"][0]["query"] == NASTY


def test_arrivals_in_the_report_are_those_of_the_scenario(tmp_path: Path) -> None:
    tables: list[dict[str, Any]] = [
        {"kind": "poisson", "rate_per_s": 5.0, "seed": 3},
        {"kind": "bursts", "rate_per_s": 5.0, "burst_rate_per_s": 9.0, "burst_s": 2.0, "repeats": False},
        {"kind": "increase", "rate_per_s": 7.0, "duration_s": 10.0},
        {"kind": "diurnal", "rate_per_s": 50.0, "random": True, "seed": 8},
    ]
    for table in tables:
        arrivals = make_arrivals(table, tmp_path)
        query = make_query()
        query = replace(query, vertices=(replace(query.vertices[0], arrivals=arrivals), *query.vertices[1:]))
        read = tomllib.loads(write_scenario(Scenario(queries=(query,), vms=(Vm(name="vm1"),), duration_s=1.0)))
        assert make_arrivals(read["query"][0]["vertices"][0]["arrivals"], tmp_path) == arrivals


@pytest.mark.parametrize("width", [80, 100, 200])
def test_terminal_tables_keep_their_names_and_numbers_at_any_width(width: int, calm: Outcome) -> None:
    told = show(calm, width)
    assert "…" not in told
    assert all(len(line.rstrip()) <= width for line in told.splitlines())
    (consumer,) = calm.consumers()
    assert any(
        line.startswith("q › end") and write_duration(consumer.latency_p99_ms) in line  # noqa: RUF001
        for line in told.splitlines()
    )


def test_scenario_of_thousands_is_cut_and_says_so() -> None:
    queries = tuple(make_query(f"q{number}") for number in range(100))
    text = write_scenario(Scenario(queries=queries, vms=(Vm(name="vm1"),), duration_s=1.0), most_queries=3)
    assert "# and 97 more queries" in text
    assert len(tomllib.loads(text)["query"]) == 3


def test_graph_is_arranged_from_producers_to_consumers() -> None:
    names = "abcde"
    edges = (
        ScenarioEdge("a", "b"),
        ScenarioEdge("a", "c"),
        ScenarioEdge("b", "d"),
        ScenarioEdge("c", "d"),
        ScenarioEdge("a", "d"),
        ScenarioEdge("d", "e", 0.25),
    )
    vertices = tuple(ScenarioVertex(id=name, kind="operator", ipe=1.0) for name in names)
    query = Query(name="q", vertices=vertices, edges=edges, placement=dict.fromkeys(names, "vm1"))
    assert arrange_vertices(query) == [["a"], ["b", "c"], ["d"], ["e"]]
    drawn = draw_query(query, {"d": 3.0, "e": 1.0}, 10.0)
    ET.fromstring(drawn)
    assert "× 0.25" in drawn  # noqa: RUF001
    assert "75 %" in drawn


def test_terminal_report_loads_no_drawing_library() -> None:
    script = (
        "import sys; import cepheid.simulation.report.terminal, cepheid.simulation.report.html; "
        "print(*(name for name in ('matplotlib', 'pandas', 'pyarrow', 'duckdb') if name in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (write_count(0.0), "0"),
        (write_count(0.1234), "0.123"),
        (write_count(12.34), "12.3"),
        (write_count(999.6), "1,000"),
        (write_count(123_456.0), "123,456"),
        (write_count(999_999.0), "1 M"),
        (write_count(3_009_000.0), "3.01 M"),
        (write_duration(0.0123), "12.3 µs"),
        (write_duration(999.9), "1 s"),
        (write_duration(10_140.5), "10.1 s"),
        (write_duration(150_000.0), "2.5 min"),
        (write_duration(None), "–"),  # noqa: RUF001
        (write_share(0.437), "44 %"),
        (write_share(0.012), "1.2 %"),
        (write_share(0.0001), "<0.1 %"),
        (write_money(0.01003), "0.01"),
        (write_money(1234.5), "1,234.50"),
        (write_value(20_000), "20,000"),
        (write_value(0.25), "0.25"),
        (write_value("dynamic"), "dynamic"),
        (clean_name("a\nb\x1b"), "a□b□"),
        (clean_name("x" * 30 + "y" * 30, 12), "xxxxxxx…yyyy"),
    ],
)
def test_numbers_and_names_are_written_for_people(written: str, expected: str) -> None:
    assert written == expected


def test_columns_and_bars_are_as_long_as_their_values() -> None:
    assert draw_steps([0.0, 0.5, 1.0], 1.0) == "▁▄▇"
    assert draw_steps([0.0, 0.0]) == "▁▁"
    assert draw_steps([0.0, 1.0], plain=True) == "_#"
    assert draw_bar(0.5, 4) == "██░░"
    assert draw_bar(1.01, 4, plain=True) == "####"


@pytest.mark.parametrize("seed", range(50))
def test_axes_hold_their_values_and_have_rising_round_ticks(seed: int) -> None:
    source = random.Random(seed)
    values = [10.0 ** source.uniform(-6, 9) for _ in range(source.randint(1, 5))]
    for make in (linear_scale, logarithmic_scale):
        scale, ticks = make(values, 0.0, 1.0)
        assert all(-1e-9 <= scale.at(value) <= 1.0 + 1e-3 for value in values if make is linear_scale or value > 0.0)
        assert ticks == sorted(set(ticks))
        assert 2 <= len(ticks) <= 20
    scale, ticks = scale_across(values, (), 0.0, 1.0)
    assert all(0.0 <= scale.at(value) <= 1.0 for value in [*values, *ticks])


def test_of_many_curves_the_first_and_the_last_are_kept() -> None:
    curves = gather_curves(
        Sweep(
            (Axis("rate", (1.0, 2.0)), Axis("engines", tuple(range(1, 65)))),
            tuple(make_point(rate, engines) for rate in (1.0, 2.0) for engines in range(1, 65)),
        ),
        Axis("rate", (1.0, 2.0)),
    )
    kept = [curve.label for curve in thin_curves(curves, 6)]
    assert len(kept) == 6
    assert (kept[0], kept[-1]) == ("1 engine", "64 engines")


def test_line_chart_knows_all_its_heights() -> None:
    outcome = run(make_query(copies=2), duration_s=5.0)
    chart = chart_throughput(digest_outcome(outcome), outcome.scenario)
    assert isinstance(chart, LineChart)
    assert len(chart.heights()) == sum(len(line.points) for line in chart.lines)


def test_a_picture_without_matplotlib_says_what_to_install(
    calm: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cepheid.extras.can_import", lambda _: False)
    with pytest.raises(MissingExtra, match=r"error\[missing-extra\]") as caught:
        draw_outcome(calm, tmp_path / "run.png")
    assert caught.value.hint == 'pip install "cepheid[plots]"'
    compose_page(calm)  # needs no extra


def test_every_kind_of_shape_has_a_look(calm: Outcome) -> None:
    """Pages and pictures are drawn from the same shapes: each has a place in looks.py, and so a style on the page."""
    charts: list[Chart] = [*chart_curves(OVER_BOTH, OVER_BOTH.axes[0]), *map_feasible(OVER_BOTH, OVER_BOTH.axes[0])]
    charts += [chart_throughput(digest_outcome(calm), calm.scenario)]
    styles = write_styles()
    for chart in charts:
        for shape in lay_out_chart(chart).shapes:
            known = LETTERS if isinstance(shape, TextLabel) else LOOKS
            for word in shape.kind.split():
                assert word in known
                assert f".chart .{word} {{" in styles
