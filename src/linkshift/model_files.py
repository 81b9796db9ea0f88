r"""Fitted models in files that hold data only: no pickle, nothing that could be run.

A model file is an npz archive. Its member ``header`` is JSON in UTF-8 (bytes as uint8); all other
members are plain arrays of numbers, truth values or text:

>>> import json, tempfile
>>> from pathlib import Path
>>> import numpy as np
>>> from linkshift import MeanShift
>>> from linkshift.model_files import load, save
>>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1]])
>>> folder = tempfile.TemporaryDirectory()
>>> path = Path(folder.name) / "model.npz"
>>> save(MeanShift(bandwidth=1.0).fit(X), path)
>>> load(path).predict([[0.4], [4.9]])
array([0, 1])
>>> with np.load(path, allow_pickle=False) as members:
...     header = json.loads(members["header"].tobytes())
>>> header["format"], header["format_version"], header["model"]["estimator"]["class"]
('linkshift model', 1, 'MeanShift')
>>> folder.cleanup()

In the header, None, truth values, finite numbers, text and lists stand for themselves. Everything
else is an object with one key that says what it is:

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
"object"     [name, fields], with a name from the list of this module
"estimator"  class, parameters, fitted attributes and metadata requests
============ =========================================================================

Only the names listed here are ever turned into objects. Functions are refused, and so are random
generators: their state is of no use to ``predict``. What can be computed again is left out.

Compatibility: a file of an older format version or with fewer parameters (those that a later
version added take their defaults) is read; a newer format version is refused. Labels are the same
in another process with the same versions of the libraries; other versions, and other machines, may
round otherwise.
"""

from __future__ import annotations

import io
import json
import math
import os
import secrets
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import sklearn
from numpy.lib import format as npy
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted

import linkshift
from linkshift.estimators import (
    ConstrainedMeanShift,
    GroupFeatureClustering,
    KernelMeanShift,
    MeanShift,
    MetricMeanShift,
)
from linkshift.estimators.constrained_mean_shift import _Run
from linkshift.groups.alternation import Alternation
from linkshift.groups.boosting import Classifiers
from linkshift.groups.views import KernelBank, _View
from linkshift.links import Links
from linkshift.links._parse import Parsed
from linkshift.metric_learning import SCML
from linkshift.metric_learning.embedding import Embedding
from linkshift.metrics import LinkReport
from linkshift.modes import Modes
from linkshift.profiles import Profile
from linkshift.shift._anisotropic_density import AnisotropicDensity
from linkshift.shift._anisotropic_forms import Forms, Span
from linkshift.shift.anisotropic import AnisotropicModes
from linkshift.shift.binning import Cells
from linkshift.shift.density import Density, _products, _Terms
from linkshift.spaces.kernel import Kernel, KernelSpace

__all__ = ["load", "save"]

Array = NDArray[Any]
Fields = dict[str, Any]

_FORMAT = "linkshift model"
_VERSION = 1
_HEADER = "header"
_ARRAY_KINDS = "biufcU"
_DTYPES = ("float32", "float64")
_DEEPEST = 100  # levels of nesting; a list that holds itself has no end
_DAY = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes


class _Refused(ValueError):
    """What is wrong with a file, in words for the reader."""


@dataclass(frozen=True)
class _Part:
    """A class that may be in a file: how to take its objects apart and how to rebuild them."""

    cls: type
    take: Callable[[Any], Fields]
    build: Callable[[Fields], Any]


def _names(cls: type) -> dict[str, bool]:
    """Fields of a dataclass or named tuple, and whether each must be given."""
    if is_dataclass(cls):
        return {f.name: f.default is MISSING and f.default_factory is MISSING for f in fields(cls)}
    optional: Fields = cls._field_defaults  # type: ignore[attr-defined]
    return {name: name not in optional for name in cls._fields}  # type: ignore[attr-defined]


def _take_fields(cls: type, value: Any) -> Fields:
    return {name: getattr(value, name) for name in _names(cls)}


