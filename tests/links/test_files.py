"""Files: exact round trips, tolerant reading, errors that name the line."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkshift._core.messages import Advice
from linkshift.links import Links, RowRangeError, _files

PAIR = st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda p: p[0] < p[1])
CONFIDENCE = st.floats(0, 1, exclude_min=True)
WEIGHTED = st.dictionaries(PAIR, CONFIDENCE, max_size=8)
# NUL is refused on either way.
NAME = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6
).filter(lambda s: s == s.strip())


def make(must, cannot, name=lambda row: row):
    return Links(
        [(name(a), name(b)) for a, b in must],
        [(name(a), name(b)) for a, b in cannot],
        must_confidence=list(must.values()),
        cannot_confidence=list(cannot.values()),
    )


def same(left, right):
    assert left == right
    assert left.keyed_by_id == right.keyed_by_id
    assert left.must_ids == right.must_ids
    assert np.array_equal(left.must_confidence, right.must_confidence)
    assert np.array_equal(left.cannot_confidence, right.cannot_confidence)


@pytest.mark.filterwarnings("ignore:.*no links below it")
@settings(deadline=None)
@given(WEIGHTED, WEIGHTED)
def test_csv_round_trip_by_row(tmp_path_factory, must, cannot):
    path = tmp_path_factory.mktemp("links") / "links.csv"
    links = make(must, cannot)
    links.to_csv(path)
    same(Links.read_csv(path), links)
    assert [file.name for file in path.parent.iterdir()] == ["links.csv"]


@pytest.mark.filterwarnings("ignore:.*no links below it")
@settings(deadline=None)
@given(WEIGHTED, WEIGHTED, st.lists(NAME, min_size=10, max_size=10, unique=True))
def test_csv_round_trip_by_id(tmp_path_factory, must, cannot, names):
    path = tmp_path_factory.mktemp("links") / "links.csv"
    links = make(must, cannot, lambda row: f"x{names[row]}")
    links.to_csv(path)
    same(Links.read_csv(path), links)


def test_an_id_with_nul_is_not_written(tmp_path):
    path = tmp_path / "links.csv"
    with pytest.raises(ValueError, match=r"without NUL.*to_json"):
        Links(must=[("a\0", "b")]).to_csv(path)
    assert not path.exists()


@settings(deadline=None)
@given(
    WEIGHTED, WEIGHTED, st.lists(st.text() | st.integers(), min_size=10, max_size=10, unique=True)
)
def test_json_round_trip(must, cannot, names):
    same(Links.read_json((links := make(must, cannot)).to_json()), links)
    by_id = Links([("x", "y")]).add(
        [(names[a], names[b]) for a, b in must],
        [(names[a], names[b]) for a, b in cannot],
        must_confidence=list(must.values()),
        cannot_confidence=list(cannot.values()),
    )
    same(Links.read_json(by_id.to_json()), by_id)


def test_json_keeps_n_samples_and_writes_files(tmp_path):
    links = Links([(0, 1)], [(1, 2)], must_confidence=0.1, n_samples=7)
    path = tmp_path / "links.json"
    text = links.to_json(path)
    assert json.loads(text) == json.loads(path.read_text())
    assert Links.read_json(path).n_samples == 7
    assert Links.read_json(str(path)) == links
    by_id = Links([("a", "b")])
    assert Links.read_json(by_id.to_json(), ids=["b", "a"]) == Links([(0, 1)])


def test_csv_is_plain_when_all_links_are_certain(tmp_path):
    path = tmp_path / "links.csv"
    Links([(3, 1)], [(0, 2)]).to_csv(path)
    assert path.read_text() == "a,b,kind\n1,3,must\n0,2,cannot\n"


def write(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "links.csv"
    path.write_text(text, encoding=encoding)
    return path


def test_tolerant_reading(tmp_path):
    text = "Kind , B,a, confidence\r\n MUST ,1, 0,0.5\r\n\r\nCannot,2,0,\r\n"
    links = Links.read_csv(write(tmp_path, text, "utf-8-sig"), n_samples=3)
    assert links == Links([(0, 1)], [(0, 2)], must_confidence=0.5)
    assert links.n_samples == 3


def test_what_nobody_could_tell_is_no_link(tmp_path):
    text = "a,b,kind,purpose\n0,1,must,learn\n3,4,Unknown,audit\n1,2,cannot,\n2,3,u,learn\n"
    path = write(tmp_path, text)
    assert Links.read_csv(path) == Links([(0, 1)], [(1, 2)])
    with pytest.raises(ValueError, match=r"line 4: cannot-link 0: \(1, 2\)"):
        Links.read_csv(path, n_samples=2)
    path = write(tmp_path, "a,b,kind\n0,1,unknown\n")
    with pytest.warns(UserWarning, match=r"links\.csv holds no links: every pair in it is of the"):
        assert not Links.read_csv(path)


def test_an_answer_that_was_confirmed_or_not_is_the_last_word(tmp_path):
    lines = ["0,1,must,learn", "1,2,must,learn", "1,0,cannot,confirm", "0,1,cannot,", "3,1,u,audit"]
    path = write(tmp_path, "\n".join(["a,b,kind,purpose", *lines]))
    assert Links.read_csv(path) == Links([(1, 2)], [(0, 1)])
    path = write(tmp_path, "\n".join(["a,b,kind,purpose", lines[2], lines[0]]))
    assert len(Links.read_csv(path).conflicts()) == 1  # what came afterwards counts as well
    path = write(tmp_path, "\n".join(["a,b,kind,purpose", lines[0], "0,1,unknown,confirm"]))
    with pytest.warns(UserWarning, match="holds no links"):
        assert not Links.read_csv(path)


def test_ids_in_csv(tmp_path):
    path = write(tmp_path, "a,b,kind\n1001,1003,must\n")
    assert Links.read_csv(path).must.tolist() == [[1001, 1003]]
    assert Links.read_csv(path, ids=[1003, 1002, 1001]).must.tolist() == [[0, 2]]
    path = write(tmp_path, "a,b,kind\n1001,x7,must\n")
    assert Links.read_csv(path).must_ids == (("1001", "x7"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"links\.csv is empty; expected the header a,b,kind"),
        ("0,1,must\n", r"line 1: expected the header a,b,kind\[,confidence\], got '0,1,must'"),
        ("a,b,kind,confidance\n0,1,must,1\n", r"line 1: unknown column 'confidance'; did you"),
        ("a,b,kind\n0,1,must\n0,2,maybe\n", r"line 3: kind must be 'must' .*same, s, 1.*'maybe'"),
        ("a,b,kind,confidence\n0,1,must,95\n", r"line 2: .* got 95; in percent\? .*: 0.95"),
        ("a,b,kind\n0,1\n", r"line 2: expected 3 columns \(a,b,kind\), got 2"),
        ("a,b,kind\n0,,must\n", r"line 2: column 'b' is empty"),
        ("a,b,kind,confidence\n0,1,must,high\n", r"line 2: confidence must be a number.*'high'"),
        ("a,b,kind,confidence\n0,1,must,2\n", r"line 2: must-link 0: \(0, 1\): its confidence"),
        ("a,b,kind,confidence\n0,1,must,nan\n", r"line 2: must-link 0: \(0, 1\): its confidence"),
        ("a,b,kind\n0,1,must\n\n4,4,must\n", r"line 4: must-link 1: \(4, 4\)"),
        ("a,b,kind\n0,-1,cannot\n", r"line 2: cannot-link 0: \(0, -1\): .*negative"),
        ("a,b,kind\n0,9,must\n", r"line 2: must-link 0: \(0, 9\): row 9 is out of range for 5"),
    ],
)
def test_csv_errors_name_file_and_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        Links.read_csv(write(tmp_path, text), n_samples=5)
    assert "links.csv" in str(caught.value)


def test_csv_range_error_is_an_index_error_and_unknown_id_is_named(tmp_path):
    path = write(tmp_path, "a,b,kind\n0,9,must\n")
    with pytest.raises(RowRangeError):
        Links.read_csv(path, n_samples=5)
    with pytest.raises(ValueError, match=r"line 2: must-link 0: \('0', '9'\): '9' is not among"):
        Links.read_csv(path, ids=[0, 1])
    path = write(tmp_path, "a,b,kind,confidence\n0,1,must,0.5\n1,0,must,0.7\n")
    assert Links.read_csv(path, duplicates="drop") == Links([(0, 1)], must_confidence=0.7)


@pytest.mark.parametrize("must", ["must", "Same", "s", "1", "1.0", "TRUE", "must-link"])
@pytest.mark.parametrize("cannot", ["cannot", "different", "D", "0", "-1", "False"])
def test_csv_words_for_the_kinds(tmp_path, must, cannot):
    path = write(tmp_path, f"a,b,kind\n0,1,{must}\n1,2,{cannot}\n")
    assert Links.read_csv(path) == Links([(0, 1)], [(1, 2)])


def test_csv_other_columns_are_passed_over(tmp_path):
    path = write(tmp_path, ",who,a,b,kind,note,note\n0,ann,0,1,must,x,y\n1,bob,2,1,cannot,,\n")
    assert Links.read_csv(path) == Links([(0, 1)], [(1, 2)])


def test_csv_whole_numbers_written_as_fractions_are_rows(tmp_path):
    path = write(tmp_path, "a,b,kind\n468.0,1.,must\n2,468,cannot\n")
    assert Links.read_csv(path) == Links([(1, 468)], [(2, 468)])
    path = write(tmp_path, "a,b,kind\n468.0,7,must\n")
    assert Links.read_csv(path, ids=[7, 468]) == Links([(0, 1)])
    assert Links.read_csv(path, ids=["7", "468", "468.0"]) == Links([(0, 2)])


def test_csv_answers_to_the_same_pair_are_counted(tmp_path):
    lines = "0,1,must\n1,0,must\n0,1,cannot\n0,1,s\n4,5,must\n"
    with pytest.warns(UserWarning, match=r"1 pair was answered several .* must-link \(0, 1\)"):
        links = Links.read_csv(write(tmp_path, "a,b,kind\n" + lines))
    assert links == Links([(0, 1), (4, 5)], must_confidence=[0.75, 1])


@pytest.mark.parametrize("name", [" a", "", 3.5, ("x",)])
def test_csv_refuses_ids_that_would_not_come_back(tmp_path, name):
    with pytest.raises(ValueError, match="to_json"):
        Links([(name, "b")]).to_csv(tmp_path / "links.csv")
    assert list(tmp_path.iterdir()) == []


def test_csv_refuses_text_ids_that_look_like_rows(tmp_path):
    with pytest.raises(ValueError, match="looks like a row number"):
        Links([("1", "2")]).to_csv(tmp_path / "links.csv")


def test_csv_refuses_ids_that_are_numbers(tmp_path):
    with pytest.raises(ValueError, match=r"looks like a row number \('1.5'\).*or not at all"):
        Links([("1.5", "nan")]).to_csv(tmp_path / "links.csv")


@pytest.mark.parametrize("item", ["1.5", "1e9", "nan", "inf", "1_000", "9" * 5000])
def test_csv_numbers_that_are_no_rows(tmp_path, item):
    path = write(tmp_path, f"a,b,kind\n0,1,must\n0,{item},must\n")
    with pytest.raises(ValueError, match=r"line 3: .* is no row number.*give the ids"):
        Links.read_csv(path)
    assert Links.read_csv(path, ids=["0", "1", item]).must.tolist() == [[0, 1], [0, 2]]
    path = write(tmp_path, f"a,b,kind\nann,{item},must\n")
    assert Links.read_csv(path).must_ids == (("ann", item),)


def test_an_id_in_another_unicode_form_is_pointed_out(tmp_path):
    path = write(tmp_path, "a,b,kind\nbob,Zoe\u0308,must\n")
    with pytest.raises(ValueError, match=r"line 2: .*row 1 has it in another Unicode form"):
        Links.read_csv(path, ids=["bob", "Zo\xeb"])
    with pytest.raises(ValueError, match=r"is not among the 2 sample ids; correct"):
        Links.read_csv(path, ids=["bob", "Zoe"])


def test_json_duplicates():
    text = Links([(0, 1), (1, 2)], must_confidence=[0.5, 0.7]).to_json().replace("[1, 2]", "[1, 0]")
    with pytest.raises(ValueError, match=r"the JSON text: must-link 1: .* is the same pair"):
        Links.read_json(text, duplicates="raise")
    assert (
        Links.read_json(text)
        == Links.read_json(text, duplicates="drop")
        == Links([(0, 1)], must_confidence=0.7)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{not json", "is not JSON"),
        ("{}", "does not hold links"),
        ('{"format": "linkshift.Links", "version": 9}', "version 9"),
        ('{"format": "linkshift.Links", "version": 1}', "keyed_by"),
        ('{"format": "linkshift.Links", "version": 1, "keyed_by": "row"}', "'must' is missing"),
    ],
)
def test_json_errors(text, message):
    with pytest.raises(ValueError, match=message):
        Links.read_json(text)


def test_json_names_a_bad_pair_and_refuses_odd_ids():
    text = Links([(0, 1)]).to_json().replace("[[0, 1]]", "[[4, 4]]")
    with pytest.raises(ValueError, match=r"the JSON text: must-link 0: \(4, 4\)"):
        Links.read_json(text)
    with pytest.raises(TypeError, match="no exact form in JSON"):
        Links([(("x", 1), "b")]).to_json()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "links.csv"
    Links([(0, 1)]).to_csv(path)
    before = path.read_text()

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr(_files.Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        Links([(2, 3)]).to_csv(path)
    assert path.read_text() == before
    assert [file.name for file in tmp_path.iterdir()] == ["links.csv"]


def test_percents_are_shares(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("a,b,kind,confidence\n0,1,must,95%\n1,2,cannot,0.5\n2,3,must,7.5 %\n")
    with pytest.warns(Advice, match=r"line 2: a confidence of 95% is read as 0.95, as are others"):
        links = Links.read_csv(path)
    assert links.must_confidence.tolist() == [0.95, 0.075]
    for text in ("0%", "150%", "%", "-3%", "nan%"):
        path.write_text(f"a,b,kind,confidence\n0,1,must,{text}\n")
        with pytest.raises(ValueError, match=r"line 2: confidence must be a number in \(0, 1\]"):
            Links.read_csv(path)


def test_a_file_without_links_is_told(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("a,b,kind\n\n")
    with pytest.warns(Advice, match=r"links.csv has a header, and no links below it"):
        assert Links.read_csv(path) == Links()
