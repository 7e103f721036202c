"""What the consistency manager releases when: consistency/, figures of the thesis as text.

A case has settings, the events in the order of arrival ("b-3": of source b, at time 3), and what we expect: at each
arrival the clock and K by then, and the events that leave, those on speculation in a column of their own (they leave
after the others).  Settings: clock, the sources that define it; K, a number, if it is not the growing one; alpha;
until known, if all is speculative before something was late.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cepheid.disorder.consistency_manager import ConsistencyManager, EventName, Released
from cepheid.disorder.waits.fixed import FixedWait

sys.path.append(str(Path(__file__).parent))
from golden_files import Case, list_files, read_cases, write_cases

COLUMNS = ["arrives", "clock", "K", "deterministic", "speculative"]


def read_event(text: str) -> EventName:
    source, time = text.split("-")
    return EventName(int(time), ord(source) - ord("a"), 0)


def write_event(event: EventName) -> str:
    return f"{chr(ord('a') + event.source)}-{event.time}"


def run_case(case: Case) -> str:
    settings = case.settings
    manager = ConsistencyManager(
        [ord(source) - ord("a") for source in settings["clock"].split()],
        FixedWait(int(settings["K"])) if "K" in settings else None,
        until_known="until known" in settings,
    )
    manager.speculation = float(settings.get("alpha", 1))
    rows = [COLUMNS]
    for text in case.query.split():
        released = manager.take(read_event(text))
        rows.append([text, str(manager.clock), str(manager.k_us), *describe_released(released)])
        assert all((each.clock, each.k_us) == (manager.clock, manager.k_us) for each in released)
    rows.append(["end", "", "", *describe_released(manager.finish())])
    widths = [max(len(row[number]) for row in rows) for number in range(len(COLUMNS))]
    return "\n".join(" | ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def describe_released(released: list[Released]) -> list[str]:
    assert [each.event for each in released] == sorted(each.event for each in released)
    settled, guessed = (
        " ".join(write_event(each.event) for each in released if each.is_deterministic is flag)
        for flag in (True, False)
    )
    return [settled, guessed]


@pytest.mark.parametrize("path", list_files("consistency"))
def test_consistency(path: Path, request: pytest.FixtureRequest) -> None:
    cases = read_cases(path)
    found = [run_case(case) for case in cases]
    if request.config.getoption("--golden-update"):
        path.write_text(write_cases([replace(case, expected=each) for case, each in zip(cases, found, strict=True)]))
    assert found == [case.expected for case in read_cases(path)]
