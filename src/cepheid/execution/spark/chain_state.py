"""The state of a chain in Spark's store: pieces of a snapshot, of which only those that are new are written.

    snapshot: header, parts ─▶ pieces ─▶ small ones           ─▶ index
                                    └──▶ known by its digest  ─▶ stays, under the number that it has
                                    └──▶ new                  ─▶ the next number

A part of a snapshot is what changes together: of tables of which little changes, about a thousand rows
(changing/content_pieces.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cepheid.execution.blob import write_blob

PIECE = 1 << 20  # bytes, at the most: Spark hands over values of about this size quickest
SMALL = 1 << 12  # bytes of a piece that goes into the index


@dataclass(frozen=True, slots=True)
class ChainChange:
    """index: what says where all is.  puts, deletes: by number, pieces that are new, and those that are needed no
    more."""

    index: bytes
    puts: dict[int, bytes]
    deletes: list[int]


def plan_chain(
    state: Mapping[str, Any], parts: Sequence[bytes], stored: Mapping[str, Any], extra: Mapping[str, Any]
) -> ChainChange:
    """state, parts: the snapshot.  stored: the header of the index before, or nothing.  extra: for the header."""
    cut = [[part[at : at + PIECE] for at in range(0, max(len(part), 1), PIECE)] for part in parts]
    known = {digest: number for number, digest in filter(None, _list_stored(stored))}
    upcoming = stored.get("next", stored.get("pieces", 0))
    told: list[tuple[int, str] | None] = []
    small: list[bytes] = []
    puts: dict[int, bytes] = {}
    for piece in (piece for pieces in cut for piece in pieces):
        if len(piece) <= SMALL:
            told.append(None)
            small.append(piece)
            continue
        digest = hashlib.blake2b(piece, digest_size=16).hexdigest()
        if digest not in known:
            known[digest] = upcoming
            puts[upcoming] = piece
            upcoming += 1
        told.append((known[digest], digest))
    needed = {number for number, _ in filter(None, told)}
    header = {**extra, "state": state, "counts": [len(pieces) for pieces in cut], "pieces": told, "next": upcoming}
    return ChainChange(write_blob(header, small), puts, [each for each in list_numbers(stored) if each not in needed])


def load_chain(header: Mapping[str, Any], small: Sequence[bytes], read: Callable[[int], bytes]) -> bytes:
    """The snapshot.  header, small: of the index.  read: a piece, by its number."""
    if "state" not in header:  # written when a snapshot was one run of bytes
        return b"".join(map(read, list_numbers(header)))
    rest = iter(small)
    pieces = (next(rest) if told is None else read(told[0]) for told in header["pieces"])
    return write_blob(header["state"], [b"".join(islice(pieces, count)) for count in header["counts"]])


def list_numbers(header: Mapping[str, Any]) -> list[int]:
    """Of the pieces that the store has beside the index."""
    if "state" not in header:
        return list(range(header.get("pieces", 0)))
    return sorted({number for number, _ in filter(None, _list_stored(header))})


def _list_stored(header: Mapping[str, Any]) -> list[tuple[int, str] | None]:
    return header["pieces"] if "state" in header else []