def _build_fields(cls: type, given: Fields) -> Any:
    expected = _names(cls)
    unknown = sorted(given.keys() - expected)
    missing = sorted(name for name, needed in expected.items() if needed and name not in given)
    if unknown or missing:
        raise _Refused(
            f"a {cls.__name__} has other fields in this version of linkshift "
            f"(unknown: {unknown}, missing: {missing})"
        )
    return cls(**given)


def _plain(cls: type) -> _Part:
    return _Part(cls, partial(_take_fields, cls), partial(_build_fields, cls))


def _take_density(density: Density) -> Fields:
    """All but the points about their mean, which are as large as the points."""
    found = _take_fields(Density, density)
    del found["products"]
    return found


def _build_density(given: Fields) -> Density:
    density: Density = _build_fields(Density, {**given, "products": None})
    products = _products(density.profile, density.points, density.n_points)
    return replace(density, products=products)


def _take_bank(bank: KernelBank) -> Fields:
    """Without kernel values, where they can be computed again when asked for."""
    found = _take_fields(KernelBank, bank)
    if all(view.data is not None for view in bank.views):
        found["values"] = None
    return found


def _take_links(links: Links) -> Fields:
    return {"pairs": links._pairs, "n_samples": links._n_samples}


def _build_links(given: Fields) -> Links:
    pairs, n_samples = given["pairs"], given["n_samples"]
    if not isinstance(pairs, Parsed) or not isinstance(n_samples, int | None):
        raise _Refused("links are not made of pairs and a number of samples")
    return Links._make(pairs, n_samples)


def _build_frozen(given: Fields) -> FrozenEstimator:
    return FrozenEstimator(given["estimator"])


# Names in files, which stay when a class is renamed. A change to the fields of one of these
# classes that is more than a new field with a default needs a new format version.
_PARTS: dict[str, _Part] = {
    "Alternation": _plain(Alternation),
    "AnisotropicDensity": _plain(AnisotropicDensity),
    "AnisotropicModes": _plain(AnisotropicModes),
    "Cells": _plain(Cells),
    "Classifiers": _plain(Classifiers),
    "Density": _Part(Density, _take_density, _build_density),
    "DensityTerms": _plain(_Terms),
    "Embedding": _plain(Embedding),
    "Forms": _plain(Forms),
    "FrozenEstimator": _Part(
        FrozenEstimator, lambda frozen: {"estimator": frozen.estimator}, _build_frozen
    ),
    "Kernel": _plain(Kernel),
    "KernelBank": _Part(KernelBank, _take_bank, partial(_build_fields, KernelBank)),
    "KernelSpace": _plain(KernelSpace),
    "LinkReport": _plain(LinkReport),
    "Links": _Part(Links, _take_links, _build_links),
    "Modes": _plain(Modes),
    "Pairs": _plain(Parsed),
    "Profile": _plain(Profile),
    "Run": _plain(_Run),
    "Span": _plain(Span),
    "View": _plain(_View),
}
_PART_OF = {part.cls: name for name, part in _PARTS.items()}

