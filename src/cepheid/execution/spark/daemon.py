"""Spark's Python daemon, warmed: workers are forked from it with the kernels loaded and compiled.

Set spark.python.daemon.module to this module (session.py does).  Only what starts no threads is loaded
before the fork, so pyarrow and pandas are left to the workers.
"""

from __future__ import annotations

import os


def warm_kernels() -> None:
    """Import Numba and what it has compiled before; compile nothing that is not in its cache."""
    import numba  # noqa: F401
    import numpy  # noqa: F401


if __name__ == "__main__":
    from pyspark.daemon import manager

    if os.environ.get("CEPHEID_WARM_WORKERS", "1") == "1":
        warm_kernels()
    manager()
