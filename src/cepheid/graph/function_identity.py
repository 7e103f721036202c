"""What tells a function of the user from another one, in every process and every Python alike: its name and its text.

The text is what Python itself reads: comments, blank lines and the way it is laid out say nothing.  Where there is no
source (a notebook that is gone, a compiled module), the code stands for it, which differs between versions of Python.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable
from types import CodeType
from typing import Any


def identify_function(function: Any) -> str:
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", type(function).__name__)
    told = f"{getattr(function, '__module__', '')}.{name}"
    if code is None:
        return told
    written = _read_source(function, code) or _show_code(code)
    bound = [*(function.__defaults__ or ()), *(cell.cell_contents for cell in function.__closure__ or ())]
    written += "".join(f" {value!r}" for value in bound if isinstance(value, bool | int | float | str | bytes))
    return told + hashlib.sha256(written.encode()).hexdigest()[:16]


def _read_source(function: Callable[..., Any], code: CodeType) -> str | None:
    """The function as Python would write it; None if its text cannot be had, or several stand on its line."""
    try:
        lines, _ = inspect.getsourcelines(function)
        tree = ast.parse(_complete(textwrap.dedent("".join(lines))))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    kinds = (ast.Lambda,) if code.co_name == "<lambda>" else (ast.FunctionDef, ast.AsyncFunctionDef)
    names = list(code.co_varnames[: code.co_argcount])
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, kinds) and [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)] == names
    ]
    texts = {ast.unparse(node) for node in found if getattr(node, "name", code.co_name) == code.co_name}
    return texts.pop() if len(texts) == 1 else None


def _complete(text: str) -> str:
    """A lambda may stand in the middle of a statement: what is around it may not be whole."""
    try:
        ast.parse(text)
    except SyntaxError:
        start = text.index("lambda")
        for end in range(len(text), start, -1):
            try:
                ast.parse(text[start:end], mode="eval")
            except SyntaxError:
                continue
            return text[start:end]
    return text


def _show_code(code: CodeType) -> str:
    """Code as text that is the same in every process."""
    return f"{code.co_code.hex()} {code.co_names} {[_show_constant(constant) for constant in code.co_consts]}"


def _show_constant(constant: object) -> str:
    match constant:
        case CodeType():  # its own text would say where it lies in memory
            return _show_code(constant)
        case frozenset():  # strings have other hashes, and so another order, in another process
            return str(sorted(map(repr, constant)))
    return repr(constant)
