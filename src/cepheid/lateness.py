"""What users say of late events: three knobs that do not hang together.

    cep.Disorder(wait="2 s", bound="10 minutes", emit="changes")
                   │            │                   └ what comes out: what is final, or every change
                   │            └ how far back a late event still corrects; decides how much is kept
                   └ how long events are held back: a time, a rule that follows the stream, or recall=0.999

An event waits until none that is older is expected (`wait`).  One that comes later than that, but within `bound`, is
put where it belongs, and what was given out is taken back and given anew (`emit="changes"`), or stays as it is and the
event counts where nothing was given out yet (`emit="final"`).  Beyond `bound` it is late: counted, and kept for whoever
asks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal, get_args

from cepheid.errors import InvalidInput, suggest_name
from cepheid.settings import EmitName, Settings, Waiting, WaitRule
from cepheid.spans import Span, read_span

WAIT_HINT = f'wait="2 s", timedelta(seconds=2), or a rule: {", ".join(get_args(WaitRule))}'


@dataclass(frozen=True, kw_only=True)
class Disorder:
    """wait: how long events are held back: a time; "recall": as long as `recall` asks for; "quantile": as `recall` asks
    for of the last 100,000 events, without being held to it; "maximum": as long as the latest of the last 10,000 events
    was late; "growing": as long as the latest event so far was.  None: as `recall` and `max_wait` say, or, with
    neither, as long as `bound` (`emit="final"`) or not at all (`emit="changes"`).

    recall: the share of rows that is to be right when it is given out first.  max_wait: no event waits for longer.
    bound: how old an event may be that is still taken in; None: no older than what is waited for.  emit: "final" or
    "changes".  speculation: the share of the wait that events are really held, between 0 (they are not) and 1;
    "adaptive": as the load allows.
    """

    wait: Span | WaitRule | None = None
    bound: Span | None = None
    emit: EmitName = "final"
    recall: float | None = None
    max_wait: Span | None = None
    speculation: float | Literal["adaptive"] = 1.0

    def __post_init__(self) -> None:
        """What cannot be is told where it is written."""
        if self.emit not in get_args(EmitName):
            raise InvalidInput(f"emit is {self.emit!r}", hint=f"give one of {', '.join(get_args(EmitName))}")
        waiting, bound = self.read_waiting(), self.read_bound()
        if bound is not None and waiting.rule == "fixed" and waiting.span > bound:
            hint = "what is waited for must be within the bound: make wait shorter, or bound longer"
            raise InvalidInput(f"wait is {waiting.span}, which is longer than bound, {bound}", hint=hint)
        if bound is None and waiting.rule != "fixed" and self.emit == "changes":
            hint = 'how far back late events still correct: bound="10 minutes"'
            raise InvalidInput('emit="changes" needs a bound where the wait follows the stream', hint=hint)
        if self.emit == "final" and self.speculation != 1.0:
            hint = 'emit="changes" takes back what was given out too early'
            raise InvalidInput('speculation needs emit="changes"', hint=hint)

    def read_bound(self) -> timedelta | None:
        hint = 'bound="10 minutes", timedelta(minutes=10)'
        return None if self.bound is None else read_span(self.bound, "bound", hint, may_be_zero=True)

    def read_waiting(self) -> Waiting:
        recall = self._read_recall()
        max_wait = None
        if self.max_wait is not None:
            max_wait = read_span(self.max_wait, "max_wait", 'max_wait="2 s"', may_be_zero=True)
        rule, span = self._read_wait(recall is not None or max_wait is not None)
        if rule == "fixed" and (recall is not None or max_wait is not None):
            name = "max_wait" if recall is None else "recall"
            hint = f"leave one of them out: {name} is for waits that follow the stream"
            raise InvalidInput(f"wait is {self.wait!r} and {name} is given", hint=hint)
        if rule in ("growing", "maximum") and recall is not None:
            hint = 'wait="recall", or leave recall out'
            raise InvalidInput(f'wait="{rule}" waits for the latest event, whatever recall is', hint=hint)
        return Waiting(
            rule=rule, span=span, recall=recall or 0.999, max_wait=max_wait, speculation=self._read_speculation()
        )

    def choose(self, settings: Settings) -> Settings:
        """Settings with what was said here."""
        waiting, bound = self.read_waiting(), self.read_bound()
        is_fixed = waiting.rule == "fixed"
        if is_fixed and bound is None:
            bound = waiting.span
        chosen = replace(settings, emit=self.emit, lateness=bound, waiting=waiting)
        return replace(chosen, wait=waiting.held) if is_fixed else chosen

    def _read_wait(self, follows: bool) -> tuple[WaitRule, timedelta]:
        wait = self.wait
        if wait is None and follows:
            return "recall", timedelta(0)
        if wait is None:
            bound = self.read_bound() or timedelta(0)
            return "fixed", bound if self.emit == "final" else timedelta(0)
        if isinstance(wait, str) and wait in get_args(WaitRule) and wait != "fixed":
            return wait, timedelta(0)  # type: ignore[return-value]  # it is among them
        if isinstance(wait, str) and not any(character.isdigit() for character in wait):
            hint = suggest_name(wait, [rule for rule in get_args(WaitRule) if rule != "fixed"]) or WAIT_HINT
            raise InvalidInput(f"wait is {wait!r}, which is no rule and no span of time", hint=hint)
        return "fixed", read_span(wait, "wait", WAIT_HINT, may_be_zero=True)

    def _read_recall(self) -> float | None:
        recall: object = self.recall
        if recall is None:
            return None
        if not isinstance(recall, float | int) or isinstance(recall, bool) or not 0 < recall < 1:
            raise InvalidInput(f"recall is {recall!r}", hint="the share of rows that is right: recall=0.999")
        return float(recall)

    def _read_speculation(self) -> float | None:
        given: object = self.speculation
        if given == "adaptive":
            return None
        if not isinstance(given, float | int) or isinstance(given, bool) or not 0 <= given <= 1:
            hint = 'from 0 (nothing waits) to 1 (all of the wait), or "adaptive"'
            raise InvalidInput(f"speculation is {given!r}", hint=hint)
        return float(given)


def check_disorder(given: object, lateness: object = None, emit: object = None) -> Disorder:
    """lateness, emit: what was given beside it, which it says itself."""
    if not isinstance(given, Disorder):
        hint = 'disorder=cep.Disorder(wait="2 s", bound="10 minutes")'
        raise InvalidInput(f"disorder is a {type(given).__name__}", hint=hint)
    for name, value, instead in (("lateness", lateness, "bound"), ("emit", emit, "emit")):
        if value is not None:
            raise InvalidInput(f"disorder and {name} are given", hint=f"leave {name} out: Disorder({instead}=...)")
    return given
