"""Links: must-link and cannot-link pairs as one frozen value."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from linkshift.links import _combine, _files, _parse, _sparse
from linkshift.links._closure import Closure, close_components, components, inside
from linkshift.links._conflicts import Conflicts, conflict_error
from linkshift.links._made import MadeLinks
from linkshift.links._parse import KINDS, Duplicates, PairError, Parsed
from linkshift.links._redundant import Redundant
from linkshift.links._settle import Settled, settle
from linkshift.links._subset import renumber, renumber_closed, row_selection, stand_ins
from linkshift.links._summary import Summary, summarise


class Links(MadeLinks):
    """Pairs of samples that belong together (must) or apart (cannot).

    A frozen value: every method gives a new object. Two `Links` are equal when they hold the same
    pairs with the same confidences, in any order; `n_samples` is not compared.

    Parameters
    ----------
    must, cannot : array-like of shape (m, 2), default=None
        Pairs of row numbers. Pairs with other entries (text, say) are sample
        ids: they are kept as such until `resolve` is given the ids of the rows.
    must_confidence, cannot_confidence : float or array-like of shape (m,), default=None
        How sure each link is, in (0, 1]. None means 1.
    ids : sequence of unique hashables, default=None
        The sample ids in row order. If given, pairs hold ids (numbers too) and
        become row numbers here.
    n_samples : int, default=None
        Number of rows of the data. If given, rows beyond it raise.
    duplicates : {"count", "raise", "drop"}, default="count"
        What becomes of a pair that is given again. "count" keeps it once, with its highest
        confidence. Given three times and more in both kinds, it is of the kind that the larger sum
        of confidences speaks for, and its confidence is multiplied by its share of the votes:
        three times must and once cannot is a must-link of 0.75, with a warning. "drop" does not
        weigh must against cannot, "raise" refuses a pair that is given twice within one kind. A
        pair that is must and cannot, once each or as surely, is a contradiction: no error here,
        `conflicts` reports it.

    Attributes
    ----------
    must, cannot : ndarray of shape (m, 2), int64
        Row numbers, the smaller first, in the order given. Read-only.
    must_confidence, cannot_confidence : ndarray of shape (m,), float64
        Confidences. Read-only.

    Examples
    --------
    >>> from linkshift.links import Links
    >>> links = Links(must=[(0, 1), (2, 1)], cannot=[(0, 9)], cannot_confidence=0.8)
    >>> links
    Links(2 must, 1 cannot, confidence 0.8 to 1)
    >>> links.must.tolist()
    [[0, 1], [1, 2]]
    >>> Links(must=[("ann", "bob")]).resolve(["bob", "cid", "ann"]).must.tolist()
    [[0, 2]]
    """

    __slots__ = ()

    def __init__(
        self,
        must: Any = None,
        cannot: Any = None,
        *,
        must_confidence: ArrayLike | None = None,
        cannot_confidence: ArrayLike | None = None,
        ids: Iterable[Hashable] | None = None,
        n_samples: int | None = None,
        duplicates: Duplicates = "count",
    ) -> None:
        keyed: _parse.Keyed = "auto" if ids is None else "id"
        parsed = _parse.parse(
            must, cannot, must_confidence, cannot_confidence, keyed=keyed, duplicates=duplicates
        )
        if n_samples is not None:
            n_samples = _parse.check_count(n_samples)
        if ids is not None:
            table = _parse.row_of_id(ids)
            if n_samples is not None and n_samples != len(table):
                raise ValueError(f"n_samples={n_samples}, but there are {len(table)} ids")
            parsed, n_samples = _combine.resolved(parsed, table, "raise"), len(table)
        elif n_samples is not None:
            if parsed.names is not None:
                raise ValueError(
                    "n_samples cannot be checked for links keyed by id; pass ids instead"
                )
            _parse.check_range(parsed, n_samples)
        self._fill(parsed, n_samples)

    # Ways in ---------------------------------------------------------------------------------

    @classmethod
    def coerce(cls, value: Any) -> Links:
        """Accept what people pass: Links, None, a dict, (must, cannot) or a sparse matrix.

        Examples
        --------
        >>> Links.coerce({"must": [(0, 1)]})
        Links(1 must, 0 cannot)
        """
        if value is None:
            none, sure = np.empty((0, 2), dtype=np.int64), np.empty(0)
            return cls._make(Parsed(none, none, sure, sure, None), None)
        if isinstance(value, Links):
            return value
        if isinstance(value, dict):
            allowed = ("must", "cannot", "must_confidence", "cannot_confidence")
            unknown = [key for key in value if key not in allowed]
            if unknown:
                raise TypeError(f"unknown key {unknown[0]!r}; links may have {', '.join(allowed)}")
            return cls(**value)
        if isinstance(value, tuple) and len(value) == 2:
            return cls(*value)
        if _sparse.is_sparse(value):
            return cls.from_sparse(value)
        raise TypeError(
            f"links must be a linkshift.Links, got {type(value).__name__}; "
            "build one with Links(must=[(0, 1)], cannot=[(0, 9)])"
        )

    # Changing --------------------------------------------------------------------------------

    def resolve(
        self,
        ids: Iterable[Hashable] | Mapping[Hashable, int],
        *,
        missing: Literal["raise", "drop"] = "raise",
    ) -> Self:
        """Turn sample ids into row numbers.

        Parameters
        ----------
        ids : sequence of unique hashables, or mapping
            The sample ids in row order; or the rows of some ids, where there are too many for a
            sequence.
        missing : {"raise", "drop"}, default="raise"
            What to do with a pair whose ids are not all there: raise, or leave
            it out, as is right for a fold or a subset.
        """
        if missing not in ("raise", "drop"):
            raise ValueError(f"missing must be 'raise' or 'drop', got {missing!r}")
        if self and not self.keyed_by_id:
            raise ValueError(
                "these links are keyed by row already; if the numbers are sample ids, "
                "build them with Links(..., ids=ids)"
            )
        if isinstance(ids, Mapping):
            return self._make(_combine.resolved(self._pairs, dict(ids), missing), None)
        table = _parse.row_of_id(ids)
        return self._make(_combine.resolved(self._pairs, table, missing), len(table))

    def take(self, indices: ArrayLike, *, closed: bool = False) -> Self:
        """Keep the links inside a subset of the rows, such as a fold.

        Parameters
        ----------
        indices : array-like
            Rows to keep, each once, or a boolean mask. Rows are renumbered to
            their positions in `indices`.
        closed : bool, default=False
            False keeps the pairs with both ends inside. A chain that runs through a row outside is
            then broken. True keeps what the closure implies as well: a link stands in for each
            broken chain, one cannot-link for each separated pair of components, as sure as the
            weakest link it stands for. Needs links without conflicts.

        Examples
        --------
        >>> links = Links(must=[(0, 1), (1, 2)], cannot=[(1, 3)])
        >>> links.take([3, 2, 0])
        Links(0 must, 0 cannot, 3 samples)
        >>> closed = links.take([3, 2, 0], closed=True)
        >>> closed.must.tolist(), closed.cannot.tolist()
        ([[1, 2]], [[0, 2]])
        """
        pairs = self._by_row("take")
        rows = row_selection(indices, self._n_samples, self._rows_needed())
        must, cannot = (_combine.weighted(pairs, kind) for kind in KINDS)
        place = np.full(max(self._rows_needed(), int(rows.max(initial=-1)) + 1), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        if closed:
            if conflicts := self.conflicts():
                raise conflict_error(conflicts)
            place = stand_ins(place, must)
            must, cannot = renumber_closed(must, cannot, rows)
        else:
            must, cannot = renumber(*must, rows), renumber(*cannot, rows)
        apart = pairs.apart.mapped(place)
        return self._make(Parsed(must[0], cannot[0], must[1], cannot[1], None, apart), len(rows))

    def where(self, must: ArrayLike, cannot: ArrayLike) -> Self:
        """Keep some of the pairs, for the same rows; groups stay.

        Parameters
        ----------
        must, cannot : array-like of bool, of shapes (n_must,) and (n_cannot,)
            Which must-links and which cannot-links to keep.

        Examples
        --------
        >>> links = Links(must=[(0, 1), (1, 2)], cannot=[(0, 3)])
        >>> links.where(must=[True, False], cannot=[True])
        Links(1 must, 1 cannot)
        """
        masks = [np.asarray(mask, dtype=bool) for mask in (must, cannot)]
        for kind, mask in zip(KINDS, masks, strict=True):
            count = len(getattr(self._pairs, kind))
            if mask.shape != (count,):
                raise ValueError(
                    f"{kind} has shape {mask.shape}; give one True or False for each of the "
                    f"{count} {kind}-links"
                )
        return self._without(*(np.flatnonzero(~mask) for mask in masks))

    def __getitem__(self, indices: Any) -> Self:
        """``links[rows]`` is ``links.take(rows)``; scikit-learn asks for ``links[rows, ...]``."""
        if isinstance(indices, tuple) and len(indices) == 2 and indices[1] is Ellipsis:
            indices = indices[0]
        if isinstance(indices, slice):
            if self._n_samples is None:
                raise ValueError("a slice needs n_samples; use links.take(indices)")
            indices = np.arange(self._n_samples)[indices]
        return self.take(indices)

    __iter__ = None  # neither rows nor pairs: loop over .must and .cannot

    def add(
        self,
        must: Any = None,
        cannot: Any = None,
        *,
        must_confidence: ArrayLike | None = None,
        cannot_confidence: ArrayLike | None = None,
    ) -> Self:
        """Add pairs; one that is there already keeps the higher confidence.

        Examples
        --------
        >>> Links(must=[(0, 1)]).add(must=[(1, 0)], cannot=[(1, 2)])
        Links(1 must, 1 cannot)
        """
        keyed: _parse.Keyed = "id" if self.keyed_by_id else ("row" if self else "auto")
        pairs = _parse.parse(
            must, cannot, must_confidence, cannot_confidence, keyed=keyed, duplicates="drop"
        )
        return self + self._make(pairs, None)

    def __add__(self, other: Links) -> Self:
        if not isinstance(other, Links):
            return NotImplemented
        if self and other and self.keyed_by_id != other.keyed_by_id:
            raise ValueError("one is keyed by row, the other by id; call resolve(ids) first")
        known = [links.n_samples for links in (self, other) if links.n_samples is not None]
        if len(set(known)) > 1:
            raise ValueError(f"the links are for {known[0]} and for {known[1]} samples")
        n_samples = known[0] if known else None
        links = self._make(_combine.union(self._pairs, other._pairs), n_samples)
        return links if n_samples is None else links.check(n_samples)

    def remove(self, must: Any = None, cannot: Any = None) -> Self:
        """Remove pairs; one that is not there raises. Groups stay.

        Examples
        --------
        >>> Links(must=[(0, 1), (1, 2)]).remove(must=[(1, 0)]).must.tolist()
        [[1, 2]]
        """
        keyed: _parse.Keyed = "id" if self.keyed_by_id else "row"
        unwanted = _parse.parse(must, cannot, None, None, keyed=keyed, duplicates="drop")
        return self._make(_combine.difference(self._pairs, unwanted), self._n_samples)

    # Reasoning -------------------------------------------------------------------------------

    def closure(self, n_samples: int | None = None) -> Closure:
        """Work out what the links imply; contradictory links raise `ConflictError`.

        Parameters
        ----------
        n_samples : int, default=None
            Number of rows. None means the number the links know, or else the
            largest row named, plus one.

        Examples
        --------
        >>> Links(must=[(0, 2)], cannot=[(2, 3)]).closure().component
        array([0, 1, 0, 2])
        """
        pairs = self._by_row("closure")
        if n_samples is None:
            n_samples = self._n_samples if self._n_samples is not None else self._rows_needed()
        self.check(n_samples)
        component = components(pairs.must, n_samples)
        if inside(pairs.cannot, component).any() or pairs.apart.broken(component).any():
            raise conflict_error(self.conflicts())
        return close_components(component, pairs.cannot, pairs.apart)

    def conflicts(self) -> Conflicts:
        """Find every contradiction, with its chain of must-links and what to remove.

        Examples
        --------
        >>> links = Links(must=[("a", "b"), ("b", "c")], cannot=[("a", "c")])
        >>> links.conflicts()[0].chain
        ('a', 'b', 'c')
        >>> bool(links.conflicts().resolve().conflicts())
        False
        """
        return Conflicts(self)

    def settle(
        self, must_weight: ArrayLike | None = None, cannot_weight: ArrayLike | None = None
    ) -> Settled:
        """Set aside the links of least total weight without which the rest agree.

        Parameters
        ----------
        must_weight, cannot_weight : array-like of float, of shapes (n_must,) and (n_cannot,)
            How much it costs to give up each link, more than 0: how far it is believed. None takes
            the confidences.

        Returns
        -------
        Settled
            ``links`` that agree, those ``set_aside``, and whether that is proven ``exact``.

        Examples
        --------
        >>> links = Links(must=[(0, 1), (1, 2)], cannot=[(0, 2), (1, 3)])
        >>> links.settle(must_weight=[2, 0.5]).set_aside.must.tolist()
        [[1, 2]]
        """
        return settle(self, must_weight, cannot_weight)

    def redundant(self) -> Redundant:
        """Find every link that others, at least as sure, already imply.

        Examples
        --------
        >>> links = Links(must=[(0, 1), (1, 2), (0, 2)], must_confidence=[1, 1, 0.5])
        >>> print(links.redundant()[0])
        must-link (0, 2) follows from must-links 0 - 1 - 2
        >>> links.redundant().drop()
        Links(2 must, 0 cannot)
        """
        return Redundant(self)

    def summary(self) -> Summary:
        """Count the links by group of must-linked samples.

        Examples
        --------
        >>> Links(must=[("a", "b"), ("b", "c")], cannot=[("c", "d")]).summary().sizes
        array([3])
        """
        return summarise(self._pairs)

    # Files -----------------------------------------------------------------------------------

    @classmethod
    def read_csv(
        cls,
        path: _files.PathLike,
        *,
        ids: Iterable[Hashable] | None = None,
        n_samples: int | None = None,
        duplicates: Duplicates = "count",
    ) -> Self:
        """Read columns ``a,b,kind[,confidence]``; kind is ``must`` or ``cannot``.

        Entries are sample ids if `ids` are given (an id is found by its text)
        or if some entry is not a whole number, else rows. Pairs of the kind
        ``unknown``, which somebody was asked about and could not tell, are no
        links and are left out. Where a column ``purpose`` has ``confirm``, the
        pair was asked about again: the line takes the place of those on the
        pair before it. All else in that and other columns is passed over. The
        other parameters are those of `Links`. Errors name the file and the line.
        """
        content = _files.read_csv(path, ids)
        try:
            return cls(
                **content.arguments, ids=content.ids, n_samples=n_samples, duplicates=duplicates
            )
        except PairError as error:
            raise _files.at_line(error, path, content) from error

    @classmethod
    def read_json(
        cls,
        source: _files.PathLike,
        *,
        ids: Iterable[Hashable] | None = None,
        duplicates: Duplicates = "count",
    ) -> Self:
        """Read JSON text, or the file at a path; `ids` resolve links that are kept by id.

        `duplicates` is that of `Links`.
        """
        links = cls._make(*_files.read_json(source, duplicates))
        return links if ids is None else links.resolve(ids)
