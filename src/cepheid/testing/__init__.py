"""Helpers for tests of queries: run them as a stream is run, and compare rows.

from cepheid.testing import assert_same_rows, cut_table, run_in_batches
"""

from cepheid.testing.compare_rows import assert_same_rows, list_rows
from cepheid.testing.run_in_batches import cut_table, run_in_batches

__all__ = ["assert_same_rows", "cut_table", "list_rows", "run_in_batches"]
