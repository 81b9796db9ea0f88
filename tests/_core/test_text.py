"""Bytes that are no UTF-8 text: found wherever they stand, with their line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkshift._core import text as _text

MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
PIECES = st.sampled_from(
    [b"a", b",", b"\n", b"\r", b"\r\n", "é".encode(), "北".encode(), "👩".encode(), b"\xef\xbb\xbf"]
)
WRONG = st.sampled_from([b"\0", b"\xff", b"\xc3", b"\xe5\x8c", b"\xf0\x9f\x91", b"\x80"])


def first_wrong(data):
    """Position of the first byte that is no UTF-8 or NUL, by decoding all at once."""
    nul = data.find(b"\0")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start if nul < 0 else min(nul, error.start)
    return None if nul < 0 else nul


@settings(deadline=None)
@given(st.lists(PIECES | WRONG, max_size=30).map(b"".join), st.integers(1, 7))
def test_against_decoding_at_once(tmp_path_factory, data, chunk):
    path = tmp_path_factory.mktemp("text") / "a.csv"
    path.write_bytes(data)
    wrong = first_wrong(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "_CHUNK", chunk)
        if data.startswith(MARKS):
            with pytest.raises(ValueError, match=r"line 1: this is UTF-\d\d text"):
                _text.check_text(path)
        elif wrong is None:
            _text.check_text(path)
        else:
            line = data[:wrong].replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
            with pytest.raises(ValueError, match=rf"a\.csv, line {line}: .*Save it as UTF-8"):
                _text.check_text(path)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x", "'x'"),
        (12, "12"),
        ("y" * 1000, "'" + "y" * 59 + "..."),
        ([[]], "[[]]"),
    ],
)
def test_short(value, shown):
    assert _text.short(value) == shown


def test_short_of_what_has_no_repr():
    assert _text.short(10**5000) == "a very long int"  # Python refuses so many digits
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert _text.short(deep) == "a very long list"


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("gausian", ["flat", "gaussian"], "gaussian"),
        ("WIDTH", ["width", "height"], "width"),
        ("dta.csv", ["data.csv", "links.csv"], "data.csv"),
        ("s7", ["s06", "s07"], "s07"),
        ("iris", ["uci_iris", "uci_wine"], "uci_iris"),
        ("hdbscan", ["mean-shift", "kmeans", "consensus"], None),
        ("price", ["size", "prize money", "colour"], None),
        ("sales.csv", ["names.csv", "tables.csv"], None),  # only their suffix is the same
        ("x7", ["x1", "x2"], None),
        ("col_12", ["col_1", "col_2"], None),
        ("uci", ["uci_iris", "uci_wine"], None),
        ("q", ["p"], None),
        ("", ["p"], None),
    ],
)
def test_only_what_is_near_is_offered(word, known, meant):
    assert _text.near(word, known) == meant
