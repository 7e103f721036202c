"""Which vertex runs next: one file for each scheduler, and the table that finds them by name."""

from cepheid.simulation.reference.schedulers.kinds import SCHEDULERS, find_scheduler, register_scheduler

__all__ = ["SCHEDULERS", "find_scheduler", "register_scheduler"]
