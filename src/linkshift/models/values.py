r"""Values as JSON and arrays, and back: parameters, and the fields of fitted models.

:mod:`linkshift.models.files` says how the JSON looks, and :mod:`linkshift.models.parts` what an
estimator is made of. Nothing else is ever written or made.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted

import linkshift
from linkshift._core.arrays import Array
from linkshift.links import Groups, Links
from linkshift.models.parts import ESTIMATORS, restore, taken
from linkshift.models.rules import Refused, Rules, check_all
from linkshift.profiles import Profile
from linkshift.shift.anisotropic import AnisotropicDensity, build_composed
from linkshift.shift.density import Density, build_density

ARRAY_KINDS = "biufcU"
DEEPEST = 100  # levels of nesting; a list that holds itself has no end
_NAME_OF = {cls: name for name, cls in ESTIMATORS.items()}
_REQUESTS = "_metadata_request"  # where scikit-learn keeps what set_fit_request(...) said
_OUTPUT = "_sklearn_output_config"  # and what set_output(...) said
_CONTAINERS = ("default", "pandas", "polars")


class _Grouped(NamedTuple):
    """Links with groups of rows that are apart."""

    pairs: Links
    member: Array
    start: Array

    @classmethod
    def of(cls, links: Links) -> _Grouped:
        groups = links._pairs.apart
        return cls(links._only_pairs(), groups.member, groups.start)

    def links(self) -> Links:
        """Check the groups, and put them to the pairs."""
        rows, start = self.member, self.start
        if not len(start) or start[0] != 0 or start[-1] != len(rows) or (np.diff(start) < 2).any():
            raise Refused("its groups of rows are no groups")
        groups = Groups.of(rows, np.repeat(np.arange(len(start) - 1), np.diff(start)))
        n = self.pairs.n_samples
        if n is not None and rows.max(initial=-1) >= n:
            raise Refused("its groups name rows that are not there")
        return Links._make(self.pairs._pairs._replace(apart=groups), n)


class _ById(NamedTuple):
    """Links that are keyed by id, as bound links may be."""

    text: str

    def links(self) -> Links:
        """Read them; nothing but the text itself, which could name a file."""
        if not self.text.startswith("{"):
            raise Refused("its links by id are none")
        try:
            found = Links.read_json(self.text, duplicates="raise")
        except (ValueError, TypeError) as error:
            raise Refused("its links by id are none") from error
        if not found.keyed_by_id:
            raise Refused("its links by id are none")
        return found


_ENDS = {"start": "any", "stop": "any", "step": "any"}
_KERNELS = {"bandwidth": "float >0 | f n >0", "profile": "Profile", "dimension": "float 0.. ?"}
# Values that are written as what their builder is given: class, rules, builder.
_OBJECTS: dict[str, tuple[type, Rules, Callable[..., Any]]] = {
    "composed": (
        AnisotropicDensity,
        {"points": "x n d", "bases": "f k d", "weights": "f n k 0..", "ridge": "float 0.."}
        | _KERNELS,
        build_composed,
    ),
    "density": (Density, {"X": "x n d", "sample_weight": "f n 0.. ?"} | _KERNELS, build_density),
    "frozen": (FrozenEstimator, {"estimator": "any"}, FrozenEstimator),
    "links": (
        Links,
        {
            "must": "i * 2 0..",
            "cannot": "i * 2 0..",
            "must_confidence": "f * >0",
            "cannot_confidence": "f * >0",
            "n_samples": "int 0.. ?",
        },
        partial(Links, duplicates="raise"),
    ),
    "grouped": (
        _Grouped,
        {"pairs": "Links", "member": "i * 0..", "start": "i * 0.."},
        lambda pairs, member, start: _Grouped(pairs, member, start).links(),
    ),
    "by_id": (_ById, {"text": "str"}, lambda text: _ById(text).links()),
    "profile": (Profile, {"name": "str", "reach": "any"}, Profile),
    "range": (range, _ENDS, lambda start, stop, step: range(start, stop, step)),
    "slice": (slice, _ENDS, lambda start, stop, step: slice(start, stop, step)),
}


def fingerprint(array: Array) -> list[Any]:
    """Type, shape, and SHA-256 of the contents, whatever the order in memory."""
    stored = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    contents = hashlib.sha256(stored.reshape(-1).view(np.uint8).data)
    return [stored.dtype.str, list(array.shape), contents.hexdigest()]


class Encoder:
    """Values to JSON, with arrays put aside."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.manifest: dict[str, list[Any]] = {}
        self._names: dict[str, str] = {}  # by contents: equal tables are written once

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
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            return inner(value.item(), "")
        if kind in (np.ndarray, np.memmap):
            texts = value.tolist() if value.dtype == object and value.ndim == 1 else [None]
            if all(type(text) is str for text in texts):  # names of columns in scikit-learn
                return {"text": texts}
            return {"array": self._put(value, where)}
        if kind is Links and value.keyed_by_id:
            value = _ById(value.to_json())
            kind = _ById
        elif kind is Links and len(value.apart):
            value = _Grouped.of(value)
            kind = _Grouped
        for name, (cls, rules, _) in _OBJECTS.items():
            if kind is cls:
                given = value.inputs() if hasattr(value, "inputs") else None
                given = given or {key: getattr(value, key) for key in rules}
                return {name: {key: inner(v, f".{key}") for key, v in given.items()}}
        if kind in _NAME_OF:
            return {"estimator": self._estimator(value, inner, where)}
        raise TypeError(_why_not(value, where))

    def _put(self, array: Array, where: str) -> str:
        if array.dtype.kind not in ARRAY_KINDS or not array.dtype.itemsize:
            raise TypeError(
                f"{where} is an array of type {array.dtype}; a model file takes numbers, truth "
                "values and text. Convert it, and fit again."
            )
        found, name = fingerprint(array), f"a{len(self.arrays)}"
        if array.dtype.kind == "f":  # labels that happen to be equal stay two
            # The order in memory is kept: sums of another order round otherwise.
            order = array.flags.f_contiguous and not array.flags.c_contiguous
            name = self._names.setdefault(f"{found} {order}", name)
        self.arrays[name], self.manifest[name] = array, found
        return name

    def _estimator(
        self, model: Any, inner: Callable[[Any, str], Any], where: str
    ) -> dict[str, Any]:
        parameters = model.get_params(deep=False)
        for name in ("progress", "random_state"):
            value = parameters.get(name)
            if not (value is None or isinstance(value, int | np.integer)):
                raise TypeError(
                    f"{where}.{name} is a {type(value).__name__}, which a model file cannot hold. "
                    f"Predictions do not need it: call {where}.set_params({name}=None) first."
                )
        output = vars(model).get(_OUTPUT, {}).get("transform")
        bound = vars(model).get("_bound_links")
        given = {k: inner(v, f".{k}") for k, v in parameters.items()}
        fields = taken(model) if _is_fitted(model) else {}
        fitted = {"dict": {k: inner(v, f".{k}") for k, v in fields.items()}}
        return {
            "class": _NAME_OF[type(model)],
            "parameters": given,
            "fitted": fitted if fields else None,
            "requests": inner(_requests(model), ".get_metadata_routing()"),
            **({"bound": inner(bound, ".with_links()")} if bound is not None else {}),
            **({"output": output} if output is not None else {}),
        }


