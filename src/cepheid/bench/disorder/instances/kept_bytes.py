"""How large the state of an instance is without the windows that it was given, as we save it, and with them (6.4.2)."""

from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np

from cepheid.bench.disorder.instances.loaded_sequence import LoadedSequence
from cepheid.bench.disorder.instances.sent_bytes import INSTANCES, release_all
from cepheid.bench.disorder.instances.streams import Stream
from cepheid.execution.parallel.black_box.black_box_instance import WholeState
from cepheid.execution.parallel.checkpoints.every_events import EveryEvents
from cepheid.execution.parallel.instance import OperatorInstance
from cepheid.execution.parallel.predicates.count import CountPredicate
from cepheid.execution.parallel.schedulers.round_robin import RoundRobin
from cepheid.execution.parallel.splitter import Splitter


class _WeighedInstance(OperatorInstance):
    """Weighs each state that it saves; bytes: data alone, with windows, with windows and events."""

    def __init__(self) -> None:
        super().__init__(LoadedSequence(0.0), EveryEvents(50), CountPredicate.includes_end, time.perf_counter)
        self.bytes: list[tuple[int, int, int]] = []

    def _clone(self, data: dict[int, Any]) -> dict[int, Any]:
        cloned = super()._clone(data)
        whole = WholeState(self.position, self.windows, self.events, cloned)
        weighed = (cloned, (cloned, self.windows), whole)
        alone, with_windows, with_all = (len(pickle.dumps(each, protocol=5)) for each in weighed)
        self.bytes.append((alone, with_windows, with_all))
        return cloned


def measure_kept_bytes(stream: Stream, wait_us: int, size: int, slide: int) -> dict[str, Any]:
    splitter = Splitter(CountPredicate(size, slide), INSTANCES, RoundRobin(), EveryEvents(50))
    instances = [_WeighedInstance() for _ in range(INSTANCES)]
    for arrival in release_all(stream, wait_us):
        sendings = splitter.receive(arrival)
        while (more := splitter.step()) is not None:
            sendings += more
        for to, envelope in sendings:
            instances[to].receive(envelope)
        for instance in instances:
            while instance.take() is not None or instance.work() is not None:
                pass
    alone, with_windows, with_all = np.mean([each for instance in instances for each in instance.bytes], axis=0)
    told = {"events": len(stream.events), "states": sum(len(each.bytes) for each in instances)}
    means = {"data_bytes": round(alone), "with_windows_bytes": round(with_windows), "with_all_bytes": round(with_all)}
    return {**told, **means, "share_of_with_windows": round(float(alone / with_windows), 3)}
