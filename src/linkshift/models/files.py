r"""Fitted models in files that hold data only: no pickle, nothing that could be run.

A model file is an npz archive. Its member ``header`` is JSON in UTF-8 (bytes as uint8); all other
members are plain arrays of numbers, truth values or text:

>>> import json, tempfile
>>> from pathlib import Path
>>> import numpy as np
>>> from linkshift import MeanShift, model_files
>>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1]])
>>> folder = tempfile.TemporaryDirectory()
>>> path = Path(folder.name) / "model.npz"
>>> notes = {"columns": ["length"], "scale": 2.5}
>>> model_files.save(MeanShift(bandwidth=1.0).fit(X), path, about=notes)
>>> model_files.load(path).predict([[0.4], [4.9]])
array([0, 1])
>>> model_files.about(path)
{'columns': ['length'], 'scale': 2.5}
>>> with np.load(path, allow_pickle=False) as members:
...     header = json.loads(members["header"].tobytes())
>>> header["format"], header["format_version"], header["model"]["estimator"]["class"]
('linkshift model', 2, 'MeanShift')
>>> folder.cleanup()

The header's "arrays" lists the members: type, shape and SHA-256 of each; "digest" is the SHA-256 of
the rest of the header. A file that was changed or damaged since is refused. "about" holds what
``save`` was given under that name, as plain JSON; it is left out when that is nothing. In "model",
None, truth values, finite numbers, text and lists stand for themselves. Everything else is an
object with one key that says what it is:

============ =========================================================================
key          value
============ =========================================================================
"float"      "nan", "inf" or "-inf"
"tuple"      list of items
"dict"       object: text to item
"array"      name of a member
"text"       list of str: a one-dimensional array of Python strings (names of columns)
"estimator"  class, parameters, fields of a fit, metadata requests
"slice"      what its builder was given; "range", "profile", "links", "density", "composed"
             (a density with a metric for each point), "frozen" (around an estimator) alike
============ =========================================================================

Nothing else is ever made. Functions are refused, and so are random generators: their state is of
no use to ``predict``. A fitted model is stored as what it was built from, which is checked field by
field (``linkshift.models.parts``); what can be computed again is left out. A file that somebody
wrote on purpose may hold any model, but none that reads or writes where it should not.

Compatibility: a file with fewer parameters (those that a later version added take their defaults)
is read; another format version is refused. Labels are the same in another process with the same
versions of the libraries; other versions, and other machines, may round otherwise.
"""

from __future__ import annotations

import hashlib
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
from linkshift._core.messages import Refusal
from linkshift.models.parts import ESTIMATORS
from linkshift.models.rules import Refused
from linkshift.models.values import ARRAY_KINDS, DEEPEST, Decoder, Encoder, fingerprint

__all__ = ["about", "load", "save"]

Found = TypeVar("Found")

_FORMAT = "linkshift model"
_VERSION = 2
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
        Fitted; any of linkshift's own. Functions among its parameters (a kernel or metric of your
        own, ``progress``) and random generators raise TypeError: a file holds data only.
    path : path
        Where to; taken as it is, no suffix is added.
    about : dict, default=None
        What else to keep, for :func:`about` to give back: None, truth values, finite numbers, text,
        lists, and dicts with text as keys. Anything else raises TypeError.
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
        "arrays": encoder.manifest,
    }
    _refuse_changed(model, Decoder(encoder.arrays, "this session"), header["model"])
    if notes:
        header["about"] = notes
    text = json.dumps(header | {"digest": _digest(header)}, allow_nan=False).encode()
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
        The file is no model file, was changed or damaged, has pickled objects inside, or comes
        from another version of linkshift. Files that cannot be opened raise OSError as usual.
    """
    return _opened(path, _read_model)


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what :func:`save` was given to keep beside the model, and nothing else.

    Takes and raises what :func:`load` does, but does not look at the arrays of the model.

    Returns
    -------
    dict
        As it was given; empty when there was none.
    """
    return _opened(path, lambda archive: _notes(_read_header(archive)))


