"""The dialects that queries are written in, read into trees of ours (Trino's functions, DuckDB's beside them).

What a name means is settled when it is read: a dialect has its own table of functions (flink_functions.py,
risingwave_functions.py, spark_functions.py), and what stays as it is means the same here.  Windows are spelt in
window_spellings.py, whatever the dialect; the division of whole numbers, which needs types, in integer_meaning.py.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import TokenType, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.risingwave import RisingWave
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.parsers.risingwave import RisingWaveParser
from sqlglot.parsers.spark import SparkParser
from sqlglot.parsers.trino import TrinoParser

from cepheid.language.parsing import (
    flink_functions,
    null_habits,
    risingwave_functions,
    spark_functions,
    time_fields,
    trino_functions,
)
from cepheid.language.parsing.dialect import (
    Cepheid,
    CepheidParser,
    CepheidSpark,
    TrinoCepheidParser,
    plain_words,
    without_match_recognize,
)
from cepheid.language.parsing.match_habits import MatchHabits
from cepheid.language.parsing.text_habits import TextHabits
from cepheid.language.parsing.written_habits import ESCAPED_TEXTS, WrittenHabits
from cepheid.settings import WrittenDialect

SUBSTR: dict[str, Any] = {"SUBSTR": lambda self: self._parse_substring()}


class TrinoWrittenParser(WrittenHabits, TrinoCepheidParser):
    FUNCTIONS: ClassVar = {**TrinoCepheidParser.FUNCTIONS, **null_habits.TRINO, **trino_functions.FUNCTIONS}
    FUNCTION_PARSERS: ClassVar = {
        **TrinoCepheidParser.FUNCTION_PARSERS,
        **SUBSTR,
        "JSON_VALUE": trino_functions.read_json_value,
    }
    text_habits = TextHabits(position="empty", cuts=True)
    time_fields = time_fields.TRINO
    match_habits = MatchHabits(first_of_all=True)


class CepheidTrino(Cepheid):
    """Trino's SQL to the letter; the default dialect takes what DuckDB gives where the two differ."""

    Parser = TrinoWrittenParser


class FlinkCepheidParser(WrittenHabits, TrinoCepheidParser):
    FUNCTIONS: ClassVar = {**TrinoParser.FUNCTIONS, **flink_functions.FUNCTIONS}
    FUNCTION_PARSERS: ClassVar = {
        **{name: parse for name, parse in TrinoParser.FUNCTION_PARSERS.items() if name != "INITCAP"},
        "FLOOR": lambda self: flink_functions.floor_time(self._parse_ceil_floor(exp.Floor)),
        "CEIL": lambda self: flink_functions.floor_time(self._parse_ceil_floor(exp.Ceil)),
        "LISTAGG": lambda self: null_habits.mark_between(self._parse_string_agg(), ","),
        **SUBSTR,
        "JSON_VALUE": trino_functions.read_json_value,
    }
    text_habits = TextHabits(position="first", cuts=True, similar=True)
    time_fields = time_fields.FLINK
    match_habits = MatchHabits(skip="to_next", open_within=True)


class CepheidFlink(Cepheid):
    """Flink SQL: what it shares with Trino is read as Trino's; in ORDER BY, null is less than any value."""

    NULL_ORDERING = "nulls_are_small"
    Parser = FlinkCepheidParser


class RisingWaveCepheidParser(WrittenHabits, CepheidParser, RisingWaveParser):
    QUERY_MODIFIER_PARSERS: ClassVar = without_match_recognize(RisingWaveParser.QUERY_MODIFIER_PARSERS)
    FUNCTIONS: ClassVar = {**RisingWaveParser.FUNCTIONS, **risingwave_functions.FUNCTIONS}
    FUNCTION_PARSERS: ClassVar = {
        **{name: parse for name, parse in RisingWaveParser.FUNCTION_PARSERS.items() if name != "DATE_PART"},
        **SUBSTR,
    }
    PRIMARY_PARSERS: ClassVar = {**RisingWaveParser.PRIMARY_PARSERS, **ESCAPED_TEXTS}
    text_habits = TextHabits(escapes=True, position="outside", cuts=True, similar=True)
    time_fields = time_fields.RISINGWAVE
    fields_are_decimal = True


class CepheidRisingWave(RisingWave):
    """RisingWave's SQL, which is PostgreSQL's."""

    class Tokenizer(RisingWave.Tokenizer):
        KEYWORDS: ClassVar = plain_words(RisingWave.Tokenizer.KEYWORDS)
        COMMANDS: ClassVar = set()

    Parser = RisingWaveCepheidParser


class DuckDBCepheidParser(WrittenHabits, CepheidParser, DuckDBParser):
    FUNCTIONS: ClassVar = {**DuckDBParser.FUNCTIONS, **null_habits.DUCKDB}
    PRIMARY_PARSERS: ClassVar = {**DuckDBParser.PRIMARY_PARSERS, **ESCAPED_TEXTS}
    QUERY_MODIFIER_PARSERS: ClassVar = without_match_recognize(DuckDBParser.QUERY_MODIFIER_PARSERS)

    def _parse_string_agg(self) -> Any:
        return null_habits.mark_between(super()._parse_string_agg(), ",")

    def _parse_distinct_arg_function(self, func: Any, distinct_index: int = 0) -> Any:
        """Those that DISTINCT may stand in, such as max_by; `quantile` is one of the values."""
        kind = exp.PercentileDisc if func is exp.Quantile else func
        call = super()._parse_distinct_arg_function(kind, distinct_index)
        return null_habits.leave_null_values_out(call) if isinstance(call, exp.ArgMax | exp.ArgMin) else call


class CepheidDuckDB(DuckDB):
    class Tokenizer(DuckDB.Tokenizer):
        KEYWORDS: ClassVar = plain_words(DuckDB.Tokenizer.KEYWORDS)
        COMMANDS: ClassVar = set()

    Parser = DuckDBCepheidParser


class SparkHereParser(WrittenHabits, CepheidParser, SparkParser):
    QUERY_MODIFIER_PARSERS: ClassVar = without_match_recognize(SparkParser.QUERY_MODIFIER_PARSERS)
    FUNCTIONS: ClassVar = spark_functions.only_exact(SparkParser.FUNCTIONS)
    FUNCTION_PARSERS: ClassVar = spark_functions.only_exact_syntax(SparkParser.FUNCTION_PARSERS)
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {
        name: parse for name, parse in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if name != "TRANSFORM"
    }
    text_habits = TextHabits(escapes=True, position="first")
    time_fields = time_fields.SPARK
    joins_need_condition = False


class CepheidSparkHere(Spark):
    """Spark SQL in this process: translated, not run by Spark."""

    class Tokenizer(CepheidSpark.Tokenizer):
        pass

    Parser = SparkHereParser


Written = type[Cepheid] | type[CepheidRisingWave] | type[CepheidDuckDB] | type[CepheidSparkHere]
_BY_NAME: dict[WrittenDialect, Written] = {
    "trino": CepheidTrino,
    "flink": CepheidFlink,
    "risingwave": CepheidRisingWave,
    "duckdb": CepheidDuckDB,
    "spark": CepheidSparkHere,
}
FOREIGN = frozenset(("risingwave", "duckdb", "spark"))  # whose trees may hold what Trino's SQL cannot say


def open_written(name: WrittenDialect) -> Cepheid | CepheidRisingWave | CepheidDuckDB | CepheidSparkHere:
    return _BY_NAME[name]()


assert TokenType.MATCH_RECOGNIZE in {*CepheidRisingWave.Tokenizer.KEYWORDS.values()}, "every dialect has patterns"
