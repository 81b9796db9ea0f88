"""A Ctrl-C is remembered: Python itself drops one that falls where nobody can be told of it.

KeyboardInterrupt is raised in whatever the main thread is at. Raised in a function that C calls
back (LLVM does, while numba compiles and loads), in a weak reference's callback or in a
``__del__``, it is printed as an "Exception ignored", and the work goes on.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["ask_again", "remembered"]

_asked = threading.Event()
_WAIT = 0.05  # seconds until a Ctrl-C that was dropped is raised once more


@contextmanager
def remembered() -> Iterator[None]:
    """While the block runs, a Ctrl-C ends it with KeyboardInterrupt, whoever drops the first.

    One that Python drops is raised again a moment later, until it arrives; one that other code
    swallows is raised where `ask_again` is called, and at the end of the block at the latest.
    Errors after a Ctrl-C are taken for its doing: they become KeyboardInterrupt as well. In
    another thread than the main one, or where Ctrl-C is ignored or somebody else's to handle,
    nothing is changed.

    Examples
    --------
    >>> from linkshift._core.interrupts import ask_again, remembered
    >>> with remembered():
    ...     ask_again()  # nobody has pressed it
    """
    usual, hook = signal.default_int_handler, sys.unraisablehook
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return

    def on_ctrl_c(number: int, frame: Any) -> None:
        _asked.set()
        usual(number, frame)

    def on_dropped(dropped: UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            hook(dropped)
            return
        # Not at once: that would be raised in here, and dropped, too.
        again = threading.Timer(_WAIT, _raise_again)
        again.daemon = True
        again.start()

    signal.signal(signal.SIGINT, on_ctrl_c)
    sys.unraisablehook = on_dropped
    try:
        yield
        ask_again()
    except Exception as error:
        if _asked.is_set():
            raise KeyboardInterrupt from error
        raise
    finally:
        _asked.clear()
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, usual)


def ask_again() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed in the block of `remembered` that runs."""
    if _asked.is_set():
        raise KeyboardInterrupt


def _raise_again() -> None:
    if not _asked.is_set():
        return
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:  # which wakes the main thread from waiting as well
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
