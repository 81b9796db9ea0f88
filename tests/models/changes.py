"""Ways to change an array, or the JSON, of a model file."""

import copy
import warnings

import numpy as np


def _filled(number):
    def change(a):
        fits = a.dtype.kind == "f" or (a.dtype.kind == "i" and number <= np.iinfo(a.dtype).max)
        return np.full_like(a, number) if fits else a

    return change


def _last(number):
    """The last number of an array replaced."""

    def change(a):
        out = a.copy()
        if out.size and out.dtype.kind in "if":
            out.flat[-1] = number if out.dtype.kind == "f" or np.isfinite(number) else 2**62
        return out

    return change


def _rows(count):
    """So many rows, those that there are over and over."""
    return lambda a: np.resize(a, (count, *a.shape[1:])) if a.ndim and a.size else a


RESIZED = {
    "one entry": lambda a: a[:1],
    "no entries": lambda a: a[:0],
    "shorter": lambda a: a[:-1],
    "longer": lambda a: np.concatenate([a, a[-1:]]),
    "much longer": lambda a: _rows(5000)(a),
    "narrower": lambda a: a[:, :-1] if a.ndim > 1 else a,
    "wider": lambda a: np.concatenate([a, a[:, -1:]], axis=1) if a.ndim > 1 else a,
    "on its side": lambda a: a.T,
    "flat": np.ravel,
    "in a list": lambda a: a[None],
    "of single entries": lambda a: a[..., None],
    "a single value": lambda a: a.ravel()[0:1].reshape(()) if a.size else a,
}
RETYPED = {
    f"as {dtype}": lambda a, dtype=dtype: a.astype(dtype)
    for dtype in ("int64", "int32", "uint8", "float64", "float32", "float16", "bool", "U9", "c16")
}
REFILLED = {
    "backwards": lambda a: a[::-1],
    "zeros": _filled(0),
    "minus one": _filled(-1),
    "large": _filled(2**40),
    "ends in nan": _last(np.nan),
    "ends in infinity": _last(np.inf),
    "ends in minus two": _last(-2),
    "ends in a million": _last(10**6),
    "ends in 1e300": lambda a: _last(1e300)(a) if a.dtype.kind == "f" else _last(2**60)(a),
}
EVERY = RESIZED | RETYPED | REFILLED


def changed(array, name):
    """An array after a change, or None where there is nothing to change."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = np.asarray(EVERY[name](array))
    except (ValueError, IndexError):  # no number in a text, or no entries
        return None
    same = (
        out.dtype == array.dtype and out.shape == array.shape and out.tobytes() == array.tobytes()
    )
    return None if same else out


def fields(node):
    """All dicts of named fields within the JSON of a model, each with its keys."""
    if isinstance(node, list):
        for item in node:
            yield from fields(item)
    elif isinstance(node, dict):
        if "dict" in node and isinstance(node["dict"], dict):
            yield node["dict"]
        for item in node.values():
            yield from fields(item)


def without_field(header, choose):
    """The header without one field; ``choose`` picks from a list."""
    header = copy.deepcopy(header)
    held = choose([found for found in fields(header["model"]) if found])
    del held[choose(sorted(held))]
    return header


def with_other_field(header, choose):
    """The header with one field replaced by the value of another, or by something simple."""
    header = copy.deepcopy(header)
    everything = [value for held in fields(header["model"]) for value in held.values()]
    simple = [None, True, -1, 2**70, 1.5, "text", [], {"tuple": []}, {"dict": {}}, {"float": "nan"}]
    held = choose([found for found in fields(header["model"]) if found])
    held[choose(sorted(held))] = copy.deepcopy(choose([*simple, *everything]))
    return header
