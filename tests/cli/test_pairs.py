"""Two rows side by side: what differs is marked, nothing is wider than the terminal or obeyed."""

import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from linkshift.cli.reading.keys import _Pressed, meaning
from linkshift.cli.writing.pairs import as_texts, differ, filled, side_by_side

HEADS = ("row 3", "row 17")
CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80)


def plain(text):
    return text.replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[36m", "")


def test_columns_under_each_other():
    rows = [("x", 1.0, 2.5), ("name", "Ann", "Ann "), ("born", None, "1970"), ("ok", True, True)]
    assert plain(side_by_side(HEADS, rows, 80)).splitlines() == [
        "        row 3    row 17",
        "* x     1        2.5",
        "  name  Ann      Ann",
        "* born  (empty)  1970",
        "  ok    true     true",
    ]


def test_long_cells_are_wrapped_and_then_cut():
    rows = [("t", "one two three four five six seven eight", "one"), ("u", "", "")]
    lines = plain(side_by_side(HEADS, rows, 40)).splitlines()
    assert lines == [
        "     row 3             row 17",
        "* t  one two three     one",
        "     four five six",
        "     seven eight",
        "  u",
    ]
    rows = [("t", "\n".join(map(str, range(100))), "0")]
    cut = plain(side_by_side(HEADS, rows, 40)).splitlines()
    assert (cut[-2].split(), cut[-1]) == (["5"], "... 94 more lines: ? shows all")
    assert len(plain(side_by_side(HEADS, rows, 40, whole=True)).splitlines()) == 101


def test_texts_beside_each_other():
    rows = [("note", "a b c d e f g h i j k l m n o p", None)]
    assert plain(as_texts(HEADS, rows, 40)).splitlines() == [
        "row 3              | row 17",
        "a b c d e f g h i  | (empty)",
        "j k l m n o p      |",
    ]


def test_numbers_that_differ_look_different():
    rows = [("x", 0.1, 0.1 + 1e-12), ("y", 1, 1.0)]
    first, second = plain(side_by_side(HEADS, rows, 80)).splitlines()[1:]
    assert first.split() == ["*", "x", "0.1", repr(0.1 + 1e-12)]
    assert second.split() == ["y", "1", "1"]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(None, math.nan, False), (None, "", True), (math.nan, 1.0, True), (" a", "a ", False)],
)
def test_what_differs(a, b, expected):
    assert differ(a, b) is expected
    assert differ(b, a) is expected


def test_cells_are_shown_and_not_obeyed():
    rows = [("\x1b]0;t\x07", "\x1b[2Jgone", "a\u202eb\x9b1m"), ("c", "क्‍ष", "क्‍ष")]
    for told in (side_by_side(HEADS, rows, 80), as_texts(HEADS, rows[:1], 80)):
        assert not set(plain(told)) & {"\x1b", "\x07", "\x9b", "\u202e"}
    assert "क्‍ष" in side_by_side(HEADS, rows, 80)


@given(
    rows=st.lists(st.tuples(st.text(max_size=30), CELLS, CELLS), min_size=1, max_size=4),
    width=st.integers(40, 120),
    whole=st.booleans(),
)
def test_nothing_is_wider_than_the_terminal(rows, width, whole):
    for told in (
        side_by_side(HEADS, rows, width, whole=whole),
        as_texts(HEADS, rows[:1], width, whole=whole),
    ):
        assert max(cell_len(line) for line in plain(told).split("\n")) <= width


def test_sentences_are_wrapped(monkeypatch):
    monkeypatch.setitem(os.environ, "COLUMNS", "50")
    assert max(map(len, filled("word " * 60).split("\n"))) <= 50


# --- keys -----------------------------------------------------------------------------------------


def test_words_and_keys():
    assert [meaning(text) for text in (" S\n", "different", "U", "?", "h", "Quit", "z")] == [
        *("same", "different", "unknown", "why", "why", "quit", "undo")
    ]
    assert meaning("sd") is meaning("\x1b") is meaning("") is None


class Typed(_Pressed):
    """Keys that wait already, and those that come."""

    def __init__(self, waiting, coming):
        self.waiting, self.coming = list(waiting), list(coming)

    def _waiting(self):
        keys, self.waiting = self.waiting, []
        return keys

    def _next(self):
        return self.coming.pop(0) if self.coming else ""


def test_what_is_pressed_before_a_question_is_no_answer_to_it():
    assert Typed("ss", "d").read(seen=False) == "different"
    assert Typed("sq", "d").read(seen=False) == "quit"
    assert Typed(["\x04"], "d").read(seen=False) == "quit"
    assert Typed("sq", "d").read(seen=True) == "different"
    assert Typed("", "").read(seen=False) == "quit"
    assert Typed("", "\x03").read(seen=True) == "quit"
