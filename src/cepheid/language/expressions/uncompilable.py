"""What the kernel has no function for: the host, or the general evaluator, may have one."""

from __future__ import annotations

from sqlglot import exp

from cepheid.language.expressions.functions import COMPILED

HOIST_HINT = f"apply it to one event at a time, or compute it in a subquery; over several events there are {COMPILED}"


class Uncompilable(Exception):
    """The kernel has no function for this node."""

    def __init__(self, node: exp.Expr, what: str, hint: str = HOIST_HINT) -> None:
        super().__init__(what)
        self.node, self.what, self.hint = node, what, hint
