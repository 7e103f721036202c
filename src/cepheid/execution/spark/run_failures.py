"""What stopped a streaming query, in a line: Spark's text has Java's stack, Python's, and the plan."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from cepheid.errors import CepheidError, RunFailed
from cepheid.execution.spark.checkpoint_files.damage import diagnose, explain_damage
from cepheid.execution.spark.checkpoint_files.layout import Checkpoint, find_local

OURS = re.compile(r"error\[(?P<code>[\w-]+)\]: (?P<message>.+?)(?:\n\s*\nhint: (?P<hint>[^\n]+)|\n|$)", re.DOTALL)
BEFORE = (" terminated with exception: ", "most recent failure: ")
LOST_TASK = re.compile(r"^Lost task [^:]*: ")
CLASS = re.compile(r"^(?:[a-z]\w*\.)+[A-Z][\w$]*: ")
LONGEST = 400
FULL_DISK = re.compile("No space left on device|Disk quota exceeded|not enough space on the disk", re.IGNORECASE)
UNREADABLE = re.compile(
    "Checksum error|CANNOT_LOAD_STATE_STORE|CANNOT_READ_(?:STREAMING_)?STATE_FILE|Incomplete log file|Malformed|"
    "does not exist|EOF|corrupt|FAILED_TO_.*CHECKPOINT|batchMetadata",
    re.IGNORECASE,
)


def tell_failure(query: str, said: str, log: str | None, checkpoint: str | None = None) -> CepheidError:
    """said: all that Spark has to say.  log: where the rest is.  checkpoint: of the query."""
    more = f"the whole of it is in {log}" if log else "the log of Spark has the whole of it"
    local = None if checkpoint is None else find_local(checkpoint)
    if FULL_DISK.search(said) and local is not None:
        return _tell_full_disk(query, local)
    if UNREADABLE.search(said) and local is not None and (local / "offsets").is_dir():
        found = Checkpoint(local)
        damaged = diagnose(found).damaged
        if damaged:
            problem = explain_damage(found, damaged)
            return RunFailed(f'query "{query}" failed: {problem.message}', hint=problem.hint)
    ours = OURS.search(said)
    if ours is not None:
        return RunFailed(f'query "{query}" failed: {ours["message"].splitlines()[0]}', hint=ours["hint"] or more)
    return RunFailed(f'query "{query}" failed: {find_reason(said)}', hint=more)


def _tell_full_disk(query: str, checkpoint: Path) -> RunFailed:
    free = shutil.disk_usage(checkpoint).free / 1e6 if checkpoint.is_dir() else 0.0
    return RunFailed(
        f'query "{query}" failed: a disk is full; there are {free:.1f} MB left for its checkpoint, "{checkpoint}"',
        hint="make room (there, where the sink writes, or in Spark's folder for temporary files) and start it again: "
        "it goes on behind the last batch that is done, and nothing is lost",
    )


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
