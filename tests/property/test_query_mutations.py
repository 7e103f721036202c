"""Whatever a query is made of, it gives rows or a CepheidError, in time; where both ways to run it answer, the same.

Some hundred mutants of the golden queries in `make test`, 200,000 in `make soak`, in portions that cores share.  One is
found again by its number: `find_fault(*make_mutant(number))`.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parent))
from mutant_runs import Finding, Seed, find_fault, read_seeds
from query_mutations import MUTATIONS, mutate, split_tokens

PORTION = 250
PORTIONS = 800 if os.environ.get("CEPHEID_CASES") == "all" else 1


@cache
def list_seeds() -> list[Seed]:
    return read_seeds()


def make_mutant(number: int) -> tuple[str, Mapping[str, pa.Table]]:
    seeds = list_seeds()
    random = Random(number)
    seed = random.choice(seeds)
    return mutate(random, seed.query, [each.query for each in seeds]), seed.tables


@pytest.mark.parametrize("portion", range(PORTIONS))
def test_a_mutant_gives_rows_or_an_error_of_ours(portion: int) -> None:
    found: dict[str, Finding] = {}
    counts: Counter[str] = Counter()
    for number in range(portion * PORTION, (portion + 1) * PORTION):
        finding = find_fault(*make_mutant(number))
        if finding is not None:
            counts[finding.kind] += 1
            found.setdefault(finding.kind, Finding(f"{number}: {finding.kind}", finding.query, finding.told))
    told = [f"{counts[kind]} times, {each.kind}\n{each.query[:1000]}\n{each.told}" for kind, each in found.items()]
    assert not told, "\n\n".join(told)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_every_mutation_changes_some_query(mutation: object) -> None:
    assert callable(mutation)
    texts = [seed.query for seed in list_seeds()[:20]]
    random = Random(1)
    assert any("".join(mutation(random, split_tokens(text), texts)) != text for text in texts)


def test_the_text_of_tokens_is_the_text() -> None:
    assert all("".join(split_tokens(seed.query)) == seed.query for seed in list_seeds())
