"""Functions between our own parts, which no user writes and every host computes by other names.

_WINDOW_FLOOR(ts, size, offset)   in microseconds: the last moment at or before ts that is a multiple of the size since
                                  1970, shifted by the offset
_INT_DIV(a, b)                    of whole numbers, cut towards zero; null where b is 0
_WHOLE(x)                         the whole number that x is when it is cut towards zero
_WHOLE_UNITS('day', a, b)         how often the unit has passed from a to b, cut towards zero
_SPLIT_PART(x, mark, n)           the part with this number, from 1; null where there are fewer
_SLICE(list, n, m)                m elements from the one with the number n on, below zero from the end
_PLACE_OF(list, x)                the number of the first element that is x; 0 where none is
_EACH_ONCE(list)                  its elements, null among them, in the order in which they first come
_IS_IN(list, x)                   null where x is not found and null is
_LARGEST(list), _SMALLEST(list)   null where an element is
_REPEATED(x, n)                   a list of n times x
_SPLIT(x, mark, n)                n parts at most, the last one with all that is left
_JAVA_TEXT(x)                     a double as Java writes it: 2.5, 1.0E7
_TRINO_TEXT(x)                    a double as Trino writes it: 2.5E0, 1.0E7
_PLAIN_TEXT(x)                    a double as PostgreSQL writes it: 2.5, 10000000
"""

from __future__ import annotations

from sqlglot import exp

from cepheid.errors import NotSupportedYet

