"""changelog="cepheid": our own form, as it is (docs/reference/changes.md)."""

from __future__ import annotations

from cepheid.execution.changelogs.changelog import Changelog

FORM = Changelog("cepheid", lambda schema: schema, lambda rows, _commit: rows)
