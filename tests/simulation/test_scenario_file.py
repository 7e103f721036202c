"""Scenario files: what they may say, and how mistakes in them are told."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cepheid.deployment import Scale, TimedAction
from cepheid.errors import CepheidError, InvalidInput, InvalidScenario
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.scenario import (
    Datacentre,
    Failure,
    Host,
    Link,
    MicroBatch,
    Query,
    Scenario,
    ScenarioEdge,
    ScenarioVertex,
    Vm,
)
from cepheid.simulation.scenarios.scenario_checks import check_scenario
from cepheid.simulation.scenarios.scenario_file import parse_scenario, read_scenario

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
Q1 = """\
[simulation]
duration_s = 301.0
tick_s = 0.1
iterations = 1
fidelity = "cepsim"            # or "corrected"
scheduler = "dynamic"          # simple | dynamic
allocation = "uniform"         # uniform | weighted
network_delay_s = 0.001        # fixed delay between VMs
cloudlet_pes = 1               # processors asked by each placement

[[vm]]
name = "vm1"
pes = 1
mips = 2500.0

[[query]]
name = "q1"
copies = 1
vertices = [
  { id = "spout", kind = "producer", ipe = 1000.0, rate_per_s = 10000.0 },
  { id = "outlier", kind = "operator", ipe = 18000.0, queue = 2048 },
  { id = "average", kind = "window", ipe = 18000.0, queue = 2048, window_s = 15.0, advance_s = 15.0, output = 1000 },
  { id = "db", kind = "operator", ipe = 11000000.0, queue = 2048 },
  { id = "end", kind = "consumer", ipe = 1000.0, queue = 2048 },
]
edges = [ ["spout", "outlier", 1.0], ["outlier", "average", 0.95], ["average", "db", 1.0], ["db", "end", 1.0] ]
placement = { vm1 = ["spout", "outlier", "average", "db", "end"] }   # or placement = "vm1"
"""
LONG = """\
[simulation]
duration_s = 10

[[vm]]
name = "vm1"

[[query]]
name = "long"
placement = "vm1"
edges = [["in", "sum"], ["sum", "out", 0.5]]

[[query.vertices]]
id = "in"
kind = "producer"
ipe = 1000
rate_per_s = 10

[[query.vertices]]
id = "sum"
kind = "window"
ipe = 2000
window_s = 4

[[query.vertices]]
id = "out"
kind = "consumer"
ipe = 1000
"""


def read(text: str) -> Scenario:
    return parse_scenario(text, Path("folder/scenario.toml"))


def change(old: str, new: str, text: str = Q1) -> str:
    assert text.count(old) >= 1
    return text.replace(old, new, 1)


def tell(text: str) -> InvalidScenario:
    with pytest.raises(InvalidScenario) as caught:
        read(text)
    return caught.value


def test_the_contract_is_read_into_records() -> None:
    assert read(Q1) == Scenario(
        queries=(
            Query(
                name="q1",
                vertices=(
                    ScenarioVertex(id="spout", kind="producer", ipe=1000.0, arrivals=Uniform(10000.0)),
                    ScenarioVertex(id="outlier", kind="operator", ipe=18000.0, queue=2048.0),
                    ScenarioVertex(
                        id="average",
                        kind="window",
                        ipe=18000.0,
                        queue=2048.0,
                        window_s=15.0,
                        advance_s=15.0,
                        output=1000.0,
                    ),
                    ScenarioVertex(id="db", kind="operator", ipe=11e6, queue=2048.0),
                    ScenarioVertex(id="end", kind="consumer", ipe=1000.0, queue=2048.0),
                ),
                edges=(
                    ScenarioEdge("spout", "outlier"),
                    ScenarioEdge("outlier", "average", 0.95),
                    ScenarioEdge("average", "db"),
                    ScenarioEdge("db", "end"),
                ),
                placement=dict.fromkeys(("spout", "outlier", "average", "db", "end"), "vm1"),
            ),
        ),
        vms=(Vm(name="vm1", pes=1, mips=2500.0),),
        duration_s=301.0,
        cloudlet_pes=1,
    )


def test_what_is_left_out_is_as_in_cepsim() -> None:
    scenario = read(LONG)
    source, window, end = scenario.queries[0].vertices
    assert (source.limited, window.limits_output) == (True, True)
    assert (window.queue, window.advance_s, window.output) == (1024.0, 4.0, None)
    assert end.queue == 0.0
    assert scenario.queries[0].placement == {"in": "vm1", "sum": "vm1", "out": "vm1"}
    assert (scenario.tick_s, scenario.fidelity, scenario.scheduler) == (0.1, "cepsim", "dynamic")
    assert scenario.queries[0].edges == (ScenarioEdge("in", "sum"), ScenarioEdge("sum", "out", 0.5))


def test_limits_are_switched_off_by_the_vertex() -> None:
    text = change("rate_per_s = 10000.0", "rate_per_s = 10000.0, limited = false")
    vertices = read(change("output = 1000", "output = 1000, limit_output = false", text)).queries[0].vertices
    assert not vertices[0].limited
    assert not vertices[2].limits_output


def test_every_other_table_is_read() -> None:
    text = (
        change('fidelity = "cepsim"', 'fidelity = "corrected"\nplacements = "query"')
        .replace('scheduler = "dynamic"', 'scheduler = "micro_batch"')
        .replace("mips = 2500.0", 'mips = 2500.0\nram_mb = 512\nprice_per_hour = 0.25\ndatacentre = "dc"')
        .replace("rate_per_s = 10000.0", "rate_per_s = 1.0, sheds = true, bytes = 12, weight = 2")
        .replace("output = 1000", "output = 1000, state_bytes = 77")
    )
    scenario = read(
        text
        + """
