"""The main function of a worker: it is told what it is, and then answers one message after another.

    socket: kind, length ─▶ body out of the box ─▶ answer ─▶ body into the other box ─▶ socket

It ends when the process that started it has hung up: when that says so, and when that is gone.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from struct import Struct

import cloudpickle

from cepheid.errors import CepheidError, RunFailed
from cepheid.execution.processes.shared_box import SharedBox

HEAD = Struct("<BQ")  # kind, length of the body
ANSWERED, FAILED = 0, 1  # kinds of answers
SETUP = 0  # the first message
Answer = Callable[[int, bytes], Sequence[bytes]]
"""For the kind and the body of a message: the body of the answer, in pieces."""


def main() -> None:
    """Arguments: "module:function", which makes an `Answer` of the body of the first message; the descriptors of the
    socket and of the two boxes."""
    entry, *descriptors = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    line, inbox, outbox = (int(each) for each in descriptors)
    with socket.socket(fileno=line) as connection:
        answer_all(connection, SharedBox(inbox), SharedBox(outbox), entry)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # somebody waits for the end, and taking down what was loaded takes a quarter of a second


def answer_all(connection: socket.socket, inbox: SharedBox, outbox: SharedBox, entry: str) -> None:
    answer: Answer | None = None
    while (head := read_exactly(connection)) is not None:
        kind, length = HEAD.unpack(head)
        body = inbox.read(length)
        try:
            if answer is None:
                module, _, function = entry.partition(":")
                answer, parts = getattr(import_module(module), function)(body), list[bytes]()
            else:
                parts = list(answer(kind, body))
            told = ANSWERED
        except Exception as problem:  # noqa: BLE001 (whatever was raised here is raised there)
            told, parts = FAILED, [write_problem(problem)]
        try:
            connection.sendall(HEAD.pack(told, outbox.write(parts)))
        except OSError:  # nobody listens any more
            return


def read_exactly(connection: socket.socket) -> bytes | None:
    """The next head; None: the other side has hung up."""
    found = b""
    while len(found) < HEAD.size:
        try:
            more = connection.recv(HEAD.size - len(found))
        except OSError:
            return None
        if not more:
            return None
        found += more
    return found


def write_problem(problem: Exception) -> bytes:
    """What was raised, to be raised where the answer is read; what cannot travel is told in words."""
    told = f"a worker failed: {type(problem).__name__}: {problem}\n{''.join(traceback.format_exception(problem))}"
    if isinstance(problem, CepheidError):
        try:
            return cloudpickle.dumps(problem)
        except Exception:  # noqa: BLE001 (it holds what cannot be sent)
            told = str(problem)
    return cloudpickle.dumps(RunFailed(told, hint="see what it was given, and what its own functions raise"))


if __name__ == "__main__":
    main()
