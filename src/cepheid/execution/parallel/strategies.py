"""The two ways to go back: each component by itself (the thesis), or all as one ([MP13b]).

A splitter has receive, step, hear, floor, first_open; an instance receive, take, work, take_replies: whoever runs them
need not know which they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.execution.parallel.black_box.black_box_instance import BlackBoxInstance
from cepheid.execution.parallel.black_box.black_box_splitter import BlackBoxSplitter
from cepheid.execution.parallel.instance import OperatorInstance
from cepheid.execution.parallel.splitter import Splitter


@dataclass(frozen=True, slots=True)
class Strategy:
    splitter: type[Splitter] | type[BlackBoxSplitter]
    instance: type[OperatorInstance]


STRATEGIES: dict[str, Strategy] = {
    "open box": Strategy(Splitter, OperatorInstance),
    "black box": Strategy(BlackBoxSplitter, BlackBoxInstance),
}
