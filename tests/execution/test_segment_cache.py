"""Segments kept as files beside the state store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyspark")

from pyspark import SparkFiles

from cepheid.execution.spark.segment_cache import SegmentCache
from cepheid.execution.state_segments import Segment


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SegmentCache:
    monkeypatch.setattr(SparkFiles, "getRootDirectory", classmethod(lambda _cls: str(tmp_path)))
    return SegmentCache("digest", 1)


def test_a_segment_is_known_by_number_and_stamp(cache: SegmentCache) -> None:
    cache.write(3, "a", b"of a batch that failed")
    cache.write(3, "b", b"of the one that was run again")
    assert (cache.read(3, "a"), cache.read(3, "b")) == (b"of a batch that failed", b"of the one that was run again")
    assert cache.read(3, "c") is None
    cache.remove([Segment(3, "a", np.zeros(0, np.int64)), Segment(4, "a", np.zeros(0, np.int64))])
    assert (cache.read(3, "a"), cache.read(3, "b")) == (None, b"of the one that was run again")


def test_where_nothing_can_be_written_the_store_is_asked(cache: SegmentCache, tmp_path: Path) -> None:
    (tmp_path / "cepheid-state").write_text("in the way")
    cache.write(3, "a", b"x")
    assert cache.read(3, "a") is None
    cache.remove([Segment(3, "a", np.zeros(0, np.int64))])
