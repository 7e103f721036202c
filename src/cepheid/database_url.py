"""Addresses of databases in messages: without passwords, wherever a driver may repeat them."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit


def show_address(url: str) -> str:
    """Without passwords, and without parameters, which may hold one."""
    if _is_file(url):
        return url
    parts = urlsplit(url)
    user, at, place = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, user.partition(":")[0] + at + place, parts.path, "", ""))


def hide_secrets(url: str, text: str) -> str:
    """A message of a driver, without what must not be told."""
    parts = urlsplit(url)
    secrets = {value for name, value in parse_qsl(parts.query) if "password" in name.lower()}
    raw = parts.netloc.rpartition("@")[0].partition(":")[2]
    secrets |= set() if _is_file(url) else {raw, unquote(raw)}
    for secret in sorted(secrets - {""}, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _is_file(url: str) -> bool:
    return url.partition("://")[0].lower() == "duckdb"
