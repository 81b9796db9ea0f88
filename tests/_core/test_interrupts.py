"""Ctrl-C, and who swallows it."""

import contextlib
import ctypes
import signal
import sys
import threading
import time

import pytest

from linkshift._core.files import write_text
from linkshift._core.interrupts import ask_again, remembered


def press():
    signal.raise_signal(signal.SIGINT)


def dropped():
    """Press it in a function that C calls back: Python drops what is raised there."""
    ctypes.CFUNCTYPE(None)(press)()


class Closing:
    def __del__(self):
        press()


def dropped_at_the_end_of_a_life():
    Closing()


def swallowed():
    with contextlib.suppress(BaseException):
        press()


def never():
    raise AssertionError("nothing was raised before")


def wait():
    time.sleep(60)


def fail():
    raise ValueError("half compiled")


def run(*steps):
    with remembered():
        for step in steps:
            step()


@pytest.fixture(autouse=True)
def as_before(ctrl_c):
    before = signal.getsignal(signal.SIGINT), sys.unraisablehook
    yield
    assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == before
    ask_again()  # nothing is left of it


def test_without_one():
    run(ask_again, lambda: None)


def test_one_that_arrives():
    with pytest.raises(KeyboardInterrupt):
        run(press, never)


@pytest.mark.parametrize("drop", [dropped, dropped_at_the_end_of_a_life])
def test_one_that_python_drops_is_raised_again(drop):
    """In the midst of work that asks for nothing."""
    with pytest.raises(KeyboardInterrupt):
        run(drop, wait, never)


def test_until_it_arrives():
    """The second is dropped, too, and the third."""
    calls = []

    @ctypes.CFUNCTYPE(None)
    def drops():
        calls.append(1)
        wait()

    with pytest.raises(KeyboardInterrupt):
        run(dropped, drops, drops, wait, never)
    assert len(calls) == 2


def test_one_that_is_swallowed_is_asked_for():
    with pytest.raises(KeyboardInterrupt):
        run(swallowed, ask_again, never)


def test_at_the_end_of_the_block_at_the_latest():
    with pytest.raises(KeyboardInterrupt):
        run(swallowed)


def test_no_file_is_replaced(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(swallowed, lambda: write_text(tmp_path / "a.txt", "a"), never)
    assert list(tmp_path.iterdir()) == []


def test_errors_that_follow_are_its_doing():
    with pytest.raises(KeyboardInterrupt) as caught:
        run(swallowed, fail)
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(ValueError, match="half compiled"):
        run(fail)


def test_what_else_is_dropped_goes_where_it_went(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: seen.append(dropped.exc_type))
    run(ctypes.CFUNCTYPE(None)(fail))
    assert seen == [ValueError]
    monkeypatch.undo()


def test_a_block_within_a_block():
    with pytest.raises(KeyboardInterrupt):
        run(lambda: run(swallowed), ask_again, never)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
def test_who_handles_it_otherwise_is_left_alone(handler):
    before = signal.signal(signal.SIGINT, handler)
    try:
        run(press, ask_again)
    finally:
        after = signal.signal(signal.SIGINT, before)
    assert after is handler


def test_in_another_thread_nothing_is_changed():
    seen = []
    look = threading.Thread(target=run, args=(lambda: seen.append(signal.getsignal(2)),))
    look.start()
    look.join()
    assert seen == [signal.default_int_handler]
