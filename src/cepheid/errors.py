"""Everything that can go wrong because of what a user gave us, and how it is told.

    error[unknown-column]: column "dely" does not exist in "buses"
      --> query:3:14
      3 |   DEFINE a AS a.dely > 60
        |                 ^^^^

    hint: did you mean "delay"? Known: bus, delay, ts

Each class owns its code and its sentence; whoever raises it supplies values and a place.  The text of the
query is attached at the edge (`CepheidError.with_text`), so that inner layers only carry offsets.
A broken invariant of ours is an `AssertionError`, never one of these.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets in the text of a query."""

    start: int
    end: int


LONGEST_LINE = 300
Where = tuple[str | int, ...]  # the way to a value from the top of a file: ("query", 2, "vertices", 0, "ipe")


class CepheidError(Exception):
    """A mistake in the input, told with a code, the value, the place and one next step."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint
        self.text: str | None = None
        self.origin = "query"

    def with_text(self, text: str, origin: str = "query") -> Self:
        """Attach the text that the span points into; the first text attached stays."""
        if self.text is None:
            self.text, self.origin = text, origin
        return self

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.message}"]
        if self.text is not None and self.span is not None:
            lines += draw_place(self.text, self.span, self.origin)
        if self.hint:
            lines += ["", f"hint: {self.hint}"]
        return "\n".join(lines)


def draw_place(text: str, span: Span, origin: str) -> list[str]:
    """The line that the span starts in, with carets under it."""
    start = min(max(span.start, 0), len(text))
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    number = text.count("\n", 0, start) + 1
    column = start - line_start
    shown, place = _clip_line(line, column)
    end = min(_close_call(text, start, span.end), line_start + len(line))
    width = max(1, min(end - start, len(shown) - place))
    gutter = len(str(number))
    padding = "".join("\t" if character == "\t" else " " for character in shown[:place])
    return [
        f"{' ' * gutter} --> {origin}:{number}:{column + 1}",
        f"{number} | {shown}",
        f"{' ' * gutter} | {padding}{'^' * width}",
    ]


def _clip_line(line: str, column: int) -> tuple[str, int]:
    """What is shown of a line, and where the column is in that: of a very long one, what stands around it."""
    if len(line) <= LONGEST_LINE:
        return line, column
    first = max(0, min(column - LONGEST_LINE // 3, len(line) - LONGEST_LINE))
    last = first + LONGEST_LINE
    before, after = "..." if first else "", "..." if last < len(line) else ""
    return f"{before}{line[first:last]}{after}", column - first + len(before)


def _close_call(text: str, start: int, end: int) -> int:
    """The place of a call ends behind its last argument: go on to the parenthesis that closes it."""
    for _ in range(text.count("(", start, end) - text.count(")", start, end)):
        if text[end : end + 1] != ")":
            break
        end += 1
    return end


def suggest_name(wrong: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known name and lists what there is."""
    names = list(known)
    lowered = {name.lower(): name for name in names}
    near = difflib.get_close_matches(wrong.lower(), lowered, n=1)
    listing = f"Known: {', '.join(names)}" if names else "There are none"
    return f'did you mean "{lowered[near[0]]}"? {listing}' if near else listing


class SyntaxProblem(CepheidError):
    code = "syntax"