_ESTIMATORS: dict[str, type[BaseEstimator]] = {
    "ConstrainedMeanShift": ConstrainedMeanShift,
    "GroupFeatureClustering": GroupFeatureClustering,
    "KernelMeanShift": KernelMeanShift,
    "MeanShift": MeanShift,
    "MetricMeanShift": MetricMeanShift,
    "SCML": SCML,
}
_ESTIMATOR_OF = {cls: name for name, cls in _ESTIMATORS.items()}
_REQUESTS = "_metadata_request"  # where scikit-learn keeps what set_fit_request(...) said


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
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

    Examples
    --------
    See the top of :mod:`linkshift.model_files`.
    """
    if type(model) not in _ESTIMATOR_OF:
        raise TypeError(
            f"A model file holds one of {', '.join(_ESTIMATORS)}, not {type(model).__name__}; of "
            "a pipeline or a class of your own, save the linkshift estimator inside."
        )
    check_is_fitted(model)
    encoder = _Encoder()
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
    text = json.dumps(header, allow_nan=False).encode()
    target = Path(path)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with draft.open("xb") as stream:
            with ZipFile(stream, "w", ZIP_STORED) as archive:
                _write(archive, _HEADER, np.frombuffer(text, dtype=np.uint8))
                for name, array in encoder.arrays.items():
                    _write(archive, name, array)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


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
    with Path(path).open("rb") as stream:
        try:
            with ZipFile(stream) as archive:
                return _read(archive)
        except _Refused as refused:
            problem = str(refused)
        except Exception as error:  # damaged bytes make zipfile, NumPy and json raise anything
            problem = f"it is no npz archive, or damaged ({type(error).__name__}: {error})"
    raise ValueError(
        f"{os.fspath(path)!r} cannot be loaded as a linkshift model: {problem}. Take a file that "
        "linkshift.model_files.save has written, or fit and save the model again."
    )


def _write(archive: ZipFile, name: str, array: Array) -> None:
    info = ZipInfo(f"{name}.npy", _DAY)
    info.external_attr = 0o644 << 16
    with archive.open(info, "w", force_zip64=True) as member:
        npy.write_array(member, array, allow_pickle=False)


def _read(archive: ZipFile) -> Any:
    """Check header and members, and rebuild the model."""
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise _Refused("two of its members have the same name")
    if _HEADER not in members:
        raise _Refused("it has no member 'header', so it is another kind of npz or zip file")
    arrays = _Members(archive, members)
    raw = arrays.read(_HEADER)
    if raw.dtype != np.uint8 or raw.ndim != 1:
        raise _Refused("its header is not JSON as bytes, so it is another kind of npz file")
    try:
        header = json.loads(raw.tobytes(), parse_constant=_no_constant)
    except ValueError:
        raise _Refused("its header is not JSON, so it is another kind of npz file") from None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise _Refused(f"its header does not say {_FORMAT!r}, so it is another kind of file")
    version, versions = header.get("format_version"), header.get("versions")
    if type(version) is not int or version < 1:
        raise _Refused(f"its format version is {version!r}, not a whole number from 1 on")
    if not isinstance(versions, dict) or not all(isinstance(v, str) for v in versions.values()):
        raise _Refused("its header does not tell the versions that wrote it")
    writer = f"linkshift {versions.get('linkshift', 'unknown')}"
    if version > _VERSION:
        raise _Refused(
            f"it has format version {version}, written by {writer}, and linkshift "
            f"{linkshift.__version__} reads up to {_VERSION}; update linkshift"
        )
    match header:
        case {"model": {"estimator": _}}:
            decoder = _Decoder(arrays, writer)
            model = decoder.decode(header["model"])
        case _:
            raise _Refused("its header holds no estimator")
    unused = sorted(members.keys() - arrays.used)
    if unused:
        raise _Refused(f"its member {unused[0]!r} is not part of the model")
    return model


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


class _Members:
    """Arrays of an archive, each read once."""

    def __init__(self, archive: ZipFile, members: dict[str, ZipInfo]) -> None:
        self._archive = archive
        self._members = members
        self.used: set[str] = set()

    def read(self, name: str) -> Array:
        """Read a member whole, by which its checksum is compared, and only then look at it."""
        info = self._members.get(name)
        if info is None:
            raise _Refused(f"its member {name!r} is missing")
        if info.compress_type != ZIP_STORED:  # memory is then bounded by the size of the file
            raise _Refused(f"its member {name!r} is compressed, which save never does")
        self.used.add(name)
        data = self._archive.read(info)
        stream = io.BytesIO(data)
        if npy.read_magic(stream) != (1, 0):
            raise _Refused(f"its member {name!r} is in another version of the npy format")
        shape, fortran, dtype = npy.read_array_header_1_0(stream)
        if dtype.hasobject:
            raise _Refused(
                f"its member {name!r} holds pickled objects, which could run code and are never "
                "loaded"
            )
        body = data[stream.tell() :]
        if dtype.kind not in _ARRAY_KINDS or not dtype.itemsize:
            raise _Refused(f"its member {name!r} is of type {dtype}, not numbers or text")
        if math.prod(shape) * dtype.itemsize != len(body):
            raise _Refused(f"its member {name!r} has not the size that it says")
        values = np.frombuffer(body, dtype) if body else np.empty(0, dtype)
        # A copy, in this machine's byte order: values of a buffer cannot be written to.
        return values.reshape(shape, order="F" if fortran else "C").astype(
            dtype.newbyteorder("="), order="K"
        )


class _Encoder:
    """Values to JSON, with arrays put aside."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self._names: dict[int, str] = {}  # by identity: one array in two places stays one

    def encode(self, value: Any, where: str, depth: int = 0) -> Any:
        """JSON for a value; ``where`` is how to reach it from the model, for messages."""
        if depth > _DEEPEST:
            raise ValueError(f"{where[:80]} ... is nested too deeply; a list must not hold itself.")

        def inner(item: Any, there: str) -> Any:
            return self.encode(item, where + there, depth + 1)

        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if kind in (list, tuple):
            items = [inner(item, f"[{i}]") for i, item in enumerate(value)]
            return items if kind is list else {"tuple": items}
        if kind is dict:
            for key in value:
                if type(key) is not str:
                    raise TypeError(
                        f"{where} has the key {key!r}; a model file takes text only. Use str keys."
                    )
            return {"dict": {key: inner(item, f"[{key!r}]") for key, item in value.items()}}
        if kind in (slice, range):
            ends = [inner(getattr(value, end), f".{end}") for end in ("start", "stop", "step")]
            return {kind.__name__: ends}
        if isinstance(value, np.dtype) and value.name in _DTYPES:
            return {"dtype": value.name}
        if isinstance(value, np.generic):
            return {"scalar": self._put(np.asarray(value), where)}
        if kind in (np.ndarray, np.memmap):
            return self._array(value, where)
        if kind in _PART_OF:
            name = _PART_OF[kind]
            taken = _PARTS[name].take(value)
            return {"object": [name, {key: inner(v, f".{key}") for key, v in taken.items()}]}
        if kind in _ESTIMATOR_OF:
            return {"estimator": self._estimator(value, inner, where)}
        raise TypeError(_why_not(value, where))

    def _array(self, value: Array, where: str) -> Any:
        if value.dtype == object and value.ndim == 1:  # names of columns in scikit-learn
            texts = value.tolist()
            if all(type(text) is str for text in texts):
                return {"text": texts}
        return {"array" if value.flags.writeable else "frozen": self._put(value, where)}

    def _put(self, array: Array, where: str) -> str:
        if array.dtype.kind not in _ARRAY_KINDS or not array.dtype.itemsize:
            raise TypeError(
                f"{where} is an array of type {array.dtype}; a model file takes numbers, truth "
                "values and text. Convert it, and fit again."
            )
        name = self._names.setdefault(id(array), f"a{len(self.arrays)}")
        self.arrays[name] = array
        return name

    def _estimator(self, model: Any, inner: Callable[[Any, str], Any], where: str) -> Fields:
        parameters = model.get_params(deep=False)
        for name in ("progress", "random_state"):
            value = parameters.get(name)
            if not (value is None or isinstance(value, int | np.integer)):
                raise TypeError(
                    f"{where}.{name} is a {type(value).__name__}, which a model file cannot hold. "
                    f"Predictions do not need it: call {where}.set_params({name}=None) first."
                )
        fitted = {k: v for k, v in vars(model).items() if k not in parameters and k != _REQUESTS}
        return {
            "class": _ESTIMATOR_OF[type(model)],
            "parameters": {k: inner(v, f".{k}") for k, v in parameters.items()},
            "fitted": {k: inner(v, f".{k}") for k, v in fitted.items()},
            "requests": inner(_requests(model), ".get_metadata_routing()"),
        }


