r"""Values of fitted models as JSON and arrays, and back.

What may be in a model file is listed here, class by class; nothing else is ever written or made.
:mod:`linkshift.model_files` tells how the JSON looks and puts it into a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import get_routing_for_object

import linkshift
from linkshift._core.arrays import Array
from linkshift.estimators import (
    ConstrainedMeanShift,
    GroupFeatureClustering,
    KernelMeanShift,
    MeanShift,
    MetricMeanShift,
    RefinedClustering,
)
from linkshift.estimators.constrained_mean_shift import _Run
from linkshift.estimators.mean_shift import _Route
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
from linkshift.shift.anisotropic import AnisotropicDensity, build_composed
from linkshift.shift.binning import Cells
from linkshift.shift.density import Density, build_density
from linkshift.spaces.kernel import Kernel, KernelSpace

__all__ = ["ARRAY_KINDS", "DEEPEST", "ESTIMATORS", "Decoder", "Encoder", "Refused"]

Fields = dict[str, Any]

ARRAY_KINDS = "biufcU"
DEEPEST = 100  # levels of nesting; a list that holds itself has no end
_DTYPES = ("float32", "float64")


class Refused(ValueError):
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
        raise Refused(
            f"a {cls.__name__} has other fields in this version of linkshift "
            f"(unknown: {unknown}, missing: {missing})"
        )
    return cls(**given)


def _plain(cls: type) -> _Part:
    return _Part(cls, partial(_take_fields, cls), partial(_build_fields, cls))


def _inputs(cls: type, build: Callable[..., Any]) -> _Part:
    """List a density: it is taken as what its builder was given, which lays it out anew."""
    return _Part(cls, lambda density: density.inputs(), lambda given: build(**given))


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
        raise Refused("links are not made of pairs and a number of samples")
    return Links._make(pairs, n_samples)


def _build_frozen(given: Fields) -> FrozenEstimator:
    return FrozenEstimator(given["estimator"])


# Names in files, which stay when a class is renamed. A change to the fields of one of these
# classes that is more than a new field with a default needs a new format version.
PARTS: dict[str, _Part] = {
    "Alternation": _plain(Alternation),
    "AnisotropicDensity": _inputs(AnisotropicDensity, build_composed),
    "Cells": _plain(Cells),
    "Classifiers": _plain(Classifiers),
    "Density": _inputs(Density, build_density),
    "Embedding": _plain(Embedding),
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
    "Route": _plain(_Route),
    "Run": _plain(_Run),
    "View": _plain(_View),
}
_PART_OF = {part.cls: name for name, part in PARTS.items()}

ESTIMATORS: dict[str, type[BaseEstimator]] = {
    "ConstrainedMeanShift": ConstrainedMeanShift,
    "GroupFeatureClustering": GroupFeatureClustering,
    "KernelMeanShift": KernelMeanShift,
    "MeanShift": MeanShift,
    "MetricMeanShift": MetricMeanShift,
    "RefinedClustering": RefinedClustering,
    "SCML": SCML,
}
_ESTIMATOR_OF = {cls: name for name, cls in ESTIMATORS.items()}
_REQUESTS = "_metadata_request"  # where scikit-learn keeps what set_fit_request(...) said


class Encoder:
    """Values to JSON, with arrays put aside."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self._names: dict[int, str] = {}  # by identity: one array in two places stays one

    def encode(self, value: Any, where: str, depth: int = 0) -> Any:
        """JSON for a value; ``where`` is how to reach it from the model, for messages."""
        if depth > DEEPEST:
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
            taken = PARTS[name].take(value)
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
        if array.dtype.kind not in ARRAY_KINDS or not array.dtype.itemsize:
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


class Decoder:
    """JSON to values, with arrays fetched by name; makes nothing that is not listed above.

    Parameters
    ----------
    read : callable
        Gives the array of a name; called once for each.
    writer : str
        Who wrote the file, for messages.
    """

    def __init__(self, read: Callable[[str], Array], writer: str) -> None:
        self._read = read
        self._writer = writer
        self._arrays: dict[str, Array] = {}

    def decode(self, node: Any) -> Any:
        """Rebuild a value from its JSON."""
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict) or len(node) != 1:
            raise Refused("its header holds something that is no value")
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
                    raise Refused(f"its member {name!r} should be a single value")
                return array[()]
            case {"object": [str(name), dict(items)]} if name in PARTS:
                return PARTS[name].build(self._fields(items))
            case {"estimator": dict(parts)}:
                return self._estimator(parts)
        raise Refused(
            f"its header (of {self._writer}) holds a {next(iter(node))!r} that this version of "
            "linkshift does not know"
        )

    def _fields(self, items: dict[str, Any]) -> Fields:
        return {name: self.decode(item) for name, item in items.items()}

    def _array(self, name: str) -> Array:
        if name not in self._arrays:
            self._arrays[name] = self._read(name)
        return self._arrays[name]

    def _estimator(self, parts: dict[str, Any]) -> BaseEstimator:
        match parts:
            case {"class": str(name), "parameters": dict(), "fitted": dict(), "requests": _}:
                pass
            case _:
                raise Refused("its header does not tell class, parameters and fitted attributes")
        if name not in ESTIMATORS:
            raise Refused(
                f"it holds a {name!r} (of {self._writer}), and models are {', '.join(ESTIMATORS)}"
            )
        cls = ESTIMATORS[name]
        parameters, fitted = self._fields(parts["parameters"]), self._fields(parts["fitted"])
        unknown = sorted(parameters.keys() - cls._get_param_names())
        if unknown:
            raise Refused(
                f"{name} of {self._writer} had a parameter {unknown[0]!r}, which that of linkshift "
                f"{linkshift.__version__} has not"
            )
        model = cls(**parameters)
        for attribute in fitted:
            # Methods and parameters are not to be hidden by data.
            if not attribute.isidentifier() or attribute in vars(model) or hasattr(cls, attribute):
                raise Refused(f"{attribute!r} is no fitted attribute of {name}")
        vars(model).update(fitted)
        self._request(model, self.decode(parts["requests"]))
        return model

    def _request(self, model: Any, requests: Any) -> None:
        methods = _request_methods(type(model))
        if not isinstance(requests, dict) or requests.keys() - methods:
            raise Refused("its header tells metadata requests of unknown methods")
        with sklearn.config_context(enable_metadata_routing=True):
            for method in methods:
                if requests.get(method):
                    getattr(model, f"set_{method}_request")(**requests[method])
