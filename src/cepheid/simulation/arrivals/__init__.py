"""How events come in: one file for each kind, and the table that finds them by name."""

from cepheid.simulation.arrivals.arrivals import ArrivalProcess
from cepheid.simulation.arrivals.arrivals_table import make_arrivals
from cepheid.simulation.arrivals.kinds import ARRIVALS, register_arrivals

__all__ = ["ARRIVALS", "ArrivalProcess", "make_arrivals", "register_arrivals"]