def _is_fitted(model: BaseEstimator) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


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
    """JSON to values; makes nothing but what is named here and the estimators of `parts`."""

    def __init__(self, arrays: dict[str, Array], writer: str) -> None:
        self._arrays, self.unused = arrays, set(arrays)
        self._writer = writer  # of the file, for messages

    def decode(self, node: Any) -> Any:
        """Rebuild a value from its JSON."""
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict) or len(node) != 1:
            raise Refused("its header holds something that is no value")
        ((key, items),) = node.items()
        if key in _OBJECTS and isinstance(items, dict):
            _, rules, build = _OBJECTS[key]
            values = {name: self.decode(item) for name, item in items.items()}
            check_all(key, values, rules)
            return build(**values)
        match node:
            case {"float": "nan" | "inf" | "-inf" as text}:
                return float(text)
            case {"tuple": list(items)}:
                return tuple(self.decode(item) for item in items)
            case {"dict": dict(items)}:
                return {name: self.decode(item) for name, item in items.items()}
            case {"text": list(texts)} if all(isinstance(text, str) for text in texts):
                return np.array([*texts, None], dtype=object)[:-1].copy()
            case {"array": str(name)}:
                return self._array(name)
            case {"estimator": dict(parts)}:
                return self._estimator(parts)
        raise Refused(
            f"its header (of {self._writer}) holds a {key!r} that this version of "
            "linkshift does not know"
        )

    def _array(self, name: str) -> Array:
        if name not in self._arrays:
            raise Refused(f"its member {name!r} is missing")
        self.unused.discard(name)
        return self._arrays[name]

    def _estimator(self, parts: dict[str, Any]) -> BaseEstimator:
        match parts:
            case {"class": str(name), "parameters": dict(items), "fitted": fitted, "requests": _}:
                pass
            case _:
                raise Refused("its header does not say class, parameters and fitted attributes")
        if name not in ESTIMATORS:
            raise Refused(
                f"it holds a {name!r} (of {self._writer}), and models are {', '.join(ESTIMATORS)}"
            )
        cls = ESTIMATORS[name]
        unknown = sorted(items.keys() - cls._get_param_names())
        if unknown:
            raise Refused(
                f"{name} of {self._writer} had a parameter {unknown[0]!r}, which that of linkshift "
                f"{linkshift.__version__} has not"
            )
        model = cls(**{key: self.decode(item) for key, item in items.items()})
        model._validate_params()
        if fitted is not None:
            restore(model, self.decode(fitted))
        self._request(model, self.decode(parts["requests"]))
        if "bound" in parts:
            bound = self.decode(parts["bound"])
            if not isinstance(bound, Links) or not getattr(model, "_takes_links", False):
                raise Refused("its header binds links that are none")
            model._bound_links = bound
        if "output" in parts:
            if parts["output"] not in _CONTAINERS:
                raise Refused("its header asks for an output that scikit-learn does not know")
            model.set_output(transform=parts["output"])
        return model

    def _request(self, model: Any, requests: Any) -> None:
        methods = _request_methods(type(model))
        if not isinstance(requests, dict) or requests.keys() - methods:
            raise Refused("its header has metadata requests of unknown methods")
        with sklearn.config_context(enable_metadata_routing=True):
            for method in methods:
                if requests.get(method):
                    getattr(model, f"set_{method}_request")(**requests[method])
