"""Scalar SQL to kernel expressions, with types checked on the way.

What the kernel has no function for is *hoisted*: if it looks at one event only, the host computes it as a column
before the events reach the pattern, and the condition reads that column.  Only a function of several events
that the kernel does not know is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, Span, TypeMismatch
from cepheid.event_time import in_microseconds
from cepheid.kernel.columns import kind_of
from cepheid.kernel.expression import (
    CURRENT,
    Call,
    Cell,
    Classifier,
    Constant,
    Expression,
    HostAggregate,
    HostCall,
    Kind,
    MatchNumber,
    Position,
)
from cepheid.language.expressions.aggregates import FACTS, find_changing, is_aggregate
from cepheid.language.expressions.exact_conditions import compare_exactly
from cepheid.language.expressions.functions import (
    KIND_NAMES,
    MOST_BRANCHES,
    NUMBERS,
    bind_function,
    join_wide,
    null_if_any,
)
from cepheid.language.expressions.navigation import Path, enter_navigation, in_parentheses, rebuild
from cepheid.language.expressions.scope import EventInput, InputColumn
from cepheid.language.expressions.uncompilable import Uncompilable
from cepheid.language.parsing.interval_parser import scale_unit
from cepheid.language.parsing.places import span_of
from cepheid.language.relations.sql_values import read_value, write_tree
from cepheid.scalars.value import Column, Scalar
from cepheid.user_functions import plain_name

Resolve = Callable[[exp.Column, Path], tuple[EventInput, InputColumn, Position]]
"""Where a column comes from, which one it is, and at which event it is read."""

BindFact = Callable[[exp.Expr, Path], Expression | None]
"""What is written about the match so far (an aggregate, CLASSIFIER(), ...); None if it is nothing like that."""

HostFact = Classifier | MatchNumber | HostAggregate
ReadFact = Callable[[exp.Expr, Path], tuple[HostFact, pa.DataType] | None]
"""The same as the general evaluator is told it, and its type."""

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge",
}  # fmt: skip
ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul", exp.Div: "div", exp.Mod: "mod",
}  # fmt: skip
ELSEWHERE = (exp.Query, exp.DateDiff, exp.Window)  # not for the general evaluator: hosts count months differently


@dataclass(frozen=True)
class ScalarBinder:
    """Binds conditions of one clause; `resolve` gives the meaning of columns, `bind_fact` that of the rest.

    source: the only input, by which a value without columns can be computed beforehand; read_fact is there if functions
    of several events may go to the general evaluator.
    """

    resolve: Resolve
    bind_fact: BindFact | None = None
    source: EventInput | None = None
    read_fact: ReadFact | None = None

    def condition(self, written: exp.Expr) -> Expression:
        """A condition: an expression of kind bool."""
        bound = self.expression(written)
        return _check_logical(bound, written)

    def expression(self, written: exp.Expr) -> Expression:
        changing = find_changing(written)
        if changing is not None:
            raise NotSupportedYet(
                f"{changing.sql()} in a condition",
                span=span_of(changing) or span_of(written),
                hint="it would give other rows each time; compare with a column or a literal",
            )
        try:
            return self._bind(written, Path())
        except Uncompilable as problem:
            several = _reads_events(problem.node)
            raise NotSupportedYet(
                f"{problem.what} over several events of a match" if several else f"{problem.what} of constants",
                span=span_of(problem.node) or span_of(written),
                hint=problem.hint if several else "write its value, or compute it in a subquery",
            ) from problem

    def _bind(self, node: exp.Expr, path: Path) -> Expression:
        try:
            return self._bind_known(node, path)
        except Uncompilable as problem:
            bound = self._hoist(node, path) or self._ask_host(node, path)
            if bound is None:
                raise problem
            return bound

    def _bind_known(self, node: exp.Expr, path: Path) -> Expression:
        inside = enter_navigation(node, path)
        if inside is not None:
            return self._bind(*inside)
        fact = None if self.bind_fact is None else self.bind_fact(node, path)
        if fact is not None:
            return fact
        if isinstance(node, exp.Paren):
            return self._bind(node.this, path)
        if isinstance(node, exp.Column):
            return self._column(node, path)
        if type(node) in COMPARISONS:
            return self._comparison(COMPARISONS[type(node)], node, path)
        if type(node) in ARITHMETIC:
            return self._arithmetic(ARITHMETIC[type(node)], node, path)
        if isinstance(node, exp.Literal | exp.Boolean | exp.Null | exp.Interval):
            return _constant(node)
        return self._bind_function(node, path)

    def _bind_function(self, node: exp.Expr, path: Path) -> Expression:
        match node:
            case exp.And() | exp.Or():
                sides = (self._logical(node.left, path), self._logical(node.right, path))
                return Call("and" if isinstance(node, exp.And) else "or", sides, "bool")
            case exp.Not():
                return Call("not", (self._logical(node.this, path),), "bool")
            case exp.Is(expression=exp.Null()):
                return Call("is_null", (self._bind(node.this, path),), "bool")
            case exp.Is(expression=exp.Boolean(this=wanted)):
                return self._truth(node.this, bool(wanted), path)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                return self._null_safe(node, path)
            case exp.Between():
                return self._between(node, path)
            case exp.In() if node.args.get("expressions"):
                return self._in_list(node, path)
            case exp.Neg():
                return self._number_call("neg", node.this, path)
            case exp.Abs():
                return self._number_call("abs", node.this, path)
            case exp.Least() | exp.Greatest():
                return self._extreme(node, path)
            case exp.Coalesce():
                return self._choice("coalesce", [node.this, *node.expressions], path)
            case exp.Nullif():
                equal = exp.EQ(this=node.this, expression=node.expression)
                return self._if(exp.If(this=equal, true=exp.Null(), false=node.this), path)
            case exp.Case():
                return self._case(node, path)
            case exp.If():
                return self._if(node, path)
            case exp.Cast():
                return self._cast(node, path)
        if isinstance(node, exp.Anonymous) and node.name.upper() in ("RUNNING", "FINAL") and self.bind_fact:
            return self._bind(_leave_running(node), path)
        if is_aggregate(node):
            name = node.sql_name() if isinstance(node, exp.AggFunc) else f'"{node.sql()}"'
            hint = "compute it in a subquery, and compare its column"
            raise NotSupportedYet(f"the aggregate {name} in a condition", span=span_of(node), hint=hint)
        if isinstance(node, exp.Anonymous) and node.name.upper() in FACTS:
            hint = "leave it out: conditions of SEQ compare columns of events, as in a.x < b.x"
            raise NotSupportedYet(f"{node.name.upper()} in a condition", span=span_of(node), hint=hint)
        if isinstance(node, exp.Subquery | exp.Select | exp.Exists):
            hint = "join it to the stream in a subquery of FROM, and compare its column"
            raise NotSupportedYet("a subquery in a condition", span=span_of(node), hint=hint)
        if isinstance(node, exp.Window):
            hint = "compute it in a subquery of FROM, and compare its column"
            raise NotSupportedYet("OVER in a condition", span=span_of(node), hint=hint)
        call = bind_function(node, lambda argument: self._bind(argument, path))
        if call is not None:
            return call
        if isinstance(node, exp.Anonymous):
            raise Uncompilable(node, f"the function {plain_name(node.name).upper()}")
        raise Uncompilable(node, f"the function {node.sql_name()}" if isinstance(node, exp.Func) else f'"{node.sql()}"')

    def _column(self, node: exp.Column, path: Path) -> Cell:
        _, column, position = self.resolve(node, path)
        if column.kind is None:
            what = f"a column of type {column.type}"
            if pa.types.is_decimal(column.type):
                raise Uncompilable(node, what, f"write CAST({node.sql()} AS DOUBLE)")
            raise Uncompilable(node, what)
        return Cell(column.layout, column.kind, position)

    def _logical(self, node: exp.Expr, path: Path) -> Expression:
        return _check_logical(self._bind(node, path), node)

    def _comparison(self, function: str, node: exp.Expr, path: Path) -> Call:
        if not _reads_facts(node):
            exact = compare_exactly(function, node.this, node.expression, path, self.resolve)
            if exact is not None:
                return exact
        sides = (self._bind(node.this, path), self._bind(node.expression, path))
        return Call(function, _unify(sides, node), "bool")

    def _null_safe(self, node: exp.Binary, path: Path) -> Call:
        """IS [NOT] DISTINCT FROM: null equals null, and nothing else."""
        left, right = _unify((self._bind(node.this, path), self._bind(node.expression, path)), node)
        nulls = Call("and", (Call("is_null", (left,), "bool"), Call("is_null", (right,), "bool")), "bool")
        equal = Call("coalesce", (Call("eq", (left, right), "bool"), Constant(False, "bool")), "bool")
        same = Call("or", (nulls, equal), "bool")
        return same if isinstance(node, exp.NullSafeEQ) else Call("not", (same,), "bool")

    def _truth(self, node: exp.Expr, wanted: bool, path: Path) -> Call:
        """IS TRUE, IS FALSE: a null is neither."""
        given = self._logical(node, path)
        fits = given if wanted else Call("not", (given,), "bool")
        return Call("coalesce", (fits, Constant(False, "bool")), "bool")

    def _between(self, node: exp.Between, path: Path) -> Call:
        low = exp.GTE(this=node.this, expression=node.args["low"])
        high = exp.LTE(this=node.this, expression=node.args["high"])
        return Call("and", (self._comparison("ge", low, path), self._comparison("le", high, path)), "bool")

    def _in_list(self, node: exp.In, path: Path) -> Expression:
        tests = tuple(
            self._comparison("eq", exp.EQ(this=node.this, expression=option), path) for option in node.expressions
        )
        return tests[0] if len(tests) == 1 else join_wide("or", tests, "bool")

    def _arithmetic(self, function: str, node: exp.Expr, path: Path) -> Call:
        left, right = self._bind(node.this, path), self._bind(node.expression, path)
        if left.kind in NUMBERS and right.kind in NUMBERS:
            is_float = function == "div" or "float" in (left.kind, right.kind)
            return Call(function, (left, right), "float" if is_float else "int")
        kind = _time_kind(function, left.kind, right.kind)
        if kind is None:
            of_times = "time" in (left.kind, right.kind)
            raise TypeMismatch(
                f'"{node.sql()}" does not work on {KIND_NAMES[left.kind]} and {KIND_NAMES[right.kind]}',
                span=span_of(node),
                hint="write b.ts - a.ts, or b.ts + INTERVAL '5' SECOND" if of_times else "write CAST(x AS DOUBLE)",
            )
        return Call(function, (left, right), kind)

    def _number_call(self, function: str, inner: exp.Expr, path: Path) -> Expression:
        bound = self._bind(inner, path)
        if isinstance(bound, Constant) and function == "neg" and isinstance(bound.value, int | float):
            return Constant(-bound.value, bound.kind)
        if bound.kind not in (*NUMBERS, "duration"):
            hint = f"write CAST({inner.sql()} AS DOUBLE)"
            message = f'"{inner.sql()}" is {KIND_NAMES[bound.kind]}, not a number'
            raise TypeMismatch(message, span=span_of(inner), hint=hint)
        return Call(function, (bound,), bound.kind)

    def _choice(self, function: str, options: list[exp.Expr], path: Path) -> Expression:
        bound = _unify(tuple(self._bind(option, path) for option in options), options[0])
        return bound[0] if len(bound) == 1 else join_wide(function, bound, _common_kind(bound))

    def _extreme(self, node: exp.Expr, path: Path) -> Expression:
        """least and greatest; the kernel compares what can be ordered."""
        options = [node.this, *node.expressions]
        bound = _unify(tuple(self._bind(option, path) for option in options), node)
        kind = _common_kind(bound)
        if len(bound) == 1:
            return bound[0]
        return null_if_any("least" if isinstance(node, exp.Least) else "greatest", bound, kind)

    def _case(self, node: exp.Case, path: Path) -> Expression:
        subject = node.args.get("this")
        if len(node.args["ifs"]) > MOST_BRANCHES:
            raise Uncompilable(node, f"CASE with more than {MOST_BRANCHES} branches")
        result: exp.Expr = node.args.get("default") or exp.Null()
        for branch in reversed(node.args["ifs"]):
            condition = branch.this if subject is None else exp.EQ(this=subject, expression=branch.this)
            result = exp.If(this=condition, true=branch.args["true"], false=result)
        return self._bind(result, path)

    def _if(self, node: exp.If, path: Path) -> Call:
        condition = self._logical(node.this, path)
        otherwise = node.args.get("false") or exp.Null()
        branches = _unify((self._bind(node.args["true"], path), self._bind(otherwise, path)), node)
        return Call("if", (condition, *branches), _common_kind(branches))

    def _cast(self, node: exp.Cast, path: Path) -> Expression:
        target = node.to.this
        if isinstance(node.this, exp.Literal) and node.this.is_string and target in exp.DataType.TEMPORAL_TYPES:
            return Constant(parse_time(node.this.this, node), "time")
        bound = self._bind(node.this, path)
        if bound.kind in NUMBERS and target == exp.DataType.Type.DOUBLE:
            return bound if bound.kind == "float" else Call("to_float", (bound,), "float")
        raise Uncompilable(node, "CAST")

    def _read_plainly(
        self,
        node: exp.Expr,
        path: Path,
        name: Callable[[EventInput, InputColumn, Position], Scalar],
        name_fact: Callable[[exp.Expr, Path], Scalar | None] | None = None,
    ) -> exp.Expr:
        """The node without navigation, with other values for its columns and facts."""

        def read(inner: exp.Expr, at: Path) -> exp.Expr:
            inside = enter_navigation(inner, at)
            if inside is not None:
                return in_parentheses(read(*inside))
            fact = None if name_fact is None else name_fact(inner, at)
            if fact is not None:
                return write_tree(fact)
            if isinstance(inner, exp.Anonymous) and inner.name.upper() in ("RUNNING", "FINAL"):
                return in_parentheses(read(_leave_running(inner), at))
            if isinstance(inner, exp.Column):
                return write_tree(name(*self.resolve(inner, at)))
            return rebuild(inner, lambda child: read(child, at))

        return read(node, path)

    def _ask_host(self, node: exp.Expr, path: Path) -> HostCall | None:
        """The general evaluator: SQL over the cells of several events, and what is known about the match so far."""
        read_fact, source = self.read_fact, self.source
        if read_fact is None or source is None or any(isinstance(inner, ELSEWHERE) for inner in node.walk()):
            return None
        cells: dict[tuple[str, Position], pa.DataType] = {}
        facts: dict[HostFact, pa.DataType] = {}

        def name(_: EventInput, column: InputColumn, position: Position) -> Scalar:
            cells.setdefault((column.layout, position), column.type)
            return Column(f"_{list(cells).index((column.layout, position))}")

        def name_fact(inner: exp.Expr, at: Path) -> Scalar | None:
            found = read_fact(inner, at)
            if found is None:
                return None
            facts.setdefault(*found)
            return Column(f"_f{list(facts).index(found[0])}")

        plain = self._read_plainly(node, path, name, name_fact)
        if not (cells or facts) or isinstance(plain, exp.Column):
            return None
        value = read_value(plain)
        given = [(f"_{number}", arrow_type) for number, arrow_type in enumerate(cells.values())]
        given += [(f"_f{number}", arrow_type) for number, arrow_type in enumerate(facts.values())]
        try:
            kind = kind_of(source.describe.of_value(value, pa.schema(given)))
        except InvalidQuery as problem:
            raise InvalidQuery(problem.message, span=span_of(node), hint=problem.hint) from None
        return None if kind is None else HostCall(value, tuple(cells), kind, tuple(facts))

    def _hoist(self, node: exp.Expr, path: Path) -> Cell | None:
        """The host computes the node as a column, if all it reads is one event of one input."""
        if any(_is_fact(inner) for inner in node.walk()):
            return None
        found: list[tuple[EventInput, Position]] = []

        def name(source: EventInput, column: InputColumn, position: Position) -> Scalar:
            found.append((source, position))
            return column.value

        plain = self._read_plainly(node, path, name)
        if isinstance(plain, exp.Column | exp.Query) or any(other != found[0] for other in found[1:]):
            return None
        if not found and (self.source is None or any(isinstance(inner, ELSEWHERE) for inner in node.walk())):
            return None
        source, position = found[0] if found else (self.source, CURRENT)
        assert source is not None, "a value without columns is of the only input"
        try:
            column = source.compute(read_value(plain))
        except InvalidQuery as problem:
            raise InvalidQuery(problem.message, span=span_of(node), hint=problem.hint) from None
        return None if column.kind is None else Cell(column.layout, column.kind, position)


def _leave_running(node: exp.Anonymous) -> exp.Expr:
    """RUNNING is what every condition is anyway."""
    if node.name.upper() == "FINAL":
        raise InvalidQuery(
            "FINAL has no meaning in DEFINE: the end of the match is not known yet",
            span=span_of(node),
            hint="leave it out, or write it in MEASURES",
        )
    inner: exp.Expr = node.expressions[0]
    return inner


def _is_fact(node: exp.Expr) -> bool:
    return is_aggregate(node) or (isinstance(node, exp.Anonymous) and node.name.upper() in FACTS)


def _reads_facts(node: exp.Expr) -> bool:
    return any(_is_fact(inner) or isinstance(inner, ELSEWHERE) for inner in node.walk())


def _reads_events(node: exp.Expr) -> bool:
    return any(isinstance(inner, exp.Column) or _is_fact(inner) for inner in node.walk())


def _constant(node: exp.Expr) -> Constant:
    if isinstance(node, exp.Null):
        return Constant(None, "int")
    if isinstance(node, exp.Boolean):
        return Constant(bool(node.this), "bool")
    if isinstance(node, exp.Interval):
        return Constant(_interval(node), "duration")
    if node.args["is_string"]:
        return Constant(node.this, "string")
    text = node.this
    if text.isdigit():
        value = int(text)
        if value >= 2**63:
            hint = f"write {text}.0, which is a double"
            raise InvalidQuery(f"the number {text} does not fit 64 bits", span=span_of(node), hint=hint)
        return Constant(value, "int")
    return Constant(float(text), "float")


def _interval(node: exp.Interval) -> int:
    amount, unit = node.this, node.args.get("unit")
    if not isinstance(amount, exp.Literal) or unit is None:
        hint = "write for instance INTERVAL '10' SECOND"
        raise NotSupportedYet(f'the interval "{node.sql()}" in a condition', span=span_of(node), hint=hint)
    return in_microseconds(scale_unit(amount.this, unit.name, span_of(node) or Span(0, 0)))


def parse_time(text: str, node: exp.Expr) -> int:
    """Microseconds since 1970 of a time written as text; without a zone it is taken as UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise TypeMismatch(
            f'"{text}" is not a time', span=span_of(node), hint="write it as 2026-01-31 06:00:00"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _check_logical(bound: Expression, node: exp.Expr) -> Expression:
    if _is_null(bound):
        return Constant(None, "bool")
    if bound.kind != "bool":
        raise TypeMismatch(
            f'"{node.sql()}" is {KIND_NAMES[bound.kind]}, where true or false is needed',
            span=span_of(node),
            hint="compare it with something",
        )
    return bound


def _is_null(bound: Expression) -> bool:
    return isinstance(bound, Constant) and bound.value is None


def _common_kind(bound: tuple[Expression, ...]) -> Kind:
    kinds: list[Kind] = [side.kind for side in bound if not _is_null(side)] or ["int"]
    return "float" if "float" in kinds else kinds[0]


def _unify(bound: tuple[Expression, ...], node: exp.Expr) -> tuple[Expression, ...]:
    """Values that can be compared with or stand for one another; text beside a time is read as a time."""
    kinds = {side.kind for side in bound if not _is_null(side)}
    if kinds == {"time", "string"}:
        bound = tuple(
            Constant(parse_time(str(side.value), node), "time")
            if isinstance(side, Constant) and side.kind == "string"
            else side
            for side in bound
        )
        kinds = {side.kind for side in bound if not _is_null(side)}
    if len(kinds) > 1 and not kinds <= set(NUMBERS):
        names = " with ".join(KIND_NAMES[kind] for kind in sorted(kinds))
        hint = "cast one side to the type of the other"
        if "duration" in kinds and not kinds.isdisjoint(NUMBERS):
            hint = "compare a duration with an interval, as in b.ts - a.ts > INTERVAL '5' SECOND"
        raise TypeMismatch(f'"{node.sql()}" mixes {names}', span=span_of(node), hint=hint)
    kind = _common_kind(bound)
    return tuple(Constant(None, kind) if _is_null(side) else side for side in bound)


def _time_kind(function: str, left: Kind, right: Kind) -> Kind | None:
    table: dict[tuple[str, str, str], Kind] = {
        ("sub", "time", "time"): "duration",
        ("add", "time", "duration"): "time",
        ("add", "duration", "time"): "time",
        ("sub", "time", "duration"): "time",
        ("add", "duration", "duration"): "duration",
        ("sub", "duration", "duration"): "duration",
    }
    return table.get((function, left, right))
