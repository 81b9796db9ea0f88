"""What a person presses: single keys in a terminal, else a word in each line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from linkshift._core.interrupts import ask_again

QUIT, UNDO, WHY = "quit", "undo", "why"
ANSWERS = {"s": "same", "d": "different", "u": "unknown"}
_OTHERS = {"z": UNDO, "q": QUIT, "?": WHY, "h": WHY}
_WORDS = {"same": "same", "different": "different", "unknown": "unknown", "undo": UNDO}
_WORDS |= {"quit": QUIT, "exit": QUIT, "why": WHY, "help": WHY}
_LEAVE = ("\x03", "\x04")  # Ctrl-C and Ctrl-D, where they arrive as keys
_ESCAPE = "\x1b"


class Keys(Protocol):
    """Gives what is pressed."""

    def read(self, *, seen: bool) -> str | None:
        """Give same, different, unknown, quit, undo or why; None for what means nothing.

        The end of input is quit. ``seen`` says that the question was already there: keys that
        were pressed before it came are no answers to it.
        """
        ...


def meaning(text: str) -> str | None:
    """Give what a key or a word stands for."""
    text = text.strip().lower()
    return ANSWERS.get(text) or _OTHERS.get(text) or _WORDS.get(text)


@contextmanager
def opened() -> Iterator[Keys]:
    """Read keys from stdin while the block runs; a terminal is as before afterwards."""
    stdin = sys.stdin
    if stdin is None or stdin.closed or not stdin.isatty():
        yield _Lines(stdin)
    elif sys.platform == "win32":
        yield _Console()
    else:
        with _terminal(stdin) as keys:
            yield keys


class _Lines:
    """A word in each line, from a pipe or a file."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, *, seen: bool) -> str | None:  # noqa: ARG002 - a line has been written for it
        """Give the meaning of a line; blank ones are passed over."""
        while self._stream is not None and not self._stream.closed:
            try:
                line = self._stream.readline()
            except OSError:  # what cannot be read has no more to say
                break
            ask_again()
            if not line:
                break
            if line.strip():
                return meaning(line)
        return QUIT


class _Pressed:
    """Single keys; subclasses know how to get them."""

    def read(self, *, seen: bool) -> str | None:
        """Give the meaning of the next key."""
        if not seen and any(
            self._is_end(keys) or meaning(keys) == QUIT for keys in self._waiting()
        ):
            return QUIT
        keys = self._next()
        return QUIT if self._is_end(keys) else meaning(keys)

    def _is_end(self, keys: str) -> bool:
        return not keys or keys in _LEAVE

    def _next(self) -> str:
        """Wait for a key: one letter, several for an arrow and the like, none at the end."""
        raise NotImplementedError

    def _waiting(self) -> list[str]:
        """Give the keys that were pressed already."""
        raise NotImplementedError


if sys.platform == "win32":
    import msvcrt

    class _Console(_Pressed):
        """The console of Windows."""

        def _next(self) -> str:
            key = msvcrt.getwch()
            # Arrows and the like are two codes, and the second looks like a letter.
            return key + msvcrt.getwch() if key in ("\x00", "\xe0") else key

        def _waiting(self) -> list[str]:
            keys = []
            while msvcrt.kbhit():
                keys.append(self._next())
            return keys

else:
    import select
    import signal
    import termios
    import threading

    class _Terminal(_Pressed):
        """A terminal of POSIX that hands over each key, and shows none."""

        def __init__(self, number: int, settings: list[Any]) -> None:
            self._number, self._settings, self._now = number, settings, settings
            self._left: list[str] = []  # what arrived together with the key before

        def _next(self) -> str:
            if not self._left:
                # While it waits Ctrl-C is a key, which leaves in good order; at all other times
                # it interrupts the work.
                asking = [*self._settings[:6], list(self._settings[6])]
                asking[6][termios.VINTR] = bytes([os.fpathconf(self._number, "PC_VDISABLE") & 255])
                self._set(asking)
                try:
                    self._left = self._arrived()
                finally:
                    self._set(self._settings)
            return self._left.pop(0) if self._left else ""

        def _waiting(self) -> list[str]:
            keys, self._left = self._left, []
            while select.select([self._number], [], [], 0)[0]:
                arrived = self._arrived()
                keys += arrived or [""]
                if not arrived:  # the end, which would be ready for ever
                    break
            return keys

        def _set(self, settings: list[Any]) -> None:
            self._now = settings
            termios.tcsetattr(self._number, termios.TCSADRAIN, settings)

        def again(self, *_: Any) -> None:
            """Have the terminal as it was before the shell had it (Ctrl-Z, and then fg)."""
            termios.tcsetattr(self._number, termios.TCSADRAIN, self._now)

        def _arrived(self) -> list[str]:
            """Give the keys of one read; none at the end of input."""
            try:
                text = os.read(self._number, 1024).decode(errors="replace")
            except OSError:  # the terminal is gone
                return []
            # An arrow is Esc and letters, of which D would be an answer.
            plain, escape, _ = text.partition(_ESCAPE)
            return [*plain, escape] if escape else list(plain)

    @contextmanager
    def _terminal(stream: Any) -> Iterator[Keys]:
        """Have a terminal hand over single keys, unseen, while the block runs."""
        number = stream.fileno()
        before = termios.tcgetattr(number)
        settings = [*before[:6], list(before[6])]
        settings[3] &= ~(termios.ICANON | termios.ECHO)
        settings[6][termios.VMIN], settings[6][termios.VTIME] = 1, 0
        keys = _Terminal(number, settings)

        def end(*_: Any) -> None:
            """Leave a terminal that shows what is typed, and then do as SIGTERM says."""
            termios.tcsetattr(number, termios.TCSADRAIN, before)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)

        with _on(signal.SIGTERM, end), _on(signal.SIGCONT, keys.again):
            keys.again()
            try:
                yield keys
            finally:
                termios.tcsetattr(number, termios.TCSADRAIN, before)

    @contextmanager
    def _on(number: signal.Signals, do: Callable[..., None]) -> Iterator[None]:
        """Do something on a signal while the block runs, unless it is somebody else's to handle."""
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or signal.getsignal(number) is not signal.SIG_DFL:
            yield
            return
        signal.signal(number, do)
        try:
            yield
        finally:
            signal.signal(number, signal.SIG_DFL)
