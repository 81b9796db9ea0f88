"""Words for people: lists, numbers, guesses, progress, warnings."""

import io
import sys
import warnings

import pytest
import typer

from linkshift._core.messages import Advice, Refusal, warn
from linkshift._core.text import counted, listed
from linkshift.cli.talking import (
    Console,
    InputError,
    exit_codes,
    hint,
    passed_on,
    shown_rows,
)


def test_lists_are_shortened_in_the_middle():
    assert listed(["a", "b"]) == "a, b"
    assert listed(range(100), 4) == "0, 1, 2, ..., 99"


def test_numbers_and_nouns():
    assert counted(1, "row") == "1 row"
    assert counted(2000, "row") == "2,000 rows"


@pytest.mark.parametrize("text", ["", "Unable to allocate 9.00 GiB"])
def test_too_little_memory_is_told(capsys, text):
    with pytest.raises(typer.Exit) as left, exit_codes():
        raise MemoryError(text)
    assert left.value.exit_code == 2
    told = capsys.readouterr().err
    assert told.startswith("Error: there is not enough memory")
    assert text in told
    assert "Take fewer rows or columns" in told


def test_rows():
    assert shown_rows([3]) == "row 3"
    assert shown_rows(list(range(7))) == "rows 0, 1, 2, 3, 4 and 2 more"


def test_hints_ignore_case_and_stay_silent_when_far():
    assert hint("WIDTH", ["width", "height"]) == " Did you mean 'width'?"
    assert hint("q", ["width"]) == ""


def test_tables_go_to_stderr_as_they_are(capsys):
    rows = [("0", "[red]"), ("1", "b c")]
    Console(quiet=True).table(("cluster", "view"), rows)
    assert capsys.readouterr() == ("", "")
    Console().table(("cluster", "view"), rows)
    told = capsys.readouterr()
    assert told.out == ""
    lines = [line.rstrip() for line in told.err.splitlines()]
    assert lines == ["cluster  view", "0        [red]", "1        b c"]


def test_progress_is_only_for_terminals(monkeypatch):
    with Console().progress("Working") as progress:
        assert progress is None

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Console(quiet=True).progress("Working") as progress:
        assert progress is None
    with Console().progress("Working") as progress:
        progress(1, 4)
        progress(4, 4)
    assert "Working" in terminal.getvalue()
    assert "time left" in terminal.getvalue()


def test_warnings_become_lines(capsys):
    with Console(quiet=True).warnings():
        for _ in range(3):
            warnings.warn("mind the gap", UserWarning, stacklevel=1)
    captured = capsys.readouterr()
    assert captured.err == "Warning: mind the gap\n"
    assert captured.out == ""


def test_advice_is_told_in_the_words_of_the_command(capsys):
    with Console().warnings():
        warn(Advice("Too few.", "Raise n.", command="Take a larger --n."))
    assert capsys.readouterr().err == "Warning: Too few. Take a larger --n.\n"


def test_refusals_are_told_in_the_words_of_the_command(capsys):
    refusal = Refusal("Too few.", "Raise n.", command="Take a larger --n.")
    with pytest.raises(typer.Exit), exit_codes():
        raise refusal
    assert capsys.readouterr().err == "Error: Too few. Take a larger --n.\n"
    words = r"^t\.csv: Too few\. Take a larger --n\.$"
    with pytest.raises(InputError, match=words), passed_on("t.csv: "):
        raise refusal
    with pytest.raises(InputError, match=r"^no$"), passed_on():
        raise ValueError("no")


@pytest.mark.parametrize(("error", "code"), [(InputError("no"), 2), (KeyboardInterrupt(), 130)])
def test_exit_codes(error, code):
    with pytest.raises(typer.Exit) as caught, exit_codes():
        raise error
    assert caught.value.exit_code == code


def test_the_unexpected_is_not_hidden():
    with pytest.raises(ZeroDivisionError), exit_codes():
        raise ZeroDivisionError
