"""A script of several statements, split and read; queries in it stay text.

CREATE [TEMPORARY] TABLE t (c TYPE, ..., WATERMARK FOR c AS c - INTERVAL '5' SECOND) WITH ('path' = 'feed.csv');
CREATE [TEMPORARY] [MATERIALIZED] VIEW v AS SELECT ...;
[EXECUTE] INSERT INTO t SELECT ...;       EXECUTE STATEMENT SET BEGIN INSERT ...; INSERT ...; END;
SELECT ...;                               SET 'dialect' = 'flink';

application/read_script.py makes an application of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches

from sqlglot import Token, TokenType
from sqlglot.errors import TokenError

from cepheid.errors import NotSupportedYet, Span, SyntaxProblem, suggest_name
from cepheid.language.parsing.interval_parser import scale_unit, split_amount
from cepheid.language.parsing.written_dialects import open_written
from cepheid.settings import WrittenDialect

WITH_HINT = "write WITH ('path' = 'feed.parquet')"
KNOWN_HINT = "there are CREATE TABLE, CREATE VIEW, INSERT INTO, SELECT, EXECUTE STATEMENT SET and SET 'dialect' = '...'"
STARTS = ("CREATE", "INSERT", "SELECT", "EXECUTE", "WITH", "SET")
QUERY_STARTS = ("SELECT", "WITH", "VALUES", "FROM", "(", "ISTREAM", "DSTREAM", "RSTREAM")
OF_TYPES = ("ROW", "STRUCT", "ARRAY", "MAP", "MULTISET")
CONSTRAINTS = ("PRIMARY", "CONSTRAINT", "UNIQUE", "FOREIGN", "CHECK")


@dataclass(frozen=True, slots=True)
class ScriptColumn:
    """computed: the expression behind AS, as it is written; fields: of ROW<...>."""

    name: str
    type: str  # as it is written, in capitals, without spaces
    span: Span
    computed: str | None = None
    fields: tuple[ScriptColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTable:
    """columns: none if they are found in the file.  time, lateness: of WATERMARK FOR."""

    name: str
    columns: tuple[ScriptColumn, ...]
    options: dict[str, str]
    span: Span
    time: str | None = None
    lateness: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class CreateView:
    """start: where its query begins in the script; None: it is not written there.  columns: names in parentheses."""

    name: str
    query: str
    span: Span
    start: int | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InsertInto:
    """target: None where a query stands alone, whose rows are shown.  start: where the query begins in the script.
    columns: those in parentheses behind the target."""

    target: str | None
    query: str
    span: Span
    start: int
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetOption:
    key: str
    value: str
    span: Span


Statement = CreateTable | CreateView | InsertInto | SetOption


def read_statements(text: str, dialect: WrittenDialect | None = None) -> list[Statement]:
    """The statements of a script, in their order; a mistake is told with its place."""
    try:
        tokens = open_written(dialect or "trino").tokenize(text)
    except TokenError as error:
        span = Span(error.start or 0, error.end or len(text))
        raise SyntaxProblem("the script cannot be split into words", span=span, hint=KNOWN_HINT).with_text(
            text
        ) from error
    try:
        return [_Reader(part, text).read() for part in _split(tokens)]
    except (SyntaxProblem, NotSupportedYet) as problem:
        raise problem.with_text(text) from None


def _split(tokens: list[Token]) -> list[list[Token]]:
    """At semicolons; BEGIN and END around the statements of a set say nothing by themselves."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            parts.append([])
        else:
            parts[-1].append(token)
    return [found for part in parts if (found := _without_set(part))]


def _without_set(part: list[Token]) -> list[Token]:
    words = [token.text.upper() for token in part[:5]]
    for start in (("EXECUTE", "STATEMENT", "SET", "BEGIN"), ("BEGIN", "STATEMENT", "SET"), ("EXECUTE",)):
        if tuple(words[: len(start)]) == start:
            return _without_set(part[len(start) :])
    return [] if words == ["END"] else part


