"""Messages between the page's server and its worker, over a pipe.

A message is a *head*, a dict as JSON has it, and numpy arrays. Four bytes say how long the head is;
in it, under "arrays", stands how many bytes each array takes, which follow as a .npy file has them.
Nothing is unpickled.

>>> import io, numpy as np
>>> stream = io.BytesIO()
>>> write(stream, {"kind": "labels", "version": 3}, [np.array([0, 1, 1])])
>>> stream.seek(0)
0
>>> head, arrays = read(stream)
>>> head["kind"], arrays[0].tolist()
('labels', [0, 1, 1])
>>> read(stream) is None
True
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from io import BytesIO
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

__all__ = ["MOST_ARRAY", "MOST_HEAD", "WireError", "packed", "read", "write"]

MOST_HEAD = 2**28  # bytes
MOST_ARRAY = 2**36
_LENGTH = struct.Struct(">I")
_CHUNK = 2**20  # bytes that are written at once


class WireError(ValueError):
    """What came is no message, or half of one."""


def packed(
    head: Mapping[str, Any], arrays: Sequence[NDArray[Any]] = ()
) -> list[bytes | memoryview]:
    """Give the bytes of a message, the numbers of arrays without a copy."""
    parts: list[bytes | memoryview] = []
    sizes = []
    for array in arrays:
        if array.dtype.hasobject:
            raise WireError(f"An array of {array.dtype} is no array of numbers.")
        array = np.ascontiguousarray(array).reshape(array.shape)  # it makes no number a row of one
        title = BytesIO()
        npy.write_array_header_1_0(title, npy.header_data_from_array_1_0(array))
        body = array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
        parts += [title.getvalue(), body]
        sizes.append(len(parts[-2]) + len(body))
    text = json.dumps({**head, "arrays": sizes}).encode()
    if len(text) > MOST_HEAD or any(size > MOST_ARRAY for size in sizes):
        raise WireError(f"A message of {len(text) + sum(sizes):,} bytes is too long.")
    return [_LENGTH.pack(len(text)) + text, *parts]


def write(stream: BinaryIO, head: Mapping[str, Any], arrays: Sequence[NDArray[Any]] = ()) -> None:
    """Write a message, and do not come back before all of it is written."""
    for part in packed(head, arrays):
        left = memoryview(part)
        while left:
            n = stream.write(left[:_CHUNK])
            left = left[n:]
    stream.flush()


def read(stream: BinaryIO) -> tuple[dict[str, Any], list[NDArray[Any]]] | None:
    """Wait for the next message; None where the stream has ended after the last one."""
    length = _exactly(stream, _LENGTH.size, may_end=True)
    if length is None:
        return None
    (size,) = _LENGTH.unpack(length)
    if size > MOST_HEAD:
        raise WireError(f"A head of {size:,} bytes is none of ours.")
    try:
        head = json.loads(bytes(_all_of(stream, size)))
    except ValueError as error:
        raise WireError(f"The head of a message is no JSON: {error}.") from error
    sizes = head.pop("arrays", None) if isinstance(head, dict) else None
    fine = isinstance(sizes, list) and all(
        isinstance(n, int) and not isinstance(n, bool) and 0 < n <= MOST_ARRAY for n in sizes
    )
    if not fine:
        raise WireError("The head of a message does not say which arrays follow.")
    return head, [_array(_all_of(stream, n)) for n in sizes or ()]


def _array(raw: bytearray) -> NDArray[Any]:
    """Read an array where it lies."""
    title = BytesIO(raw[: 2**12])  # it is short, but for tables of named columns
    try:
        version = npy.read_magic(title)
        if version != (1, 0):
            raise WireError(f"An array of the format {version} is none of ours.")
        shape, by_columns, dtype = npy.read_array_header_1_0(title)
    except ValueError as error:
        raise WireError(f"What should be an array is none: {error}") from error
    if dtype.hasobject or prod(shape) * dtype.itemsize != len(raw) - title.tell():
        raise WireError(f"An array of {dtype} and shape {shape} is not as long as it says.")
    flat = np.frombuffer(raw, dtype=dtype, offset=title.tell())
    return flat.reshape(shape, order="F" if by_columns else "C")


def _all_of(stream: BinaryIO, n: int) -> bytearray:
    found = _exactly(stream, n)
    assert found is not None
    return found


def _exactly(stream: BinaryIO, n: int, *, may_end: bool = False) -> bytearray | None:
    """Read so many bytes; None where there are none at all and the stream may end."""
    # It grows as bytes come: what only says that it is long takes no memory.
    found = bytearray(min(n, _CHUNK))
    done = 0
    while done < n:
        if done == len(found):
            found.extend(bytes(min(n - done, max(done, _CHUNK))))
        with memoryview(found) as view, view[done:] as rest:
            got = stream.readinto(rest)  # type: ignore[attr-defined]
        if not got:
            if may_end and not done:
                return None
            raise WireError(f"The stream ended after {done:,} of {n:,} bytes.")
        done += got
    return found
