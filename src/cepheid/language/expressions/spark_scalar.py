"""Conditions in Spark's dialect: what looks at one event is Spark's, what looks at several is proved equal or refused.

    log(b.v) > log(PREV(b.v))     _e0 = log(v), computed by Spark before events reach the pattern; the kernel compares
    dayofweek(b.ts) = 1           _e0 = (dayofweek(ts) = 1)
    b.v > 5                       the kernel itself: plain columns and literals of one type
    '2026-03-08 02:30:00'         beside a time: Spark reads it, in the session's zone
    log(b.v - a.v)                the kernel, by function_table.py
    xxhash64(b.v, a.v)            refused: no evaluator but Spark knows it

The largest part that looks at one event is computed at once, so that Spark guards one condition by another
(`b.v <> 0 AND 10 / b.v > 2`) as it does in WHERE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import CepheidError, InvalidQuery, NotSupportedYet, TypeMismatch
from cepheid.kernel.columns import kind_of
from cepheid.kernel.expression import (
    Aggregate,
    Call,
    Cell,
    Classifier,
    Constant,
    Expression,
    HostAggregate,
    HostCall,
    MatchNumber,
    Position,
    list_row_aggregates,
)
from cepheid.language.expressions import spark_values as values
from cepheid.language.expressions.aggregates import FACTS, find_changing, find_decimal, is_aggregate
from cepheid.language.expressions.decimals import Exact, fits_whole, whole_value
from cepheid.language.expressions.function_table import ScalarFunction, find_function, list_names
from cepheid.language.expressions.functions import KIND_NAMES
from cepheid.language.expressions.host_types import HostTypes, SparkRules
from cepheid.language.expressions.navigation import Path, enter_navigation, in_parentheses, rebuild
from cepheid.language.expressions.scalar import ARITHMETIC, COMPARISONS, BindFact, Resolve
from cepheid.language.expressions.scope import EventInput, InputColumn
from cepheid.language.expressions.spark_values import Typed
from cepheid.language.parsing.places import span_of
from cepheid.language.relations.sql_values import read_value, write_tree
from cepheid.scalars.value import TRUE, Column, Literal, Scalar, binary, operation
from cepheid.user_functions import is_own, plain_name

Found = tuple[EventInput, InputColumn, Position]
Event = tuple[EventInput, Position]

# null in, null out, whatever else stands in them
STRICT = (
    exp.Column, exp.Literal, exp.Paren, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Add, exp.Sub, exp.Mul,
    exp.Div, exp.Mod, exp.IntDiv, exp.Neg, exp.Not, exp.Between, exp.Like, exp.RegexpLike, exp.Cast, exp.DataType,
    exp.DataTypeParam, exp.Identifier, exp.Interval, exp.Var, exp.In, exp.Dot,
)  # fmt: skip
PLAIN: tuple[type[exp.Expr], ...] = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Neg, exp.Paren, exp.And, exp.Or, exp.Not,
    exp.Is, exp.Between, exp.In, *COMPARISONS,
)  # fmt: skip


@dataclass
class SparkScalarBinder:
    """Binds conditions of one clause, as ScalarBinder does; asks_host: functions of texts may go to DuckDB; tested: the
    variable under test, whose event is there."""

    resolve: Resolve
    types: HostTypes
    bind_fact: BindFact | None = None
    asks_host: bool = False
    tested: str | None = None
    folded: dict[str, Typed | None] = field(default_factory=dict)

    @property
    def rules(self) -> SparkRules:
        assert self.types.rules is not None, "the query is in Spark's dialect"
        return self.types.rules

    @property
    def _beyond(self) -> values.Beyond:
        return "stop" if self.rules.ansi else "wrap"

    def condition(self, written: exp.Expr) -> Expression:
        """A condition: an expression of kind bool."""
        changing = find_changing(written)
        if changing is not None:
            raise NotSupportedYet(
                f"{changing.sql('spark')} in a condition",
                span=span_of(changing) or span_of(written),
                hint="it would give other rows each time; compare with a column or a literal",
            )
        for inner in written.find_all(exp.Query, exp.Exists, exp.Window):
            raise NotSupportedYet(
                "OVER in a condition" if isinstance(inner, exp.Window) else "a subquery in a condition",
                span=span_of(inner) or span_of(written),
                hint="compute it in a subquery of FROM, and compare its column",
            )
        return self._logical(written, Path()).expression

    def _logical(self, node: exp.Expr, path: Path) -> Typed:
        bound = self._bind(node, path)
        if bound.is_null:
            return values.constant(None, pa.bool_())
        if bound.expression.kind != "bool":
            raise TypeMismatch(
                f'"{node.sql("spark")}" is {KIND_NAMES[bound.expression.kind]}, where true or false is needed',
                span=span_of(node),
                hint="compare it with something",
            )
        return bound

    # --- who computes it -----------------------------------------------------------------------------------
    def _bind(self, node: exp.Expr, path: Path) -> Typed:
        inside = enter_navigation(node, path)
        if inside is not None:
            return self._bind(*inside)
        if isinstance(node, exp.Paren):
            return self._bind(node.this, path)
        fact = self._fact(node, path)
        if fact is not None:
            return fact
        if isinstance(node, exp.Column):
            return self._column(node, path)
        events, has_facts = self._events(node, path)
        if not events and not has_facts:
            return self._constant(node)
        if not has_facts and len(events) == 1:
            return self._of_one_event(node, path)
        return self._of_several(node, path)

    def _of_one_event(self, node: exp.Expr, path: Path) -> Typed:
        if all(isinstance(inner, PLAIN) for inner in node.walk()) and not self._reads_time_as_text(node, path):
            try:
                return self._of_several(node, path)
            except CepheidError:
                pass  # Spark may know better, and says what is wrong if it does not
        return self._hoist(node, path)

    def _reads_time_as_text(self, node: exp.Expr, path: Path) -> bool:
        has_text = any(isinstance(inner, exp.Literal) and inner.is_string for inner in node.walk())
        return has_text and any(not pa.types.is_string(column.type) for _, column, _ in self._read(node, path))

    def _fact(self, node: exp.Expr, path: Path) -> Typed | None:
        if self.bind_fact is None:
            return None
        if isinstance(node, exp.Anonymous) and node.name.upper() in ("RUNNING", "FINAL"):
            if node.name.upper() == "FINAL":
                raise InvalidQuery(
                    "FINAL has no meaning in DEFINE: the end of the match is not known yet",
                    span=span_of(node),
                    hint="leave it out, or write it in MEASURES",
                )
            return self._bind(node.expressions[0], path)
        fact = self.bind_fact(node, path)
        if isinstance(fact, Aggregate) and fact.column is not None and (read := self._read(node, path)):
            decimal = find_decimal(node, read[0][0])
            if decimal is not None:
                is_sum = fact.function == "sum"
                return values.typed_decimal(Exact(fact, decimal.precision, decimal.scale, is_sum))
        return None if fact is None else Typed(fact, self._type_of_fact(fact, node, path))

    def _type_of_fact(self, fact: Expression, node: exp.Expr, path: Path) -> pa.DataType:
        if isinstance(fact, HostCall):
            (aggregate,) = list_row_aggregates(fact)
            return aggregate.type
        chosen = isinstance(fact, Aggregate) and fact.function in ("min", "max", "min_by", "max_by")
        if chosen and isinstance(fact, Aggregate) and fact.column is not None:
            for source, _, _ in self._read(node, path):
                if fact.column in source.layout_types():
                    return source.layout_types()[fact.column]
        by_kind = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "string": pa.string()}
        found = by_kind.get(fact.kind)
        if found is None:
            raise NotSupportedYet(
                "this aggregate of times in a condition", span=span_of(node), hint="write min or max of the time"
            )
        return found

    def _column(self, node: exp.Column, path: Path) -> Typed:
        source, column, position = self.resolve(node, path)
        if column.kind is not None:
            return Typed(Cell(column.layout, column.kind, position), column.type)
        if pa.types.is_decimal(column.type):
            return self._decimal(source, column.value, column.type, position)
        raise NotSupportedYet(
            f"a column of type {column.type} in a condition",
            span=span_of(node),
            hint="take a number, a text or a time out of it, as in a.items[0]",
        )

    def _decimal(self, source: EventInput, value: Scalar, arrow_type: pa.DataType, position: Position) -> Typed:
        """The nearest double, and the whole number of last digits, if that fits: both are computed by Spark."""
        double = operation("datatype", this="DOUBLE", nested=False)
        column = source.compute(operation("cast", this=value, to=double))
        exact = None
        if fits_whole(arrow_type):
            whole = source.compute(whole_value(value, arrow_type))
            exact = Exact(Cell(whole.layout, "int", position), arrow_type.precision, arrow_type.scale)
        return Typed(Cell(column.layout, "float", position), arrow_type, exact)

    def _constant(self, node: exp.Expr) -> Typed:
        match node:
            case exp.Null():
                return values.constant(None, values.NULLS)
            case exp.Boolean(this=value):
                return values.constant(bool(value), pa.bool_())
            case exp.Literal(this=text) if node.is_string:
                return values.constant(text, pa.string())
            case exp.Literal(this=text) if text.isdigit() and int(text) < 1 << 63:
                return values.constant(int(text), pa.int32() if int(text) < 1 << 31 else pa.int64())
        found = self._fold(node.sql("spark"), node)
        if found is None:
            raise NotSupportedYet(
                f'"{node.sql("spark")}" in a condition', span=span_of(node), hint="compare with a number, text or time"
            )
        return found

    def _fold(self, sql: str, node: exp.Expr) -> Typed | None:
        if sql not in self.folded:
            try:
                self.folded[sql] = values.read_folded(self.rules.fold(sql))
            except InvalidQuery as problem:
                raise InvalidQuery(problem.message, span=span_of(node), hint=problem.hint) from None
        return self.folded[sql]

    # --- one event: Spark ----------------------------------------------------------------------------------
    def _read(self, node: exp.Expr, path: Path) -> list[Found]:
        """The columns that the node reads, and where."""
        inside = enter_navigation(node, path)
        if inside is not None:
            return self._read(*inside)
        if isinstance(node, exp.Column):
            if isinstance(node.this, exp.Star) or (not node.table and node.name.endswith("]")):
                return []
            return [self.resolve(node, path)]
        return [found for child in node.iter_expressions() for found in self._read(child, path)]

    def _events(self, node: exp.Expr, path: Path) -> tuple[list[Event], bool]:
        """The events that the node reads, and whether it reads facts about the match as well."""
        facts = any(_is_fact(inner) for inner in node.walk())
        found: list[Event] = []
        for source, _, position in [] if facts else self._read(node, path):
            facts = facts or not source.computes
            if not any(known is source and place == position for known, place in found):
                found.append((source, position))
        return found, facts

    def _hoist(self, node: exp.Expr, path: Path) -> Typed:
        """Spark computes the node as a column; an event that is not there reads as if all its columns were null."""
        source, _, position = self._read(node, path)[0]
        plain = _read_plainly(node, path, lambda column, at: write_tree(self.resolve(column, at)[1].value))
        value = read_value(plain)
        column = self._compute(source, value, node)
        if column.kind is None and pa.types.is_decimal(column.type):
            return self._decimal_where_missing(self._decimal(source, value, column.type, position), node, path, source)
        if column.kind is None:
            raise NotSupportedYet(
                f'"{node.sql("spark")}" of type {column.type} in a condition',
                span=span_of(node),
                hint="take a number, a text or a time out of it",
            )
        cell = Cell(column.layout, column.kind, position)
        return Typed(self._where_missing(cell, node, path, source), column.type)

    def _compute(self, source: EventInput, value: Scalar, node: exp.Expr) -> InputColumn:
        """The column; Spark refuses in WHERE what does not look at one row and give one value."""
        try:
            if value not in source.computed and node.find(exp.Anonymous):
                where = self.types.write(value)
                self.types(f"SELECT 1 AS x FROM _input WHERE ({where}) IS NOT NULL", {"_input": source.schema})
            return source.compute(value)
        except InvalidQuery as problem:
            raise InvalidQuery(problem.message, span=span_of(node), hint=problem.hint) from None

    def _decimal_where_missing(self, found: Typed, node: exp.Expr, path: Path, source: EventInput) -> Typed:
        """As `_where_missing`, for both ways to hold a decimal."""
        assert isinstance(found.expression, Cell), "Spark computes it"
        double = self._where_missing(found.expression, node, path, source)
        if double is found.expression or found.exact is None:
            return replace(found, expression=double)
        absent = self._fold(_read_plainly(node, path, self._read_null).sql("spark"), node)
        if absent is None or absent.exact is None or absent.exact.scale != found.exact.scale:
            return Typed(double, found.type)
        assert isinstance(double, Call), "_where_missing chooses"
        whole = Call("if", (double.arguments[0], absent.exact.expression, found.exact.expression), "int")
        return Typed(double, found.type, replace(found.exact, expression=whole))

    def _read_null(self, column: exp.Column, at: Path) -> exp.Expr:
        return _typed_null(self.resolve(column, at)[1].type)

    def _where_missing(self, cell: Cell, node: exp.Expr, path: Path, source: EventInput) -> Expression:
        """The cell, and what Spark makes of nulls where there is no such event."""
        if _is_strict(node) or self._is_there(cell.position):
            return cell

        absent = self._fold(_read_plainly(node, path, self._read_null).sql("spark"), node)
        if absent is None or not isinstance(absent.expression, Constant) or absent.is_null:
            return cell
        is_there = self._compute(source, TRUE, node)
        is_missing = Call("is_null", (Cell(is_there.layout, "bool", cell.position),), "bool")
        return Call("if", (is_missing, absent.expression, cell), cell.kind)

    def _is_there(self, position: Position) -> bool:
        """Is it the event under test?"""
        return position == Position() or (self.tested is not None and position == Position((self.tested,)))

    # --- several events: the kernel ------------------------------------------------------------------------
    def _of_several(self, node: exp.Expr, path: Path) -> Typed:
        if type(node) in COMPARISONS:
            return self._compare(COMPARISONS[type(node)], node, node.this, node.expression, path)
        if type(node) in ARITHMETIC:
            return self._arithmetic(ARITHMETIC[type(node)], node, path)
        match node:
            case exp.And():
                return _logic("and", [self._logical(part, path) for part in self._group(node, path)])
            case exp.Or():
                return _logic("or", [self._logical(part, path) for part in node.flatten()])
            case exp.Not():
                return _logic("not", [self._logical(node.this, path)])
            case exp.Is(expression=exp.Null()):
                return _logic("is_null", [self._bind(node.this, path)])
            case exp.Is(expression=exp.Boolean(this=wanted)):
                held = self._logical(node.this, path)
                held = held if wanted else _logic("not", [held])
                return _logic("coalesce", [held, values.constant(False, pa.bool_())])
            case exp.NullSafeEQ():
                return values.null_safe_equal(node, self._bind(node.this, path), self._bind(node.expression, path))
            case exp.NullSafeNEQ():
                same = values.null_safe_equal(node, self._bind(node.this, path), self._bind(node.expression, path))
                return _logic("not", [same])
            case exp.Between():
                low = self._compare("ge", node, node.this, node.args["low"], path)
                high = self._compare("le", node, node.this, node.args["high"], path)
                return _logic("and", [low, high])
            case exp.In() if node.expressions:
                tests = [self._compare("eq", node, node.this, option, path) for option in node.expressions]
                return tests[0] if len(tests) == 1 else _logic("or", tests)
            case exp.Case():
                return self._case(node, path)
            case exp.If():
                return self._choose(node, path)
            case exp.Neg():
                return values.negate(node, self._bind(node.this, path), self._beyond)
            case exp.IntDiv():
                sides = (self._bind(node.this, path), self._bind(node.expression, path))
                return values.divide_whole(node, *sides)
            case exp.DPipe() | exp.Like():
                return self._text_call(node, path)
            case exp.Anonymous():
                return self._call(node, path)
        raise values.refuse_function(_describe(node), node, list_names("spark"))

    def _group(self, node: exp.And, path: Path) -> Iterator[exp.Expr]:
        """The parts of AND; those about one event that Spark has to compute are one part, in their order."""
        parts = list(node.flatten())
        events = [self._events(part, path) for part in parts]
        done: set[int] = set()
        for place, part in enumerate(parts):
            if place in done:
                continue
            found, facts = events[place]
            own = [place] if facts or len(found) != 1 else _same_event(events, found[0])
            if any(not isinstance(inner, PLAIN) for other in own for inner in parts[other].walk()):
                done.update(own)
                yield _join([parts[other] for other in own])
            else:
                yield part

    def _compare(self, function: str, node: exp.Expr, left: exp.Expr, right: exp.Expr, path: Path) -> Typed:
        first, second = self._read_beside_times(self._bind(left, path), self._bind(right, path), node)
        wide = values.wider_time(first.type, second.type)
        if wide is not None and self.rules.is_utc:  # all of them are microseconds by one clock
            first, second = Typed(first.expression, wide), Typed(second.expression, wide)
        elif wide is not None:
            first = first if first.type == wide else self._as_time(left, path, wide, node)
            second = second if second.type == wide else self._as_time(right, path, wide, node)
        return values.compare(function, node, first, second)

    def _read_beside_times(self, left: Typed, right: Typed, node: exp.Expr) -> tuple[Typed, Typed]:
        """Text beside a time is read by Spark."""
        for text, other in ((left, right), (right, left)):
            written = text.expression
            if isinstance(written, Constant) and isinstance(written.value, str) and other.type in values.SQL_TYPES:
                sql = exp.Literal.string(written.value).sql("spark")
                read = self._fold(f"CAST({sql} AS {values.name_type(other.type)})", node)
                assert read is not None, "a time is a kind of the kernel's"
                return (read, right) if text is left else (left, read)
        return left, right

    def _arithmetic(self, function: str, node: exp.Expr, path: Path) -> Typed:
        left, right = self._bind(node.this, path), self._bind(node.expression, path)
        kinds = (left.expression.kind, right.expression.kind)
        if "time" in kinds or "duration" in kinds:
            return self._of_times(function, node, path, left, right)
        return values.compute(function, node, left, right, self._beyond)

    def _of_times(self, function: str, node: exp.Expr, path: Path, left: Typed, right: Typed) -> Typed:
        kinds = (left.expression.kind, right.expression.kind)
        if kinds == ("time", "time") and function == "sub" and left.type == right.type:
            if left.type == values.MOMENT and not self.rules.is_utc:  # Spark takes one clock from the other
                left = self._as_time(node.this, path, values.LOCAL, node)
                right = self._as_time(node.expression, path, values.LOCAL, node)
            return Typed(Call("sub", (left.expression, right.expression), "duration"), pa.duration("us"))
        if kinds == ("duration", "duration") and function in ("add", "sub"):
            return Typed(Call(function, (left.expression, right.expression), "duration"), pa.duration("us"))
        hint = "write b.ts - a.ts, or add an interval to the time of one event"
        raise values.refuse(node, left, right, hint=hint)

    def _as_time(self, side: exp.Expr, path: Path, wanted: pa.DataType, node: exp.Expr) -> Typed:
        """A time in another type, by the clock of the session's zone: Spark computes it, event by event."""
        events, facts = self._events(side, path)
        if facts or len(events) > 1:
            raise NotSupportedYet(
                f'"{node.sql("spark")}" over several events, in the session\'s zone,',
                span=span_of(node),
                hint="cast the time of each event; unix_micros(b.ts) - unix_micros(a.ts) knows no zone",
            )
        return self._bind(exp.cast(exp.Paren(this=side.copy()), values.name_type(wanted), dialect="spark"), path)

    # --- choices and functions -----------------------------------------------------------------------------
    def _case(self, node: exp.Case, path: Path) -> Typed:
        subject = node.args.get("this")
        result: exp.Expr = node.args.get("default") or exp.Null()
        for branch in reversed(node.args["ifs"]):
            test = branch.this if subject is None else exp.EQ(this=subject, expression=branch.this)
            result = exp.If(this=test, true=branch.args["true"], false=result)
        result.meta.update(node.meta)
        return self._bind(result, path)

    def _choose(self, node: exp.If, path: Path) -> Typed:
        test = self._logical(node.this, path)
        otherwise = node.args.get("false") or exp.Null()
        return self._if(node, test, [self._bind(node.args["true"], path), self._bind(otherwise, path)])

    def _if(self, node: exp.Expr, test: Typed, branches: list[Typed]) -> Typed:
        held = values.hold_choices(branches)
        if held is not None:
            return values.choose_exactly("if", (test.expression,), *held)
        (first, second), target = self._unify(node, branches)
        return Typed(Call("if", (test.expression, first, second), first.kind), target)

    def _unify(self, node: exp.Expr, sides: list[Typed]) -> tuple[list[Expression], pa.DataType]:
        """As `meet`, where the value itself comes out: decimals and FLOAT would change."""
        inexact = [side for side in sides if side.is_decimal and not side.is_null]
        if inexact and pa.float64() not in [side.type for side in sides]:
            raise values.refuse(node, *sides, hint="decimals: write CAST(... AS DOUBLE), or 1.5D for 1.5")
        return values.meet(node, sides)

    def _call(self, node: exp.Anonymous, path: Path) -> Typed:
        name = plain_name(node.name).upper()
        function = find_function(name, "spark")
        if is_own(node.name) and self.asks_host:
            return self._own_call(node, path)
        if function is None:
            if is_aggregate(node) or name in FACTS:
                hint = "conditions of SEQ compare columns of events, as in a.x < b.x"
                raise NotSupportedYet(f"{name} in a condition", span=span_of(node), hint=hint)
            raise values.refuse_function(f"the function {name}", node, list_names("spark"))
        least, most = function.arguments
        if not least <= len(node.expressions) <= most:
            hint = f"it takes {least}" if least == most else f"it takes {least} or more"
            raise InvalidQuery(f"{name} of {len(node.expressions)} arguments", span=span_of(node), hint=hint)
        if function.evaluator == "duckdb":
            return self._text_call(node, path)
        return self._apply(function, node, [self._bind(argument, path) for argument in node.expressions])

    def _own_call(self, node: exp.Anonymous, path: Path) -> Typed:
        """A function of the user over several events, which workers evaluate."""
        cells: dict[tuple[str, Position], pa.DataType] = {}
        parts: list[Scalar] = []
        for argument in node.expressions:
            bound = self._bind(argument, path)
            match bound.expression:
                case Constant(value=constant, kind="int" | "float" | "string") if constant is not None:
                    parts.append(Literal(str(constant), is_text=isinstance(constant, str)))
                case Cell(column=column, position=position):
                    cells.setdefault((column, position), bound.type)
                    parts.append(Column(f"_{list(cells).index((column, position))}"))
                case _:
                    hint = "give it columns of events and literals; compute the rest in a subquery"
                    raise values.refuse(argument, bound, hint=hint)
        value = operation("anonymous", this=node.name, expressions=tuple(parts))
        given = pa.schema([(f"_{number}", arrow_type) for number, arrow_type in enumerate(cells.values())])
        answer = self.types.of_value(value, given)
        kind = kind_of(answer)
        if kind is None:
            raise NotSupportedYet(
                f"the function {plain_name(node.name).upper()}, of type {answer}, over several events of a match",
                span=span_of(node),
                hint="let it give a number, a text, a time or a truth value",
            )
        return Typed(HostCall(value, tuple(cells), kind), answer)

    def _apply(self, function: ScalarFunction, node: exp.Anonymous, sides: list[Typed]) -> Typed:
        match function.operation:
            case "coalesce":
                return self._over_all("coalesce", node, sides)
            case "greatest" | "least" as extreme:
                return self._over_all(extreme, node, sides)
            case "nullif":
                equal = values.compare("eq", node, sides[0], sides[1])
                return self._if(node, equal, [values.constant(None, values.NULLS), sides[0]])
            case "is_null":
                return _logic("is_null", sides)
            case "is_not_null":
                return _logic("not", [_logic("is_null", sides)])
            case "null_safe_equal":
                return values.null_safe_equal(node, sides[0], sides[1])
            case "abs":
                return values.take_absolute(node, sides[0], self._beyond)
            case "neg":
                return values.negate(node, sides[0], self._beyond)
            case "mod":
                return values.compute("mod", node, sides[0], sides[1], self._beyond)
            case "is_nan":
                return Typed(values.test_nan(values.as_double(node, sides[0])), pa.bool_())
            case "log" if len(sides) == 2:
                return Typed(values.logarithm_to_base(node, sides[0], values.as_double(node, sides[1])), pa.float64())
            case "try_add" | "try_sub" | "try_mul" | "try_div" as trying:
                return values.compute(trying.removeprefix("try_"), node, sides[0], sides[1], "null")
        return Typed(_of_doubles(function.operation, [values.as_double(node, side) for side in sides]), pa.float64())

    def _over_all(self, function: str, node: exp.Expr, sides: list[Typed]) -> Typed:
        held = values.hold_choices(sides)
        if held is not None and len(sides) > 1:
            return values.choose_exactly(function, (), *held)
        bound, target = self._unify(node, sides)
        if len(bound) == 1:
            return Typed(bound[0], target)
        return Typed(Call(function, tuple(bound), bound[0].kind), target)

    # --- texts: DuckDB -------------------------------------------------------------------------------------
    def _text_call(self, node: exp.Expr, path: Path) -> Typed:
        """A function of texts of several events, told in Trino's words, which DuckDB is told."""
        if not self.asks_host:
            raise values.refuse_function(_describe(node), node, list_names("spark"))
        read = _TextReads()
        value = self._text_value(node, path, read)
        logical = not isinstance(node, exp.DPipe) and not _is_call(node, "CONCAT")
        found = HostCall(value, tuple(read.cells), "bool" if logical else "string", tuple(read.facts))
        return Typed(found, pa.bool_() if logical else pa.string())

    def _text_value(self, node: exp.Expr, path: Path, read: _TextReads) -> Scalar:
        inside = enter_navigation(node, path)
        if inside is not None:
            return self._text_value(*inside, read)
        if isinstance(node, exp.Paren):
            return self._text_value(node.this, path, read)
        events, facts = self._events(node, path)
        fact = self._fact(node, path) if facts else None
        if fact is not None:
            return self._text_fact(node, fact, read)
        if not facts and len(events) <= 1:
            return self._text_cell(node, path, read)
        inner = [*node.iter_expressions()] if isinstance(node, exp.DPipe | exp.Like | exp.Anonymous) else []
        parts = [self._text_value(part, path, read) for part in inner]
        match node:
            case exp.DPipe():
                return binary("dpipe", *parts)
            case exp.Like():
                return operation("escape", this=binary("like", *parts), expression=Literal("\\", is_text=True))
            case exp.Anonymous() if _is_call(node, "CONCAT"):
                joined, *others = parts
                for other in others:
                    joined = binary("dpipe", joined, other)
                return joined
            case exp.Anonymous() if _is_call(node, "CONTAINS"):
                where = operation("strposition", this=parts[0], substr=parts[1])
                return binary("gt", where, Literal("0"))
            case exp.Anonymous() if _is_call(node, "STARTSWITH", "ENDSWITH"):
                name = "starts_with" if _is_call(node, "STARTSWITH") else "ends_with"
                return operation("anonymous", this=name, expressions=tuple(parts))
        raise values.refuse_function(_describe(node), node, list_names("spark"))

    def _text_fact(self, node: exp.Expr, bound: Typed, read: _TextReads) -> Scalar:
        """A text that is known about the match so far: a variable, or an aggregate that is asked of others anyway."""
        match bound.expression:
            case Classifier() as told:
                return read.name_fact(told)
            case HostCall(kind="string", arguments=(), facts=(told,)):
                return read.name_fact(told)
        raise values.refuse(node, bound, hint="compare it alone, or with a column")

    def _text_cell(self, node: exp.Expr, path: Path, read: _TextReads) -> Scalar:
        bound = self._bind(node, path)
        match bound.expression:
            case Constant(value=str() as text):
                return Literal(text, is_text=True)
            case Cell(column=column, kind="string", position=position):
                read.cells.setdefault((column, position))
                return Column(f"_{list(read.cells).index((column, position))}")
        raise values.refuse(node, bound, hint="write CAST(... AS STRING)")


