"""Queries that somebody got wrong: golden ones with words lost, doubled, swapped, borrowed from other systems, nested.

    mutate(random, query, others)      one mistake, sometimes two or three; the same for the same random numbers

A mutation knows nothing of the grammar but words, marks and parentheses, so that nothing is left out because we did
not think of it.  Many mutants still run: a column for another, a number at the edge of its type, a query in a query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

TOKEN = re.compile(
    r"\s*(?:'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|\{-|-\}|<=|>=|<>|!=|\|\||::|->|=>|\.\."
    r"|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\w+|.)",
    re.DOTALL,
)


def _words(text: str) -> list[str]:
    return text.split()


CLAUSES = _words(
    "SELECT DISTINCT FROM WHERE GROUP HAVING ORDER BY LIMIT OFFSET FETCH UNION ALL EXCEPT INTERSECT WITH RECURSIVE AS "
    "JOIN LEFT OUTER FULL CROSS NATURAL LATERAL UNNEST USING ON WINDOW OVER PARTITION ROWS RANGE GROUPS BETWEEN "
    "PRECEDING FOLLOWING UNBOUNDED CURRENT ROW QUALIFY VALUES TABLE TABLESAMPLE PIVOT CASE WHEN THEN ELSE END CAST "
    "EXISTS IN LIKE ESCAPE IS NOT NULL TRUE FALSE AND OR ANY SOME INTERVAL DESC ASC NULLS FIRST LAST FILTER"
)
PATTERN_WORDS = _words(
    "MATCH_RECOGNIZE MEASURES PATTERN DEFINE SUBSET PERMUTE WITHIN AFTER MATCH SKIP PAST TO NEXT PER ONE SHOW EMPTY "
    "OMIT UNMATCHED RUNNING FINAL CLASSIFIER() MATCH_NUMBER() PREV NEXT SEQ SEEK INITIAL STRATEGY strict skip_till_any "
    "skip_till_next partition_contiguity CONSUME REUSE TIMEOUT TIMED_OUT() PARTIALS OUTPUT EVERY EVENT CLOSE EXPIRY "
    "SLIDE UNTIL SESSION GAP ISTREAM DSTREAM RSTREAM FOR"
)
OTHER_SYSTEMS = _words(
    "TUMBLE HOP CUMULATE DESCRIPTOR(ts) TUMBLE_START MATCH_ROWTIME() PROCTIME() WATERMARK EMIT CHANGES SYSTEM_TIME OF "
    "every -> define insert into select output events #window.time(5) #window.length timer:interval() followed-by "
    "pattern [ ] @info context win:time std:groupwin session_window window LATERAL VIEW explode CLUSTER DISTRIBUTE "
    "SORT DIV RLIKE ILIKE <=> == && || ! ~ ^ ? :x $1 @x % := ::int CREATE VIEW DROP DELETE UPDATE EXPLAIN SET PRAGMA "
    "COPY DESCRIBE SHOW ; -- /* */ \\ # ` { } {- -} {2,} {,3} {0} {1,1}? ** +? *? ?? | , . .. ( ) * + - /"
)
NAMES = [
    *_words(
        "größe 名前 поток ελ _cep_1 _over_1 _input _row order user key value timestamp date a b c A b[] b[i-1] b[last] "
        "b[1] a.b.c buses stops ev t ts bus delay line id x y z rowtime"
    ),
    '"two words"',
    '""',
    '"a""b"',
    "`a`",
    "\u201cts\u201d",
    "\u2018x\u2019",
    "a\u00a0b",
    "\u200b",
    "\x00",
    "é",
]
NUMBERS = _words(
    "0 -1 1 2 3 -0.0 0.5 1e308 1e400 -1e308 2147483647 2147483648 9223372036854775807 9223372036854775808 "
    "-9223372036854775808 18446744073709551616 99999999999999999999999999999999999999 1e-320 0x10 1_000 .5 5. 1.5D NaN "
    "'NaN' 'Infinity' NULL TRUE"
)
TEXTS = [
    "''",
    "'x'",
    "'''",
    "'5'",
    "'-1'",
    "'5 minutes'",
    "'1:30'",
    "'abc'",
    "'2026-13-45'",
    "'%'",
    "'🚌'",
    '"x"',
    "N'x'",
]
UNITS = _words(
    "SECOND SECONDS s MINUTE MINUTES min HOUR h DAY WEEK MONTH YEAR QUARTER DECADE FORTNIGHT sec NANOSECOND EVENTS ROWS"
)
INTERVALS = [
    "INTERVAL '5' SECOND", "INTERVAL 5 SECOND", "INTERVAL '5 seconds'", "INTERVAL '1' MONTH", "INTERVAL '-5' SECOND",
    "INTERVAL '' SECOND", "INTERVAL '1:30' MINUTE TO SECOND", "INTERVAL '0' SECOND", "INTERVAL '1e300' HOUR",
    "INTERVAL '99999999999999999999' DAY", "INTERVAL x DAY", "INTERVAL '5'", "5 SECONDS", "'5 seconds'", "1 h 30 min",
    "INTERVAL '5' FORTNIGHT", "INTERVAL NULL SECOND", "INTERVAL '5' SECOND * 2",
]  # fmt: skip
FUNCTIONS = _words(
    "count sum avg min max first last first_value last_value nth_value lag lead rank row_number ntile stddev median "
    "array_agg string_agg listagg approx_distinct any_value min_by max_by count_if bool_and percentile_cont prev next "
    "classifier match_number running final upper length concat coalesce nullif if greatest abs sqrt round mod log "
    "power date_diff date_trunc to_unixtime extract cast try_cast substr regexp_like split element_at cardinality now "
    "current_timestamp random uuid frobnicate unnest generate_series histogram map array grouping exists row json_value"
)
EXPRESSIONS = [
    "1", "NULL", "ts", "a.ts", "count(*)", "PREV(a.ts, 2)", "LAST(a.ts, 1)", "FIRST(LAST(a.ts))", "PREV(PREV(a.ts))",
    "sum(sum(1))", "(SELECT 1)", "(SELECT max(ts) FROM buses)", "EXISTS (SELECT 1)", "1 IN (SELECT 1)", "1 / 0", "a.*",
    "*", "CASE WHEN TRUE THEN 1 END", "CAST('x' AS BIGINT)", "CAST(1 AS FOO)", "x -> x + 1", "ARRAY[1, 2][5]", "ROW(1)",
    "ts + INTERVAL '1' MONTH", "ts - ts", "ts > 'yesterday'", "count(DISTINCT ts)", "sum(1) FILTER (WHERE TRUE)",
    "sum(1) OVER ()", "rank() OVER (ORDER BY ts)", "lag(ts) OVER (PARTITION BY ts ORDER BY ts)", "(1, 2)", "a.x.y.z",
    "{'a': 1}", "NOT NOT TRUE", "- - 1", "'a' LIKE NULL", "1 BETWEEN NULL AND 2", "ts AT TIME ZONE 'Mars/Base'",
]  # fmt: skip
OPERATORS = _words("= <> != < <= > >= + - * / % || ? *? +? | AND OR == && ~")
DEPTHS = (2, 5, 30, 200, 1000, 3000)
LENGTHS = (2, 20, 300, 3000)

Tokens = list[str]
Mutation = Callable[[Random, Tokens, Sequence[str]], Tokens]


def split_tokens(text: str) -> Tokens:
    """Words and marks, each with the spaces in front of it."""
    return TOKEN.findall(text)


def mutate(random: Random, text: str, others: Sequence[str]) -> str:
    """The query with one mistake, or with up to three; `others`: queries to take pieces from."""
    for _ in range(random.choices((1, 2, 3), (6, 3, 1))[0]):
        tokens = split_tokens(text) or ["SELECT"]
        text = "".join(random.choices(MUTATIONS, WEIGHTS)[0](random, tokens, others))
    return text


# --- words ------------------------------------------------------------------------------------------------


def choose_run(random: Random, tokens: Tokens, longest: int = 4) -> tuple[int, int]:
    start = random.randrange(len(tokens))
    return start, min(len(tokens), start + random.randint(1, longest))


def replace_run(tokens: Tokens, start: int, end: int, text: str) -> Tokens:
    return [*tokens[:start], f" {text} ", *tokens[end:]]


def choose_foreign(random: Random) -> str:
    return random.choice(random.choice(FOREIGN))


def delete_run(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    start, end = choose_run(random, tokens)
    return [*tokens[:start], *tokens[end:]]


def double_run(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    start, end = choose_run(random, tokens, 6)
    return [*tokens[:end], *tokens[start:end], *tokens[end:]]


def swap_two(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    one = random.randrange(len(tokens))
    other = random.choice((random.randrange(len(tokens)), min(one + 1, len(tokens) - 1), min(one + 2, len(tokens) - 1)))
    swapped = list(tokens)
    swapped[one], swapped[other] = tokens[other], tokens[one]
    return swapped


def replace_by_foreign(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    start = random.randrange(len(tokens))
    return replace_run(tokens, start, start + 1, choose_foreign(random))


def insert_foreign(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    start = random.randrange(len(tokens) + 1)
    return replace_run(tokens, start, start, choose_foreign(random))


def choose_like(random: Random, tokens: Tokens, wanted: str) -> int:
    """A token that looks so, or any."""
    places = [place for place, token in enumerate(tokens) if re.fullmatch(wanted, token.strip())]
    return random.choice(places or range(len(tokens)))


def replace_number(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    place = choose_like(random, tokens, r"'?-?\d.*")
    return replace_run(tokens, place, place + 1, random.choice((*NUMBERS, *TEXTS)))


def replace_name(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    """A name by another one of the same query: what comes out is often a query."""
    names = [token.strip() for token in tokens if re.fullmatch(r"[a-z_]\w*", token.strip())] or ["x"]
    place = choose_like(random, tokens, r"[a-z_]\w*")
    return replace_run(tokens, place, place + 1, random.choice(names))


def replace_operator(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    place = choose_like(random, tokens, r"[<>=!+*/%?|~^-]+")
    return replace_run(tokens, place, place + 1, random.choice(OPERATORS))


def replace_function(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    calls = [place for place, token in enumerate(tokens[1:]) if token == "(" and re.match(r"\s*\w", tokens[place])]
    if not calls:
        return replace_by_expression(random, tokens, _)
    place = random.choice(calls)
    return [*tokens[:place], f" {random.choice(FUNCTIONS)}", *tokens[place + 1 :]]


def replace_by_expression(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    start, end = choose_run(random, tokens, 3)
    return replace_run(tokens, start, end, random.choice((*EXPRESSIONS, *INTERVALS)))


def replace_unit(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    place = choose_like(random, tokens, "|".join(UNITS))
    return replace_run(tokens, place, place + 1, random.choice((*UNITS, *INTERVALS)))


# --- parts ------------------------------------------------------------------------------------------------


def find_group(random: Random, tokens: Tokens) -> tuple[int, int]:
    """What stands between two parentheses that belong together, they included."""
    opens = [place for place, token in enumerate(tokens) if token.strip() == "("]
    if not opens:
        return choose_run(random, tokens, 8)
    start, depth = random.choice(opens), 0
    for place in range(start, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[place].strip(), 0)
        if depth == 0:
            return start, place + 1
    return start, len(tokens)


def move_run(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    start, end = choose_run(random, tokens, 12)
    rest = [*tokens[:start], *tokens[end:]]
    place = random.randint(0, len(rest))
    return [*rest[:place], *tokens[start:end], *rest[place:]]


def put_group_into_group(random: Random, tokens: Tokens, others: Sequence[str]) -> Tokens:
    source = random.choice((tokens, split_tokens(random.choice(others))))
    start, end = find_group(random, tokens)
    first, last = find_group(random, source)
    return [*tokens[:start], *source[first:last], *tokens[end:]]


def splice(random: Random, tokens: Tokens, others: Sequence[str]) -> Tokens:
    other = split_tokens(random.choice(others))
    return [*tokens[: random.randint(0, len(tokens))], " ", *other[random.randint(0, len(other)) :]]


def truncate(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    place = random.randint(0, len(tokens))
    return tokens[:place] if random.random() < 0.8 else tokens[place:]


def change_character(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    text = "".join(tokens)
    place = random.randrange(len(text))
    kept = random.choice((0, 1))
    new = random.choice(
        (
            "",
            "'",
            '"',
            "\u201c",
            "\u2019",
            "(",
            ")",
            ";",
            ",",
            "\u00a0",
            "\t",
            "\n",
            "\\",
            "\x00",
            "é",
            "\U0001d4b3",
            "0",
            "--",
        )
    )
    return [text[: place + kept], new, text[place + 1 :]]


def wrap(random: Random, tokens: Tokens, others: Sequence[str]) -> Tokens:
    """The whole query inside another."""
    text, other = "".join(tokens), random.choice(others)
    shape = random.choice((
        "SELECT * FROM ({0})", "SELECT * FROM ({0}) AS q", "WITH q AS ({0}) SELECT * FROM q", "({0})", "(({0}))",
        "{0};",
        "SELECT count(*) AS n FROM ({0}) AS q", "({0}) UNION ALL ({0})", "{0} UNION ALL {1}", "{0} EXCEPT {0}",
        "SELECT * FROM ({0}) AS q WHERE 1 = 1", "SELECT * FROM ({0}) AS p JOIN ({1}) AS q ON TRUE", "{0} LIMIT 2",
        "SELECT * FROM ({0}) ORDER BY 1", "SELECT DISTINCT * FROM ({0}) AS q",
        "WITH q AS ({0}) SELECT * FROM q AS a, q AS b",
        "WITH RECURSIVE q AS ({0}) SELECT * FROM q", "SELECT * FROM ({0}) MATCH_RECOGNIZE (ORDER BY ts PATTERN (a b))",
        "SELECT * FROM ({0}) [ROWS 2]", "ISTREAM({0})", "EXPLAIN {0}", "CREATE VIEW v AS {0}", "{0} ; {1}", "-- x\n{0}",
        "SELECT (SELECT max(1) FROM ({0}) AS q) AS x", "SELECT * FROM ({0}) AS q WHERE EXISTS ({1})", "/* {0}", "'{0}'",
        "SELECT * FROM buses WHERE ts IN ({0})", "SELECT * FROM ({0}) AS q GROUP BY ALL", "INSERT INTO t {0}",
    ))  # fmt: skip
    return [shape.format(text, other)]


def nest(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    """A run, or the whole, very deep inside something."""
    start, end = choose_run(random, tokens) if random.random() < 0.7 else (0, len(tokens))
    before, after = random.choice((
        ("(", ")"), ("NOT ", ""), ("- ", ""), ("abs(", ")"), ("(a ", ")+"), ("PREV(", ")"), ("SELECT * FROM (", ")"),
        ("CASE WHEN TRUE THEN ", " END"), ("1 + (", ")"), ("a AND (b OR ", ")"), ("[", "]"), ("{-", "-}"),
        ("PERMUTE(", ")"),
        ("ARRAY[", "]"), ("(SELECT ", ")"), ("CAST(", " AS BIGINT)"), ("~", ""), ("WITH q AS (", ") SELECT * FROM q"),
    ))  # fmt: skip
    depth = random.choice(DEPTHS)
    return [*tokens[:start], " ", before * depth, *tokens[start:end], after * depth, " ", *tokens[end:]]


def repeat(random: Random, tokens: Tokens, _: Sequence[str]) -> Tokens:
    """A run very often, with a comma, an operator or nothing between."""
    start, end = choose_run(random, tokens, 5)
    mark = random.choice((", ", " ", " AND ", " OR ", " + ", " | ", " || ", " UNION ALL ", "."))
    return [*tokens[:start], " ", mark.join(["".join(tokens[start:end])] * random.choice(LENGTHS)), " ", *tokens[end:]]


FOREIGN = (CLAUSES, PATTERN_WORDS, OTHER_SYSTEMS, NAMES, NUMBERS, TEXTS, UNITS, INTERVALS, FUNCTIONS, EXPRESSIONS)
MUTATIONS: tuple[Mutation, ...] = (
    delete_run, double_run, swap_two, replace_by_foreign, insert_foreign, replace_number, replace_name,
    replace_operator, replace_function, replace_by_expression, replace_unit, move_run, put_group_into_group, splice,
    truncate, change_character, wrap, nest, repeat,
)  # fmt: skip
WEIGHTS = (8, 4, 6, 8, 6, 8, 14, 8, 10, 10, 3, 4, 6, 4, 2, 5, 8, 2, 1)