[micro_batch]
interval_s = 2.0
overhead_s = 0.5
max_events = 100

[[datacentre]]
name = "dc"
cloud = "sky"
hosts = [{ name = "h", pes = 4, mips = 3000, ram_mb = 1024, count = 3 }]

[[link]]
source = "vm1"
target = "sky"
latency_s = 0.5
bandwidth_mbps = 10
price_per_gb = 0.1

[[change]]
at_s = 10
action = "fail"
vm = "vm1"
for_s = 5
loses = "nothing"

[[change]]
at_s = 20
action = "resize"
vm = "vm1"
pes = 4
"""
    )
    assert scenario.placements == "query"
    assert scenario.micro_batch == MicroBatch(interval_s=2.0, overhead_s=0.5, max_events=100.0)
    host = Host(name="h", pes=4, mips=3000.0, ram_mb=1024.0, count=3)
    assert scenario.datacentres == (Datacentre(name="dc", cloud="sky", hosts=(host,)),)
    assert scenario.links == (Link(source="vm1", target="sky", latency_s=0.5, bandwidth_mbps=10.0, price_per_gb=0.1),)
    assert scenario.failures == (Failure(at_s=10.0, machine="vm1", for_s=5.0, loses=False),)
    assert scenario.actions == (TimedAction(20.0, Scale(machine="vm1", engines=4)),)
    assert scenario.vms[0] == Vm(name="vm1", pes=1, mips=2500.0, ram_mb=512.0, price_per_hour=0.25, datacentre="dc")
    source, _, window = scenario.queries[0].vertices[:3]
    assert (source.sheds, source.bytes, source.weight, window.state_bytes) == (True, 12.0, 2.0, 77.0)


def test_arrivals_are_made_by_their_kind() -> None:
    text = change("rate_per_s = 10000.0", 'arrivals = { kind = "poisson", rate_per_s = 500.0, seed = 3 }')
    arrivals = read(text).queries[0].vertices[0].arrivals
    assert arrivals is not None
    assert type(arrivals).__name__ == "Poisson"
    assert arrivals.mean_rate(10.0) == 500.0


def test_queries_may_share_vertices() -> None:
    second = """
