"""The file of answers: whatever is added and taken out, it reads back as it was kept."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkshift.cli.reading.answers import Answer, AnswersFile, answers_path
from linkshift.cli.reading.arrays import ArrayTable
from linkshift.cli.talking import Console, InputError

N_ROWS = 6
TABLE = ArrayTable(Path("t.npy"), np.zeros((N_ROWS, 1)))
# What a table may call its rows: quotes, separators, ends of lines; no spaces around.
NAMES = ["a", "1001", "b,c", 'd"', "e\nf", "g\rh;\t|"]


def opened(path, ids=None):
    return AnswersFile(Path(path), TABLE, ids, Console())


def without_lines(file):
    return [answer._replace(line=0) for answer in file.answers]


PAIRS = st.lists(st.integers(0, N_ROWS - 1), min_size=2, max_size=2, unique=True)
STEPS = st.lists(
    st.integers(0, 9)
    | st.tuples(
        PAIRS,
        st.sampled_from(["same", "different", "unknown"]),
        st.floats(1e-300, 1.0),
        st.sampled_from(["learn", "audit", "confirm"]),
    ),
    max_size=12,
)
# An id of each row but for 1001, which could be one, is text that CSV keeps.
STARTS = ["", "a,b,kind\n", "kind;x;b;a\nsame; ;2;1", "a\tb\tkind\tpurpose\r\n3\t4\tu\t\r\n"]


@given(steps=STEPS, start=st.sampled_from(STARTS), with_ids=st.booleans())
def test_what_is_kept_reads_back(steps, start, with_ids, tmp_path_factory):
    path = tmp_path_factory.mktemp("answers") / "l.csv"
    if not with_ids:
        path.write_bytes(start.encode())
    ids = NAMES if with_ids else None
    file = opened(path, ids)
    kept = without_lines(file)
    for step in steps:
        if isinstance(step, int):
            if kept:
                file.remove(step % len(kept))
                del kept[step % len(kept)]
        else:
            pair, *others = step
            answer = Answer(tuple(ids[i] if ids else i for i in pair), *others)
            file.add(answer)
            kept.append(answer)
        assert without_lines(file) == kept
        assert without_lines(opened(path, ids)) == kept
    assert [item.name for item in path.parent.iterdir()] in (["l.csv"], [])


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    file = opened(tmp_path / "l.csv")
    file.add(Answer((0, 1), "same", 1.0, "learn"))
    before = (tmp_path / "l.csv").read_text()

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"No space left on device\. All answers but the last"):
        file.add(Answer((0, 2), "same", 1.0, "learn"))
    assert (tmp_path / "l.csv").read_text() == before


def test_links_without_a_question_are_in_rows(tmp_path):
    (tmp_path / "l.csv").write_text(
        "a,b,kind,confidence,purpose\n1001,a,must,0.5,\na,'d,u,,\na,1001,cannot,,audit\n".replace(
            "'d", '"d"""'
        )
    )
    file = opened(tmp_path / "l.csv", NAMES)
    links = file.given({name: row for row, name in enumerate(NAMES)})
    assert links.must.tolist() == [[0, 1]]
    assert links.must_confidence.tolist() == [0.5]
    assert len(links.cannot) == 0


def test_the_file_stands_beside_the_table():
    for data in ("d/t.csv", "d/t.csv.gz", "d/t.parquet"):
        assert answers_path(None, Path(data)) == Path("d/t.answers.csv")
    assert answers_path(Path("x.tsv"), Path("t.csv")) == Path("x.tsv")
