"""Clusterings in files: a model, and what is known of its rows, columns and numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from linkshift._core.messages import Refusal
from linkshift.methods.result import Clustering
from linkshift.methods.table import METHODS

__all__ = ["load", "notes_of", "plain_ids", "save", "set_parameter"]

_LINKS = ("must", "cannot", "must_confidence", "cannot_confidence")


def save(found: Clustering, path: str | os.PathLike[str], **more: Any) -> None:
    """Write a clustering to a file; ``more`` takes the place of what the file says by itself."""
    from linkshift.models import files

    set_parameter(found.model, "progress", None)  # of a fit that is over
    files.save(found.model, path, about=notes_of(found) | more)


def notes_of(found: Clustering) -> dict[str, Any]:
    """Say in plain values what a model file keeps beside the model."""
    index, recipe = getattr(found.labels, "index", None), found.recipe
    names = found.row_entries()
    columns = found.columns or tuple(map(str, range(found.model._fit_X.shape[1])))
    set_aside, held_out = found.set_aside, found.link_report.held_out
    return {
        "data": "a table in Python",
        "method": found.method,
        "why": found.why,
        "columns": list(columns),
        "views": found.views and {name: list(names) for name, names in found.views.items()},
        "id_column": None if index is None or index.name is None else str(index.name),
        "ids": None if names is None else plain_ids(names),
        **found.scaling().about(),
        **({} if recipe is None else {"preparation": recipe.to_plain()}),
        "numbers": None if found.numbers is None else found.numbers.tolist(),
        "set_aside": {name: getattr(set_aside, name).tolist() for name in _LINKS},
        "held_out": held_out and [None if x != x else x for x in map(float, held_out)],
    }


def load(path: str | os.PathLike[str]) -> Clustering:
    """Read a clustering that ``Clustering.save`` or ``linkshift cluster --save`` has written.

    Labels, predictions and explanations are as they were; rows with ids have them as the index,
    those that are neither text nor numbers as text. ``links`` are those that the model knows.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Clustering

    Raises
    ------
    ValueError
        The file is no model file, was changed or damaged, or holds an estimator by itself, which
        :func:`linkshift.model_files.load <linkshift.models.files.load>` reads.
    """
    from linkshift.models import files

    model, about = files.load(path), files.about(path)
    if about.get("method") not in METHODS or "columns" not in about:
        raise Refusal(
            f"{os.fspath(path)!r} holds an estimator by itself, and not what cluster found.",
            "linkshift.model_files.load(path) gives the estimator.",
        )
    try:
        return _from_about(model, about)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Refusal(
            f"{os.fspath(path)!r} says of its model what does not fit it: {error}.",
            "Save the clustering again.",
        ) from error


def _from_about(model: Any, about: dict[str, Any]) -> Clustering:
    """Put a clustering together from a model and what its file says of it."""
    from linkshift.links import Links
    from linkshift.metrics import HeldOut, link_satisfaction
    from linkshift.tables.preparing import Preparation
    from linkshift.tables.reading import with_index
    from linkshift.tables.scaling import Scaling

    views, columns = about["views"], tuple(about["columns"])
    if views is not None:
        views = {name: tuple(names) for name, names in views.items()}
    whole = Scaling.from_about(about)
    place = {name: j for j, name in enumerate(columns)}
    parts = [[place[name] for name in names] for names in (views or {"": columns}).values()]
    scalings = tuple(Scaling(whole.kind, whole.shift[j], whole.spread[j]) for j in parts)
    if views is not None:  # in the order of the model's columns
        columns = tuple(name for names in views.values() for name in names)
    plain, ids = about.get("preparation"), about["ids"]
    numbers, aside, held = about.get("numbers"), about.get("set_aside"), about.get("held_out")
    links = getattr(model, "links_", None) or Links()
    report = link_satisfaction(model.labels_, links)
    if held is not None:
        agreement, error, chance, n_links = held
        error = math.nan if error is None else error
        report = replace(report, held_out=HeldOut(agreement, error, chance, int(n_links)))
    found = Clustering(
        model.labels_,
        about["method"],
        str(about["why"]),
        model,
        links,
        Links() if aside is None else Links(**{name: aside[name] for name in _LINKS}),
        report,
        math.nan,  # a file does not say: the same clustering has the same bytes
        scalings if whole.changes else (),
        None if plain is None else Preparation.from_plain(plain),
        columns,
        views,
        None if numbers is None else np.array(numbers, dtype=np.int64).reshape(model.n_clusters_),
    )
    labels = found.numbered(found.labels)
    if ids is not None:
        import pandas as pd

        labels = with_index(labels, pd.Index(ids, name=about["id_column"]))
    return replace(found, labels=labels)


def plain_ids(ids: Iterable[Any]) -> list[Any]:
    """Give ids as JSON can hold them."""
    return [
        name
        if type(name) in (str, int) or (type(name) is float and math.isfinite(name))
        else str(name)
        for name in ids
    ]


def set_parameter(model: Any, name: str, value: Any) -> None:
    """Set a parameter of a model and of the estimators within, where they have it."""
    for part in (model, getattr(model, "estimator", None), getattr(model, "estimator_", None)):
        if part is not None and name in part.get_params(deep=False):
            part.set_params(**{name: value})
