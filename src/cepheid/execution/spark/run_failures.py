"""What stopped a streaming query, in a line: Spark's text has Java's stack, Python's, and the plan."""

from __future__ import annotations

import re

from cepheid.errors import CepheidError, RunFailed

OURS = re.compile(r"error\[(?P<code>[\w-]+)\]: (?P<message>.+?)(?:\n\s*\nhint: (?P<hint>[^\n]+)|\n|$)", re.DOTALL)
BEFORE = (" terminated with exception: ", "most recent failure: ")
LOST_TASK = re.compile(r"^Lost task [^:]*: ")
CLASS = re.compile(r"^(?:[a-z]\w*\.)+[A-Z][\w$]*: ")
LONGEST = 400


def tell_failure(query: str, said: str, log: str | None) -> CepheidError:
    """said: all that Spark has to say.  log: where the rest is."""
    more = f"the whole of it is in {log}" if log else "the log of Spark has the whole of it"
    ours = OURS.search(said)
    if ours is not None:
        return RunFailed(f'query "{query}" failed: {ours["message"].splitlines()[0]}', hint=ours["hint"] or more)
    return RunFailed(f'query "{query}" failed: {find_reason(said)}', hint=more)


def find_reason(said: str) -> str:
    """The first line of the innermost cause that Spark's text begins with."""
    text = said
    for mark in BEFORE:
        _, found, behind = text.partition(mark)
        text = behind if found else text
    text = next((line.strip() for line in text.splitlines() if line.strip()), "it says nothing")
    text = CLASS.sub("", LOST_TASK.sub("", text)).partition(" SQLSTATE:")[0]
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def read_java_text(problem: Exception) -> str:
    """py4j puts its own words in front, and Java's in the lines behind."""
    lines = [line for line in str(problem).splitlines() if not line.startswith(("An error occurred", "\tat "))]
    return "\n".join(lines).removeprefix(": ")
