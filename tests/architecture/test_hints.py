"""Errors help the reader out: nearly every place that makes a user error gives it a hint.

    raise InvalidInput(f'there is no step "{step}"', hint=f"steps: {', '.join(STEPS)}")      a place with a hint
    raise UnknownColumn(name, owner, known)                                                   its class writes the hint
    raise InvalidInput(f'"{path}" cannot be read')                                            a place without one

No place of its own is what passes an error on: `raise problem.with_text(...)`, `hint=problem.hint`, and a function
that only makes the error of its caller (`Table.mistake(..., hint=hint)`): there the calls are the places.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import cepheid
from cepheid import errors
from cepheid.errors import CepheidError, InvalidQuery, Span

SOURCE = Path(cepheid.__file__).parent
LEAST_SHARE = 0.95
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Place:
    """Code that makes a user error."""

    path: str
    line: int
    error: str
    hinted: bool


@dataclass
class Package:
    """modules: path -> tree.  errors: name of a class -> does its constructor write the hint?  makers: functions that
    make an error with the hint they are called with."""

    modules: dict[str, ast.Module]
    errors: dict[str, bool] = field(default_factory=dict)
    makers: set[str] = field(default_factory=set)


def read_package(modules: dict[str, ast.Module]) -> Package:
    package = Package(modules)
    nodes = [node for tree in modules.values() for node in ast.walk(tree)]
    package.errors["CepheidError"] = False
    found = -1
    while found < len(package.errors):  # a class may be defined in front of its base
        found = len(package.errors)
        for node in nodes:
            base = _error_base(node, package) if isinstance(node, ast.ClassDef) else None
            if isinstance(node, ast.ClassDef) and base is not None:
                package.errors[node.name] = _writes_hint(node, package.errors[base])
    for node in nodes:
        if isinstance(node, Function) and _is_maker(node, package):
            package.makers.add(node.name)
    return package


def _error_base(node: ast.ClassDef, package: Package) -> str | None:
    return next((_last_name(base) for base in node.bases if _last_name(base) in package.errors), None)


def _writes_hint(node: ast.ClassDef, otherwise: bool) -> bool:
    """A constructor that takes no hint and gives one to its base."""
    for function in node.body:
        if isinstance(function, Function) and function.name == "__init__":
            calls = [call for call in ast.walk(function) if isinstance(call, ast.Call)]
            return "hint" not in _parameters(function) and any(_hint_of(call) is not None for call in calls)
    return otherwise


def _is_maker(function: Function, package: Package) -> bool:
    """It takes a hint, and all it does is to return the error or to raise it."""
    returned = function.returns
    makes = _last_name(returned) in package.errors or _last_name(returned) == "NoReturn"
    return makes and "hint" in _parameters(function)


def find_places(package: Package) -> list[Place]:
    places: list[Place] = []
    for path, tree in package.modules.items():
        types = _names_of_error_types(tree, package)
        for call, function in _calls(tree, None):
            name = _last_name(call.func)
            error = types.get(name or "", name)
            if error is None or (error not in package.errors and error not in package.makers):
                continue
            hint = _hint_of(call)
            if isinstance(hint, ast.Attribute) and hint.attr == "hint":
                continue  # a caught error, told again
            if function is not None and function.name in package.makers and _is_name(hint, "hint"):
                continue
            hinted = package.errors.get(error, False) or (hint is not None and _is_given(hint, function, tree))
            places.append(Place(path, call.lineno, error, hinted))
    return places


def _names_of_error_types(tree: ast.Module, package: Package) -> dict[str, str]:
    """Parameters like `kind: type[InvalidInput]`."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and isinstance(node.annotation, ast.Subscript):
            inner = _last_name(node.annotation.slice)
            if _last_name(node.annotation.value) == "type" and inner in package.errors:
                found[node.arg] = inner
    return found


def _calls(node: ast.AST, function: Function | None) -> Iterator[tuple[ast.Call, Function | None]]:
    """Each call, and the function it stands in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield child, function
        yield from _calls(child, child if isinstance(child, Function) else function)


def _is_given(hint: ast.expr, function: Function | None, tree: ast.Module) -> bool:
    """Can it never be None, as far as it can be read here?"""
    match hint:
        case ast.Constant(value=None):
            return False
        case ast.IfExp(body=one, orelse=other):
            return _is_given(one, function, tree) and _is_given(other, function, tree)
        case ast.BoolOp(op=ast.Or(), values=values):
            return _is_given(values[-1], function, tree)
        case ast.Call(func=ast.Name(id=name)):
            return not any(
                isinstance(node, Function) and node.name == name and _allows_none(node.returns)
                for node in ast.walk(tree)
            )
        case ast.Name(id=name) if function is not None:
            if _allows_none(_parameters(function).get(name)):
                return False
            return all(_is_given(value, function, tree) for value in _values_of(name, function))
    return True


def _values_of(name: str, function: Function) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _assigned(name, target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from _assigned(name, node.target, node.value)


def _assigned(name: str, target: ast.expr, value: ast.expr) -> Iterator[ast.expr]:
    if _is_name(target, name):
        yield value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, given in zip(target.elts, value.elts, strict=True):
            yield from _assigned(name, one, given)


def _allows_none(annotation: ast.expr | None) -> bool:
    return annotation is not None and "None" in ast.unparse(annotation)


def _hint_of(call: ast.Call) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == "hint"), None)


def _parameters(function: Function) -> dict[str, ast.expr | None]:
    listed = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return {argument.arg: argument.annotation for argument in listed}


def _is_name(node: ast.expr | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _last_name(node: ast.expr | None) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def _read_source() -> Package:
    paths = sorted(SOURCE.rglob("*.py"))
    return read_package({str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in paths})


# --- hints ------------------------------------------------------------------------------------------------


def test_nearly_every_user_error_is_made_with_a_hint() -> None:
    places = find_places(_read_source())
    bare = [f"{place.path}:{place.line} {place.error}" for place in places if not place.hinted]
    assert len(places) > 500, "the places are found"
    assert len(bare) <= (1 - LEAST_SHARE) * len(places), "\n".join(["without a hint:", *bare])


SAMPLE = """
class InvalidFile(CepheidError): ...
class Unknown(InvalidFile):
    def __init__(self, name):
        super().__init__(name, hint=suggest_name(name))
