"""One table of a TOML file, read value by value: each of the right type and within its bounds, or a mistake told."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from cepheid.errors import InvalidInput, Where, suggest_name


class Missing:
    """No default: the key has to be there."""


REQUIRED: Final = Missing()
TABLE_HINT = "write { key = value }, or the keys in the lines below a [heading]"


class Table:
    """title: what it is called in messages, as `vertex "db"`.  known: the keys it may have, None: any.  where: the way
    to it from the top of the file.  kind: what mistakes in this file are."""

    __slots__ = ("fields", "kind", "title", "where")

    def __init__(
        self,
        fields: Mapping[str, Any],
        title: str,
        known: Collection[str] | None = None,
        where: Where = (),
        kind: type[InvalidInput] = InvalidInput,
    ) -> None:
        self.fields, self.title, self.where, self.kind = fields, title, where, kind
        for key in fields:
            if known is not None and key not in known:
                raise self.mistake(f'has no key "{key}"', key, hint=suggest_name(key, known))

    def mistake(self, problem: str, *way: str | int, hint: str) -> InvalidInput:
        """way: from here to where it is."""
        return self.kind(f"{self.title} {problem}", where=(*self.where, *way), hint=hint)

    def has(self, key: str) -> bool:
        return key in self.fields

    def value(self, key: str, hint: str) -> Any:
        if key not in self.fields:
            raise self.mistake(f'lacks the key "{key}"', hint=hint)
        return self.fields[key]

    def text(self, key: str, default: str | Missing = REQUIRED) -> str:
        if key not in self.fields and not isinstance(default, Missing):
            return default
        hint = f'write {key} = "..."'
        value = self.value(key, hint)
        if not isinstance(value, str) or not value:
            raise self.mistake(f"needs a text for {key}, not {_show(value)}", key, hint=hint)
        return value

    def choice(self, key: str, known: Collection[str], default: str | Missing = REQUIRED) -> str:
        if isinstance(default, Missing):
            self.value(key, hint=f'write {key} = "{next(iter(known), "")}"; known: {", ".join(known)}')
        value = self.text(key, default)
        if value not in known:
            raise self.mistake(f'has an unknown {key}: "{value}"', key, hint=suggest_name(value, known))
        return value

    def number(
        self,
        key: str,
        default: float | Missing = REQUIRED,
        *,
        zero: bool = False,
        negative: bool = False,
        endless: bool = False,
    ) -> float:
        """Above zero; `zero`: or zero; `negative`: or any; `endless`: or inf."""
        if key not in self.fields and not isinstance(default, Missing):
            return default
        hint = f"write for instance {key} = 1.5"
        value = self.value(key, hint)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.mistake(f"needs a number for {key}, not {_show(value)}", key, hint=hint)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf if value > 0 else -math.inf
        if math.isnan(number) or (math.isinf(number) and not (endless and number > 0.0)):
            raise self.mistake(f"needs a number that is finite for {key}, not {number:g}", key, hint=hint)
        if not negative and (number < 0.0 or (number == 0.0 and not zero)):
            least = "of at least" if zero else "above"
            raise self.mistake(f"needs a number {least} 0 for {key}, not {number:g}", key, hint=hint)
        return number

    def whole(self, key: str, default: int | Missing = REQUIRED, *, least: int = 1, most: int = 1_000_000) -> int:
        if key not in self.fields and not isinstance(default, Missing):
            return default
        value = self.value(key, hint=f"write for instance {key} = {least}")
        if isinstance(value, bool) or not isinstance(value, int):
            hint = f"write it without quotes and point, as in {key} = {least}"
            raise self.mistake(f"needs a whole number for {key}, not {_show(value)}", key, hint=hint)
        if not least <= value <= most:
            hint = f"the nearest is {key} = {least if value < least else most}"
            raise self.mistake(f"needs a whole number from {least} to {most:,} for {key}, not {value}", key, hint=hint)
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self.fields.get(key, default)
        if not isinstance(value, bool):
            hint = f"write {key} = true or {key} = false, without quotes"
            raise self.mistake(f"needs true or false for {key}, not {_show(value)}", key, hint=hint)
        return value

    def table(self, key: str, title: str, known: Collection[str] | None = None, hint: str | None = None) -> Table:
        """If it is absent, an empty one."""
        return self._open(self.fields.get(key, {}), title, known, (key,), hint)

    def named_tables(self, key: str, what: str, known: Collection[str]) -> Iterator[tuple[str, Table]]:
        """[source.buses], [source.stops]: each with its name."""
        for name, fields in self.table(key, f"[{key}]").fields.items():
            yield name, self._open(fields, f'{what} "{name}"', known, (key, name))

    def tables(
        self, key: str, what: str, known: Collection[str], *, named_by: str = "name", part_of: str = ""
    ) -> Iterator[Table]:
        """Of a list.  In messages: `what`, then its name or else its number, then what it is a part of."""
        for number, fields in enumerate(self.elements(key)):
            name = fields.get(named_by) if isinstance(fields, dict) else None
            title = f'{what} "{name}"{part_of}' if name else f"{what} {number + 1}{part_of}"
            yield self._open(fields, title, known, (key, number))

    def elements(self, key: str) -> list[Any]:
        """Of a list, which may be absent."""
        value = self.fields.get(key, [])
        if not isinstance(value, list):
            hint = f"write [[{key}]] with double brackets" if isinstance(value, dict) else f"write {key} = [...]"
            raise self.mistake(f"needs a list for {key}, not {_show(value)}", key, hint=hint)
        return value

    def _open(
        self, fields: object, title: str, known: Collection[str] | None, way: Where, hint: str | None = None
    ) -> Table:
        where = (*self.where, *way)
        if not isinstance(fields, dict):
            raise self.kind(f"{title} must be a table, not {_show(fields)}", where=where, hint=hint or TABLE_HINT)
        return Table(fields, title, known, where, self.kind)


def _show(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        return "a table"
    return "a list" if isinstance(value, list) else str(value)
