"""Packages that only some users need: `pip install "cepheid[spark]"` brings those named here.

    code that needs one ─▶ require_extra("spark") ─▶ nothing, or the error that says what to install

pyproject.toml says which versions; a test keeps both lists equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from cepheid.errors import MissingExtra


@dataclass(frozen=True, slots=True)
class Extra:
    """What it is for, as the beginning of a sentence, and its packages: as pip calls them, as Python imports them."""

    purpose: str
    packages: dict[str, str]


EXTRAS = {
    "spark": Extra("Spark", {"pyspark": "pyspark", "pandas": "pandas", "protobuf": "google.protobuf"}),
    "connect": Extra(
        "Spark Connect",
        {
            "grpcio": "grpc",
            "grpcio-status": "grpc_status",
            "googleapis-common-protos": "google.rpc",
            "zstandard": "zstandard",
        },
    ),
    "plots": Extra("Drawing pictures", {"matplotlib": "matplotlib"}),
    "postgres": Extra("PostgreSQL", {"psycopg": "psycopg"}),
    "delta": Extra("Delta", {"deltalake": "deltalake"}),
    "kafka": Extra("Kafka", {"confluent-kafka": "confluent_kafka"}),
}


def require_extra(name: str) -> None:
    """Raise `MissingExtra` unless all packages of the extra can be imported."""
    extra = EXTRAS[name]
    for package, module in extra.packages.items():
        if not can_import(module):
            raise MissingExtra(extra.purpose, package, name)


def can_import(module: str) -> bool:
    """Asked of the path, not of pip: a cluster may bring pyspark as an archive that pip knows nothing of."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False
