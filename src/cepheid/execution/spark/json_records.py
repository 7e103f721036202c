"""Records that are JSON objects, many at a time, as the columns of a declared schema; what does not fit is set apart.

    payloads ─ join with newlines ─ pyarrow.json ─▶ table            all fit: one call for all of them
                        └─ one does not fit ─▶ which? ─▶ table of the others, and their places

A record fits if it is one object and each declared column has a value of its type, or none: numbers for numbers, text
for text, times and dates as ISO 8601 text.  Whether it fits depends on nothing but the record: what pyarrow.json makes
of it alone.  Looking for those that do not fit only guesses where to look.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.json as pj

from cepheid.arrow_compute import pc
from cepheid.errors import NotSupportedYet

# Behind the end of an object comes , or ] or }.  Whatever else is there is a second value in one record (or text in
# quotes that looks like it): pyarrow would make two rows of it, and of a null outside of objects a crash.
SECOND_VALUE = r"\}\s*[^\s,\]}]"
ZONE = r"(Z|[+-]\d\d(:?\d\d)?)$"
FINER_THAN_MICROSECONDS = (r"(\.\d{6})\d+", r"\1")
NO_OBJECT = "it is no JSON object"
NO_VALUE = "it has no value"


@dataclass(frozen=True)
class ParsedRecords:
    """rows: of the records that fit, in their order.  misfits: the places of the others."""

    rows: pa.Table
    misfits: list[int]


class JsonRecords:
    """schema: of the columns.  zone: what times without a zone are read in."""

    def __init__(self, schema: pa.Schema, zone: str = "UTC") -> None:
        for field in schema:
            _check_type(field)
        self._schema, self._zone = schema, zone
        self._written = pa.schema([field.with_type(_type_in_json(field.type)) for field in schema])
        self._options = pj.ParseOptions(explicit_schema=self._written, unexpected_field_behavior="ignore")

    def parse(self, records: Sequence[bytes | None]) -> ParsedRecords:
        stripped = [None if record is None else record.strip() for record in records]
        candidates = _find_candidates(stripped)
        lines = [stripped[place] or b"" for place in candidates]
        rows = self._parse_all(lines)
        if rows is None:
            fits = self._find_fitting(lines)
            candidates = [candidates[place] for place in fits]
            rows = self._parse_all([lines[place] for place in fits])
            assert rows is not None, "records that fit alone fit together"
        left_out = set(range(len(records))).difference(candidates) if len(candidates) < len(records) else ()
        return ParsedRecords(rows, sorted(left_out))

    def explain(self, record: bytes | None) -> str:
        """Why a record does not fit."""
        if record is None:
            return NO_VALUE
        found = _read_object(record)
        if found is None:
            return NO_OBJECT
        for field in self._schema:
            if not JsonRecords(pa.schema([field]), self._zone).fits(record.strip()):
                value = json.dumps(found.get(field.name), ensure_ascii=False)
                return f'"{field.name}" is {value}, no {_name_type(field.type)}'
        return "it does not fit the schema"

    def fits(self, line: bytes) -> bool:
        """line: an object, without space around it."""
        return self._parse_all([line]) is not None

    def _parse_all(self, lines: list[bytes]) -> pa.Table | None:
        """A row for each line; None: one of them does not fit."""
        if not lines:
            return self._schema.empty_table()
        data = b"\n".join(lines)
        reading = pj.ReadOptions(use_threads=False, block_size=len(data) + 1)
        try:
            found = pj.read_json(pa.BufferReader(data), read_options=reading, parse_options=self._options)
            found.validate(full=True)  # text that is no UTF-8 is found here
            if len(found) != len(lines):
                return None
            columns = [_convert(found.column(field.name), field.type, self._zone) for field in self._schema]
        except pa.ArrowInvalid:
            return None
        return pa.table(columns, schema=self._schema)

    def _find_fitting(self, lines: list[bytes]) -> list[int]:
        """The places of those that fit alone."""
        guessed = [self._looks_wrong(line) for line in lines]
        alone = {place for place, wrong in enumerate(guessed) if wrong and self.fits(lines[place])}
        others = [place for place, wrong in enumerate(guessed) if not wrong]
        return sorted(alone.union(self._search(lines, others)))

    def _search(self, lines: list[bytes], places: list[int]) -> list[int]:
        if self._parse_all([lines[place] for place in places]) is not None:
            return places
        if len(places) == 1:
            return []
        half = len(places) // 2
        return self._search(lines, places[:half]) + self._search(lines, places[half:])

    def _looks_wrong(self, line: bytes) -> bool:
        """A guess, quicker than a trial: it decides nothing."""
        found = _read_object(line)
        return found is None or any(
            (value := found.get(field.name)) is not None and not _looks_right(value, field.type)
            for field in self._schema
        )


def _find_candidates(records: list[bytes | None]) -> list[int]:
    """The places of those that are one object each, as far as can be seen from outside: others never get into the
    parser, which reads a row behind another without regard to where a record ends."""
    values = pa.array(records, pa.binary())
    closed = pc.and_(pc.starts_with(values, b"{"), pc.ends_with(values, b"}"))
    single = pc.invert(pc.match_substring_regex(values, SECOND_VALUE))
    are_plain = pc.fill_null(pc.and_(closed, single), False)
    if pc.all(are_plain, min_count=0).as_py():
        return list(range(len(records)))
    is_plain = are_plain.to_pylist()
    return [
        place
        for place, (record, plain) in enumerate(zip(records, is_plain, strict=True))
        if plain or (record is not None and _read_object(record) is not None)
    ]


def _read_object(record: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(record.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _check_type(field: pa.Field) -> None:
    if pa.types.is_nested(field.type):
        if any(_is_text_in_json(leaf) for leaf in _leaves(field.type)):
            told = f'column "{field.name}", with times, dates or bytes inside of a {_name_type(field.type)}, in JSON'
            raise NotSupportedYet(told, hint="declare them as string there, and cast them in the query")
    elif pa.types.is_binary(field.type):
        raise NotSupportedYet(f'column "{field.name}", a binary, in JSON', hint="declare it as string")


def _leaves(kind: pa.DataType) -> list[pa.DataType]:
    inner = [kind.field(place).type for place in range(kind.num_fields)]
    return [leaf for each in inner for leaf in _leaves(each)] if pa.types.is_nested(kind) else [kind]


def _is_text_in_json(kind: pa.DataType) -> bool:
    return pa.types.is_temporal(kind) or pa.types.is_binary(kind)


def _type_in_json(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_temporal(kind) else kind


def _name_type(kind: pa.DataType) -> str:
    return "timestamp" if pa.types.is_timestamp(kind) else "date" if pa.types.is_date(kind) else str(kind)


def _looks_right(value: Any, kind: pa.DataType) -> bool:
    if pa.types.is_integer(kind):
        return isinstance(value, int) and value.bit_length() < kind.bit_width
    if pa.types.is_floating(kind):
        return isinstance(value, int | float)
    if pa.types.is_temporal(kind):
        return isinstance(value, str) and _looks_like_time(value)
    if pa.types.is_boolean(kind):
        return isinstance(value, bool)
    return isinstance(value, str) or not pa.types.is_string(kind)


def _looks_like_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _convert(column: pa.ChunkedArray, kind: pa.DataType, zone: str) -> pa.ChunkedArray:
    """Text to what it is the text of; raises ArrowInvalid."""
    if column.type == kind:
        return column
    if pa.types.is_timestamp(kind):
        return _read_times(column, zone).cast(kind)
    return column.cast(kind)


def _read_times(texts: pa.ChunkedArray, zone: str) -> pa.ChunkedArray:
    has_zone = pc.match_substring_regex(texts, ZONE)
    try:
        return _read_exactly(texts, has_zone, zone)
    except pa.ArrowInvalid:  # nanoseconds, as Java writes them, are cut off
        return _read_exactly(pc.replace_substring_regex(texts, *FINER_THAN_MICROSECONDS), has_zone, zone)


def _read_exactly(texts: pa.ChunkedArray, has_zone: pa.ChunkedArray, zone: str) -> pa.ChunkedArray:
    nothing = pa.scalar(None, pa.string())
    instants = pc.if_else(has_zone, texts, nothing).cast(pa.timestamp("us", tz="UTC"))
    if pc.all(has_zone, min_count=0).as_py():
        return instants
    local = pc.if_else(has_zone, nothing, texts).cast(pa.timestamp("us"))
    # As Spark: of two instants with one local time, the earlier one; a local time that does not exist does not fit.
    placed = pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="raise")
    return pc.coalesce(instants, placed.cast(pa.timestamp("us", tz="UTC")))