@dataclass
class _Reader:
    """One statement."""

    tokens: list[Token]
    text: str
    place: int = 0
    seen: list[str] = field(default_factory=list)

    # --- tokens ------------------------------------------------------------------------------------------
    @property
    def word(self) -> str:
        return self.tokens[self.place].text.upper() if self.place < len(self.tokens) else ""

    def take(self, *words: str) -> bool:
        found = [token.text.upper() for token in self.tokens[self.place : self.place + len(words)]]
        if found != list(words):
            return False
        self.place += len(words)
        return True

    def expect(self, word: str, hint: str) -> None:
        if not self.take(word):
            self.refuse(f"expected {word}", hint)

    def refuse(self, message: str, hint: str) -> None:
        at = self.tokens[min(self.place, len(self.tokens) - 1)]
        found = f' before "{at.text}"' if self.place < len(self.tokens) else " at the end of the statement"
        raise SyntaxProblem(message + found, span=Span(at.start, at.end + 1), hint=hint)

    def name(self) -> str:
        """The last part of a name; catalogs and databases in front of it say nothing here."""
        found = ""
        while self.place < len(self.tokens):
            found = self.tokens[self.place].text
            self.place += 1
            if not self.take("."):
                return found
        self.refuse("expected a name", KNOWN_HINT)
        return found

    @property
    def span(self) -> Span:
        return Span(self.tokens[0].start, self.tokens[-1].end + 1)

    @property
    def start(self) -> int:
        """Where the next token begins."""
        return self.tokens[self.place].start

    def rest(self) -> str:
        """What is left of the statement, as it is written."""
        if self.place >= len(self.tokens):
            self.refuse("expected a query", "write SELECT ...")
        return self.text[self.tokens[self.place].start : self.tokens[-1].end + 1]

    # --- statements --------------------------------------------------------------------------------------
    def read(self) -> Statement:
        if self.take("CREATE"):
            return self.read_create()
        if self.take("INSERT"):
            self.expect("INTO", "write INSERT INTO t SELECT ...; rows are added, never replaced")
            target = self.name()
            columns = self.read_names() if self.word == "(" and self.word_behind() not in QUERY_STARTS else ()
            return InsertInto(target, self.rest(), self.span, self.start, columns)
        if self.take("SET"):
            return self.read_set()
        if self.word in QUERY_STARTS:
            return InsertInto(None, self.rest(), self.span, self.start)
        first = self.tokens[0]
        if get_close_matches(first.text.upper(), STARTS, cutoff=0.75):
            hint = suggest_name(first.text.upper(), STARTS)
            raise SyntaxProblem(f'"{first.text}" does not start a statement', span=_span([first]), hint=hint)
        raise NotSupportedYet(f'"{first.text}" in a script', span=self.span, hint=KNOWN_HINT)

    def read_set(self) -> SetOption:
        key = self.name()
        if not self.take("="):
            self.take("TO")
        return SetOption(key, self.name(), self.span)

    def read_create(self) -> Statement:
        self.take("OR", "REPLACE")
        self.take("TEMPORARY") or self.take("TEMP") or self.take("MATERIALIZED")
        kind = self.word
        if kind not in ("TABLE", "VIEW", "SOURCE", "SINK"):
            raise NotSupportedYet(f"CREATE {kind} in a script", span=self.span, hint=KNOWN_HINT)
        self.place += 1
        self.take("IF", "NOT", "EXISTS")
        name = self.name()
        if kind == "VIEW":
            columns = self.read_names() if self.word == "(" else ()
            if self.take("COMMENT"):
                self.place += 1
            self.expect("AS", "write CREATE VIEW v AS SELECT ...")
            return CreateView(name, self.rest(), self.span, self.start, columns)
        if kind == "SINK":
            raise NotSupportedYet("CREATE SINK", span=self.span, hint="write CREATE TABLE ... WITH and INSERT INTO")
        return self.read_table(name)

    def read_table(self, name: str) -> CreateTable:
        columns: list[ScriptColumn] = []
        time, lateness = None, timedelta(0)
        if self.take("("):
            for item in self.read_items():
                first = item[0].text.upper()
                if first == "WATERMARK":
                    time, lateness = _read_watermark(item)
                elif first not in CONSTRAINTS:
                    columns.append(_read_column(item, self.text))
            computed = [column.name.lower() for column in columns if column.computed is not None]
            if time is not None and time.lower() in computed:
                hint = "declare it as TIMESTAMP(3): times are read as they are"
                raise NotSupportedYet(f'the time "{time}", which is computed,', span=self.span, hint=hint)
        options: dict[str, str] = {}
        while self.place < len(self.tokens):
            if self.take("WITH"):
                options = self.read_options()
            elif self.take("COMMENT"):
                self.place += 1
            elif self.word.startswith("PARTITIONED"):
                hint = "leave it out: the rows of a query go to one place"
                raise NotSupportedYet("PARTITIONED BY in a script", span=self.span, hint=hint)
            else:
                self.refuse("expected WITH", WITH_HINT)
        return CreateTable(name, tuple(columns), options, self.span, time, lateness)

    def word_behind(self) -> str:
        """The word behind the next one."""
        return self.tokens[self.place + 1].text.upper() if self.place + 1 < len(self.tokens) else ""

    def read_names(self) -> tuple[str, ...]:
        """(a, b)"""
        self.expect("(", "write the names of columns in parentheses")
        return tuple(item[0].text for item in self.read_items())

    def read_items(self) -> list[list[Token]]:
        """What stands between commas, up to the closing parenthesis."""
        items: list[list[Token]] = [[]]
        depth = types = 0
        while self.place < len(self.tokens):
            token = self.tokens[self.place]
            self.place += 1
            if token.text == ")" and depth == 0:
                return [item for item in items if item]
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if token.text == "<":  # else it compares
                types += bool(items[-1]) and items[-1][-1].text.upper() in OF_TYPES
            elif token.text == ">":
                types = max(types - 1, 0)
            if token.text == "," and depth == types == 0:
                items.append([])
            else:
                items[-1].append(token)
        self.refuse('expected ")"', "close the parenthesis")
        return items

    def read_options(self) -> dict[str, str]:
        self.expect("(", WITH_HINT)
        options: dict[str, str] = {}
        for item in self.read_items():
            marks = [number for number, token in enumerate(item) if token.text == "="]
            if len(marks) != 1 or marks[0] + 2 != len(item):
                raise SyntaxProblem("an option has a name and a value", span=_span(item), hint=WITH_HINT)
            options["".join(token.text for token in item[: marks[0]]).lower()] = item[-1].text
        return options


