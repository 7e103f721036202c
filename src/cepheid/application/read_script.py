"""A script of SQL as an application: tables that are read are sources, those that are written are sinks.

    CREATE TABLE bid (..., WATERMARK FOR ts AS ts) WITH ('path' = 'bids.jsonl');      [source.bid]
    CREATE TABLE busy (...) WITH ('path' = 'busy.csv');
    CREATE VIEW recent AS SELECT ... FROM bid;                                        WITH recent AS (...) in front
    INSERT INTO busy SELECT ... FROM recent;                                          [query.busy] sink = "busy.csv"
    SELECT ...;                                                                       [query.query_1], shown

`connector` is Flink's: filesystem (or left out), print, kafka on Spark.  A table with 'lookup' = 'true' is what events
are looked up in.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa

from cepheid.application.application import (
    Application,
    ApplicationQuery,
    ApplicationSource,
    Cluster,
    ScriptPlaces,
)
from cepheid.application.endpoints import Endpoints
from cepheid.cost.profile import HostName
from cepheid.errors import CepheidError, InvalidInput, InvalidQuery, NotSupportedYet, suggest_name
from cepheid.language.parsing.script_parser import (
    CreateTable,
    CreateView,
    InsertInto,
    ScriptColumn,
    SetOption,
    read_statements,
)
from cepheid.language.parsing.written_text import write_in
from cepheid.schema import TYPE_NAMES
from cepheid.settings import WrittenDialect

OPTIONS = ("connector", "path", "format", "lookup", "topic", "properties.bootstrap.servers")
ENDINGS = {"csv": ".csv", "json": ".jsonl", "jsonl": ".jsonl", "parquet": ".parquet", "arrow": ".arrow"}
CONNECTORS = ("filesystem", "print", "kafka")
SETTINGS = ("dialect", "host", "master")
PRINTED = "stdout:table"
Pieces = tuple[tuple[int, int, int], ...]
LINE_END = "\n"  # a comment at the end of a view ends there
TYPES = {
    **{name.upper(): kind for name, kind in TYPE_NAMES.items()},
    "CHAR": pa.string(), "TEXT": pa.string(), "BYTES": pa.binary(), "VARBINARY": pa.binary(), "BOOL": pa.bool_(),
    "TIMESTAMP_LTZ": pa.timestamp("us"), "TIMESTAMPTZ": pa.timestamp("us"), "TIMESTAMP_NTZ": pa.timestamp("us"),
    "DATETIME": pa.timestamp("us"), "INT2": pa.int16(), "INT4": pa.int32(), "INT8": pa.int64(),
    "TIMESTAMPWITHOUTTIMEZONE": pa.timestamp("us"), "DOUBLEPRECISION": pa.float64(), "FLOAT8": pa.float64(),
}  # fmt: skip
DIALECTS = ("trino", "flink", "spark", "risingwave", "duckdb")
_SET_DIALECT = re.compile(r"^\s*SET\s+'?dialect'?\s*=\s*'(\w+)'", re.IGNORECASE | re.MULTILINE)
_DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC|DEC)(?:\((\d+)(?:,(\d+))?\))?\Z")
_ARRAY = re.compile(r"ARRAY<(.+)>\Z|(.+)ARRAY\Z|(.+)\[\]\Z")


def read_script(path: Path, endpoints: Endpoints, dialect: WrittenDialect | None = None) -> Application:
    """endpoints: as for `read_application`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidInput(f'the script "{path}" cannot be read: {problem}', hint="give a file of SQL") from None
    try:
        return _Script(path, text, endpoints, dialect).read()
    except CepheidError as problem:
        if problem.span is not None:
            problem.with_text(text)
        problem.origin = str(path)
        raise


