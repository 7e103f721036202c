"""Helpers for tests of queries: run them as a stream is run, put events out of order, and compare rows.

from cepheid.testing import assert_same_rows, cut_table, run_in_batches
from cepheid.testing import Exponential, find_most_late, put_out_of_order
"""

from cepheid.bench.disorder.delays.drawn import Exponential, Fixed, LogNormal, Pareto, UniformShare, Zipf
from cepheid.bench.disorder.delays.drift import Drift
from cepheid.bench.disorder.delays.outage import Outage
from cepheid.bench.disorder.delays.ramp import Ramp
from cepheid.bench.disorder.delays.replay import Replay
from cepheid.testing.compare_rows import assert_same_rows, list_rows
from cepheid.testing.put_out_of_order import find_most_late, put_out_of_order
from cepheid.testing.run_in_batches import cut_table, run_in_batches

__all__ = [
    "Drift",
    "Exponential",
    "Fixed",
    "LogNormal",
    "Outage",
    "Pareto",
    "Ramp",
    "Replay",
    "UniformShare",
    "Zipf",
    "assert_same_rows",
    "cut_table",
    "find_most_late",
    "list_rows",
    "put_out_of_order",
    "run_in_batches",
]