[[query]]
name = "q2"
vertices = [{ id = "end", kind = "consumer", ipe = 1000.0 }]
edges = [["q1.outlier", "end", 0.5]]
placement = "vm1"
"""
    assert read(Q1 + second).queries[1].edges == (ScenarioEdge("q1.outlier", "end", 0.5),)
    assert 'vertex "q1.outlyer" does not exist' in tell(Q1 + second.replace("q1.outlier", "q1.outlyer")).message
    copies = Q1.replace("copies = 1", "copies = 2") + second.replace('name = "q2"', 'name = "q2"\ncopies = 3')
    assert "of which there are 2" in tell(copies).message
    assert read(copies.replace("copies = 3", "copies = 2")).queries[1].copies == 2


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_examples_fit_together(path: Path) -> None:
    if "[[query]]" in path.read_text():
        check_scenario(read_scenario(path))


# What is changed in the file above, what is told, and where: the text under the carets.
MISTAKES = [
    ("duration_s = 301.0", "duration_s = ", "this is no TOML", "\n"),
    ("duration_s = 301.0", "duration_s = 301.0\nduration_s = 2.0", "this is no TOML", None),
    ("duration_s = 301.0", "", 'lacks the key "duration_s"', "[simulation]"),
    ("duration_s = 301.0", "duration = 301.0", 'no key "duration"', "duration = 301.0"),
    ("tick_s = 0.1", "tick_s = -1", "above 0 for tick_s, not -1", "tick_s = -1"),
    ("tick_s = 0.1", "tick_s = 0", "above 0", "tick_s = 0"),
    ("tick_s = 0.1", "tick_s = nan", "finite", "tick_s = nan"),
    ("tick_s = 0.1", "tick_s = 1e-9", "ticks", "tick_s = 1e-9"),
    ("tick_s = 0.1", 'tick_s = "0.1"', 'a number for tick_s, not "0.1"', 'tick_s = "0.1"'),
    ("tick_s = 0.1", "tick_s = true", "a number for tick_s, not true", "tick_s = true"),
    ("iterations = 1", "iterations = 1.5", "a whole number for iterations", "iterations = 1.5"),
    ('fidelity = "cepsim"', 'fidelity = "true"', 'unknown fidelity: "true"', 'fidelity = "true"'),
    ('scheduler = "dynamic"', 'scheduler = "dinamic"', "unknown scheduler", 'scheduler = "dinamic"'),
    ('allocation = "uniform"', 'allocation = "fair"', "unknown allocation", 'allocation = "fair"'),
    ("network_delay_s = 0.001", "network_delay_s = -0.1", "at least 0", "network_delay_s = -0.1"),
    ("[[vm]]", "[vm]", "needs a list for vm", "[vm]"),
    ("[[vm]]", '[[vm]]\nname = "vm1"\n[[vm]]', 'two of [[vm]] with the name "vm1"', 'name = "vm1"'),
    ("[simulation]", "[simulatio]", 'no key "simulatio"', "[simulatio]"),
    ("mips = 2500.0", "mips = 0", "above 0 for mips", "mips = 0"),
    ("pes = 1\nmips", "pes = 0\nmips", "from 1 to", "pes = 0"),
    ("mips = 2500.0", 'datacentre = "dc"', 'datacentre "dc" does not exist', 'datacentre = "dc"'),
    ("copies = 1", "copies = 0", "from 1 to", "copies = 0"),
    ("copies = 1", 'copies = 1\ncolour = "red"', 'no key "colour"', 'colour = "red"'),
    ("ipe = 1000.0, rate_per_s", "ipe = 0, rate_per_s", "above 0 for ipe", "ipe = 0"),
    ("rate_per_s = 10000.0", "rate_per_s = -3", "above 0 for rate_per_s", "rate_per_s = -3"),
    (", rate_per_s = 10000.0", "", 'lacks the key "rate_per_s"', '{ id = "spout", kind = "producer", ipe = 1000.0 }'),
    ("rate_per_s = 10000.0", "arrivals = 3", "must be a table, not 3", "arrivals = 3"),
    ("rate_per_s = 10000.0", 'arrivals = { kind = "no" }', 'arrivals "no"', 'arrivals = { kind = "no" }'),
    ("rate_per_s = 10000.0", "rate_per_s = 1, arrivals = {}", "both", "arrivals = {}"),
    ('id = "db", kind = "operator"', 'id = "db", kind = "operater"', "unknown kind", 'kind = "operater"'),
    (
        'id = "db", kind = "operator"',
        'id = "db"',
        'lacks the key "kind"',
        '{ id = "db", ipe = 11000000.0, queue = 2048 }',
    ),
    ('id = "db", kind = "operator"', 'id = "db", kind = "operator", window_s = 3', "no window_s", "window_s = 3"),
    ('id = "db"', 'id = "spout"', 'two vertices with the id "spout"', 'id = "spout"'),
    ("ipe = 11000000.0", "ipee = 11000000.0", 'no key "ipee"', "ipee = 11000000.0"),
    ("ipe = 11000000.0, queue = 2048", "ipe = 1.0, queue = -1", "at least 0 for queue", "queue = -1"),
    (
        "window_s = 15.0, advance_s = 15.0",
        "window_s = 5.0, advance_s = 15.0",
        "more than its length",
        "advance_s = 15.0",
    ),
    ("window_s = 15.0, advance_s", "advance_s", 'lacks the key "window_s"', None),
    ('["db", "end", 1.0] ]', '["db", "ende", 1.0] ]', 'vertex "ende" does not exist', '["db", "ende", 1.0]'),
    ('["db", "end", 1.0] ]', '["db", "end", -1.0] ]', "selectivity of -1", '["db", "end", -1.0]'),
    ('["db", "end", 1.0] ]', f'["db", "end", {10**400}] ]', "selectivity of 1000", f'["db", "end", {10**400}]'),
    ("tick_s = 0.1", f"tick_s = {10**400}", "finite", f"tick_s = {10**400}"),
    ('["db", "end", 1.0] ]', '["db", "end", true] ]', "not of the form", '["db", "end", true]'),
    ('["db", "end", 1.0] ]', '["db", "end"], ["db", "end"] ]', "twice", '["db", "end"]'),
    ('["db", "end", 1.0] ]', '["db", "end"], ["end", "db"] ]', "out of a consumer", '["end", "db"]'),
    ('["db", "end", 1.0] ]', '["db", "end"], ["db", "spout"] ]', "into a producer", '["db", "spout"]'),
    ('["db", "end", 1.0] ]', '["db", "end"], ["db", "outlier"] ]', "in a circle", None),
    (', ["db", "end", 1.0] ]', "]", '"db" of query "q1" has no edge that leads away from', None),
    (
        '["spout", "outlier", 1.0], ',
        '["spout", "average"], ',
        '"outlier" of query "q1" has no edge that leads to',
        None,
    ),
    ("vm1 = [", "vm2 = [", 'machine "vm2" does not exist', None),
    ('"db", "end"] }', '"db", "end", "ende"] }', 'vertex "ende" does not exist', None),
    (
        '"db", "end"] }',
        '"db"] }',
        'vertex "end" nowhere',
        '{ id = "end", kind = "consumer", ipe = 1000.0, queue = 2048 }',
    ),
    ('"db", "end"] }', '"db", "end", "end"] }', 'vertex "end" twice', None),
    ('{ vm1 = ["spout", "outlier", "average", "db", "end"] }', "3", "needs a placement", "placement = 3"),
    (
        'placement = { vm1 = ["spout", "outlier", "average", "db", "end"] }',
        "",
        'lacks the key "placement"',
        "[[query]]",
    ),
    (
        'scheduler = "dynamic"',
        'scheduler = "micro_batch"',
        'has no scheduler "micro_batch"',
        'scheduler = "micro_batch"',
    ),
    ("rate_per_s = 10000.0", "rate_per_s = 1.0, sheds = true", "shed", "sheds = true"),
    ("[[vm]]", "[micro_batch]\noverhead_s = 1\n[[vm]]", "no micro-batches", "[micro_batch]"),
    ("[[vm]]", '[[link]]\nsource = "vm1"\ntarget = "vm1"\nlatency_s = 1\n[[vm]]', "no links", "[[link]]"),
    (
        "[[vm]]",
        '[[link]]\nsource = "vm1"\ntarget = "vm9"\nlatency_s = 1\n[[vm]]',
        '"vm9" does not exist',
        'target = "vm9"',
    ),
    ("[[vm]]", '[[change]]\nat_s = 1\naction = "retire"\nquery = "q1"\n[[vm]]', "no changes", "[[change]]"),
    ("[[vm]]", '[[change]]\nat_s = 1\naction = "retire"\n[[vm]]', 'lacks the key "query"', "[[change]]"),
    ("[[vm]]", '[[change]]\nat_s = 1\naction = "explode"\n[[vm]]', "unknown action", 'action = "explode"'),
    ("[[vm]]", '[[change]]\nat_s = 1\naction = "fail"\nvm = "x"\n[[vm]]', 'machine "x" does not exist', 'vm = "x"'),
]


@pytest.mark.parametrize(
    ("old", "new", "told", "place"), MISTAKES, ids=[f"{n}-{m[1][:20]}" for n, m in enumerate(MISTAKES)]
)
def test_mistakes_are_told_with_their_place(old: str, new: str, told: str, place: str | None) -> None:
    problem = tell(change(old, new))
    assert problem.code == "invalid-scenario"
    assert told in problem.message
    assert "--> folder/scenario.toml:" in str(problem)
    assert problem.span is not None
    assert problem.text is not None
    if place is not None:
        assert problem.text[problem.span.start : problem.span.end] == place


def test_a_near_name_is_suggested() -> None:
    assert 'did you mean "duration_s"?' in str(tell(change("duration_s", "duration")))


def test_places_are_found_in_tables_with_headers_of_their_own() -> None:
    problem = tell(LONG.replace("ipe = 2000", "ipe = -1"))
    assert "--> folder/scenario.toml:21:1" in str(problem)
    assert "21 | ipe = -1" in str(problem)
    again = LONG[LONG.index("[[query]]") :].replace('name = "long"', 'name = "again"')
    problem = tell(LONG + again.replace("ipe = 2000", "ipe = -2"))
    assert "42 | ipe = -2" in str(problem)


def test_a_file_without_machines_or_queries_is_refused() -> None:
    assert "there is no vm" in tell("[simulation]\nduration_s = 1.0\n").message
    assert "there is no query" in tell('[simulation]\nduration_s = 1.0\n[[vm]]\nname = "a"\n').message
    assert 'lacks the key "simulation"' in tell("").message


def test_windows_are_cut_to_whole_advances_only_by_cepsim() -> None:
    text = change("advance_s = 15.0", "advance_s = 4.0")
    assert read(text).queries[0].vertices[2].advance_s == 4.0
    assert "not a whole number of advances" in tell(text.replace('"cepsim"', '"corrected"')).message
    fine = change("window_s = 15.0, advance_s = 15.0", "window_s = 0.3, advance_s = 0.1")
    assert read(fine.replace('"cepsim"', '"corrected"'))  # 0.3 / 0.1 is not quite 3


def test_fidelity_may_be_given_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(change('scheduler = "dynamic"', 'scheduler = "micro_batch"'))
    with pytest.raises(InvalidScenario, match="micro_batch"):
        read_scenario(path)
    assert read_scenario(path, fidelity="corrected").fidelity == "corrected"


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        read_scenario(tmp_path / "absent.toml")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_scenario(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_scenario(tmp_path / "bytes.toml")


def test_a_damaged_file_is_read_or_told_and_never_breaks_the_reader() -> None:
    chance = random.Random(5)
    told = []
    for text in (Q1, LONG, (EXAMPLES / "two_clouds.toml").read_text()):
        for _ in range(150):
            start = chance.randrange(len(text))
            end = min(len(text), start + chance.choice((1, 1, 2, 5, 30)))
            damaged = text[:start] + chance.choice(("", "0", '"', "[", "}", "-1", "#", "nan", "\n")) + text[end:]
            try:
                read(damaged)
            except CepheidError as problem:
                told.append(str(problem))
    assert len(told) > 100
    assert all("--> folder/scenario.toml:" in each for each in told)
