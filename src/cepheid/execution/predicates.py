"""Ask functions in Python about events: their answers become columns that the pattern's conditions read.

    events of a batch ─▶ those of the function's stream, under the user's names ─▶ function ─▶ 0 or 1 per event

Events of other streams are false, and so is null.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.errors import InvalidInput, MatchFailure
from cepheid.graph.predicate import Predicate
from cepheid.kernel.columns import Column, Int64s

HINT = "answer with an Arrow or numpy array that has one boolean for each row of the table"


def answer_predicates(predicates: tuple[Predicate, ...], table: pa.Table, streams: Int64s | None) -> dict[str, Column]:
    """The answers by column; `streams`: int64[n], or None when there is one stream."""
    return {predicate.column: Column(_answer(predicate, table, streams)) for predicate in predicates}


def _answer(predicate: Predicate, table: pa.Table, streams: Int64s | None) -> Int64s:
    answers = np.zeros(len(table), dtype=np.int64)
    asked = np.arange(len(table)) if streams is None else np.nonzero(streams == predicate.stream)[0]
    if len(asked):  # a function is not asked about nothing: many cannot answer that
        shown = table.select([layout for _, layout in predicate.reads])
        shown = shown if len(asked) == len(table) else shown.take(pa.array(asked))
        shown = shown.rename_columns([name for name, _ in predicate.reads])
        answers[asked] = _read_answer(predicate, _call(predicate, shown), len(asked))
    return answers


def _call(predicate: Predicate, shown: pa.Table) -> Any:
    try:
        return predicate.function(shown)
    except Exception as problem:
        raise MatchFailure(
            f'the Python condition "{predicate.name}" failed: {type(problem).__name__}: {problem}',
            hint=f"it was given a table of {len(shown)} rows with the columns {', '.join(shown.column_names)}",
        ) from problem


def _read_answer(predicate: Predicate, answer: Any, count: int) -> npt.NDArray[np.bool_]:
    """bool[count]; anything that is not one boolean for each event is refused."""
    if isinstance(answer, bool | np.bool_ | pa.Scalar) or answer is None:
        raise InvalidInput(f'the Python condition "{predicate.name}" answers with a single value', hint=HINT)
    try:
        array = answer if isinstance(answer, pa.Array | pa.ChunkedArray) else pa.array(answer)
    except (pa.ArrowException, TypeError, ValueError) as problem:
        message = f'the Python condition "{predicate.name}" answers with a {type(answer).__name__}'
        raise InvalidInput(message, hint=HINT) from problem
    if not (pa.types.is_boolean(array.type) or pa.types.is_null(array.type)):
        raise InvalidInput(f'the Python condition "{predicate.name}" answers with {array.type}, not bool', hint=HINT)
    if len(array) != count:
        message = f'the Python condition "{predicate.name}" answers {len(array)} times for {count} events'
        raise InvalidInput(message, hint=HINT)
    flags = array.cast(pa.bool_()).fill_null(False)
    found: npt.NDArray[np.bool_] = flags.to_numpy() if isinstance(flags, pa.ChunkedArray) else flags.to_numpy(False)
    return found
