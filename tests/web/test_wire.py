"""Messages: as they were sent, and nothing but messages."""

import io
import json
import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some_numpy
from tests.reference import web_worker as twin

from linkshift.web import wire
from linkshift.web.wire import WireError, packed, read, write

text = st.text(max_size=8)
heads = st.dictionaries(
    text.filter(lambda key: key != "arrays"),
    st.recursive(st.none() | st.booleans() | st.integers() | text, lambda one: st.lists(one)),
    max_size=4,
)
arrays = st.lists(
    some_numpy.arrays(
        st.sampled_from(["<i4", "<i8", "<f4", "<f8", "u1", "?"]),
        some_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    ),
    max_size=3,
)


@given(heads, arrays)
def test_message_is_its_twin_and_comes_back(head, some):
    raw = b"".join(packed(head, some))
    assert raw == twin.frame(head, some)
    stream = io.BytesIO(raw + raw)
    for _ in range(2):
        got, back = read(stream)
        assert got == head
        for one, other in zip(back, some, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            assert one.tobytes() == other.tobytes()
    assert read(stream) is None
    assert read(stream) is None


@given(heads, arrays, st.data())
def test_half_a_message_is_said_to_be_one(head, some, draw):
    raw = b"".join(packed(head, some))
    cut = draw.draw(st.integers(1, len(raw) - 1))
    with pytest.raises(WireError, match="ended"):
        read(io.BytesIO(raw[:cut]))


def test_columns_first_and_every_other_row_come_as_they_look():
    X = np.arange(24.0).reshape(4, 6)
    stream = io.BytesIO(b"".join(packed({}, [X.T, X[::2, ::3], np.asfortranarray(X)])))
    _, (turned, some, same) = read(stream)
    assert turned.tolist() == X.T.tolist()
    assert some.tolist() == X[::2, ::3].tolist()
    assert same.tolist() == X.tolist()


def test_what_came_may_be_written_to():
    _, (array,) = read(io.BytesIO(b"".join(packed({}, [np.zeros(3)]))))
    array[1] = 1
    assert array.tolist() == [0, 1, 0]


def test_large_message_goes_through_a_pipe_piece_by_piece():
    there, here = os.pipe()
    X = np.random.default_rng(0).normal(size=(50_000, 8))
    with os.fdopen(there, "rb") as inward, os.fdopen(here, "wb", buffering=0) as outward:
        thread = threading.Thread(target=write, args=(outward, {"kind": "open"}, [X]))
        thread.start()
        head, (back,) = read(inward)
        thread.join()
    assert head == {"kind": "open"}
    assert np.array_equal(back, X)


def framed(head, *rest):
    raw = json.dumps(head).encode()
    return io.BytesIO(len(raw).to_bytes(4, "big") + raw + b"".join(rest))


def npy(array, allow_pickle=False):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=allow_pickle)
    return file.getvalue()


def test_objects_are_neither_sent_nor_read():
    with pytest.raises(WireError, match="no array of numbers"):
        packed({}, [np.array([{}], dtype=object)])
    raw = npy(np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(WireError):
        read(framed({"arrays": [len(raw)]}, raw))


@pytest.mark.parametrize(
    "head",
    [{}, [], {"arrays": 3}, {"arrays": [-1]}, {"arrays": [0]}, {"arrays": [True]},
     {"arrays": [1.5]}, {"arrays": ["8"]}, {"arrays": [2**60]}],
)  # fmt: skip
def test_head_that_does_not_say_what_follows_is_refused(head):
    with pytest.raises(WireError):
        read(framed(head, b"x" * 64))


@pytest.mark.parametrize(
    "raw",
    [b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff\xff\xff", b"\0\0\0\2{]", b"\0\0\0\2\xff\xfe"],
)
def test_what_is_no_message_is_refused(raw):
    with pytest.raises(WireError):
        read(io.BytesIO(raw))


def test_array_of_another_length_than_it_says_is_refused():
    raw = npy(np.zeros(4))
    for wrong in (raw[:-8], raw + b"12345678", b"x" * len(raw), raw[:5]):
        with pytest.raises(WireError):
            read(framed({"arrays": [len(wrong)]}, wrong))


def test_length_that_is_only_claimed_takes_no_memory(monkeypatch):
    stream = framed({"arrays": [wire.MOST_ARRAY]}, b"x" * 100)
    with pytest.raises(WireError, match="ended after 100"):
        read(stream)


def test_what_is_too_long_is_not_sent(monkeypatch):
    monkeypatch.setattr(wire, "MOST_ARRAY", 100)
    with pytest.raises(WireError, match="too long"):
        packed({}, [np.zeros(100)])
