"""Rules for what comes from a file: type, sizes and range of a value.

The jit loops do not look where they read; nothing reaches them that broke a rule.

================= ==================================================================
rule              value
================= ==================================================================
"f k d"           array of float64 with k rows and d columns; all numbers are finite
"x k d"           the same, of float64 or float32
"f k >0"          above zero; "0.." from zero up, "0..9" to below nine
"i n -1..k"       array of int64, from -1 to below k
"float", "int"    one finite number; with a range, if need be
"Links"           value of that class; "array" any array, "any" any value
"a | b", "a ?"    the one or the other; None will do
================= ==================================================================

A name is one size, from one up, in all rules of a model; "*" is any.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Rules = dict[str, str]
Sizes = dict[str, int]
Values = dict[str, Any]
Built = tuple[Any, Values]  # a state, and attributes that are no fields

_DTYPES = {"f": ("float64",), "x": ("float64", "float32"), "i": ("int64",)}


class Refused(ValueError):
    """What is wrong with a file, in words for the reader."""


def check(name: str, value: Any, rule: str, sizes: Sizes) -> None:
    """Refuse a value that breaks a rule; sizes that nobody has named before are noted."""
    if value is None and rule.endswith("?"):
        return
    is_array = type(value) is np.ndarray
    found = value.dtype.name if is_array else type(value).__name__
    for option in rule.removesuffix(" ?").split(" | "):
        kind, *rest = option.split()
        if kind == "any" or (kind == "array" and is_array) or found in _DTYPES.get(kind, (kind,)):
            break
    else:
        raise Refused(f"its {name} is of type {found}, not {rule!r}")
    limits = rest.pop() if rest and (">" in rest[-1] or ".." in rest[-1]) else ""
    if kind in _DTYPES:
        if value.ndim != len(rest):
            raise Refused(f"its {name} has {value.ndim} dimensions, not {rule!r}")
        for size, wanted in zip(value.shape, rest, strict=True):
            given = int(wanted) if wanted.isdigit() else sizes.setdefault(wanted, max(size, 1))
            if size != given and wanted != "*":
                raise Refused(f"its {name} has {size} entries, not {wanted} = {given}")
    if kind in (*_DTYPES, "float", "int"):
        low, _, high = limits.removeprefix(">").partition("..")
        inside = np.isfinite(value) & (value >= float(low or -np.inf))
        inside &= value < (sizes[high] if high in sizes else float(high or np.inf))
        if limits.startswith(">"):
            inside &= value != float(low)
        if not np.all(inside):
            raise Refused(f"its {name} holds numbers that are not {rule!r}")


def check_all(owner: str, values: Any, rules: Rules) -> Sizes:
    """Refuse values that are not those of the rules, or break one; return the sizes they have."""
    given = values.keys() if type(values) is dict else set()
    for name in sorted(given ^ rules.keys()):
        wrong = "lacks the field" if name in rules else "has no field"
        raise Refused(f"its {owner} {wrong} {name!r}")
    sizes: Sizes = {}
    for name, rule in rules.items():
        check(name, values[name], rule, sizes)
    return sizes
