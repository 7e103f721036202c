"""One list of actions, carried out by a live session and by a simulated one."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # the cases lie beside it
from cases import CHANGED, SECOND, Case, run_live, simulate_sql

import cepheid as cep

ACTIONS = [
    cep.TimedAction(1.0, cep.Deploy(name="second", query=SECOND)),
    cep.TimedAction(2.0, cep.Alter(name="first", query=CHANGED)),
    cep.TimedAction(2.5, cep.Scale(engines=2)),
    cep.TimedAction(4.0, cep.Retire(name="second")),
    cep.TimedAction(5.0, cep.Deploy(name="second")),
    cep.TimedAction(6.0, cep.Retire(name="first")),
]


def replay_on(case: Case) -> tuple[list[cep.TimedAction], list[set[str]]]:
    """What was applied, and which queries were at work before each action, and in the end."""
    seen: list[set[str]] = []

    def advance_to(time_s: float) -> None:
        case.advance_to(time_s)
        working = {each.query for each in case.deployment.observe().queries if each.throughput_per_s > 0.0}
        seen.append(working)

    applied = cep.replay(ACTIONS, case.deployment, advance_to)
    advance_to(8.0)
    return applied, seen


def test_a_list_of_actions_is_applied_alike(tmp_path: Path) -> None:
    live, seen_live = replay_on(run_live(tmp_path))
    simulated, seen_simulated = replay_on(simulate_sql(tmp_path))
    assert [each.action for each in live] == [each.action for each in simulated] == [each.action for each in ACTIONS]
    for asked, one, other in zip(ACTIONS, live, simulated, strict=True):
        assert abs(one.at_s - asked.at_s) < 0.5
        assert abs(other.at_s - asked.at_s) < 0.5
    assert seen_live[-1] == seen_simulated[-1] == {"second"}
