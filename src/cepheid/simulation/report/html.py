"""A report as one file: charts, tables, the graphs and the scenario, readable offline and on paper; no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from cepheid.simulation.exploration.sweep import Sweep
from cepheid.simulation.outcome import Outcome
from cepheid.simulation.report.looks import write_styles
from cepheid.simulation.report.outcome_page import describe_outcome
from cepheid.simulation.report.page_style import HATCH, STYLE
from cepheid.simulation.report.sweep_page import describe_sweep


def write_report(shown: Outcome | Sweep, path: Path) -> None:
    path.write_text(compose_page(shown), encoding="utf-8")


def compose_page(shown: Outcome | Sweep) -> str:
    title, sections = describe_outcome(shown) if isinstance(shown, Outcome) else describe_sweep(shown)
    return _frame(title, sections)


def _frame(title: str, sections: Sequence[str]) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{write_styles()}{STYLE}</style>\n</head>\n<body>\n{HATCH}\n<main>\n"
        + "\n".join(sections)
        + "\n</main>\n</body>\n</html>\n"
    )
