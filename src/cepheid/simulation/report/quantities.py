"""Numbers as people read them: three digits that matter, and a unit."""

from __future__ import annotations

import math

NOTHING = "–"  # noqa: RUF001 (a dash, as in printed tables)


def write_count(value: float | None) -> str:
    """12.3, 4,567, 8.91 M."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    size = abs(value)
    for unit, name in ((1e12, " T"), (1e9, " G"), (1e6, " M")):
        if size >= unit * 0.9995:
            return f"{_keep_three(value / unit)}{name}"
    return f"{value:,.0f}" if size >= 999.5 else _keep_three(value)


def write_short(value: float) -> str:
    """For axes, as short as possible: 0.5, 20 k, 1.5 M."""
    size = abs(value)
    for unit, name in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if size >= unit:
            return f"{value / unit:.4g}{name}"
    return f"{value:.4g}"


def write_duration(milliseconds: float | None) -> str:
    """850 µs, 12.3 ms, 10.1 s, 4.25 min, 1.5 h."""
    if milliseconds is None or not math.isfinite(milliseconds):
        return NOTHING
    size = abs(milliseconds)
    if size == 0.0:
        return "0 ms"
    for unit, name, least in ((3.6e6, "h", 7.2e6), (6e4, "min", 1.2e5), (1e3, "s", 999.5), (1.0, "ms", 0.9995)):
        if size >= least:
            return f"{_keep_three(milliseconds / unit)} {name}"
    return f"{_keep_three(milliseconds * 1000.0)} µs"


def write_share(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return NOTHING
    if 0.0 < value < 0.0005:
        return "<0.1 %"
    return f"{100.0 * value:.0f} %" if value >= 0.0995 or value == 0.0 else f"{100.0 * value:.1f} %"


def write_money(value: float | None) -> str:
    """Without a currency: prices in a scenario have none."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0.0:
        return "0"
    return f"{value:,.2f}" if abs(value) >= 0.995 else f"{value:.3g}"


def write_value(value: object) -> str:
    """A value of a sweep's axis or of a setting."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return clean_name(str(value))
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:g}"


def clean_name(name: str, most: int = 48) -> str:
    """A user's name, safe in a terminal and in a page: control characters shown as boxes, the middle of a long one
    left out."""
    shown = "".join(letter if letter.isprintable() else "\N{WHITE SQUARE}" for letter in name)
    if len(shown) <= most:
        return shown
    tail = most // 3
    return f"{shown[: most - tail - 1]}…{shown[-tail:]}"


def _keep_three(value: float) -> str:
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}"
    if size >= 9.995:
        return f"{value:.1f}".removesuffix(".0")
    if size >= 0.9995:
        return f"{value:.2f}".rstrip("0").removesuffix(".")
    return f"{value:.3g}"
