"""A process that works for this one: it is sent a message, answers it, and is sent the next.

    worker = Worker("cepheid.some.module:make_answer", setup)
    worker.send(PUSH, [body])   ...   worker.receive()

It is a fresh Python that runs nothing of the script which started it, so that an ordinary script needs no
`if __name__ == "__main__"`.  It ends with this process, whatever ends that; and that a worker has died shows at once.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterable, Sequence

import cloudpickle

from cepheid.errors import NotSupportedYet
from cepheid.execution.processes.shared_box import SharedBox
from cepheid.execution.processes.worker_main import FAILED, HEAD, SETUP, read_exactly

STOP_S = 5.0
_PROGRAM = "import sys; sys.path[:] = {path!r}; from cepheid.execution.processes.worker_main import main; main()"


class WorkerDied(Exception):
    """A worker is no longer there; what it was sent last is not answered."""


class Worker:
    """entry: "module:function", which is given `setup` and makes of it what answers messages (worker_main.Answer)."""

    def __init__(self, entry: str, setup: bytes) -> None:
        if sys.platform == "win32":
            raise NotSupportedYet("several processes on Windows", hint="leave engines out, or use WSL")
        self._line, theirs = socket.socketpair()
        self._requests, self._answers = SharedBox(), SharedBox()
        handed = [theirs.fileno(), self._requests.descriptor, self._answers.descriptor]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM.format(path=sys.path), entry, *map(str, handed)],
                stdin=subprocess.DEVNULL,
                pass_fds=handed,
            )
        self._unanswered = 0
        self.send(SETUP, [setup])

    def send(self, kind: int, parts: Sequence[bytes]) -> None:
        """All messages before this one have been answered.  A worker that has died is told of by `receive`."""
        assert not self._unanswered, "there is room for one message at a time"
        self._unanswered += 1
        try:
            self._line.sendall(HEAD.pack(kind, self._requests.write(parts)))
        except OSError:
            self._line.shutdown(socket.SHUT_WR)

    def receive(self) -> bytes:
        """The answer, once it is there.  What the worker raised is raised here."""
        head = read_exactly(self._line)
        if head is None:
            raise WorkerDied
        self._unanswered -= 1
        told, length = HEAD.unpack(head)
        body = self._answers.read(length)
        if told == FAILED:
            raise cloudpickle.loads(body)
        return body

    @property
    def process_id(self) -> int:
        return self._process.pid

    def find_exit_code(self) -> int | None:
        """Of one that has died; None: it lives, and does not listen."""
        try:
            return self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            return None

    def hang_up(self) -> None:
        """It ends, when it has done what it does; nobody waits for that any more."""
        self._line.close()
        if self._unanswered:
            self._process.kill()

    def stop(self) -> None:
        """It has ended, and its memory is free; a second time does nothing."""
        if self._process.returncode is not None and self._requests.is_closed:
            return
        self.hang_up()
        if self.find_exit_code() is None:
            self._process.kill()
            self._process.wait()
        self._requests.close()
        self._answers.close()


def stop_all(workers: Iterable[Worker]) -> None:
    """Side by side."""
    listed = list(workers)
    for worker in listed:
        worker.hang_up()
    for worker in listed:
        worker.stop()
