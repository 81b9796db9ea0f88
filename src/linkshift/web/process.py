"""A process of ours that is spoken to in messages (`linkshift.web.wire`), and dies with us.

Threads read and write, so that it serves any event loop and thread, and nobody waits for a pipe.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from numpy.typing import NDArray

from linkshift.web.wire import WireError, read, write

__all__ = ["Inbox", "Process", "taken_over"]

Message = tuple[dict[str, Any], list[NDArray[Any]]]

_PATIENCE = 3.0  # seconds that a process has to end by itself
_LAST_WORDS = 20  # lines
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Process:
    """A Python process that runs a module's ``main``."""

    def __init__(self, module: str) -> None:
        # Not by multiprocessing: a script without a main guard and a notebook must do.
        # -P: a numpy.py in the folder where somebody keeps data is none of ours.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD, "PYTHONUNBUFFERED": "1"},
            bufsize=0,
            start_new_session=os.name == "posix",  # Ctrl-C is for the server, which ends it
        )
        self.pid = self._process.pid
        self._out: SimpleQueue[tuple[dict[str, Any], Sequence[NDArray[Any]]] | None]
        self._out = SimpleQueue()
        self._words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._threads = [self._thread(self._write), self._thread(self._hear_words)]

    def send(self, head: dict[str, Any], arrays: Sequence[NDArray[Any]] = ()) -> None:
        """Send a message; it is written by and by."""
        self._out.put((head, arrays))

    def listen(self, heard: Callable[[Message | None], None]) -> None:
        """Call a function, in a thread, with each message; with None at the end of all."""
        self._threads.append(self._thread(lambda: self._read(heard)))

    def last_words(self) -> str:
        """Give the last line that it wrote to stderr."""
        self._threads[1].join(_PATIENCE)
        return self._words[-1] if self._words else ""

    @property
    def status(self) -> int | None:
        """How it has ended, below zero by a signal; None while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """End it, and wait until it is gone."""
        self._out.put(None)
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        with suppress(OSError), pipe:  # where it has ended the reader says so
            while (message := self._out.get()) is not None:
                write(pipe, *message)  # type: ignore[arg-type]

    def _read(self, heard: Callable[[Message | None], None]) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        with pipe:
            while True:
                try:
                    message = read(pipe)  # type: ignore[arg-type]
                except (WireError, OSError):
                    message = None
                if message is None:
                    break
                heard(message)
        self._out.put(None)  # the writer need not wait for more
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._threads[1].join(_PATIENCE)  # so that its last words need not be waited for
        heard(None)

    def _hear_words(self) -> None:
        """Read stderr: the last lines are kept, and nothing is printed for others to read."""
        pipe = self._process.stderr
        assert pipe is not None
        with pipe:
            for line in pipe:
                text = line.decode("utf-8", "replace").strip()
                if text:
                    self._words.append(text)


class Inbox:
    """Messages that a thread reads as they come; of logs the newest is kept.

    Where the stream ends the process does, in the middle of whatever it computes.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._door = threading.Condition()
        self._messages: deque[Message] = deque()
        self._log: dict[str, Any] | None = None
        threading.Thread(target=self._read, daemon=True).start()

    def newest(self) -> dict[str, Any] | None:
        """Take the newest log; None where there is no new one."""
        with self._door:
            log, self._log = self._log, None
            return log

    def newer(self) -> bool:
        """Whether a log waits."""
        return self._log is not None

    def message(self) -> Message | None:
        """Take the next other message; None where there is none."""
        with self._door:
            return self._messages.popleft() if self._messages else None

    def again(self, message: Message) -> None:
        """Put a message back that could not be seen to."""
        with self._door:
            self._messages.appendleft(message)

    def wait(self) -> None:
        """Wait until there is a log or a message."""
        with self._door:
            while self._log is None and not self._messages:
                self._door.wait()

    def put(self, message: Message) -> None:
        """Take a message in."""
        with self._door:
            if message[0].get("kind") == "log":
                log = message[0]
                if log["given"] is None and self._log is not None:  # those of the one before
                    log = {**log, "given": self._log["given"]}
                self._log = log
            else:
                self._messages.append(message)
            self._door.notify()

    def _read(self) -> None:
        try:
            while (message := read(self._stream)) is not None:
                self.put(message)
        finally:
            os._exit(0)


def taken_over() -> tuple[Any, Any]:
    """Give stdin and stdout to messages alone: whatever prints does so to stderr."""
    inward, outward = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return inward, outward