def _span(item: list[Token]) -> Span:
    return Span(item[0].start, item[-1].end + 1)


def _read_column(item: list[Token], text: str) -> ScriptColumn:
    words = [token.text.upper() for token in item]
    if "AS" in words[1:2] and len(item) > 2:
        return ScriptColumn(item[0].text, "", _span(item), computed=text[item[2].start : item[-1].end + 1])
    if "METADATA" in words:
        hint = "leave it out: there is nothing beside the columns of a source"
        raise NotSupportedYet(f'the column "{item[0].text}" of METADATA', span=_span(item), hint=hint)
    if words[1:2] in (["ROW"], ["STRUCT"]) and words[2:3] in (["<"], ["("]):
        return ScriptColumn(item[0].text, "ROW", _span(item), fields=_read_fields(item[3:], text))
    end = len(words)
    for stop in ("NOT", "NULL", "PRIMARY", "COMMENT", "DEFAULT"):
        end = min(end, words.index(stop)) if stop in words[1:] else end
    if end < 2:
        raise SyntaxProblem(f'the column "{item[0].text}" has no type', span=_span(item), hint="write id BIGINT")
    return ScriptColumn(item[0].text, " ".join(words[1:end]).replace(" ", ""), _span(item))


def _read_fields(tokens: list[Token], text: str) -> tuple[ScriptColumn, ...]:
    """What stands between ROW< and its end."""
    fields: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(token.text, 0)
        if depth < 0:
            break
        if token.text == "," and depth == 0:
            fields.append([])
        elif token.text != ":":
            fields[-1].append(token)
    return tuple(_read_column(field, text) for field in fields if field)


def _read_watermark(item: list[Token]) -> tuple[str, timedelta]:
    """WATERMARK FOR c AS c [- INTERVAL '5' SECOND]."""
    words = [token.text for token in item]
    upper = [word.upper() for word in words]
    hint = "write WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
    if len(words) < 5 or upper[1] != "FOR" or upper[3] != "AS" or words[4].lower() != words[2].lower():
        raise NotSupportedYet("this WATERMARK", span=_span(item), hint=hint)
    behind = upper[5:]
    if not behind:
        return words[2], timedelta(0)
    if behind[:2] != ["-", "INTERVAL"] or len(behind) not in (3, 4):
        raise NotSupportedYet("this WATERMARK", span=_span(item), hint=hint)
    amount, unit = split_amount(words[7], _span(item))
    return words[2], scale_unit(amount, unit or words[8], _span(item))