class NotSupportedYet(CepheidError):
    """A valid construct that no release can run so far."""

    code = "not-supported-yet"

    def __init__(self, construct: str, *, span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(f"{construct} is not supported yet", span=span, hint=hint)
        self.construct = construct


class UnknownStream(CepheidError):
    code = "unknown-stream"

    def __init__(self, name: str, known: Iterable[str], *, span: Span | None = None) -> None:
        super().__init__(f'stream "{name}" does not exist', span=span, hint=suggest_name(name, known))


class UnknownColumn(CepheidError):
    code = "unknown-column"

    def __init__(self, name: str, owner: str, known: Iterable[str], *, span: Span | None = None) -> None:
        super().__init__(f'column "{name}" does not exist in "{owner}"', span=span, hint=suggest_name(name, known))

    def with_text(self, text: str, origin: str = "query") -> Self:
        """Who writes "x" often means the text 'x', as in other languages."""
        written = text[self.span.start : self.span.end] if self.span is not None else ""
        if self.text is None and written.startswith('"') and self.hint and "did you mean" not in self.hint:
            self.hint = (
                f"text stands in single quotes, '{written.strip(chr(34))}'; else {self.hint[:1].lower()}{self.hint[1:]}"
            )
        return super().with_text(text, origin)


class UnknownVariable(CepheidError):
    code = "unknown-variable"

    def __init__(self, name: str, known: Iterable[str], *, span: Span | None = None) -> None:
        super().__init__(
            f'pattern variable "{name}" does not occur in PATTERN', span=span, hint=suggest_name(name, known)
        )


class TypeMismatch(CepheidError):
    code = "type-mismatch"


class InvalidWithin(CepheidError):
    code = "invalid-within"


class InvalidWindow(CepheidError):
    code = "invalid-window"


class InvalidOrder(CepheidError):
    """ORDER BY is missing, or is not something that orders events."""

    code = "invalid-order"


class InvalidQuery(CepheidError):
    """A query that parses but breaks a rule of the language."""

    code = "invalid-query"


class InvalidInput(CepheidError):
    """A table, batch, schema, file or setting handed to us that does not fit.

    where: in a file, the way to the mistake; whoever has the text of the file finds the place.
    """

    code = "invalid-input"

    def __init__(self, message: str, *, where: Where = (), span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(message, span=span, hint=hint)
        self.where = where


class UnknownKind(InvalidInput):
    """A source or a sink that no kind recognises."""

    code = "unknown-kind"

    def __init__(self, what: str, name: str, given: object, known: Iterable[str]) -> None:
        shown = f'"{given}"' if isinstance(given, str) else f"a {type(given).__name__}"
        super().__init__(
            f'the {what} of "{name}" is {shown}, which is of no known kind', hint=f"known kinds: {'; '.join(known)}"
        )


class InvalidScenario(InvalidInput):
    """A scenario of the simulator that does not fit together."""

    code = "invalid-scenario"


class UnboundedState(CepheidError):
    code = "unbounded-state"


class MatchFailure(CepheidError):
    """A rule of row pattern matching was broken by the data while the query ran."""

    code = "match-failure"


class PatternTooCostly(CepheidError):
    code = "pattern-too-costly"


class SnapshotMismatch(CepheidError):
    code = "snapshot-mismatch"


class DatabaseAway(CepheidError):
    """A database that a query joins with does not answer."""

    code = "database-away"

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f'database "{address}" does not answer: {reason}',
            hint='see that it runs and can be reached; when_away="wait" or "null" lets queries go on',
        )


class RunFailed(CepheidError):
    """An application that was running stopped by itself; the log has the rest of what is known."""

    code = "run-failed"


class SinkFailed(CepheidError):
    """Rows of a query could not be written."""

    code = "sink-failed"

    def __init__(self, sink: str, query: str, reason: str, hint: str | None) -> None:
        super().__init__(
            f'sink "{sink}" of query "{query}" failed: {reason}',
            hint=hint or "mend it and run again: what was not written is written then, and nothing twice",
        )


class DriverMissing(CepheidError):
    """A database needs a package that is not installed."""

    code = "driver-missing"

    def __init__(self, database: str, package: str, extra: str) -> None:
        super().__init__(
            f'{database} is asked through the package "{package}", which is not installed',
            hint=f'pip install "cepheid[{extra}]"',
        )


class MissingExtra(CepheidError):
    """Something needs a package that comes with an extra (`cepheid.extras`), and that is not installed."""

    code = "missing-extra"

    def __init__(self, purpose: str, package: str, extra: str) -> None:
        super().__init__(
            f'{purpose} needs the package "{package}", which is not installed',
            hint=f'pip install "cepheid[{extra}]"',
        )


class JavaMissing(CepheidError):
    """The machine has no Java that Spark can run on."""

    code = "java-missing"

    def __init__(self, oldest: int, too_old: Iterable[str]) -> None:
        found = ", ".join(too_old)
        super().__init__(
            f"Spark needs Java {oldest} or newer, and this machine has {found or 'none'}",
            hint='install Java 17 or 21, or let pip bring one: pip install "cepheid[java]"',
        )


class WorkersUnfit(CepheidError):
    """No Python on the executors of a cluster can run what would be sent to them."""

    code = "workers-unfit"

    def __init__(self, master: str, problems: Mapping[str, str], version: str, needed: Iterable[str]) -> None:
        told = "; ".join(f'"{python}": {problem}' for python, problem in problems.items())
        super().__init__(
            f'the workers of "{master}" cannot run Cepheid: {told}',
            hint=f"give them a Python {version} with {', '.join(needed)} (Cepheid itself is shipped): install it on "
            "every machine and set PYSPARK_PYTHON to its path before the session is started, or ship an environment "
            "made with venv-pack or conda-pack: spark.archives=environment.tar.gz#environment, "
            "PYSPARK_PYTHON=./environment/bin/python",
        )


class UnboundedStateWarning(UserWarning):
    """The state of a continuous query can grow without end."""


class RowsAtTheEndWarning(UserWarning):
    """Rows of a continuous query may always change, so that they come when it is finished."""


class EmptyStateWarning(UserWarning):
    """A query was opened with a snapshot that does not know it."""


class WaitingStreamWarning(UserWarning):
    """Many events wait because a stream that they are put in order with says nothing."""


class RejectedEventsWarning(UserWarning):
    """Some events had no place in the order (null or NaN there) and took no part."""


class WorkerPythonWarning(UserWarning):
    """Spark's workers run a Python of which nothing is known."""