def maybe() -> str | None: ...
class Table:
    def mistake(self, text, hint: str | None = None) -> InvalidFile:
        return InvalidFile(text, hint=hint)
def read(kind: type[InvalidFile], told: str, given: str | None, table):
    %s
"""


@pytest.mark.parametrize(
    ("code", "hinted"),
    [
        ('raise InvalidFile("x")', [False]),
        ('raise errors.InvalidFile("x", hint=None)', [False]),
        ('raise InvalidFile("x", hint="write y")', [True]),
        ('raise InvalidFile("x", hint=told)', [True]),
        ('raise InvalidFile("x", hint=given)', [False]),
        ('raise InvalidFile("x", hint=given or "write y")', [True]),
        ('raise InvalidFile("x", hint="write y" if told else None)', [False]),
        ('raise InvalidFile("x", hint=maybe())', [False]),
        ('hint = "write y" if told else None; raise InvalidFile("x", hint=hint)', [False]),
        ('text, hint = "x", "write y"; raise InvalidFile(text, hint=hint)', [True]),
        ('raise kind("x")', [False]),
        ('raise Unknown("x")', [True]),
        ('raise table.mistake("x")', [False]),
        ('raise table.mistake("x", hint="write y")', [True]),
        ('problem = InvalidFile("x"); raise problem', [False]),
        ("raise problem.with_text(told)", []),
        ('raise InvalidFile("x", hint=problem.hint) from None', []),
        ("raise AssertionError(told)", []),
    ],
)
def test_counter_of_hints_knows_how_errors_are_made(code: str, hinted: list[bool]) -> None:
    package = read_package({"sample.py": ast.parse(SAMPLE % code)})
    assert [place.hinted for place in find_places(package)] == hinted


# --- codes ------------------------------------------------------------------------------------------------

CODES = {  # people search for them and programs compare them: add new ones, keep the old
    "CepheidError": "error",
    "DatabaseAway": "database-away",
    "DriverMissing": "driver-missing",
    "InvalidInput": "invalid-input",
    "InvalidOrder": "invalid-order",
    "InvalidQuery": "invalid-query",
    "InvalidScenario": "invalid-scenario",
    "InvalidWindow": "invalid-window",
    "InvalidWithin": "invalid-within",
    "JavaMissing": "java-missing",
    "WorkersUnfit": "workers-unfit",
    "MatchFailure": "match-failure",
    "MissingExtra": "missing-extra",
    "NotSupportedYet": "not-supported-yet",
    "PatternTooCostly": "pattern-too-costly",
    "RunFailed": "run-failed",
    "SinkFailed": "sink-failed",
    "SnapshotMismatch": "snapshot-mismatch",
    "SyntaxProblem": "syntax",
    "TypeMismatch": "type-mismatch",
    "UnboundedState": "unbounded-state",
    "UnknownColumn": "unknown-column",
    "UnknownKind": "unknown-kind",
    "UnknownStream": "unknown-stream",
    "UnknownVariable": "unknown-variable",
}


def test_codes_of_errors_stay_as_they_are() -> None:
    classes = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
    found = {name: kind.code for name, kind in classes.items() if issubclass(kind, CepheidError)}
    assert found == CODES


def test_each_error_has_a_code_of_its_own() -> None:
    assert len(set(CODES.values())) == len(CODES)
    assert set(_read_source().errors) == set(CODES), "user errors live in errors.py, each with a code"


# --- places -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "marked", "drawn"),
    [
        ("SELECT dely FROM buses", "dely", "1 | SELECT dely FROM buses\n  |        ^^^^"),
        ("SELECT a,\n  dely\nFROM b", "dely", "2 |   dely\n  |   ^^^^"),
        ("SELECT\tdely", "dely", "1 | SELECT\tdely\n  |       \t^^^^"),
        ("SELECT sum(x) FROM b", "sum(x", "1 | SELECT sum(x) FROM b\n  |        ^^^^^^"),
        ("SELECT f(g(x)) FROM b", "f(g(x", "1 | SELECT f(g(x)) FROM b\n  |        ^^^^^^^"),
        ("SELECT f(x + 1, y)", "f(x", "1 | SELECT f(x + 1, y)\n  |        ^^^"),
        ("SELECT a\nFROM b", "a\nFROM", "1 | SELECT a\n  |        ^"),
        ("SELECT", "", "1 | SELECT\n  | ^"),
    ],
)
def test_carets_stand_under_what_is_wrong(text: str, marked: str, drawn: str) -> None:
    start = text.index(marked)
    error = InvalidQuery("wrong", span=Span(start, start + len(marked)), hint="write it").with_text(text)
    assert drawn in str(error)
    assert str(error).endswith("\n\nhint: write it")


def test_caret_at_the_end_of_a_long_query_keeps_its_gutter() -> None:
    text = "\n" * 99 + "SELECT"
    error = InvalidQuery("it ends too early", span=Span(len(text), len(text))).with_text(text, "late.sql")
    assert str(error).splitlines()[1:] == ["    --> late.sql:100:7", "100 | SELECT", "    |       ^"]
