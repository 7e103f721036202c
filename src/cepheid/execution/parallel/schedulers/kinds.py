"""The schedulers there are.  A user's own is any object like them (scheduler.py): it needs no line here."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.execution.parallel.schedulers.least_loaded import LeastLoaded
from cepheid.execution.parallel.schedulers.round_robin import RoundRobin
from cepheid.execution.parallel.schedulers.scheduler import Scheduler

SCHEDULERS: dict[str, Callable[[], Scheduler]] = {"round robin": RoundRobin, "least loaded": LeastLoaded}
