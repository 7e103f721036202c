"""What the page about applications on Spark shows is what is read, and all kinds are on it."""

from __future__ import annotations

import re
from pathlib import Path

from cepheid.application import read_application
from cepheid.execution.endpoints import ENDPOINTS
from cepheid.execution.spark.sinks.kinds import SPARK_SINK_KINDS
from cepheid.execution.spark.sources.kinds import STREAM_KINDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "applications-on-spark.md").read_text()


def test_the_application_is_read(tmp_path: Path) -> None:
    text = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0]
    (tmp_path / "app.toml").write_text(text)
    application = read_application(tmp_path / "app.toml", ENDPOINTS)
    assert application.sources["buses"].lateness.total_seconds() == 60.0
    assert application.spark == {"spark.sql.session.timeZone": "Europe/Berlin"}


def test_the_page_lists_all_kinds_in_their_order() -> None:
    parts = re.split(r"^## (\w+)$", PAGE, flags=re.MULTILINE)[1:]
    under = dict(zip(parts[::2], parts[1::2], strict=True))
    for text, kinds in ((under["Sources"], STREAM_KINDS), (under["Sinks"], SPARK_SINK_KINDS)):
        listed = re.findall(r"^\| ([\w ]+) \|", text, re.MULTILINE)[1:]
        assert listed == [kind.name for kind in kinds]
