"""Batches as people push them, fitted to the schemas that their streams were announced with.

Changes in a form of others (execution/changelogs) are put into our own here, so that nothing behind it knows of forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.execution.changelogs.kinds import read_changelog, read_changelog_schema
from cepheid.schema import empty_table, fit_schema, is_plain_schema, read_table


class StreamInputs:
    """The streams by name; more may be announced later.  schemas: with changes in our own form."""

    def __init__(self, schemas: Mapping[str, pa.Schema]) -> None:
        self.schemas = {name: read_changelog_schema(schema) for name, schema in schemas.items()}
        self._written = {name: schema for name, schema in schemas.items() if schema is not self.schemas[name]}
        self._plain = {name: is_plain_schema(schema) for name, schema in schemas.items()}

    def announce(self, name: str, schema: pa.Schema) -> None:
        self.schemas[name] = schema
        self._plain[name] = is_plain_schema(schema)

    def read(self, batches: Mapping[str, Any]) -> dict[str, pa.Table]:
        """The events of each stream that was pushed."""
        self.check(batches)
        return {name: self._read_batch(name, batch) for name, batch in batches.items()}

    def check(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.schemas:
                known = ", ".join(self.schemas) or "none"
                raise InvalidInput(f'the query has no stream "{name}"', hint=f"its streams: {known}")

    def read_nothing(self, stream: str | None = None) -> dict[str, pa.Table]:
        """No events, of every stream or of one."""
        if stream is not None:
            self.check([stream])
        names = self.schemas if stream is None else [stream]
        return {name: empty_table(self.schemas[name]) for name in names}

    def _read_batch(self, name: str, batch: Any) -> pa.Table:
        schema = self.schemas[name]
        if name in self._written:
            batch = read_changelog(name, fit_schema(name, read_table(name, batch), self._written[name]))
        if self._plain[name] and isinstance(batch, pa.Table) and batch.schema.equals(schema):
            return batch  # as it was announced: nothing to look for
        return fit_schema(name, read_table(name, batch), schema)
