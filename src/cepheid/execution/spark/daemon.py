"""Spark's Python daemon, warmed: workers are forked from it with what they need already loaded.

Set spark.python.daemon.module to this module (session.py does, where workers are on this machine: elsewhere the daemon
is started before anything that was shipped can be found).  Only what starts no threads is loaded before the
fork, so pyarrow and pandas are left to the workers.  What is loaded is put out of the garbage collector's sight:
Spark's workers collect after every task, and would look at all of it each time.
"""

from __future__ import annotations

import gc
import sys


def warm_up() -> None:
    import numba  # noqa: F401
    import pyspark.worker  # noqa: F401

    for name in [name for name in sys.modules if name.partition(".")[0] == "cepheid"]:
        del sys.modules[name]  # workers find it by their own path: where it was shipped, it is not the installed one
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    from pyspark.daemon import manager

    warm_up()
    manager()
