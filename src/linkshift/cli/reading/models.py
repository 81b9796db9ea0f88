"""Model files of the command: a fitted model, and which columns in which units it was made from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import counted, listed, short
from linkshift.cli.reading.columns import features
from linkshift.cli.reading.contents import SUFFIXES, suffix_of
from linkshift.cli.reading.preparing import repeated, source_columns
from linkshift.cli.reading.tables import Table, check_readable
from linkshift.cli.reading.views import by_view
from linkshift.cli.talking import Console, InputError, hint, passed_on
from linkshift.estimators.group_feature_clustering import GroupFeatureClustering
from linkshift.methods import METHODS, Clustering
from linkshift.methods.result import numbered
from linkshift.methods.saved import save, set_parameter
from linkshift.tables.columns import LARGEST
from linkshift.tables.preparing import Preparation
from linkshift.tables.reducing import warn_of_zero_rows
from linkshift.tables.scaling import Scaling

# What is read of all that `linkshift cluster --save` tells of a model.
_WRITTEN = {
    *("data", "method", "columns", "views", "id_column", "ids"),
    *("scale", "dtype", "shift", "spread"),
}


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model, and what is known of its data."""

    path: Path
    model: Any
    about: dict[str, Any]

    @property
    def scaling(self) -> Scaling:
        """How its columns were scaled."""
        return Scaling.from_about(self.about)

    @cached_property
    def recipe(self) -> Preparation | None:
        """How its columns were made of those of the table; None where they are those."""
        plain = self.about.get("preparation")
        if plain is None:
            return None
        with passed_on(f"{self.path}: "):
            return Preparation.from_plain(plain)

    @cached_property
    def numbers(self) -> NDArray[np.int64] | None:
        """What its clusters are called, where an earlier clustering has said so."""
        numbers = self.about.get("numbers")
        return None if numbers is None else np.array(numbers, dtype=np.int64)

    def numbered(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give labels of the model the numbers that its clusters have."""
        return numbered(labels, self.numbers)

    @property
    def sources(self) -> tuple[str, ...]:
        """Columns of a table that it takes."""
        return source_columns(self.recipe) if self.recipe else tuple(self.about["columns"])

    def row(self, text: str) -> int:
        """Find a row that the user names, by id if there are ids, else by number."""
        n = len(self.model.labels_)
        if (ids := self.about["ids"]) is not None:
            names = [str(name) for name in ids]
            if text in names:
                return names.index(text)
            raise InputError(
                f"{self.path}: no row has the id {short(text)}.{hint(text, names)} Ids are those "
                f"of column {self.about['id_column']!r}, such as {names[0]!r}."
            )
        if not re.fullmatch(r"-?[0-9]{1,40}", text):
            raise InputError(
                f"ROW is the number of a row, from 0 to {n - 1}, not {short(text)}. For names, "
                "cluster with --id-column."
            )
        row = int(text)
        if not 0 <= row < n:
            raise InputError(
                f"{self.path} was made from {counted(n, 'row')}: ROW goes from 0 to {n - 1}, and "
                f"it is {row}."
            )
        return row

    def features(self, table: Table, id_column: str | None, console: Console) -> Any:
        """Take the columns of the model from a table, scaled as they were."""
        if self.recipe is not None:
            return self.scaling.apply(repeated(self.recipe, table, self.path, console))
        names = tuple(self.about["columns"])
        missing = [name for name in names if name not in table.names]
        if missing:
            raise InputError(
                f"{table.path} lacks {counted(len(missing), 'column')} of {self.path}: "
                f"{listed(missing)}. Its columns: {listed(table.names, 20)}. Name them as they "
                "were called there, or add them."
            )
        found = features(table, console, columns=names, reserved=[id_column] if id_column else [])
        with console.warnings(), passed_on(f"{table.path}: "):
            warn_of_zero_rows(found.X, new=True)
        X = self.scaling.apply(found.X.astype(self.scaling.shift.dtype, copy=False))
        return by_view(X, names, self.about["views"])


def write_model(path: Path, found: Clustering, notes: dict[str, Any]) -> None:
    """Save what was found, with some notes of the command."""
    try:
        save(found, path, **notes)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror or error}. Choose another place."
        ) from error


def read_model(path: Path) -> SavedModel:
    """Load a model that `linkshift cluster --save` wrote."""
    from linkshift import model_files

    if suffix_of(path) != ".npz" and not path.exists():
        raise InputError(
            f"{path} does not exist. MODEL comes first: the .npz file of linkshift cluster --save."
        )
    check_readable(path)
    if suffix_of(path) in SUFFIXES and suffix_of(path) != ".npz":
        raise InputError(
            f"{path} is a table and no model. MODEL comes first: the .npz file of linkshift "
            "cluster --save."
        )
    with passed_on():
        model, about = model_files.load(path), model_files.about(path)
    if not about.keys() >= _WRITTEN:
        raise InputError(
            f"{path} holds a model, but not which columns it was made from: it was saved from "
            "Python. Load it there, with linkshift.model_files.load."
        )
    if (wrong := _wrong(model, about)) is not None:
        raise InputError(
            f"{path} cannot be used: what it says of its {wrong} does not fit its model. Cluster "
            "and save it again."
        )
    return SavedModel(path, model, about)


def _wrong(model: Any, about: dict[str, Any]) -> str | None:
    """Name what a file tells of itself that cannot be: whoever wrote it on purpose, wrote that."""
    if not hasattr(model, "labels_"):
        return "method"
    columns, views, ids = about["columns"], about["views"], about["ids"]
    if not _distinct(columns):
        return "columns"
    parts = [columns] if views is None else list(views.values()) if type(views) is dict else []
    if not all(map(_distinct, parts)) or sorted(chain(*parts)) != sorted(columns):
        return "views"
    if isinstance(model, GroupFeatureClustering) != (views is not None):
        return "views"
    if views is None and getattr(model, "n_features_in_", None) != len(columns):
        return "columns"
    if about["id_column"] is not None and type(about["id_column"]) is not str:
        return "id_column"
    if ids is not None and (type(ids) is not list or len(ids) != len(model.labels_)):
        return "ids"
    if any(type(name) not in (str, int, float) for name in ids or ()):
        return "ids"
    if about["dtype"] not in list(LARGEST):  # it may be a list
        return "dtype"
    for key in ("shift", "spread"):
        numbers = about[key]
        if type(numbers) is not list or len(numbers) != len(columns):
            return key
        if any(type(number) not in (int, float) or abs(number) > 1e300 for number in numbers):
            return key
    if (numbers := about.get("numbers")) is not None:
        if type(numbers) is not list or len(numbers) != model.n_clusters_:
            return "numbers"
        if any(type(number) is not int or not 0 <= number < 1 << 53 for number in numbers):
            return "numbers"
    words = (about["data"], about["method"], about["scale"])
    if not all(type(word) is str for word in words) or about["method"] not in METHODS:
        return "method"
    return None if all(number > 0 for number in about["spread"]) else "spread"


def _distinct(names: Any) -> bool:
    """Whether it is a list of texts, at least one, none of them twice."""
    if type(names) is not list or any(type(name) is not str for name in names):
        return False
    return 0 < len(set(names)) == len(names)


def set_threads(model: Any, threads: int | None) -> None:
    """Let a loaded model use as many threads as asked for."""
    set_parameter(model, "n_jobs", threads)
