"""Run by executors as a program of its own, `python -c`: what this Python is, and what it has.

    what is asked, as JSON, in the first argument ─▶ one line of JSON, after a mark

It is no Python worker of Spark's: where those die, this one says why.  So it imports the standard library only.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

MARK = "cepheid-worker "


def find_version(package: str, module: str) -> str | None:
    """None: it cannot be imported."""
    try:
        if find_spec(module) is None:
            return None
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"
    except ModuleNotFoundError:  # not even the package around it
        return None


def gather(asked: dict[str, Any]) -> dict[str, Any]:
    return {
        "asked": asked["python"],
        "executable": sys.executable,
        "version": platform.python_version(),
        "packages": {package: find_version(package, module) for package, module in asked["packages"].items()},
        "host": platform.node(),
    }


if __name__ == "__main__":
    sys.stdout.write(MARK + json.dumps(gather(json.loads(sys.argv[1]))) + "\n")