@dataclass
class _TextReads:
    """What a function of texts reads: cells of events, and facts about the match so far."""

    cells: dict[tuple[str, Position], None] = field(default_factory=dict)
    facts: dict[Classifier | MatchNumber | HostAggregate, None] = field(default_factory=dict)

    def name_fact(self, fact: Classifier | MatchNumber | HostAggregate) -> Scalar:
        self.facts.setdefault(fact)
        return Column(f"_f{list(self.facts).index(fact)}")


# --- trees -----------------------------------------------------------------------------------------------
def _read_plainly(node: exp.Expr, path: Path, spell: Callable[[exp.Column, Path], exp.Expr]) -> exp.Expr:
    """The node without navigation, with other values for its columns."""
    inside = enter_navigation(node, path)
    if inside is not None:
        return in_parentheses(_read_plainly(*inside, spell))
    if isinstance(node, exp.Column):
        return spell(node, path)
    return rebuild(node, lambda child: _read_plainly(child, path, spell))


def _typed_null(arrow_type: pa.DataType) -> exp.Expr:
    return exp.cast(exp.Null(), sql_type(arrow_type), dialect="spark")


def sql_type(arrow_type: pa.DataType) -> str:
    """The name of a type in Spark SQL."""
    known = {
        pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT",
        pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.string(): "STRING", pa.binary(): "BINARY",
    }  # fmt: skip
    types = pa.types
    if types.is_decimal(arrow_type):
        return f"DECIMAL({arrow_type.precision}, {arrow_type.scale})"
    if types.is_map(arrow_type):
        return f"MAP<{sql_type(arrow_type.key_type)}, {sql_type(arrow_type.item_type)}>"
    if types.is_list(arrow_type):
        return f"ARRAY<{sql_type(arrow_type.value_type)}>"
    if types.is_struct(arrow_type):
        fields = (f"`{field.name}`: {sql_type(field.type)}" for field in arrow_type)
        return f"STRUCT<{', '.join(fields)}>"
    return known.get(arrow_type) or values.SQL_TYPES.get(arrow_type) or "STRING"