def _refuse_changed(model: Any, decoder: Decoder, node: Any) -> None:
    """Refuse a model that a file would not give back as it is."""
    try:
        kept = vars(decoder.decode(node))
    except Exception as error:
        raise Refusal(
            f"The model could not be loaded again: {error}.",
            "It is not as fit has left it; fit it again, and save it then.",
        ) from error
    for name in sorted(vars(model).keys() - kept):
        raise TypeError(
            f"model.{name} is nothing that a fit has set; a model file does not take it. Give it "
            f"as about=..., and del model.{name} first."
        )


def _digest(header: dict[str, Any]) -> str:
    rest = {name: value for name, value in header.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _opened(path: str | os.PathLike[str], read: Callable[[ZipFile], Found]) -> Found:
    with Path(path).open("rb") as stream:
        try:
            with ZipFile(stream) as archive:
                members = archive.infolist()
                if len({info.filename for info in members}) != len(members):
                    raise Refused("two of its members have the same name")
                if sum(info.compress_size for info in members) > os.fstat(stream.fileno()).st_size:
                    raise Refused("its members overlap")
                return read(archive)
        except Refused as refused:
            problem = str(refused)
        except Exception as error:  # damaged bytes make zipfile, NumPy and json raise anything
            problem = f"it is no npz archive, or damaged ({type(error).__name__}: {error})"
    raise Refusal(
        f"{os.fspath(path)!r} cannot be loaded as a linkshift model: {problem}.",
        "Take a file that linkshift.model_files.save has written, or fit and save the model again.",
        command="Take a file that linkshift cluster --save has written, or cluster and save again.",
    )


def _read_model(archive: ZipFile) -> Any:
    header = _read_header(archive)
    _notes(header)
    match header:
        case {"model": {"estimator": {"fitted": {"dict": _}}}, "arrays": dict(manifest)}:
            pass
        case _:
            raise Refused("its header holds no fitted estimator, or no list of arrays")
    others = {info.filename.removesuffix(".npy") for info in archive.infolist()} - {_HEADER}
    for name in sorted(others ^ manifest.keys()):
        raise Refused(f"its member {name!r} is " + ("not listed" if name in others else "missing"))
    arrays = {name: _read(archive, name) for name in manifest}
    listed = {name: fingerprint(array) for name, array in arrays.items()}
    if listed != manifest or header.get("digest") != _digest(header):
        raise Refused("it was changed or damaged since it was written")
    decoder = Decoder(arrays, _writer(header))
    try:
        model = decoder.decode(header["model"])
    except Refused:
        raise
    except Exception as error:  # the doors that a model is built by refuse in many ways
        raise Refused(f"its parts do not fit together ({type(error).__name__}: {error})") from None
    if decoder.unused:
        raise Refused(f"its member {min(decoder.unused)!r} is not part of the model")
    return model


def _writer(header: dict[str, Any]) -> str:
    return f"linkshift {header['versions'].get('linkshift', 'unknown')}"


def _notes(header: dict[str, Any]) -> dict[str, Any]:
    """Check what the file keeps beside the model."""
    notes: dict[str, Any] = header.get("about", {})
    try:
        _check_notes(notes)
    except TypeError as error:
        raise Refused(f"its header holds something that save refuses ({error})") from None
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


def _read_header(archive: ZipFile) -> dict[str, Any]:
    """Read the header, and check that it is one of this format and version."""
    if f"{_HEADER}.npy" not in archive.namelist():
        raise Refused("it has no member 'header', so it is another kind of npz or zip file")
    raw = _read(archive, _HEADER)
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
        raise Refused("its header does not say the versions that wrote it")
    if version != _VERSION:
        remedy = "; update linkshift" if version > _VERSION else " only"
        raise Refused(
            f"it has format version {version}, written by {_writer(header)}, and linkshift "
            f"{linkshift.__version__} reads version {_VERSION}{remedy}"
        )
    return header


def _read(archive: ZipFile, name: str) -> Array:
    """Read a member whole, by which its checksum is compared, and only then look at it."""
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type != ZIP_STORED:  # memory is then bounded by the size of the file
        raise Refused(f"its member {name!r} is compressed, which save never does")
    data = archive.read(info)
    stream = io.BytesIO(data)
    if npy.read_magic(stream) != (1, 0):
        raise Refused(f"its member {name!r} is in another version of the npy format")
    shape, fortran, dtype = npy.read_array_header_1_0(stream)
    if dtype.hasobject:
        raise Refused(
            f"its member {name!r} holds pickled objects, which could run code and are never loaded"
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