class _Script:
    def __init__(self, path: Path, text: str, endpoints: Endpoints, dialect: WrittenDialect | None) -> None:
        self.path, self.text, self.endpoints = path, text, endpoints
        self.settings: dict[str, str] = {} if dialect is None else {"dialect": dialect}
        self.tables: dict[str, CreateTable] = {}
        self.views: dict[str, CreateView] = {}
        self.inserts: list[InsertInto] = []

    def read(self) -> Application:
        for statement in read_statements(self.text, self._dialect() or self._find_dialect()):
            match statement:
                case SetOption():
                    self._check_first(statement)
                    self._set(statement)
                case CreateTable():
                    self.tables[statement.name.lower()] = statement
                    self._compute(statement)
                case CreateView():
                    self.views[statement.name.lower()] = statement
                case InsertInto():
                    self.inserts.append(statement)
        if not self.inserts:
            raise InvalidInput(f'the script "{self.path}" has no query', hint="add INSERT INTO ... SELECT, or SELECT")
        queries = dict(self._read_queries())
        written = {insert.target.lower() for insert in self.inserts if insert.target is not None}
        read = {name: table for name, table in self.tables.items() if self._reads(name)}
        for name in written & set(read):
            hint = "write to one table and read from another"
            raise NotSupportedYet(f'"{name}", which is read and written,', span=self.tables[name].span, hint=hint)
        looked_up = {name: table for name, table in read.items() if table.options.get("lookup", "").lower() == "true"}
        return Application(
            path=self.path,
            sources={t.name: self._read_source(t) for name, t in read.items() if name not in looked_up},
            queries=queries,
            tables={table.name: self._read_schema(table) for table in looked_up.values()},
            table_paths={table.name: self._path(table) for table in looked_up.values()},
            cluster=Cluster(host=self._host(), master=self.settings.get("master", Cluster().master)),
        )

    # --- settings ----------------------------------------------------------------------------------------
    def _set(self, statement: SetOption) -> None:
        key = statement.key.lower()
        if key not in SETTINGS:
            hint = f"leave it out; there are {', '.join(SETTINGS)}"
            raise NotSupportedYet(f'the setting "{statement.key}"', span=statement.span, hint=hint)
        choices = {"dialect": DIALECTS, "host": ("embedded", "spark")}
        if key in choices and statement.value not in choices[key]:
            hint = suggest_name(statement.value, choices[key])
            raise InvalidQuery(f'there is no {key} "{statement.value}"', span=statement.span, hint=hint)
        self.settings[key] = statement.value

    def _check_first(self, statement: SetOption) -> None:
        """One dialect is of the whole script: views are read where they are used."""
        if statement.key.lower() == "dialect" and (self.views or self.inserts) and statement.value != self._dialect():
            hint = "set it once, before the first view and the first query"
            raise NotSupportedYet("another dialect in the middle of a script", span=statement.span, hint=hint)

    def _find_dialect(self) -> WrittenDialect | None:
        """The dialect that the script sets: texts and comments are split as it has them."""
        found = _SET_DIALECT.search(self.text)
        return found[1].lower() if found and found[1].lower() in DIALECTS else None  # type: ignore[return-value]

    def _dialect(self) -> WrittenDialect | None:
        return self.settings.get("dialect")  # type: ignore[return-value]

    def _host(self) -> HostName:
        return self.settings.get("host", "embedded")  # type: ignore[return-value]

    def _compute(self, table: CreateTable) -> None:
        """Columns that are computed: a view of the table's name stands in front of it."""
        if not any(column.computed for column in table.columns):
            return
        quote = self._quote()
        outputs = ", ".join(
            f"{quote}{column.name}{quote}"
            if column.computed is None
            else f"{column.computed} AS {quote}{column.name}{quote}"
            for column in table.columns
        )
        query = f"SELECT {outputs} FROM {quote}{table.name}{quote}"
        self.views[table.name.lower()] = CreateView(table.name, query, table.span, None)

    def _quote(self) -> str:
        return "`" if (self._dialect() or self._find_dialect()) == "spark" else '"'

    # --- queries -----------------------------------------------------------------------------------------
    def _read_queries(self) -> list[tuple[str, ApplicationQuery]]:
        found: list[tuple[str, ApplicationQuery]] = []
        taken: set[str] = set()
        for insert in self.inserts:
            stem = insert.target or "query_1"
            free = (f"{stem.removesuffix('_1')}_{number}" for number in count(1))
            name = next(each for each in (stem, *(next(free) for _ in range(1000))) if each not in taken)
            taken.add(name)
            written, pieces = self._with_views(insert)
            query = ApplicationQuery(
                name=name,
                text=write_in(written, self._dialect()),
                origin=f"{self.path}, {name}",
                sink=self._find_sink(insert),
                script=ScriptPlaces(str(self.path), self.text, pieces),
            )
            columns = self._list_columns(insert)
            rows = pa.schema([(column.name, _read_type(column)) for column in columns]) if columns else None
            found.append((name, replace(query, rows=rows)))
        return found

    def _list_columns(self, insert: InsertInto) -> tuple[ScriptColumn, ...]:
        columns = self.tables[insert.target.lower()].columns if insert.target is not None else ()
        columns = tuple(column for column in columns if column.computed is None)
        named = [name.lower() for name in insert.columns]
        if named and named != [column.name.lower() for column in columns]:
            hint = f"name all, in the order of the table: {', '.join(column.name for column in columns)}"
            raise NotSupportedYet("these columns behind INSERT INTO", span=insert.span, hint=hint)
        return columns

    def _find_sink(self, insert: InsertInto) -> str | None:
        if insert.target is None:
            return None
        table = self.tables.get(insert.target.lower())
        if table is None:
            hint = suggest_name(insert.target, self.tables) if self.tables else "write CREATE TABLE ... WITH first"
            raise InvalidQuery(f'there is no table "{insert.target}"', span=insert.span, hint=hint)
        return PRINTED if table.options.get("connector") == "print" else self._path(table)

    def _with_views(self, insert: InsertInto) -> tuple[str, Pieces]:
        """The query, with the views that it reads in front, each after those that it reads itself; and what stands
        where in the script."""
        used: dict[str, CreateView] = {}
        self._collect(insert.query, used, ())
        if not used:
            return insert.query, ((0, len(insert.query), insert.start),)
        written, pieces = "WITH ", []
        for number, view in enumerate(used.values()):
            quote = self._quote()
            columns = ", ".join(f"{quote}{name}{quote}" for name in view.columns)
            written += f"{', ' if number else ''}{quote}{view.name}{quote} {f'({columns}) ' if columns else ''}AS ("
            if view.start is not None:
                pieces.append((len(written), len(view.query), view.start))
            written += f"{view.query}{LINE_END})"
        head = re.match(r"\s*WITH\s", insert.query, re.IGNORECASE)
        written += ", " if head else " "
        skipped = head.end() if head else 0
        pieces.append((len(written), len(insert.query) - skipped, insert.start + skipped))
        return written + insert.query[skipped:], tuple(pieces)

    def _collect(self, query: str, used: dict[str, CreateView], above: tuple[str, ...]) -> None:
        for name, view in self.views.items():
            if name in used or not _names(query, name):
                continue
            if name in above and (view.start is None or not _reads_from(query, name)):
                continue  # the table in front of which it stands, or a column of its name
            if name in above:
                raise InvalidQuery(
                    f'the view "{view.name}" reads itself', span=view.span, hint="leave it out of itself"
                )
            self._collect(view.query, used, (*above, name))
            used[name] = view

    def _reads(self, name: str) -> bool:
        texts = [*(insert.query for insert in self.inserts), *(view.query for view in self.views.values())]
        return any(_names(text, name) for text in texts)

    # --- tables ------------------------------------------------------------------------------------------
    def _read_source(self, table: CreateTable) -> ApplicationSource:
        return ApplicationSource(
            name=table.name,
            schema=self._read_schema(table),
            path=self._path(table),
            is_declared=bool(table.columns),
            time=table.time,
            lateness=table.lateness,
        )

    def _read_schema(self, table: CreateTable) -> pa.Schema:
        columns = [column for column in table.columns if column.computed is None]
        if columns:
            return pa.schema([(column.name, _read_type(column)) for column in columns])
        return self.endpoints.read_source_schema(self._path(table), table.name, self.path.parent, self._host())

    def _path(self, table: CreateTable) -> str:
        """Where it is, as APP.toml would say it."""
        options = table.options
        connector = options.get("connector", "filesystem")
        if connector not in CONNECTORS:
            hint = "there are filesystem, print, and on Spark kafka; or give what APP.toml takes as 'path'"
            raise NotSupportedYet(f'the connector "{connector}"', span=table.span, hint=hint)
        for key in options:
            if key not in OPTIONS:
                hint = suggest_name(key, OPTIONS)
                raise NotSupportedYet(f'the option "{key}" of "{table.name}"', span=table.span, hint=hint)
        if connector == "kafka" and {"topic", "properties.bootstrap.servers"} <= set(options):
            return f"kafka:{options['properties.bootstrap.servers']}/{options['topic']}"
        if connector == "kafka":
            hint = "add 'topic' = '...' and 'properties.bootstrap.servers' = 'host:9092'"
            raise InvalidQuery(f'"{table.name}" does not say which topic of Kafka it is', span=table.span, hint=hint)
        if "path" not in options:
            hint = f"CREATE TABLE {table.name} (...) WITH ('path' = '{table.name}.parquet')"
            raise InvalidQuery(f'"{table.name}" does not say where its rows are', span=table.span, hint=hint)
        path, kind = options["path"], options.get("format")
        if kind is not None and kind not in ENDINGS:
            hint = suggest_name(kind, ENDINGS)
            raise NotSupportedYet(f'the format "{kind}" of "{table.name}"', span=table.span, hint=hint)
        is_folder = kind is not None and not Path(path).suffix and "*" not in path and ":" not in path
        return f"{path.rstrip('/')}/*{ENDINGS[kind]}" if is_folder and kind is not None else path


def _names(query: str, name: str) -> bool:
    """May it be the name of a table there?  In front of a dot it is that of a column, or of an item of FROM."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w`\"]*\s*\.)(?!\w)", query, re.IGNORECASE) is not None


def _reads_from(query: str, name: str) -> bool:
    return re.search(rf"\b(?:FROM|JOIN|TABLE)\s+[`\"]?{re.escape(name)}(?!\w)", query, re.IGNORECASE) is not None


def _read_type(column: ScriptColumn) -> pa.DataType:
    """A type as Flink, Trino or PostgreSQL write it."""
    if column.fields:
        return pa.struct([(field.name, _read_type(field)) for field in column.fields])
    if (found := _DECIMAL.match(column.type)) is not None:
        return pa.decimal128(int(found[1] or 38), int(found[2] or 0))
    if (found := _ARRAY.match(column.type)) is not None:
        inner = next(group for group in found.groups() if group)
        return pa.list_(_read_type(ScriptColumn(column.name, inner, column.span)))
    plain = re.sub(r"\(\d+\)", "", column.type)
    if plain not in TYPES:
        raise NotSupportedYet(f"the type {column.type}", span=column.span, hint=suggest_name(plain, TYPES))
    return TYPES[plain]
