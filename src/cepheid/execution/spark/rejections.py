"""Events of a batch that have no place in the order: counted by Spark while the DataFrame is computed."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType

from cepheid.errors import InvalidInput

_watched: WeakKeyDictionary[DataFrame, list[Observation]] = WeakKeyDictionary()


def watch_rejections(frame: DataFrame, order: int) -> tuple[DataFrame, Observation]:
    """The layout of a pattern with `order` ORDER BY columns, and who counts what will be rejected of it."""
    names = ["_time", *(f"_order{number}" for number in range(1, order))]
    rejected: Column = F.lit(False)
    for name in names:
        rejected = rejected | F.col(name).isNull()
        if isinstance(frame.schema[name].dataType, DoubleType | FloatType):
            rejected = rejected | F.isnan(name)
    observation = Observation()
    return frame.observe(observation, F.count_if(rejected).alias("rejected")), observation


def remember_rejections(result: DataFrame, observations: list[Observation]) -> DataFrame:
    _watched[result] = observations
    return result


def count_rejected(result: DataFrame) -> int:
    """How many events were rejected, once the DataFrame has been computed; waits until then."""
    if result not in _watched:
        raise InvalidInput(
            "this DataFrame did not come from cep.sql over whole tables",
            hint="on a stream, StreamingQuery.recentProgress has it under observedMetrics",
        )
    return sum(int(observation.get["rejected"] or 0) for observation in _watched[result])
