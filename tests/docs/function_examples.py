"""An example for each function that the index shows, in Trino's dialect; {x} and the like are columns.

    ts, x (double), n, k (bigint), s (text), b (boolean), tags (list of texts)

A function of the catalogs without an example gets the first of `DEFAULTS` that runs.  What is the host's is shown by
groups: people look for a name, and these are the names that they look for.
"""

from __future__ import annotations

DEFAULTS = (
    "{f}({x})", "{f}({n})", "{f}({s})", "{f}({ts})", "{f}({x}, {n})", "{f}({x}, 0.5)", "{f}({s}, 'a')", "{f}({n}, 2)",
    "{f}({x} > 1)", "{f}()", "{f}({x} > 1, {x}, 0.0)", "{f}({x} > 1, {n}, 0)", "{f}('second', {ts}, {ts})",
    "{f}({tags})", "{f}({s}, {x})",
)  # fmt: skip

SCALARS = {
    "coalesce": "coalesce({x}, 0.0)", "nullif": "nullif({n}, 1)", "if": "if({x} > 1, {x}, 0.0)",
    "greatest": "greatest({x}, 2.5)", "least": "least({x}, 2.5)", "mod": "mod({n}, 2)", "log": "log(2, {x})",
    "power": "power({x}, 2)", "pow": "pow({x}, 2)", "atan2": "atan2({x}, 2)",
    "asin": "asin({x} / 1000)", "acos": "acos({x} / 1000)",
    "date_diff": "date_diff('second', TIMESTAMP '2026-01-01', {ts})",
}  # fmt: skip

NAVIGATION = {
    "FIRST": "FIRST(b.x)", "LAST": "LAST(b.x, 1)", "PREV": "PREV(b.x)", "NEXT": "NEXT(b.x)",
    "CLASSIFIER": "CLASSIFIER()", "MATCH_NUMBER": "MATCH_NUMBER()", "RUNNING": "RUNNING LAST(b.x)",
    "FINAL": "FINAL LAST(b.x)",
}  # fmt: skip

AGGREGATES = {
    "COUNT": "count({x})", "COUNT_IF": "count_if({x} > 1)", "COUNTIF": "countif({x} > 1)",
    "MIN_BY": "min_by({s}, {x})", "MAX_BY": "max_by({s}, {x})", "ARG_MIN": "arg_min({s}, {x})",
    "ARGMIN": "argmin({s}, {x})", "ARG_MAX": "arg_max({s}, {x})", "ARGMAX": "argmax({s}, {x})",
    "EVERY": "every({b})", "BOOL_AND": "bool_and({b})", "BOOL_OR": "bool_or({b})", "LOGICAL_AND": "logical_and({b})",
    "LOGICAL_OR": "logical_or({b})", "BOOLAND_AGG": "booland_agg({b})", "BOOLOR_AGG": "boolor_agg({b})",
    "PERCENTILE_CONT": "percentile_cont(0.9) WITHIN GROUP (ORDER BY {x})",
    "PERCENTILE_DISC": "percentile_disc(0.9) WITHIN GROUP (ORDER BY {x})",
    "QUANTILE": "quantile({x}, 0.9)", "PERCENTILE": "percentile({x}, 0.9)", "QUANTILE_CONT": "quantile_cont({x}, 0.9)",
    "QUANTILE_DISC": "quantile_disc({x}, 0.9)", "APPROX_QUANTILE": "approx_quantile({x}, 0.9)",
    "APPROX_PERCENTILE": "approx_percentile({x}, 0.9)",
}  # fmt: skip
SPELT = {
    "count(*)": "count(*)", "count(DISTINCT)": "count(DISTINCT {s})", "sum(DISTINCT)": "sum(DISTINCT {n})",
    "max(x, n)": "max({x}, 2)", "min(x, n)": "min({x}, 2)", "FILTER": "sum({x}) FILTER (WHERE {n} > 1)",
}  # fmt: skip
HOST_AGGREGATES = {
    "STRING_AGG": "string_agg({s}, ',')", "LISTAGG": "listagg({s}, ',')", "ARBITRARY": "arbitrary({x})",
    "HISTOGRAM": "histogram({n})", "MODE": "mode({s})", "BIT_AND": "bit_and({n})",
    "BIT_OR": "bit_or({n})", "BIT_XOR": "bit_xor({n})", "PRODUCT": "product({x})", "CORR": "corr({x}, {n})",
    "COVAR_POP": "covar_pop({x}, {n})", "COVAR_SAMP": "covar_samp({x}, {n})", "REGR_SLOPE": "regr_slope({x}, {n})",
    "REGR_INTERCEPT": "regr_intercept({x}, {n})", "SKEWNESS": "skewness({x})", "KURTOSIS": "kurtosis({x})",
    "ENTROPY": "entropy({n})", "MAD": "mad({x})", "GEOMETRIC_MEAN": "geometric_mean({x})",
}  # fmt: skip

