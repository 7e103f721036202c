"""APP.toml: sources, queries, cluster and simulation of an application, read into records."""

from cepheid.application.application import (
    Application,
    ApplicationQuery,
    ApplicationSource,
    Cluster,
    compile_application,
    make_catalog,
)
from cepheid.application.endpoints import Endpoints
from cepheid.application.read_application import read_application

__all__ = [
    "Application",
    "ApplicationQuery",
    "ApplicationSource",
    "Cluster",
    "Endpoints",
    "compile_application",
    "make_catalog",
    "read_application",
]