def _request_methods(cls: type) -> list[str]:
    """Methods whose metadata can be asked for: those with a ``set_..._request``."""
    found = (name for name in dir(cls) if name.startswith("set_") and name.endswith("_request"))
    return [name.removeprefix("set_").removesuffix("_request") for name in found]


def _requests(model: BaseEstimator) -> dict[str, dict[str, Any]]:
    """Return what ``set_fit_request`` and the like have said, by method."""
    if _REQUESTS not in vars(model):
        return {}
    routing = get_routing_for_object(model)
    return {name: dict(getattr(routing, name).requests) for name in _request_methods(type(model))}


def _why_not(value: Any, where: str) -> str:
    if callable(value):
        return (
            f"{where} is a function or class ({value!r}); a model file holds data only. Use a "
            "kernel or metric that has a name, or give its values ('precomputed'), and fit again."
        )
    return (
        f"{where} is a {type(value).__name__}, which a model file does not take. Use a number, "
        "text, list, tuple, dict or NumPy array, and fit again."
    )


class _Decoder:
    """JSON to values, with arrays fetched by name; makes nothing that is not listed above."""

    def __init__(self, members: _Members, writer: str) -> None:
        self._members = members
        self._writer = writer
        self._arrays: dict[str, Array] = {}

    def decode(self, node: Any) -> Any:
        """Rebuild a value from its JSON."""
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict) or len(node) != 1:
            raise _Refused("its header holds something that is no value")
        match node:
            case {"float": "nan" | "inf" | "-inf" as text}:
                return float(text)
            case {"tuple": list(items)}:
                return tuple(self.decode(item) for item in items)
            case {"dict": dict(items)}:
                return self._fields(items)
            case {"slice": [_, _, _] as ends}:
                return slice(*self.decode(ends))
            case {"range": [int(), int(), int()] as ends}:
                return range(*ends)
            case {"dtype": str(name)} if name in _DTYPES:
                return np.dtype(name)
            case {"text": list(texts)} if all(isinstance(text, str) for text in texts):
                return np.array([*texts, None], dtype=object)[:-1].copy()
            case {"array": str(name)}:
                return self._array(name)
            case {"frozen": str(name)}:
                array = self._array(name)
                array.flags.writeable = False
                return array
            case {"scalar": str(name)}:
                array = self._array(name)
                if array.ndim:
                    raise _Refused(f"its member {name!r} should be a single value")
                return array[()]
            case {"object": [str(name), dict(items)]} if name in _PARTS:
                return _PARTS[name].build(self._fields(items))
            case {"estimator": dict(parts)}:
                return self._estimator(parts)
        raise _Refused(
            f"its header (of {self._writer}) holds a {next(iter(node))!r} that this version of "
            "linkshift does not know"
        )

    def _fields(self, items: dict[str, Any]) -> Fields:
        return {name: self.decode(item) for name, item in items.items()}

    def _array(self, name: str) -> Array:
        if name == _HEADER:
            raise _Refused("its header is no array of the model")
        if name not in self._arrays:
            self._arrays[name] = self._members.read(name)
        return self._arrays[name]

    def _estimator(self, parts: dict[str, Any]) -> BaseEstimator:
        match parts:
            case {"class": str(name), "parameters": dict(), "fitted": dict(), "requests": _}:
                pass
            case _:
                raise _Refused("its header does not tell class, parameters and fitted attributes")
        if name not in _ESTIMATORS:
            raise _Refused(
                f"it holds a {name!r} (of {self._writer}), and models are {', '.join(_ESTIMATORS)}"
            )
        cls = _ESTIMATORS[name]
        parameters, fitted = self._fields(parts["parameters"]), self._fields(parts["fitted"])
        unknown = sorted(parameters.keys() - cls._get_param_names())
        if unknown:
            raise _Refused(
                f"{name} of {self._writer} had a parameter {unknown[0]!r}, which that of linkshift "
                f"{linkshift.__version__} has not"
            )
        model = cls(**parameters)
        for attribute in fitted:
            # Methods and parameters are not to be hidden by data.
            if not attribute.isidentifier() or attribute in vars(model) or hasattr(cls, attribute):
                raise _Refused(f"{attribute!r} is no fitted attribute of {name}")
        vars(model).update(fitted)
        self._request(model, self.decode(parts["requests"]))
        return model

    def _request(self, model: Any, requests: Any) -> None:
        methods = _request_methods(type(model))
        if not isinstance(requests, dict) or requests.keys() - methods:
            raise _Refused("its header tells metadata requests of unknown methods")
        with sklearn.config_context(enable_metadata_routing=True):
            for method in methods:
                if requests.get(method):
                    getattr(model, f"set_{method}_request")(**requests[method])
