"""Operators of one's own over windows, in several processes: everything that `cep.ParallelWindows` is made of.

    ParallelWindows     events in, changes of matches out
    Operator            what you write: begin, process, finish, clone; Match: what it finds; Event: what it is given
    CountPredicate, TimePredicate, BetweenPredicate           where windows start and end
    RoundRobin, LeastLoaded                                   which process gets the next window
    EveryEvents, EverySpeculative, AdaptiveCheckpoints        when states are saved, to go back to
    SequenceOperator    one operator that is here

Predicate, Scheduler, CheckpointModel: what one of your own has to offer.
"""

from __future__ import annotations

from cepheid.disorder.consistency_manager import EventName
from cepheid.disorder.speculation import LoadZone
from cepheid.execution.parallel.checkpoints.adaptive import Adaptive as AdaptiveCheckpoints
from cepheid.execution.parallel.checkpoints.checkpoint_model import CheckpointModel, Progress
from cepheid.execution.parallel.checkpoints.every_events import EveryEvents
from cepheid.execution.parallel.checkpoints.every_speculative import EverySpeculative
from cepheid.execution.parallel.events import Event
from cepheid.execution.parallel.merger import MatchChange
from cepheid.execution.parallel.messages import Match
from cepheid.execution.parallel.operators.operator import Operator
from cepheid.execution.parallel.operators.sequence import SequenceOperator
from cepheid.execution.parallel.parallel_windows import ParallelWindows
from cepheid.execution.parallel.predicates.between import BetweenPredicate
from cepheid.execution.parallel.predicates.count import CountPredicate
from cepheid.execution.parallel.predicates.predicate import Predicate
from cepheid.execution.parallel.predicates.time import TimePredicate
from cepheid.execution.parallel.schedulers.least_loaded import LeastLoaded
from cepheid.execution.parallel.schedulers.round_robin import RoundRobin
from cepheid.execution.parallel.schedulers.scheduler import Scheduler
from cepheid.execution.parallel.split_window import SplitWindow

__all__ = [
    "AdaptiveCheckpoints",
    "BetweenPredicate",
    "CheckpointModel",
    "CountPredicate",
    "Event",
    "EventName",
    "EveryEvents",
    "EverySpeculative",
    "LeastLoaded",
    "LoadZone",
    "Match",
    "MatchChange",
    "Operator",
    "ParallelWindows",
    "Predicate",
    "Progress",
    "RoundRobin",
    "Scheduler",
    "SequenceOperator",
    "SplitWindow",
    "TimePredicate",
]
