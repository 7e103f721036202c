"""What tells a function of the user from another one, in every process alike: its name and its code."""

from __future__ import annotations

import hashlib
from types import CodeType
from typing import Any


def identify_function(function: Any) -> str:
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", type(function).__name__)
    told = f"{getattr(function, '__module__', '')}.{name}"
    return told if code is None else told + hashlib.sha256(_tell_code(code).encode()).hexdigest()[:16]


def _tell_code(code: CodeType) -> str:
    """Code as text that is the same in every process."""
    return f"{code.co_code.hex()} {code.co_names} {[_tell_constant(constant) for constant in code.co_consts]}"


def _tell_constant(constant: object) -> str:
    match constant:
        case CodeType():  # its own text would tell where it lies in memory
            return _tell_code(constant)
        case frozenset():  # strings have other hashes, and so another order, in another process
            return str(sorted(map(repr, constant)))
    return repr(constant)