RANKING = {
    "row_number": "row_number()", "rank": "rank()", "dense_rank": "dense_rank()", "percent_rank": "percent_rank()",
    "cume_dist": "cume_dist()", "ntile": "ntile(2)", "lag": "lag(x)", "lead": "lead(x)",
    "first_value": "first_value(x)", "last_value": "last_value(x)", "nth_value": "nth_value(x, 2)",
}  # fmt: skip

HOST_SCALARS = {
    "Text": {
        "||": "{s} || '!'", "LIKE": "{s} LIKE 'a%'", "upper": "upper({s})", "lower": "lower({s})",
        "length": "length({s})", "trim": "trim({s})", "ltrim": "ltrim({s})", "rtrim": "rtrim({s})",
        "substr": "substr({s}, 1, 2)", "substring": "substring({s}, 1, 2)", "replace": "replace({s}, 'a', 'b')",
        "reverse": "reverse({s})", "concat": "concat({s}, '!')", "concat_ws": "concat_ws('-', {s}, 'z')",
        "lpad": "lpad({s}, 5, '.')", "rpad": "rpad({s}, 5, '.')", "split": "split({s}, ',')",
        "split_part": "split_part({s}, ',', 1)", "strpos": "strpos({s}, 'a')", "position": "position('a' IN {s})",
        "starts_with": "starts_with({s}, 'a')",
        "regexp_like": "regexp_like({s}, '^a')", "regexp_extract": "regexp_extract({s}, '[a-z]')",
        "regexp_replace": "regexp_replace({s}, 'a', 'b')", "levenshtein_distance": "levenshtein_distance({s}, 'abc')",
        "md5": "md5({s})", "translate": "translate({s}, 'a', 'b')",
        "chr": "chr(CAST({n} AS INTEGER) + 64)", "ascii": "ascii({s})",
    },
    "Numbers": {
        "+ - * / %": "{x} + {n} * 2 - {n} % 2", "factorial": "factorial(CAST({n} AS INTEGER))", "gcd": "gcd({n}, 4)",
        "bitwise_and": "bitwise_and({n}, 1)", "bitwise_or": "bitwise_or({n}, 1)", "bitwise_xor": "bitwise_xor({n}, 1)",
        "is_nan": "is_nan({x})", "pi": "{x} * pi()", "sinh": "sinh({x} / 1000)",
        "cosh": "cosh({x} / 1000)", "tanh": "tanh({x})",
    },
    "Choices and types": {
        "CASE": "CASE WHEN {x} > 1 THEN 'much' ELSE 'little' END",
        "IN": "{n} IN (1, 2)", "BETWEEN": "{x} BETWEEN 1 AND 2",
        "IS NULL": "{x} IS NULL", "IS DISTINCT FROM": "{x} IS DISTINCT FROM 1.0", "CAST": "CAST({n} AS DOUBLE)",
        "TRY_CAST": "TRY_CAST({s} AS BIGINT)", "typeof": "typeof({x})",
    },
    "Times": {
        "ts + INTERVAL": "{ts} + INTERVAL '5' SECOND", "date_trunc": "date_trunc('minute', {ts})",
        "date_add": "date_add('day', 1, {ts})", "EXTRACT": "EXTRACT(HOUR FROM {ts})", "year": "year({ts})",
        "quarter": "quarter({ts})", "month": "month({ts})", "week": "week({ts})", "day": "day({ts})",
        "hour": "hour({ts})", "minute": "minute({ts})", "second": "second({ts})", "day_of_week": "day_of_week({ts})",
        "day_of_year": "day_of_year({ts})", "date_format": "date_format({ts}, '%Y-%m')",
        "from_unixtime": "from_unixtime({n})", "last_day_of_month": "last_day_of_month({ts})",
        "date": "date({ts})", "now": "now() > {ts}", "current_timestamp": "current_timestamp > {ts}",
    },
    "Lists, structs, JSON": {
        "tags[1]": "{tags}[1]", "element_at": "element_at({tags}, 1)", "cardinality": "cardinality({tags})",
        "contains (list)": "contains({tags}, 'a')", "array_position": "array_position({tags}, 'a')",
        "array_join": "array_join({tags}, ',')", "array_distinct": "array_distinct({tags})",
        "array_sort": "array_sort({tags})", "ARRAY[]": "ARRAY[{x}, 1.0]",
        "transform": "transform({tags}, t -> upper(t))",
        "filter": "filter({tags}, t -> t > 'a')", "ROW()": "ROW({x}, {n})",
        "json_extract_scalar": "json_extract_scalar('{{\"a\": 1}}', '$.a') = {s}",
    },
}  # fmt: skip
