"""Spark's Python daemon, warmed: workers are forked from it with what they need already loaded.

Set spark.python.daemon.module to this module (session.py does).  Only what starts no threads is loaded before the
fork, so pyarrow and pandas are left to the workers.  What is loaded is put out of the garbage collector's sight:
Spark's workers collect after every task, and would look at all of it each time.
"""

from __future__ import annotations

import gc


def warm_up() -> None:
    import numba  # noqa: F401
    import pyspark.worker  # noqa: F401

    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    from pyspark.daemon import manager

    warm_up()
    manager()
