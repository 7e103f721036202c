"""Actions are values: made without a compiler, compared, stored, shown."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from typing import get_args

import pytest

import cepheid as cep
from cepheid.deployment import Action, describe_action

EXAMPLES: list[tuple[Action, str]] = [
    (cep.Deploy(name="jam", query="SELECT 1", sink="jam.parquet"), "deploy jam"),
    (cep.Deploy(name="jam"), "deploy jam"),
    (cep.Alter(name="jam", query="SELECT 2"), "alter jam"),
    (cep.Retire(name="jam"), "retire jam"),
    (cep.Replan(names=("jam", "late")), "replan jam, late"),
    (cep.Replan(), "replan"),
    (cep.Scale(engines=4), "scale"),
    (cep.Scale(query="jam", vertex="sequence_1", engines=4), "scale sequence_1"),
    (cep.Scale(machine="vm1", engines=4), "scale vm1"),
    (cep.MoveGroups(query="jam", vertex="sequence_1", groups=(3, 4), engine=1), "move groups of sequence_1"),
    (cep.Move(query="jam", machine="vm2"), "move jam"),
    (cep.Move(query="jam", vertex="sequence_1", machine="vm2", pause_s=1.0), "move sequence_1"),
    (cep.AddMachine(name="vm2", cores=4, speed=1.2, price_per_hour=0.2), "add vm2"),
    (cep.RemoveMachine(name="vm2", loses=False), "remove vm2"),
]


def test_every_kind_has_an_example() -> None:
    assert {type(action) for action, _ in EXAMPLES} == set(get_args(Action))


@pytest.mark.parametrize(("action", "words"), EXAMPLES, ids=lambda value: value if isinstance(value, str) else "")
def test_an_action_is_a_value(action: Action, words: str) -> None:
    stored = pickle.loads(pickle.dumps(cep.TimedAction(5.0, action)))
    assert stored == cep.TimedAction(5.0, action)
    assert hash(stored) == hash(cep.TimedAction(5.0, action))
    assert describe_action(action) == words
    with pytest.raises(FrozenInstanceError):
        setattr(stored.action, fields(action)[0].name, "other")


def test_an_action_is_made_without_loading_a_compiler() -> None:
    program = (
        "import sys, cepheid as cep\n"
        "cep.Deploy(name='jam', query='SELECT 1')\n"
        "sys.exit(','.join(name for name in ('sqlglot', 'pyarrow', 'duckdb', 'numba') if name in sys.modules) or 0)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert found.stderr == ""
