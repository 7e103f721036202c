"""Processing time on Spark: streams with the moment of the micro-batch that their events came in.

Spark writes that moment into the checkpoint before a batch runs, and takes it from there if the batch runs again: the
stamps, and so the rows, are the same.  Over whole tables all events have one moment, that of the run.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.errors import NotSupportedYet
from cepheid.execution.spark.watermarks import WATERMARK
from cepheid.graph.operators import Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.processing_time import STAMP, base_name


def add_stamped(graph: QueryGraph, frames: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """With the stamped streams that a graph reads."""
    found = dict(frames)
    for node in graph.vertices.values():
        base = base_name(node.name) if isinstance(node, Source) else None
        if base is not None and isinstance(node, Source):
            found[node.name] = _stamp(frames[base], base)
    return found


def _stamp(frame: DataFrame, name: str) -> DataFrame:
    stamped = frame.withColumn(STAMP, F.current_timestamp())
    if not frame.isStreaming:
        return stamped
    if any(WATERMARK in (field.metadata or {}) for field in frame.schema):
        raise NotSupportedYet(
            f'PROCTIME() of "{name}", a stream with a watermark of its own',
            hint="give the DataFrame without withWatermark; where event time is needed as well, give lateness=",
        )
    return stamped.withWatermark(STAMP, "0 seconds")
