"""Links: must-link and cannot-link pairs as one frozen value."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from linkshift.links import _files, _parse
from linkshift.links._build import RandomState, links_of_labels, sample_of_labels
from linkshift.links._closure import Closure, close
from linkshift.links._conflicts import Conflicts, conflict_error
from linkshift.links._parse import Duplicates, FloatArray, IntArray, Kind, PairError, Parsed
from linkshift.links._subset import renumber, renumber_closed, row_selection

KINDS: tuple[Kind, Kind] = ("must", "cannot")


class Links:
    """Pairs of samples that belong together (must) or apart (cannot).

    A frozen value: every method gives a new object. Two `Links` are equal when
    they hold the same pairs with the same confidences, in any order;
    `n_samples` is not compared.

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
    duplicates : {"raise", "drop"}, default="raise"
        A pair given twice within one kind raises, or is kept once with its
        higher confidence. The same pair as must and as cannot is no error
        here: `conflicts` reports it.

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

    __slots__ = ("_cannot", "_cannot_confidence", "_must", "_must_confidence", "_n_samples", "_names")

    _must: IntArray
    _cannot: IntArray
    _must_confidence: FloatArray
    _cannot_confidence: FloatArray
    _names: tuple[Hashable, ...] | None
    _n_samples: int | None

    def __init__(
        self,
        must: Any = None,
        cannot: Any = None,
        *,
        must_confidence: ArrayLike | None = None,
        cannot_confidence: ArrayLike | None = None,
        ids: Iterable[Hashable] | None = None,
        n_samples: int | None = None,
        duplicates: Duplicates = "raise",
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
            parsed, n_samples = _resolved(parsed, table, "raise"), len(table)
        elif n_samples is not None:
            if parsed.names is not None:
                raise ValueError(
                    "n_samples cannot be checked for links keyed by id; pass ids instead"
                )
            for kind in KINDS:
                _parse.check_range(getattr(parsed, kind), kind, n_samples)
        self._fill(parsed, n_samples)

    def _fill(self, parsed: Parsed, n_samples: int | None) -> None:
        parsed = _pruned(parsed)
        for name, value in parsed._asdict().items():
            if isinstance(value, np.ndarray):
                # A copy: nobody outside may hold a writable view of a frozen value.
                value = np.array(value)
                value.setflags(write=False)
            object.__setattr__(self, f"_{name}", value)
        object.__setattr__(self, "_n_samples", n_samples)

    @classmethod
    def _make(cls, parsed: Parsed, n_samples: int | None) -> Self:
        links = cls.__new__(cls)
        links._fill(parsed, n_samples)
        return links

    # Ways in ---------------------------------------------------------------------------------

    @classmethod
    def from_labels(cls, y: Any) -> Self:
        """Say with links what partial labels say.

        The samples of a class are must-linked in a chain, and each two classes
        are held apart by one cannot-link between their first samples. The
        closure of these links is complete, although their number is only
        n + c (c - 1) / 2 for n labelled samples in c classes.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels; -1, None or NaN where unknown.

        Examples
        --------
        >>> links = Links.from_labels([0, 1, -1, 0, 0])
        >>> links.must.tolist(), links.cannot.tolist()
        ([[0, 3], [3, 4]], [[0, 1]])
        """
        pairs, n_samples = links_of_labels(y)
        return cls(pairs.must, pairs.cannot, n_samples=n_samples)

    @classmethod
    def sample(
        cls,
        y: Any,
        n_links: int,
        *,
        random_state: RandomState = None,
        error_rate: float = 0.0,
    ) -> Self:
        """Draw random links from known labels, as an experiment does.

        One cannot-link is drawn between each two classes, the rest uniformly
        among all other pairs: a must-link within a class, else a cannot-link
        [1]_. Samples labelled -1 (or None, NaN) take no part.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.
        n_links : int
            How many links in all; at least the number of pairs of classes.
        random_state : int, Generator, RandomState or None, default=None
            The source of chance.
        error_rate : float, default=0.0
            This share of the links, chosen at random among all of them, gets
            the wrong kind.

        References
        ----------
        .. [1] M. Schier, C. Reinders, B. Rosenhahn, "Constrained Mean Shift
           Clustering", SIAM International Conference on Data Mining, 2022, section 5.2.

        Examples
        --------
        >>> Links.sample([0, 0, 1, 1, -1], 4, random_state=0)
        Links(0 must, 4 cannot, 5 samples)
        """
        pairs, n_samples = sample_of_labels(y, n_links, random_state, error_rate)
        return cls(pairs.must, pairs.cannot, n_samples=n_samples)

    @classmethod
    def coerce(cls, value: Any) -> Links:
        """Accept what people pass as links: Links, None, a dict or (must, cannot).

        Examples
        --------
        >>> Links.coerce({"must": [(0, 1)]})
        Links(1 must, 0 cannot)
        """
        if value is None:
            return cls()
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
        raise TypeError(
            f"links must be a linkshift.Links, got {type(value).__name__}; "
            "build one with Links(must=[(0, 1)], cannot=[(0, 9)])"
        )

    # Looking ---------------------------------------------------------------------------------

    @property
    def must(self) -> IntArray:
        """Must-linked rows."""
        return self._by_row("must")._must

    @property
    def cannot(self) -> IntArray:
        """Cannot-linked rows."""
        return self._by_row("cannot")._cannot

    @property
    def must_confidence(self) -> FloatArray:
        """Confidence of each must-link."""
        return self._must_confidence

    @property
    def cannot_confidence(self) -> FloatArray:
        """Confidence of each cannot-link."""
        return self._cannot_confidence

    @property
    def must_ids(self) -> tuple[tuple[Hashable, ...], ...]:
        """Must-linked pairs as they are keyed: sample ids, or else rows."""
        return tuple(self._named(self._must))

    @property
    def cannot_ids(self) -> tuple[tuple[Hashable, ...], ...]:
        """Cannot-linked pairs as they are keyed: sample ids, or else rows."""
        return tuple(self._named(self._cannot))

    @property
    def keyed_by_id(self) -> bool:
        """Whether pairs hold sample ids that `resolve` has yet to turn into rows."""
        return self._names is not None

    @property
    def n_samples(self) -> int | None:
        """Number of rows of the data, where it is known."""
        return self._n_samples

    @property
    def shape(self) -> tuple[int]:
        """``(n_samples,)``, or ``(0,)`` where that is not known.

        This is for scikit-learn: cross-validation indexes metadata whose length
        is that of X. It looks at `shape` before `len`, so that links for all of
        X are cut down to each fold, and a chance number of pairs means nothing.
        """
        return (self._n_samples or 0,)

    def check(self, n_samples: int) -> Self:
        """Raise unless the links fit data of `n_samples` rows; give the links back.

        Links that are known to be for more rows raise too, even if every row
        they name exists: they belong to the whole of which the data are a part.
        """
        n_samples = _parse.check_count(n_samples)
        for kind in KINDS:
            _parse.check_range(getattr(self._by_row("check"), f"_{kind}"), kind, n_samples)
        if self._n_samples is not None and n_samples < self._n_samples:
            raise ValueError(
                f"the links are for {self._n_samples} samples, but the data have {n_samples}; "
                "for a subset of the data use links.take(indices)"
            )
        return self

    def _by_row(self, operation: str) -> Self:
        if self._names is not None:
            raise ValueError(
                f"{operation!r} needs row numbers, but these links are keyed by sample id, such "
                f"as {self._names[0]!r}; call links.resolve(ids) with the ids in row order first"
            )
        return self

    def _named(self, codes: IntArray) -> list[tuple[Hashable, ...]]:
        """Rows or ids of some codes, as plain tuples."""
        names = self._names
        if names is None:
            return [tuple(row) for row in codes.tolist()]
        return [tuple(names[code] for code in row) for row in codes.tolist()]

    # Changing --------------------------------------------------------------------------------

    def resolve(
        self, ids: Iterable[Hashable], *, missing: Literal["raise", "drop"] = "raise"
    ) -> Self:
        """Turn sample ids into row numbers.

        Parameters
        ----------
        ids : sequence of unique hashables
            The sample ids in row order.
        missing : {"raise", "drop"}, default="raise"
            What to do with a pair whose ids are not all there: raise, or leave
            it out, as is right for a fold or a subset.
        """
        if missing not in ("raise", "drop"):
            raise ValueError(f"missing must be 'raise' or 'drop', got {missing!r}")
        if self._names is None and self:
            raise ValueError(
                "these links are keyed by row already; if the numbers are sample ids, "
                "build them with Links(..., ids=ids)"
            )
        table = _parse.row_of_id(ids)
        return self._make(_resolved(self._parsed(), table, missing), len(table))

    def take(self, indices: ArrayLike, *, closed: bool = False) -> Self:
        """Keep the links inside a subset of the rows, such as a fold.

        Parameters
        ----------
        indices : array-like
            Rows to keep, each once, or a boolean mask. Rows are renumbered to
            their positions in `indices`.
        closed : bool, default=False
            False keeps the pairs with both ends inside. A chain that runs
            through a row outside is then broken. True keeps what the closure
            implies as well: a link stands in for each broken chain, one cannot-link
            for each separated pair of components, as sure as the
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
        self._by_row("take")
        selection = row_selection(indices, self._n_samples, self._rows_needed())
        must = (self._must, self._must_confidence)
        cannot = (self._cannot, self._cannot_confidence)
        if closed:
            self._refuse_conflicts()
            must, cannot = renumber_closed(must, cannot, selection)
        else:
            must, cannot = renumber(*must, selection), renumber(*cannot, selection)
        return self._make(Parsed(must[0], cannot[0], must[1], cannot[1], None), len(selection))

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
        parsed = self._read_pairs(must, cannot, must_confidence, cannot_confidence, keyed)
        return self + self._make(parsed, None)

    def __add__(self, other: Links) -> Self:
        if not isinstance(other, Links):
            return NotImplemented
        if self and other and self.keyed_by_id != other.keyed_by_id:
            raise ValueError("one is keyed by row, the other by id; call resolve(ids) first")
        sizes = {links._n_samples for links in (self, other)} - {None}
        if len(sizes) > 1:
            raise ValueError(f"the links are for {self._n_samples} and {other._n_samples} samples")
        names: dict[Hashable, int] = {}
        merged: dict[str, Any] = {}
        codes = [
            np.array([names.setdefault(n, len(names)) for n in links._names or ()], dtype=np.int64)
            for links in (self, other)
        ]
        for kind in KINDS:
            pairs = [getattr(links, f"_{kind}") for links in (self, other)]
            if names:
                pairs = [np.sort(code[p], axis=1) if len(p) else p for code, p in zip(codes, pairs, strict=True)]
            sure = [getattr(links, f"_{kind}_confidence") for links in (self, other)]
            merged[kind], merged[f"{kind}_confidence"] = _parse.without_duplicates(
                np.concatenate(pairs), np.concatenate(sure)
            )
        parsed = Parsed(**merged, names=tuple(names) or None)
        n_samples = next(iter(sizes), None)
        links = self._make(parsed, n_samples)
        return links if n_samples is None or links.keyed_by_id else links.check(n_samples)

    def remove(self, must: Any = None, cannot: Any = None) -> Self:
        """Remove pairs; one that is not there raises.

        Examples
        --------
        >>> Links(must=[(0, 1), (1, 2)]).remove(must=[(1, 0)]).must.tolist()
        [[1, 2]]
        """
        keyed: _parse.Keyed = "id" if self.keyed_by_id else "row"
        parsed = self._read_pairs(must, cannot, None, None, keyed)
        kept: dict[str, Any] = {}
        for kind in KINDS:
            own = getattr(self, f"_{kind}")
            where = {frozenset(pair): i for i, pair in enumerate(self._named(own))}
            keep = np.ones(len(own), dtype=bool)
            named = self._make(parsed, None)
            for position, pair in enumerate(named._named(getattr(named, f"_{kind}"))):
                if frozenset(pair) not in where:
                    raise PairError(
                        f"cannot remove {kind}-link {pair!r}: it is not among the {len(own)} "
                        f"{kind}-links",
                        kind,
                        position,
                    )
                keep[where[frozenset(pair)]] = False
            kept[kind] = own[keep]
            kept[f"{kind}_confidence"] = getattr(self, f"_{kind}_confidence")[keep]
        return self._make(Parsed(**kept, names=self._names), self._n_samples)

    @staticmethod
    def _read_pairs(
        must: Any, cannot: Any, sure: Any, cannot_sure: Any, keyed: _parse.Keyed
    ) -> Parsed:
        return _parse.parse(must, cannot, sure, cannot_sure, keyed=keyed, duplicates="drop")
