"""Addresses and options of topics, and how far a batch goes in each partition."""

from __future__ import annotations

import random
from itertools import accumulate

import pytest

from cepheid.errors import InvalidInput, NotSupportedYet
from cepheid.execution.spark.kafka.address import read_address
from cepheid.execution.spark.kafka.batch_ends import Offsets, Partition, choose_ends
from cepheid.execution.spark.kafka.read_range import OffsetRange
from cepheid.execution.spark.kafka.stream_reader import find_ranges, read_starting
from cepheid.execution.spark.sinks.kinds import open_spark_sink
from cepheid.execution.spark.sources.kafka import check_options

A, B = ("buses", 0), ("buses", 1)


def test_an_address_names_servers_topics_and_settings_of_the_client() -> None:
    found = read_address(
        "kafka:h1:9092,h2:9093/a,b?key=bus&kafka.ssl.ca.location=/x", {"kafka.sasl.password": "secret"}
    )
    assert (found.servers, found.topics, found.given) == ("h1:9092,h2:9093", ("a", "b"), {"key": "bus"})
    assert found.settings == {"ssl.ca.location": "/x", "sasl.password": "secret"}
    assert "secret" not in found.shown


@pytest.mark.parametrize("text", ["kafka:host/topic", "kafka:host:9092", "kafka:host:9092/", "kafka:/topic"])
def test_what_is_no_address_is_told(text: str) -> None:
    with pytest.raises(InvalidInput, match="does not name a topic"):
        read_address(text)


def test_options_that_are_not_there_are_told(tmp_path: object) -> None:
    with pytest.raises(InvalidInput, match='option "startingOffset"') as told:
        check_options("buses", {"startingOffset": "earliest"})
    assert "startingOffsets" in (told.value.hint or "")
    with pytest.raises(InvalidInput, match="maxOffsetsPerTrigger"):
        check_options("buses", {"maxOffsetsPerTrigger": "many"})
    with pytest.raises(InvalidInput, match="failOnDataLoss"):
        check_options("buses", {"failOnDataLoss": "perhaps"})
    with pytest.raises(NotSupportedYet, match="avro"):
        check_options("buses", {"format": "avro"})
    with pytest.raises(InvalidInput, match='option "acks"'):
        open_spark_sink("kafka:h:1/t?acks=0", "q", tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="several topics"):
        open_spark_sink("kafka:h:1/t,u", "q", tmp_path)  # type: ignore[arg-type]


def test_starting_offsets_are_written_as_in_spark() -> None:
    assert read_starting("earliest", [A, B]) == {A: -2, B: -2}
    assert read_starting("latest", [A]) == {A: -1}
    assert read_starting('{"buses": {"0": 23, "1": -2}}', [A, B]) == {A: 23, B: -2}
    for written, told in (
        ("first", "not understood"),
        ("[1]", "not understood"),
        ('{"buses": {"0": 1}}', "says nothing of partition 1"),
        ('{"buses": {"0": 1, "1": 1, "2": 1}}', "which is not there"),
        ('{"buses": {"0": 1, "1": -3}}', "which is not there"),
    ):
        with pytest.raises(InvalidInput, match=told):
            read_starting(written, [A, B])


def test_ranges_begin_where_the_last_batch_ended_and_new_partitions_at_their_beginning() -> None:
    assert find_ranges({A: 5}, {A: 9, B: 3}, {A: 0, B: 0}, fail=True) == [
        OffsetRange("buses", 0, 5, 9),
        OffsetRange("buses", 1, 0, 3),
    ]
    assert find_ranges({A: 5, B: 2}, {A: 5, B: 2}, {}, fail=True) == []


@pytest.mark.parametrize(
    ("begin", "end", "earliest", "told", "read"),
    [
        (5, 20, 8, "its records start at 8", [OffsetRange("buses", 0, 8, 20, None, 3)]),
        (5, 20, 30, "its records start at 30", [OffsetRange("buses", 0, 20, 20, None, 15)]),
        (50, 20, 0, "it ends at 20", [OffsetRange("buses", 0, 0, 20)]),  # it was made anew
    ],
)
def test_records_that_are_gone_stop_the_query_or_are_counted(
    begin: int, end: int, earliest: int, told: str, read: list[OffsetRange]
) -> None:
    with pytest.raises(InvalidInput, match=told):
        find_ranges({A: begin}, {A: end}, {A: earliest}, fail=True)
    assert find_ranges({A: begin}, {A: end}, {A: earliest}, fail=False) == read


def test_a_partition_that_is_gone_stops_the_query() -> None:
    with pytest.raises(InvalidInput, match="it is not there any more"):
        find_ranges({A: 1, B: 1}, {A: 1}, {}, fail=True)
    assert find_ranges({A: 1, B: 1}, {A: 1}, {}, fail=False) == []


def test_without_a_limit_or_below_it_a_batch_takes_all_there_is() -> None:
    for limit in (None, 12):
        assert choose_ends({A: 5, B: 0}, {A: 9, B: 8}, limit, None).offsets == {A: 9, B: 8}


@pytest.mark.parametrize("seed", range(30))
def test_in_a_catch_up_no_partition_leaves_events_behind_the_time(seed: int) -> None:
    """Partitions of any length and speed, in disorder of at most 20: no unread event is earlier than the batch's time
    by more than that, and it ends."""
    draw = random.Random(seed)
    topic: dict[Partition, list[int]] = {}
    for number in range(draw.randrange(1, 5)):
        pace = draw.choice([1, 3, 50])
        steps = accumulate(draw.randrange(pace + 1) for _ in range(draw.randrange(1, 400)))
        topic["t", number] = [step - draw.randrange(20) for step in steps]
    latest = {place: len(times) for place, times in topic.items()}

    def look(offsets: Offsets) -> dict[Partition, int | None]:
        return {place: topic[place][offset] for place, offset in offsets.items()}

    begins, batches = dict.fromkeys(topic, 0), 0
    while begins != latest:
        found = choose_ends(begins, latest, 50, look)
        assert sum(found.offsets.values()) > sum(begins.values())
        assert sum(found.offsets.values()) - sum(begins.values()) <= 50 + len(topic)
        unread = [time for place, times in topic.items() for time in times[found.offsets[place] :]]
        if found.time is None:
            assert not unread or len(topic) == 1
        else:
            assert min(unread) >= found.time - 20
            taken = [time for place, times in topic.items() for time in times[begins[place] : found.offsets[place]]]
            assert max(taken) <= found.time + 40  # what goes through the JVM has no other bound
        begins = found.offsets
        batches += 1
    assert batches <= 2 + sum(latest.values())
