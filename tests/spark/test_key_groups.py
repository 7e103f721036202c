"""Key groups: labels that spread evenly, keys that stay together."""

from __future__ import annotations

from typing import Any

import pytest

from cepheid.execution.spark.key_groups import choose_labels, hash_label


@pytest.mark.parametrize("groups", [1, 2, 8, 64])
def test_labels_differ_modulo_every_divisor(groups: int) -> None:
    labels = choose_labels(groups)
    divisor = 1
    while divisor <= groups:
        counts = [sum(hash_label(label) % divisor == place for label in labels) for place in range(divisor)]
        assert counts == [groups // divisor] * divisor
        divisor *= 2


@pytest.mark.spark
def test_hash_is_the_one_that_spark_partitions_by(spark: Any) -> None:
    labels = [*choose_labels(64), -1, 2**31 - 1]
    frame = spark.createDataFrame([(label,) for label in labels], "label int").selectExpr("hash(label) AS h")
    assert [row.h for row in frame.collect()] == [hash_label(label) for label in labels]