def _is_strict(node: exp.Expr) -> bool:
    if isinstance(node, exp.And | exp.Or):
        return all(_is_strict(part) and part.find(exp.Column) for part in node.flatten())
    return all(isinstance(inner, STRICT) or _navigates(inner) for inner in node.walk())


def _navigates(node: exp.Expr) -> bool:
    return isinstance(node, exp.First | exp.Last) or _is_call(node, "PREV", "NEXT")


def _is_call(node: exp.Expr, *names: str) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() in names


def _is_fact(node: exp.Expr) -> bool:
    return is_aggregate(node) or _is_call(node, *FACTS)


def _describe(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name.upper()}"
    return f"the function {node.sql_name()}" if isinstance(node, exp.Func) else f'"{node.sql("spark")}"'


def _same_event(events: list[tuple[list[Event], bool]], wanted: Event) -> list[int]:
    return [
        place
        for place, (found, facts) in enumerate(events)
        if not facts and len(found) == 1 and found[0][0] is wanted[0] and found[0][1] == wanted[1]
    ]


def _join(parts: list[exp.Expr]) -> exp.Expr:
    joined, *others = parts
    for other in others:
        joined = exp.And(this=joined.copy(), expression=other.copy())
    return joined


def _logic(function: str, sides: list[Typed]) -> Typed:
    arguments = tuple(side.expression for side in sides)
    return Typed(Call(function, arguments, "bool"), pa.bool_())


def _of_doubles(operation_name: str, sides: list[Expression]) -> Expression:
    match operation_name:
        case "ln" | "log2" | "log10":
            return values.logarithm(operation_name, sides[0])
        case "log":
            return values.logarithm("ln", sides[0])
        case "power":
            return values.power(sides[0], sides[1])
        case "atan2":
            return Call("atan2", tuple(map(values.without_minus_zero, sides)), "float")
    return Call(operation_name, tuple(sides), "float")
