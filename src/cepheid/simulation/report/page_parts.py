"""What pages are made of: tiles, tables, sections.  Text goes in as text and is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cepheid.simulation.report.chart_layout import lay_out_chart
from cepheid.simulation.report.charts import Chart
from cepheid.simulation.report.svg import write_svg


def write_title(title: str) -> str:
    return f"<header><h1>{escape(title)}</h1></header>"


def write_section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def write_note(text: str) -> str:
    return f'<p class="faint">{escape(text)}</p>'


def write_tile(value: str, meaning: str, bad: bool = False) -> str:
    return f'<div class="tile{" bad" if bad else ""}"><b>{escape(value)}</b><span>{escape(meaning)}</span></div>'


def write_tiles(tiles: Sequence[str]) -> str:
    return f'<div class="tiles">{"".join(tiles)}</div>'


def write_chart(chart: Chart) -> str:
    return write_svg(lay_out_chart(chart))


def place_side_by_side(charts: Sequence[str]) -> str:
    return f'<div class="pair">{"".join(f"<figure>{chart}</figure>" for chart in charts)}</div>'


def write_figure(chart: str) -> str:
    return f"<figure>{chart}</figure>"


def write_table(heads: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1, bad: Sequence[int] = ()) -> str:
    """words: how many columns from the left are words.  bad: rows that are to be seen."""
    marks = [' class="word"' if column < words else "" for column in range(len(heads))]
    head = "".join(f"<th{mark}>{escape(each)}</th>" for mark, each in zip(marks, heads, strict=True))
    body = "".join(
        ('<tr class="bad">' if number in bad else "<tr>")
        + "".join(f"<td{mark}>{escape(each)}</td>" for mark, each in zip(marks, row, strict=True))
        + "</tr>"
        for number, row in enumerate(rows)
    )
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def write_folded(title: str, inside: str) -> str:
    """inside: markup, seen when asked for."""
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def write_listing(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"
