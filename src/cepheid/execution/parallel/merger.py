"""The merger: one stream of matches out of the findings of all instances.

    findings ─▶ windows that found the same match are counted ─▶ sorted ─▶ insert, retract

Windows overlap, and several may find one match: it is there as long as one of them has it.  A match is told by its
events and its value; its id is made of its events alone, so that the same match found again has the same id, and each
change of an id has a higher version than the one before.  (An operator whose value does not follow from the events can
have two matches with one id at a time; a value that only changes is a retract and an insert of one id.)

Findings wait until they are released, and what cancels out until then is never said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.messages import Finding, Match


@dataclass(frozen=True, slots=True)
class MatchChange:
    """version: grows with each change of the same id."""

    id: str
    version: int
    match: Match
    retracted: bool


@dataclass(slots=True)
class _Standing:
    windows: int = 0  # that have the match now
    said: bool = False  # is it there, for those who listen?


class Merger:
    def __init__(self) -> None:
        self._matches: dict[Match, _Standing] = {}
        self._versions: dict[tuple[EventName, ...], int] = {}
        self._touched: set[Match] = set()

    def take(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            standing = self._matches.setdefault(finding.match, _Standing())
            standing.windows += -1 if finding.retracted else 1
            self._touched.add(finding.match)

    def release(self, up_to: EventName | None = None) -> list[MatchChange]:
        """What has changed, in the order of the last events of the matches, retracts before inserts of one id.  up_to:
        matches that end behind it wait on; None: none does."""
        ready = [match for match in self._touched if up_to is None or match.events[-1] <= up_to]
        changed = [match for match in ready if self._differs(match)]
        changed.sort(key=lambda match: (match.events[-1], match.events, self._matches[match].windows > 0))
        out = [self._say(match) for match in changed]
        for match in ready:
            self._touched.discard(match)
            if not self._matches[match].windows:
                del self._matches[match]
        return out

    def forget(self, before: EventName) -> None:
        """No window that may still change has an event before this one: matches that ended there stay as they are."""
        for match in [each for each in self._matches if each.events[-1] < before and each not in self._touched]:
            del self._matches[match]
        for events in [each for each in self._versions if each[-1] < before]:
            del self._versions[events]

    def __len__(self) -> int:
        """Matches that are known."""
        return len(self._matches)

    def _differs(self, match: Match) -> bool:
        standing = self._matches[match]
        return (standing.windows > 0) != standing.said

    def _say(self, match: Match) -> MatchChange:
        standing = self._matches[match]
        standing.said = not standing.said
        version = self._versions[match.events] = self._versions.get(match.events, 0) + 1
        return MatchChange(name_match(match.events), version, match, retracted=not standing.said)


def name_match(events: tuple[EventName, ...]) -> str:
    """The same events, the same id: in every run, on every machine."""
    told = ";".join(f"{event.time},{event.source},{event.sequence}" for event in events)
    return blake2b(told.encode(), digest_size=16).hexdigest()