WINDOW_FLOOR, INT_DIV, WHOLE = "_WINDOW_FLOOR", "_INT_DIV", "_WHOLE"
WHOLE_UNITS, SPLIT_PART = "_WHOLE_UNITS", "_SPLIT_PART"
SLICE, PLACE_OF, EACH_ONCE, IS_IN = "_SLICE", "_PLACE_OF", "_EACH_ONCE", "_IS_IN"
LARGEST, SMALLEST, REPEATED, SPLIT = "_LARGEST", "_SMALLEST", "_REPEATED", "_SPLIT"
JAVA_TEXT, TRINO_TEXT, PLAIN_TEXT = "_JAVA_TEXT", "_TRINO_TEXT", "_PLAIN_TEXT"
# DuckDB writes the shortest digits that mean the number, 0.0001 and 1e-05 alike: they are taken apart and set again
_TEXT = "CAST(ABS({0}) AS VARCHAR)"
_MANTISSA = f"SPLIT_PART({_TEXT}, 'e', 1)"
_WHOLE_PART, _FRACTION = f"SPLIT_PART({_MANTISSA}, '.', 1)", f"SPLIT_PART({_MANTISSA}, '.', 2)"
_ALL_DIGITS = f"({_WHOLE_PART} || {_FRACTION})"
_DIGITS = f"RTRIM(LTRIM({_ALL_DIGITS}, '0'), '0')"
_ZEROS = f"(LENGTH({_ALL_DIGITS}) - LENGTH(LTRIM({_ALL_DIGITS}, '0')))"
_POWER = f"CAST(COALESCE(NULLIF(SPLIT_PART({_TEXT}, 'e', 2), ''), '0') AS INTEGER)"
_EXPONENT = f"(LENGTH({_WHOLE_PART}) - {_ZEROS} - 1 + {_POWER})"
_SIGN = "CASE WHEN STARTS_WITH(CAST({0} AS VARCHAR), '-') THEN '-' ELSE '' END"
_SCIENTIFIC = (
    f"{_SIGN} || SUBSTRING({_DIGITS}, 1, 1) || '.' || COALESCE(NULLIF(SUBSTRING({_DIGITS}, 2), ''), '0') || 'E' || "
    f"CAST({_EXPONENT} AS VARCHAR)"
)
_ODD = "WHEN ISNAN({0}) THEN 'NaN' WHEN ISINF({0}) THEN CASE WHEN {0} > 0 THEN 'Infinity' ELSE '-Infinity' END"
_FROM = "CASE WHEN ({1}) > 0 THEN ({1}) ELSE LEN({0}) + 1 + ({1}) END"
_PARTS = "STRING_SPLIT({0}, {1})"
_REST = f"ARRAY_TO_STRING(LIST_SLICE({_PARTS}, ({{2}}), LEN({_PARTS})), {{1}})"
# by host: what is written, over the texts of the arguments; word: the first one without its quotes
_WRITTEN: dict[str, dict[str, str]] = {
    WINDOW_FLOOR: {
        "duckdb": "({0} - to_microseconds(((epoch_us({0}) - {2}) % {1} + {1}) % {1}))",
        "spark": "timestamp_micros(unix_micros({0}) - pmod(unix_micros({0}) - {2}, {1}))",
    },
    INT_DIV: {"duckdb": "CAST(({0}) // NULLIF({1}, 0) AS BIGINT)", "spark": "(({0}) DIV NULLIF({1}, 0))"},
    WHOLE: {"duckdb": "CAST(TRUNC({0}) AS BIGINT)", "spark": "CAST({0} AS BIGINT)"},
    WHOLE_UNITS: {"duckdb": "datesub({0}, {1}, {2})", "spark": "timestampdiff({word}, {1}, {2})"},
    SPLIT_PART: {
        "duckdb": "list_extract(string_split({0}, {1}), {2})",
        "spark": "CASE WHEN (LENGTH({0}) - LENGTH(REPLACE({0}, {1}, ''))) DIV LENGTH({1}) >= {2} - 1 "
        "THEN SPLIT_PART({0}, {1}, {2}) END",
    },
    SLICE: {
        "duckdb": f"(CASE WHEN {_FROM} < 1 THEN LIST_SLICE({{0}}, 1, 0) "
        f"ELSE LIST_SLICE({{0}}, {_FROM}, {_FROM} + ({{2}}) - 1) END)",
        "spark": "slice({0}, {1}, {2})",
    },
    PLACE_OF: {
        "duckdb": "(CASE WHEN {0} IS NOT NULL AND ({1}) IS NOT NULL THEN COALESCE(LIST_POSITION({0}, {1}), 0) END)",
        "spark": "array_position({0}, {1})",
    },
    EACH_ONCE: {
        "duckdb": "LIST_FILTER({0}, LAMBDA _each, _place : LIST_POSITION({0}, _each) = _place)",
        "spark": "array_distinct({0})",
    },
    IS_IN: {
        "duckdb": "(CASE WHEN ({1}) IS NOT NULL AND (LIST_CONTAINS({0}, {1}) OR LIST_COUNT({0}) = LEN({0})) "
        "THEN LIST_CONTAINS({0}, {1}) END)",
        "spark": "array_contains({0}, {1})",
    },
    LARGEST: {
        "duckdb": "(CASE WHEN LIST_COUNT({0}) = LEN({0}) THEN LIST_MAX({0}) END)",
        "spark": "(CASE WHEN NOT array_contains(transform({0}, _each -> _each IS NULL), TRUE) THEN array_max({0}) END)",
    },
    SMALLEST: {
        "duckdb": "(CASE WHEN LIST_COUNT({0}) = LEN({0}) THEN LIST_MIN({0}) END)",
        "spark": "(CASE WHEN NOT array_contains(transform({0}, _each -> _each IS NULL), TRUE) THEN array_min({0}) END)",
    },
    REPEATED: {
        "duckdb": "LIST_TRANSFORM(RANGE({1}), LAMBDA _each : {0})",
        "spark": "array_repeat({0}, {1})",
    },
    SPLIT: {
        "duckdb": f"(CASE WHEN LEN({_PARTS}) > ({{2}}) "
        f"THEN LIST_APPEND(LIST_SLICE({_PARTS}, 1, ({{2}}) - 1), {_REST}) ELSE {_PARTS} END)",
    },
    JAVA_TEXT: {
        "duckdb": f"(CASE {_ODD} WHEN {{0}} = 0 OR (ABS({{0}}) >= 1e-3 AND ABS({{0}}) < 1e7) "
        f"THEN CAST({{0}} AS VARCHAR) ELSE {_SCIENTIFIC} END)",
        "spark": "CAST({0} AS STRING)",
    },
    TRINO_TEXT: {"duckdb": f"(CASE {_ODD} WHEN {{0}} = 0 THEN {_SIGN} || '0.0E0' ELSE {_SCIENTIFIC} END)"},
    PLAIN_TEXT: {"duckdb": f"(CASE {_ODD} ELSE REGEXP_REPLACE(CAST({{0}} AS VARCHAR), '\\.0$', '') END)"},
}
OWN_FUNCTIONS = frozenset(_WRITTEN)


def call_own(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def is_own(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() in _WRITTEN


def write_own_functions(tree: exp.Expr, dialect: str) -> exp.Expr:
    """The tree with every such call as the host has it."""
    found = [node for node in tree.walk() if is_own(node)]
    for call in reversed(found):  # inner ones first
        arguments = [node.sql(dialect=dialect) for node in call.expressions]
        template = _WRITTEN[call.name.upper()].get(dialect)
        if template is None and call.name.upper() == SPLIT:
            raise NotSupportedYet("split with a number of parts, on Spark", hint="leave the number out")
        if template is None:
            hint = "round it, and cast it to a DECIMAL first"
            raise NotSupportedYet("a double as the text that this dialect makes of it, on Spark", hint=hint)
        told = template.format(*arguments, word=call.expressions[0].name)
        written: exp.Expr = exp.maybe_parse(told, dialect=dialect)
        if call is tree:
            tree = written
        else:
            call.replace(written)
    return tree
