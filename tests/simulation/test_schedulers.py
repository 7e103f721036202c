"""Slices, schedulers, allocation, order: the published vectors 38 to 43 and 53."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # what is shared lies beside this file
import pytest
from wired_vertices import near

from cepheid.errors import InvalidInput
from cepheid.simulation.allocation import Share, find_allocation
from cepheid.simulation.placement_order import order_placement
from cepheid.simulation.reference.schedulers import find_scheduler
from cepheid.simulation.reference.schedulers.dynamic import schedule_dynamically as dynamic_steps
from cepheid.simulation.reference.schedulers.simple import schedule_simply as simple_steps
from cepheid.simulation.reference.scheduling import Turn
from cepheid.simulation.reference.slices import Arrival, Slice

Told = tuple[float, ...] | str  # vertex, from, to, instructions; or the message that arrives


def show(step: Slice | Arrival[str]) -> Told:
    if isinstance(step, Arrival):
        return step.message
    return (step.vertex, step.start, step.end, step.instructions)


def arrive(*times: float) -> list[Arrival[str]]:
    return [Arrival(time, f"at {time:g}") for time in times]


# ------------------------------------------------------------------------------------------------- slices, simple


def test_a_split_divides_instructions_by_time() -> None:
    assert [show(half) for half in Slice(0, 10, 20, 100_000).split(15)] == [(0, 10, 15, 50_000), (0, 15, 20, 50_000)]
    first, second = Slice(0, 0, 100, 1000).split(30)
    assert (first.instructions, second.instructions) == near(300, 700)


def schedule_simply(*arrivals: float) -> list[Told]:
    """Capacity 1 MIPS; three vertices with 200, 600, 200 thousand instructions."""
    turn = Turn(0.0, 1e6, 1.0, [200_000.0, 600_000.0, 200_000.0], lambda _: 0.0, arrive(*arrivals))
    return [show(step) for step in simple_steps(turn)]


FIRST, SECOND, THIRD = (0, 0, 200, 200_000), (1, 200, 800, 600_000), (2, 800, 1000, 200_000)
HALVES = [(0, 0, 100, 100_000), "at 100", (0, 100, 200, 100_000)]


def test_everyone_gets_all_of_its_time_needed_or_not() -> None:
    assert schedule_simply() == [FIRST, SECOND, THIRD]


@pytest.mark.parametrize(
    ("arrivals", "steps"),
    [
        ((800,), [FIRST, SECOND, "at 800", THIRD]),
        ((0,), ["at 0", FIRST, SECOND, THIRD]),
        ((100,), [*HALVES, SECOND, THIRD]),
        ((0, 100, 800), ["at 0", *HALVES, SECOND, "at 800", THIRD]),
        ((200,), [FIRST, "at 200", SECOND, THIRD]),
        ((1000,), [FIRST, SECOND, THIRD, "at 1000"]),
    ],
)
def test_an_arrival_goes_between_slices_or_splits_one(arrivals: tuple[float, ...], steps: list[Told]) -> None:
    assert schedule_simply(*arrivals) == steps


def test_a_second_arrival_in_a_slice_waits_for_its_end() -> None:
    assert schedule_simply(100, 150) == [*HALVES, "at 150", SECOND, THIRD]


# ------------------------------------------------------------------------------------------------------- dynamic


class Needs:
    """What vertices need; `gains`: after how many slices a vertex is given more work."""

    def __init__(self, *needs: float, gains: dict[int, tuple[int, float]] | None = None) -> None:
        self.needs, self.gains, self.slices = list(needs), gains or {}, 0

    def take(self, step: Slice) -> None:
        self.needs[step.vertex] -= step.instructions
        self.slices += 1
        if self.slices in self.gains:
            vertex, more = self.gains[self.slices]
            self.needs[vertex] += more


def schedule_dynamically(most: Sequence[float], needs: Needs, *arrivals: float) -> list[Told]:
    """Ten instructions in a millisecond, 1000 in all."""
    turn = Turn(0.0, 1000.0, 0.01, list(most), lambda vertex: needs.needs[vertex], arrive(*arrivals))
    steps = []
    for step in dynamic_steps(turn):
        steps.append(show(step))
        if isinstance(step, Slice):
            needs.take(step)
    return steps


def test_everyone_gets_what_it_needs_or_its_most() -> None:
    steps = schedule_dynamically((250, 250, 100, 250), Needs(250, 250, 250, 200))
    assert steps[:4] == [(0, 0, 25, 250), (1, 25, 50, 250), (2, 50, 60, 100), (3, 60, 80, 200)]
    assert steps[4:] == [(2, 80, 90, 100), (2, 90, 95, 50)]


BUSY = [(0, 0, 15, 150), (1, 15, 30, 150), (2, 30, 55, 250), (3, 55, 60, 50)]


def test_what_is_left_goes_round_until_nothing_is_left() -> None:
    steps = schedule_dynamically([250] * 4, Needs(150, 150, 750, 50, gains={5: (3, 50)}))
    assert steps == [*BUSY, (2, 60, 85, 250), (3, 85, 90, 50), (2, 90, 100, 100)]


def test_less_than_an_instruction_is_not_worth_a_run() -> None:
    ((vertex, *_, instructions),) = schedule_dynamically([250] * 2, Needs(1.0, 1.001))
    assert (vertex, instructions) == (1, 1.001)


def test_an_arrival_inside_a_slice_splits_it() -> None:
    steps = schedule_dynamically([250] * 4, Needs(100, 100, 50, 50), 15)
    assert steps == [(0, 0, 10, 100), (1, 10, 15, 50), "at 15", (1, 15, 20, 50), (2, 20, 25, 50), (3, 25, 30, 50)]


def test_an_arrival_is_seen_when_nobody_has_work() -> None:
    assert schedule_dynamically([250], Needs(0), 0) == ["at 0"]
    assert schedule_dynamically([250], Needs(0), 40, 60) == ["at 40", "at 60"]


def test_arrivals_between_and_inside_slices() -> None:
    steps = schedule_dynamically([250] * 4, Needs(150, 150, 750, 50, gains={6: (3, 50)}), 30, 70, 90)
    assert steps == [
        *BUSY[:2], "at 30", *BUSY[2:],
        (2, 60, 70, 100), "at 70", (2, 70, 85, 150), (3, 85, 90, 50), "at 90", (2, 90, 100, 100),
    ]  # fmt: skip


def test_work_that_arrives_is_begun_when_it_arrives() -> None:
    needs = Needs(0)
    turn = Turn(0.0, 1000.0, 0.01, [250.0], lambda vertex: needs.needs[vertex], arrive(40))
    steps = []
    for step in dynamic_steps(turn):
        steps.append(show(step))
        if isinstance(step, Slice):
            needs.take(step)
        else:
            needs.needs[0] = 100
    assert steps == ["at 40", (0, 40, 50, 100)]


def test_unknown_names_are_told() -> None:
    for find in (find_scheduler, find_allocation):
        search: Callable[[str], object] = find
        with pytest.raises(InvalidInput, match="dynamik"):
            search("dynamik")


def test_a_scheduler_is_lazy() -> None:
    """Steps are decided one by one, after the effects of those before."""
    asked: list[int] = []
    steps = dynamic_steps(Turn(0.0, 1000.0, 0.01, [250.0, 250.0], lambda vertex: asked.append(vertex) or 100.0))
    next(steps)
    assert asked == [0]


# ---------------------------------------------------------------------------------------------------- allocation


def allot(name: str, instructions: float, shares: list[Share]) -> list[float]:
    return [part * (instructions / whole) for part, whole in find_allocation(name)(shares)]


def chain(query: int, *ipes: float) -> list[Share]:
    return [Share(ipe, 1.0, (query,)) for ipe in ipes]


def test_uniform_gives_everyone_the_same() -> None:
    assert allot("uniform", 1200, chain(0, 1, 2, 3, 4, 5, 6)) == [200] * 6


def test_weighted_gives_by_cost() -> None:
    assert allot("weighted", 1000, chain(0, 10, 80, 10)) == near(100, 800, 100)


def test_weighted_gives_every_query_the_same() -> None:
    assert allot("weighted", 1000, chain(0, 10, 80, 10) + chain(1, 10, 80, 10)) == near(50, 400, 50, 50, 400, 50)


def test_what_is_shared_gets_a_part_from_each_of_its_queries() -> None:
    shared = Share(80, 1.0, (0, 1))
    ends = chain(0, 10, 10) + chain(1, 10, 10)
    assert allot("weighted", 1000, [shared, *ends]) == near(800, 50, 50, 50, 50)


def test_weights_multiply_costs() -> None:
    shares = [Share(ipe, weight, (0,)) for ipe, weight in ((10, 1), (50, 1), (25, 5), (10, 5))]
    assert allot("weighted", 10_000, shares) == near(425.5319, 2127.6596, 5319.1489, 2127.6596)


# --------------------------------------------------------------------------------------------------------- order


def order(edges: str, members: str = "", waits_for_all: bool = True) -> list[str]:
    """edges: "a-b a-c"; members: all, if nothing is said."""
    pairs = [edge.split("-") for edge in edges.split()]
    here = members.split() or list(dict.fromkeys(name for pair in pairs for name in pair))
    return order_placement(
        here,
        lambda name: [a for a, b in pairs if b == name],
        lambda name: [b for a, b in pairs if a == name],
        str,
        waits_for_all,
    )


def test_a_merge_comes_after_all_that_it_merges() -> None:
    assert order("p1-s1 s1-f1 s1-f2 f1-m1 f2-m1 p2-m1 m1-c1 m1-c2") == ["p1", "p2", "s1", "f1", "f2", "m1", "c1", "c2"]
    assert order("p1-f1 p2-f2 f2-f3 f1-m1 f3-m1 m1-c1") == ["p1", "p2", "f1", "f2", "f3", "m1", "c1"]


def test_names_are_sorted_as_text() -> None:
    assert order("p2-a p10-b p1-c") == ["p1", "p10", "p2", "c", "b", "a"]


def test_copies_go_level_by_level() -> None:
    assert order("p1-f1 f1-c1 p2-f2 f2-c2") == ["p1", "p2", "f1", "f2", "c1", "c2"]


def test_a_vertex_joins_as_soon_as_all_before_it_are_listed() -> None:
    """Not only when one of them is looked at: `y` waits for `x`, which is listed with it in sight, and joins next."""
    assert order("a-x a-y x-y b-z b-w") == ["a", "b", "x", "y", "z", "w"]
    assert order("a-y a-x x-y b-z") == ["a", "b", "x", "y", "z"]


def test_networked_q1_begins_with_its_end() -> None:
    edges = "spout-outlier outlier-average average-db db-end"
    assert order(edges, "spout outlier average end") == ["end", "spout", "outlier", "average"]
    assert order(edges, "db") == ["db"]


def test_a_vertex_with_predecessors_here_and_elsewhere_never_runs_in_cepsim() -> None:
    assert order("p-m far-m m-c", "p m c") == ["p"]
    assert order("p-m far-m m-c", "p m c", waits_for_all=False) == ["p", "m", "c"]
