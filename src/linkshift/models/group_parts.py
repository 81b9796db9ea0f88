"""Clusters of several views in files: their fields, and how they are built again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkshift.groups.alternation import Alternation
from linkshift.groups.boosting import Classifiers
from linkshift.groups.views import KernelBank, kernel_bank
from linkshift.models.rules import Built, Refused, Sizes, Values, check

__all__ = ["GROUPS", "TAKE_GROUPS", "groups"]

_MOST_REPEATED = 1000  # columns of all views, in columns of the table: so is memory bounded

_CUTS = {
    "view": "i k rounds -1..n",
    "positive": "i k rounds -1..n",
    "negative": "i k rounds -1..n",
    "threshold": "f k rounds",
    "a": "f k rounds",
    "b": "f k rounds",
    "gain": "f k rounds",
    "start": "f k",
}
GROUPS = {
    "views": "list",
    "_state.groups": "dict ?",
    **{f"classifiers_.{name}": rule for name, rule in _CUTS.items()},
    "history_": "list",
    "size_bounds_": "tuple | list | array ?",
    "loss_": "float",
    "labels_": "i n 0..k",
}
TAKE_GROUPS: dict[str, Callable[[Any], Any]] = {
    "views": lambda m: [(v.name, v.metric, v.gamma, v.width) for v in m._state.views],
    "history_": lambda m: [(one.partitions, one.loss, one.changed) for one in m.history_],
}


def groups(_: Any, values: Values, sizes: Sizes) -> Built:
    """Build the bank of kernels and what is read off the classifiers."""
    bank = _bank(values, sizes)
    cuts = {name: values[f"classifiers_.{name}"] for name in _CUTS}
    view, positive, negative = list(cuts.values())[:3]
    if (view >= bank.n_views).any() or (np.minimum(positive, negative)[view >= 0] < 0).any():
        raise Refused("its classifiers compare with no sample")
    history = []
    for partitions, loss, changed in values["history_"]:
        check("history_", loss, "f *", sizes)
        check("history_", changed, f"f {len(loss)}", sizes)
        check("history_", partitions, f"i {len(loss) + 1} n 0..n", sizes)
        history.append(Alternation(partitions, loss, changed))
    classifiers = Classifiers(**cuts, n_views=bank.n_views)
    return bank, {
        "history_": history,
        "n_iter_": max(one.n_iter for one in history),
        "size_bounds_": values["size_bounds_"],
        "classifiers_": classifiers,
        "view_importances_": classifiers.view_importances,
        "view_names_": bank.names,
    }


def _bank(values: Values, sizes: Sizes) -> KernelBank:
    """Kernels of the views; none of their values are worked out before somebody asks."""
    names, metrics, gammas, widths = zip(*values["views"], strict=True)
    tables, columns_of = values["_fit_X"], values["_state.groups"]
    if columns_of is None:
        if sum(widths) != sizes["d"] or min(widths) < 1:
            raise Refused("its views are of other columns")
        parts = np.split(tables, np.cumsum(widths)[:-1], axis=1)
        tables = dict(zip(names, parts, strict=True))
    else:
        slices = sum(isinstance(columns, slice) for columns in columns_of.values())
        listed = sum(np.size(columns) for columns in columns_of.values())
        if slices * sizes["d"] + listed > _MOST_REPEATED * sizes["d"]:
            raise Refused("its views repeat its columns too often")
    bank = kernel_bank(
        tables,
        groups=columns_of,
        metric=dict(zip(names, metrics, strict=True)),
        gamma={name: g for name, g in zip(names, gammas, strict=True) if g == g},
        max_bytes=0,
    )
    if bank.names != names or any(callable(metric) for metric in metrics):
        raise Refused("its views have other names")
    return bank
