r"""Fitted models in files that hold data only: no pickle, nothing that could be run.

A model file is an npz archive. Its member ``header`` is JSON in UTF-8 (bytes as uint8); all other
members are plain arrays of numbers, truth values or text:

>>> import json, tempfile
>>> from pathlib import Path
>>> import numpy as np
>>> from linkshift import MeanShift
>>> from linkshift.model_files import about, load, save
>>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1]])
>>> folder = tempfile.TemporaryDirectory()
>>> path = Path(folder.name) / "model.npz"
>>> save(MeanShift(bandwidth=1.0).fit(X), path, about={"columns": ["length"], "scale": 2.5})
>>> load(path).predict([[0.4], [4.9]])
array([0, 1])
>>> about(path)
{'columns': ['length'], 'scale': 2.5}
>>> with np.load(path, allow_pickle=False) as members:
...     header = json.loads(members["header"].tobytes())
>>> header["format"], header["format_version"], header["model"]["estimator"]["class"]
('linkshift model', 1, 'MeanShift')
>>> folder.cleanup()

The header's key "about" holds what ``save`` was given under that name, as plain JSON; it is left
out when that is nothing. In "model", None, truth values, finite numbers, text and lists stand for
themselves. Everything else is an object with one key that says what it is:

============ =========================================================================
key          value
============ =========================================================================
"float"      "nan", "inf" or "-inf"
"tuple"      list of items
"dict"       object: text to item
"slice"      [start, stop, step]; "range" alike
"dtype"      name of a number type
"array"      name of a member; "frozen" is a read-only array, "scalar" a NumPy scalar
"text"       list of str: a one-dimensional array of Python strings (names of columns)
"object"     [name, fields], with a name from the list in ``linkshift._model_values``
"estimator"  class, parameters, fitted attributes and metadata requests
============ =========================================================================

Only the names listed there are ever turned into objects. Functions are refused, and so are random
generators: their state is of no use to ``predict``. What can be computed again is left out.

Compatibility: a file of an older format version or with fewer parameters (those that a later
version added take their defaults) is read; a newer format version is refused. "about" came without
a new format version: readers that do not know it pass over it and load the model. Labels are the
same in another process with the same versions of the libraries; other versions, and other machines,
may round otherwise.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import sklearn
from numpy.lib import format as npy
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import linkshift
from linkshift._core.arrays import Array
from linkshift._core.files import replacing
from linkshift._model_values import ARRAY_KINDS, DEEPEST, ESTIMATORS, Decoder, Encoder, Refused

__all__ = ["about", "load", "save"]

Found = TypeVar("Found")

_FORMAT = "linkshift model"
_VERSION = 1
_HEADER = "header"
_LEAVES = (type(None), bool, int, str)
_DAY = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes


def save(
    model: BaseEstimator, path: str | os.PathLike[str], *, about: dict[str, Any] | None = None
) -> None:
    """Write a fitted model to a file.

    The file is complete or not there: it is written under another name in the same folder and
    renamed. An existing file is replaced.

    Parameters
    ----------
    model : estimator
        A fitted MeanShift, ConstrainedMeanShift, KernelMeanShift, MetricMeanShift,
        GroupFeatureClustering or SCML. Functions among its parameters (a kernel or metric of your
        own, ``progress``) and random generators raise TypeError: a file holds data only.
    path : path
        Where to; taken as it is, no suffix is added.
    about : dict, default=None
        What else to keep, for :func:`about` to give back: None, truth values, finite numbers, text,
        lists, and dicts with text as keys. Anything else raises TypeError.

    Examples
    --------
    See the top of :mod:`linkshift.model_files`.
    """
    if type(model) not in ESTIMATORS.values():
        raise TypeError(
            f"A model file holds one of {', '.join(ESTIMATORS)}, not {type(model).__name__}; of "
            "a pipeline or a class of your own, save the linkshift estimator inside."
        )
    check_is_fitted(model)
    notes = {} if about is None else about
    _check_notes(notes)
    encoder = Encoder()
    header = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "versions": {
            "linkshift": linkshift.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "model": encoder.encode(model, "model"),
    }
    if notes:
        header["about"] = notes
    text = json.dumps(header, allow_nan=False).encode()
    with replacing(path) as temporary, ZipFile(temporary, "x", ZIP_STORED) as archive:
        _write(archive, _HEADER, np.frombuffer(text, dtype=np.uint8))
        for name, array in encoder.arrays.items():
            _write(archive, name, array)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save` has written.

    Parameters
    ----------
    path : path
        The file; taken as it is, no suffix is added.

    Returns
    -------
    estimator
        As it was saved: the same parameters, attributes and predictions.

    Raises
    ------
    ValueError
        The file is no model file, is damaged, has pickled objects inside, or comes from a later
        version of linkshift. Files that cannot be opened raise OSError as usual.

    Examples
    --------
    See the top of :mod:`linkshift.model_files`.
    """
    return _opened(path, _read_model)


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what :func:`save` was told to keep beside the model, and nothing else.

    Parameters
    ----------
    path : path
        The file; taken as it is, no suffix is added.

    Returns
    -------
    dict
        As it was given; empty when there was none.

    Raises
    ------
    ValueError
        The file is no model file, is damaged, or comes from a later version of linkshift; arrays
        of the model are not looked at.

    Examples
    --------
    See the top of :mod:`linkshift.model_files`.
    """
    return _opened(path, lambda members: _notes(members.header()))


def _opened(path: str | os.PathLike[str], read: Callable[[_Members], Found]) -> Found:
    with Path(path).open("rb") as stream:
        try:
            with ZipFile(stream) as archive:
                return read(_Members(archive))
        except Refused as refused:
            problem = str(refused)
        except Exception as error:  # damaged bytes make zipfile, NumPy and json raise anything
            problem = f"it is no npz archive, or damaged ({type(error).__name__}: {error})"
    raise ValueError(
        f"{os.fspath(path)!r} cannot be loaded as a linkshift model: {problem}. Take a file that "
        "linkshift.model_files.save has written, or fit and save the model again."
    )


def _read_model(members: _Members) -> Any:
    header = members.header()
    _notes(header)
    match header:
        case {"model": {"estimator": _}}:
            model = Decoder(members.array, _writer(header)).decode(header["model"])
        case _:
            raise Refused("its header holds no estimator")
    members.refuse_others()
    return model


def _writer(header: dict[str, Any]) -> str:
    return f"linkshift {header['versions'].get('linkshift', 'unknown')}"


def _notes(header: dict[str, Any]) -> dict[str, Any]:
    """Check what the file keeps beside the model."""
    found = header.get("about", {})
    try:
        _check_notes(found)
    except TypeError as error:
        raise Refused(f"its header holds something that save refuses ({error})") from None
    notes: dict[str, Any] = found
    return notes


def _check_notes(notes: Any) -> None:
    if type(notes) is not dict:
        raise TypeError(
            f"about is a {type(notes).__name__}; give a dict, such as {{'note': 'first try'}}."
        )
    _check_plain(notes, "about")


def _check_plain(value: Any, where: str, depth: int = 0) -> None:
    """Refuse what JSON would not give back as it was; ``where`` is for the message."""
    if depth > DEEPEST:
        raise TypeError(f"{where[:80]} ... is nested too deeply; a list must not hold itself.")
    kind = type(value)
    if kind in _LEAVES:
        return
    if kind is float:
        if not math.isfinite(value):
            raise TypeError(f"{where} is {value}; JSON has finite numbers only. Use None or text.")
    elif kind is list:
        for i, item in enumerate(value):
            if type(item) not in _LEAVES:  # names of a million rows are soon checked
                _check_plain(item, f"{where}[{i}]", depth + 1)
    elif kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError(f"{where} has the key {key!r}; JSON takes text only. Use str keys.")
            _check_plain(item, f"{where}[{key!r}]", depth + 1)
    else:
        raise TypeError(
            f"{where} is a {kind.__name__}, which JSON would not give back. Use None, truth "
            "values, int, float, str, lists and dicts; of a tuple list(...), of NumPy .tolist()."
        )


def _write(archive: ZipFile, name: str, array: Array) -> None:
    info = ZipInfo(f"{name}.npy", _DAY)
    info.external_attr = 0o644 << 16
    with archive.open(info, "w", force_zip64=True) as member:
        npy.write_array(member, array, allow_pickle=False)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


class _Members:
    """Header and arrays of an archive, each read once."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(self._members) != len(archive.infolist()):
            raise Refused("two of its members have the same name")
        self._used: set[str] = set()

    def header(self) -> dict[str, Any]:
        """Read the header, and check that it is one of this format and not of a later version."""
        if _HEADER not in self._members:
            raise Refused("it has no member 'header', so it is another kind of npz or zip file")
        raw = self._read(_HEADER)
        if raw.dtype != np.uint8 or raw.ndim != 1:
            raise Refused("its header is not JSON as bytes, so it is another kind of npz file")
        try:
            header = json.loads(raw.tobytes(), parse_constant=_no_constant)
        except ValueError:
            raise Refused("its header is not JSON, so it is another kind of npz file") from None
        if not isinstance(header, dict) or header.get("format") != _FORMAT:
            raise Refused(f"its header does not say {_FORMAT!r}, so it is another kind of file")
        version, versions = header.get("format_version"), header.get("versions")
        if type(version) is not int or version < 1:
            raise Refused(f"its format version is {version!r}, not a whole number from 1 on")
        if not isinstance(versions, dict) or not all(isinstance(v, str) for v in versions.values()):
            raise Refused("its header does not tell the versions that wrote it")
        if version > _VERSION:
            raise Refused(
                f"it has format version {version}, written by {_writer(header)}, and linkshift "
                f"{linkshift.__version__} reads up to {_VERSION}; update linkshift"
            )
        return header

    def array(self, name: str) -> Array:
        """Read an array of the model."""
        if name == _HEADER:
            raise Refused("its header is no array of the model")
        return self._read(name)

    def refuse_others(self) -> None:
        """Refuse members that nobody has read."""
        unused = sorted(self._members.keys() - self._used)
        if unused:
            raise Refused(f"its member {unused[0]!r} is not part of the model")

    def _read(self, name: str) -> Array:
        """Read a member whole, by which its checksum is compared, and only then look at it."""
        info = self._members.get(name)
        if info is None:
            raise Refused(f"its member {name!r} is missing")
        if info.compress_type != ZIP_STORED:  # memory is then bounded by the size of the file
            raise Refused(f"its member {name!r} is compressed, which save never does")
        self._used.add(name)
        data = self._archive.read(info)
        stream = io.BytesIO(data)
        if npy.read_magic(stream) != (1, 0):
            raise Refused(f"its member {name!r} is in another version of the npy format")
        shape, fortran, dtype = npy.read_array_header_1_0(stream)
        if dtype.hasobject:
            raise Refused(
                f"its member {name!r} holds pickled objects, which could run code and are never "
                "loaded"
            )
        body = data[stream.tell() :]
        if dtype.kind not in ARRAY_KINDS or not dtype.itemsize:
            raise Refused(f"its member {name!r} is of type {dtype}, not numbers or text")
        if math.prod(shape) * dtype.itemsize != len(body):
            raise Refused(f"its member {name!r} has not the size that it says")
        values = np.frombuffer(body, dtype) if body else np.empty(0, dtype)
        # A copy, in this machine's byte order: values of a buffer cannot be written to.
        return values.reshape(shape, order="F" if fortran else "C").astype(
            dtype.newbyteorder("="), order="K"
        )
