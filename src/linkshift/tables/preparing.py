"""A table made ready for clustering, by a recipe that new rows go through as well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, Refusal, warn
from linkshift._core.text import counted, listed
from linkshift.tables.columns import LISTS, Column, as_sparse, columns_of, index_of
from linkshift.tables.ids import ids_of
from linkshift.tables.reducing import reduction, warn_of_empty_rows, warn_of_zero_rows
from linkshift.tables.steps import FIELDS, do_step, has_commas, learn_step, names_of
from linkshift.tables.written import is_form

__all__ = ["Preparation", "Prepared", "prepare"]

ScaleName = Literal["standard", "minmax", "none"]

TEXTS = (
    "Texts become vectors first: scikit-learn's TfidfVectorizer().fit_transform(texts), or the "
    "embeddings of a language model (docs/texts_and_cells.md)."
)
_MOST_NAMED = 6
_SCALED = {"standard": "mean 0, spread 1", "minmax": "from 0 to 1"}


class Preparation(TransformerMixin, BaseEstimator):
    """What a person would do to a table before clustering it, learned once.

    Text that is mostly numbers is read as such (37% as 0.37; 1,234.5 and 1.234,5 alike, by what
    most cells of a column look like; $58.50, 43,50 € or 5 kg where all have one unit), and dates
    as days since 1970: 2024-05-31, and 31.05.2024 or 05/31/2024 where a day beyond 12 shows which.
    Numbers that are missing are filled with the median, text with the most frequent word, and a
    column says where (by 0.5, half of what words count); heavy-tailed numbers are taken by their
    logarithm, and numbers are scaled. Text becomes a column of zeros and ones for each word.
    Constant columns, names of rows and text that is different in most rows are left out. Lists of
    numbers (embeddings) become a column for each place, scaled by one number. Many columns become
    principal components; sparse matrices always do, by a truncated singular value decomposition.

    Parameters
    ----------
    max_levels : int, default=20
        Words of a column that get a column each, the most frequent; all others share one.
    log : bool, default=True
        Whether heavy-tailed numbers are taken by their logarithm: where the skewness of numbers
        from zero up is above 2, or the excess kurtosis of others above 10, and the logarithm
        at least halves the skewness.
    scale : {"standard", "minmax", "none"}, default="standard"
        "standard" gives columns of numbers mean 0 and spread 1, "minmax" lets them go from 0 to 1.
    pca : int, "auto" or None, default="auto"
        Number of principal components. "auto" takes them where there are 50 columns or more: as
        many as hold 95 % of the variance, 50 at most; of sparse data 100. None takes none, which
        sparse data do not allow.

    Attributes
    ----------
    said_ : list of str
        What was done, a line for each thing.
    steps_ : list of dict
        What is done to each column that is used, as plain data.
    reduction_ : dict or None
        Mean and axes of the principal components.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names.

    Examples
    --------
    >>> import pandas as pd
    >>> from linkshift import Preparation
    >>> colours = ["red", "blue", "red", "red"]
    >>> table = pd.DataFrame({"size": [1.0, 2.0, None, 3.0], "colour": colours})
    >>> recipe = Preparation().fit(table)
    >>> recipe.get_feature_names_out().tolist()
    ['size', 'size is missing', 'colour=red', 'colour=blue']
    >>> print(*recipe.said_, sep=chr(10))
    size: 1 missing, filled with the median (2), and a column that says where.
    colour: a column for each of its 2 values.
    1 column of numbers scaled: mean 0, spread 1.
    >>> recipe.transform(pd.DataFrame({"size": [2.0], "colour": ["blue"]})).tolist()
    [[0.0, 0.0, 0.0, 1.0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_levels": [Interval(Integral, 1, None, closed="left")],
        "log": ["boolean"],
        "scale": [StrOptions({"standard", "minmax", "none"})],
        "pca": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
    }

    said_: list[str]
    steps_: list[dict[str, Any]]
    reduction_: dict[str, Any] | None
    n_features_in_: int
    feature_names_in_: Array

    def __init__(
        self,
        *,
        max_levels: int = 20,
        log: bool = True,
        scale: ScaleName = "standard",
        pca: int | Literal["auto"] | None = "auto",
    ) -> None:
        self.max_levels = max_levels
        self.log = log
        self.scale = scale
        self.pca = pca

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn what to do with a table.

        Parameters
        ----------
        X : DataFrame, Arrow table, array-like or sparse matrix of shape (n, d)
            The table; DataFrames are those of pandas or polars.
        y : ignored
            For scikit-learn's conventions only.

        Returns
        -------
        self
        """
        self.fit_transform(X, y)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: object = None) -> Array:  # noqa: ARG002 (scikit-learn's)
        """Learn what to do with a table, and do it.

        Parameters
        ----------
        X : DataFrame, Arrow table, array-like or sparse matrix of shape (n, d)
            The table.
        y : ignored
            For scikit-learn's conventions only.

        Returns
        -------
        ndarray of shape (n, columns)
        """
        X = as_sparse(X)
        return self.learn(X if sparse.issparse(X) else columns_of(X))

    def transform(self, X: Any) -> Array:
        """Do to new rows what was learned.

        Parameters
        ----------
        X : as in ``fit``
            New rows; columns are found by name, of arrays by place.

        Returns
        -------
        ndarray of shape (n, columns)
        """
        check_is_fitted(self, "steps_")
        X = as_sparse(X)
        return self.repeat(X if sparse.issparse(X) else columns_of(X))

    def learn(self, data: Any, *, named: bool = False) -> Array:
        """Learn from columns that are read already, or from a sparse matrix.

        Columns that somebody has ``named`` are no ids.
        """
        steps, said = [], []
        if sparse.issparse(data):
            names, X = [], data.tocsr()
            self.n_features_in_ = X.shape[1]
            warn_of_empty_rows(X)
        else:
            commas = any(map(has_commas, data))
            for column in data:
                if column.kind == LISTS:
                    warn_of_zero_rows(column.values)
                step, told = learn_step(
                    column,
                    max_levels=self.max_levels,
                    log=self.log,
                    scale=self.scale,
                    takes_ids=named,
                    commas=commas,
                )
                steps += [] if step is None else [step]
                said += [f"{column.name}: {'; '.join(told)}."] if told else []
            self.n_features_in_ = len(data)
            names = [column.name for column in data]
            X = _made(steps, data)[0] if steps else None
        if X is None:
            texts = any(column.kind == "text" for column in data)
            also = f" {TEXTS}" if texts else ""
            raise Refusal(
                "Nothing is left to cluster: " + " ".join(said), f"Give other columns.{also}"
            )
        scaled = [step for step in steps if step["kind"] in ("number", "date", LISTS)]
        if scaled and self.scale != "none":
            how = _SCALED[self.scale]
            said.append(f"{counted(len(scaled), 'column')} of numbers scaled: {how}.")
        self.feature_names_in_ = np.array(names, dtype=object)
        self.steps_ = steps
        self.reduction_, told = reduction(X, self.pca)
        self.said_ = said + told
        return self._reduced(X)

    def repeat(self, data: Any) -> Array:
        """Do what was learned to columns that are read already, or to a sparse matrix."""
        if sparse.issparse(data) != (not self.steps_):
            was = "a table" if self.steps_ else "a sparse matrix"
            raise Refusal(f"The recipe was learned from {was}.", "Give new rows as the same.")
        if not self.steps_:
            if data.shape[1] != self.n_features_in_:
                raise Refusal(
                    f"There are {data.shape[1]} columns, and the recipe knows "
                    f"{self.n_features_in_}.",
                    "Give those that it was learned from.",
                )
            warn_of_empty_rows(data.tocsr())
            return self._reduced(data.tocsr())
        by_name = {column.name: column for column in data}
        missing = [step["name"] for step in self.steps_ if step["name"] not in by_name]
        if missing:
            raise Refusal(
                f"The table lacks {counted(len(missing), 'column')}: {listed(missing)}.",
                "Give those that the recipe was learned from.",
            )
        for step in self.steps_:
            if step["kind"] == LISTS:
                warn_of_zero_rows(by_name[step["name"]].values, new=True)
        rows, odd = _made(self.steps_, data)
        if odd:
            warn(
                Advice(
                    f"Cells unlike those that were prepared at first: {'. '.join(odd)}.",
                    "Correct them, or prepare a table that has such cells.",
                    command="Correct them, or cluster a table that has such cells.",
                )
            )
        return self._reduced(rows)

    def get_feature_names_out(self, input_features: object = None) -> Array:  # noqa: ARG002
        """Names of the columns that come out.

        Parameters
        ----------
        input_features : ignored
            For scikit-learn's conventions only.
        """
        check_is_fitted(self, "steps_")
        if self.reduction_ is not None:
            names = [f"pc{i}" for i in range(len(self.reduction_["axes"]))]
        else:
            names = [name for step in self.steps_ for name in names_of(step)]
        return np.array(names, dtype=object)

    def _reduced(self, X: Any) -> Array:
        if self.reduction_ is None:
            return np.ascontiguousarray(X)
        axes = np.array(self.reduction_["axes"], dtype=np.float64)
        if sparse.issparse(X):
            return np.ascontiguousarray(X.astype(np.float64) @ axes.T)
        centred = np.asarray(X, dtype=np.float64) - np.array(self.reduction_["mean"])
        # Not by BLAS: there the last bits of a row depend on how many rows come with it.
        return np.einsum("ij,kj->ik", centred, axes)

    def to_plain(self) -> dict[str, Any]:
        """Give the recipe as text, numbers, lists and dicts, for a model file's ``about``.

        Examples
        --------
        >>> from linkshift import Preparation
        >>> recipe = Preparation(pca=None).fit([[1.0, 0.0], [3.0, 2.0]])
        >>> again = Preparation.from_plain(recipe.to_plain())
        >>> again.transform([[2.0, 2.0]]).tolist()
        [[0.0, 1.0]]
        """
        check_is_fitted(self, "steps_")
        return {
            "parameters": self.get_params(),
            "columns": self.feature_names_in_.tolist(),
            "n_columns": int(self.n_features_in_),
            "steps": self.steps_,
            "reduction": self.reduction_,
            "said": self.said_,
        }

    @classmethod
    def from_plain(cls, plain: Any) -> Self:
        """Make a recipe of what `to_plain` has given; anything else is refused."""
        try:
            recipe = cls(**plain["parameters"])
            recipe._validate_params()
            names, n, steps = plain["columns"], plain["n_columns"], plain["steps"]
            fine = type(names) is list and type(plain["said"]) is list
            fine &= all(type(name) is str for name in [*names, *plain["said"]])
            fine &= type(n) is int and all(_is_step(step) for step in steps)
            widths = sum(len(names_of(step)) for step in steps) if steps else n
            fine &= _is_reduction(plain["reduction"], widths)
            if not steps:  # of a sparse matrix, which is not centred
                fine &= plain["reduction"]["mean"] is None
            if not fine:
                raise ValueError
        except (TypeError, ValueError, KeyError, AttributeError):
            raise Refusal(
                "This is no recipe of a preparation, or it was changed.",
                "Take what Preparation.to_plain() gives.",
            ) from None
        recipe.n_features_in_, recipe.feature_names_in_ = n, np.array(names, dtype=object)
        recipe.steps_, recipe.reduction_ = steps, plain["reduction"]
        recipe.said_ = plain["said"]
        return recipe


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """A table that was prepared, as :func:`linkshift.cluster` takes it; its text says how.

    Attributes
    ----------
    X : ndarray of shape (n, columns)
        The numbers.
    recipe : Preparation
        How they were made; ``recipe.transform`` does the same to new rows.
    index : pandas.Index or None
        Index of the table, if it has one.
    ids : list of int or None
        What its column of ids holds, if there is one such column.
    """

    X: Array
    recipe: Preparation
    index: Any = None
    ids: list[int] | None = None

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [str(name) for name in self.recipe.get_feature_names_out()]

    @property
    def said(self) -> tuple[str, ...]:
        """What was done, a line for each thing."""
        return tuple(self.recipe.said_)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Give the numbers, so that any estimator takes them."""
        if copy is None:  # which numpy 1 does not take
            return np.asarray(self.X, dtype=dtype)
        return np.array(self.X, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        """Give the number of rows."""
        return len(self.X)

    def __repr__(self) -> str:
        rows = f"{counted(len(self.X), 'row')}, {counted(self.X.shape[1], 'column')}"
        return "\n".join([f"<prepared: {rows}>", *self.said])


def prepare(
    table: Any,
    *,
    max_levels: int = 20,
    log: bool = True,
    scale: ScaleName = "standard",
    pca: int | Literal["auto"] | None = "auto",
) -> Prepared:
    """Make a table of any columns ready for clustering, and say what was done.

    Parameters
    ----------
    table : DataFrame, Arrow table, array-like or sparse matrix of shape (n, d)
        DataFrames are those of pandas or polars.
    max_levels, log, scale, pca
        Those of :class:`Preparation`.

    Returns
    -------
    Prepared
        For :func:`linkshift.cluster`, whose ``predict`` then takes new rows of such a table. Its
        text says each thing that was done.

    Examples
    --------
    >>> import linkshift
    >>> import pandas as pd
    >>> kinds = ["a", "a", "a", "b", "b"]
    >>> table = pd.DataFrame({"size": [1.0, 1.2, None, 9.0, 9.3], "kind": kinds})
    >>> prepared = linkshift.prepare(table)
    >>> prepared
    <prepared: 5 rows, 4 columns>
    size: 1 missing, filled with the median (5.1), and a column that says where.
    kind: a column for each of its 2 values.
    1 column of numbers scaled: mean 0, spread 1.
    >>> prepared.columns
    ['size', 'size is missing', 'kind=a', 'kind=b']
    """
    recipe = Preparation(max_levels=max_levels, log=log, scale=scale, pca=pca)
    recipe._validate_params()
    if sparse.issparse(table):
        return Prepared(recipe.learn(table), recipe)
    columns = columns_of(table)
    X, names = recipe.learn(columns), ids_of(columns)
    ids = next(iter(names.values())) if len(names) == 1 else None
    return Prepared(X, recipe, index_of(table), ids)


def _made(steps: Sequence[dict[str, Any]], columns: Sequence[Column]) -> tuple[Array, list[str]]:
    """Columns that steps make, side by side, float32 where all are; and what is odd in cells."""
    by_name = {column.name: column for column in columns}
    parts, odd = [], []
    for step in steps:
        part, told = do_step(step, by_name[step["name"]])
        parts.append(part)
        odd += [f"{step['name']}: {told}"] if told else []
    small = all(part.dtype == np.float32 for part in parts)
    made = np.hstack([part.astype(np.float32 if small else np.float64) for part in parts])
    return made, odd


def _is_step(step: Any) -> bool:
    """Whether a value is a step, field by field."""
    fields = {"name": str, "kind": str} | FIELDS.get(step["kind"], {})
    if step["kind"] not in FIELDS or step.keys() != fields.keys():
        return False
    if not all(type(step[name]) is kind for name, kind in fields.items()):
        return False
    numbers = [value for value in step.values() if type(value) is float]
    if step["kind"] == LISTS:
        numbers += step["fill"]
    elif step["kind"] == "text":
        if not step["levels"] or not all(type(level) is str for level in step["levels"]):
            return False
        return len(set(step["levels"])) == len(step["levels"])
    fine = all(type(number) is float and math.isfinite(number) for number in numbers)
    fine &= "form" not in step or is_form(step["form"], step["kind"])
    return fine and step["spread"] > 0 and step.get("log", 0.0) >= 0


def _is_reduction(reduction: Any, width: int) -> bool:
    if reduction is None:
        return True
    axes, mean = np.array(reduction["axes"]), reduction["mean"]
    fine = axes.dtype == np.float64 and axes.ndim == 2 and axes.shape[1] == width
    if mean is not None:
        fine &= np.array(mean).dtype == np.float64 and np.array(mean).shape == (width,)
        fine &= bool(np.isfinite(np.array(mean, dtype=np.float64)).all())
    return bool(fine) and len(axes) > 0 and bool(np.isfinite(axes).all())
