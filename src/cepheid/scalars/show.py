"""A value as one line for people, near to the SQL it was written in.  Hosts are never given this text."""

from __future__ import annotations

from cepheid.scalars.value import NULL, Column, Literal, Operation, Part, Scalar

INFIX = {
    "and": "AND", "or": "OR", "eq": "=", "neq": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">=",
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "dpipe": "||", "like": "LIKE", "ilike": "ILIKE",
    "is": "IS", "nullsafeeq": "IS NOT DISTINCT FROM", "nullsafeneq": "IS DISTINCT FROM",
}  # fmt: skip


def quote_name(name: str) -> str:
    """A column name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def show_scalar(value: Scalar) -> str:
    match value:
        case Column(name=name):
            return quote_name(name)
        case Literal(text=text, is_text=is_text):
            return "'" + text.replace("'", "''") + "'" if is_text else text
    return _show_operation(value)


def _show_operation(value: Operation) -> str:
    this, expression = value.part("this"), value.part("expression")
    match value.kind:
        case "and" | "or" as kind:
            return f" {INFIX[kind]} ".join(map(_show_operand, value.part("operands")))  # type: ignore[arg-type]
        case kind if kind in INFIX and this is not None and expression is not None:
            return f"{_show_operand(this)} {INFIX[kind]} {_show_operand(expression)}"
        case "not" if isinstance(this, Operation) and this.kind == "is" and this.part("expression") == NULL:
            return f"{_show_operand(this.part('this'))} IS NOT NULL"
        case "not":
            return f"NOT {_show_operand(this)}"
        case "neg":
            return f"-{_show_operand(this)}"
        case "boolean":
            return "TRUE" if this else "FALSE"
        case "null":
            return "NULL"
        case "between":
            low, high = value.part("low"), value.part("high")
            return f"{_show_operand(this)} BETWEEN {_show_operand(low)} AND {_show_operand(high)}"
        case "in" if value.part("expressions"):
            return f"{_show_operand(this)} IN ({_show_part(value.part('expressions'))})"
        case "cast" | "trycast" as kind:
            name = "CAST" if kind == "cast" else "TRY_CAST"
            return f"{name}({_show_part(this)} AS {_show_part(value.part('to'))})"
        case "datatype":
            inside = _show_part(value.part("expressions"))
            return f"{this}({inside})" if inside else str(this)
        case "datatypeparam" | "var" | "identifier" | "paren":
            return _show_part(this)
        case "interval":
            return f"INTERVAL {_show_part(this)} {_show_part(value.part('unit'))}".rstrip()
        case "case":
            default = value.part("default")
            words = ["CASE", _show_part(this), *map(_show_branch, value.part("ifs") or ())]  # type: ignore[arg-type]
            words += [f"ELSE {_show_part(default)}"] if default is not None else []
            return " ".join(part for part in [*words, "END"] if part)
        case "dot":
            return f"{_show_operand(this)}.{_show_part(expression)}"
        case "anonymous":
            return f"{this}({_show_part(value.part('expressions'))})"
    shown = [_show_part(part) for _, part in sorted(value.parts, key=lambda pair: pair[0] != "this")]
    return f"{value.kind.upper()}({', '.join(part for part in shown if part)})"


def _show_branch(branch: Part) -> str:
    assert isinstance(branch, Operation), "CASE has branches"
    return f"WHEN {_show_part(branch.part('this'))} THEN {_show_part(branch.part('true'))}"


def _show_operand(part: Part) -> str:
    """In parentheses where it would not be plain what belongs together."""
    shown = _show_part(part)
    loose = isinstance(part, Operation) and (part.kind in INFIX or part.kind in ("not", "between", "in"))
    return f"({shown})" if loose else shown


def _show_part(part: Part) -> str:
    match part:
        case None:
            return ""
        case Column() | Literal() | Operation():
            return show_scalar(part)
        case tuple():
            return ", ".join(map(_show_part, part))
    return str(part)
