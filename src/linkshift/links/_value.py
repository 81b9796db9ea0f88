"""The frozen value behind `Links`: pairs, confidences, how they are keyed."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NoReturn, Self

import numpy as np

from linkshift._core.files import write_text
from linkshift._core.markup import notebook, row, tag, word
from linkshift._core.text import counted
from linkshift.links import _combine, _files, _parse, _sparse
from linkshift.links._groups import MOST_EXPANDED, NO_GROUPS
from linkshift.links._parse import FloatArray, IntArray, PairError, Parsed

_SHOWN = 5  # pairs of a kind, in a notebook


class PairSet:
    """Checked pairs that can be looked at, compared, copied and pickled, but not changed."""

    __slots__ = ("_n_samples", "_pairs")

    _pairs: Parsed
    _n_samples: int | None

    def _fill(self, pairs: Parsed, n_samples: int | None) -> None:
        object.__setattr__(self, "_pairs", _combine.frozen(pairs))
        object.__setattr__(self, "_n_samples", n_samples)

    @classmethod
    def _make(cls, pairs: Parsed, n_samples: int | None) -> Self:
        """Build from pairs that are checked already."""
        links = cls.__new__(cls)
        links._fill(pairs, n_samples)
        return links

    # Looking ---------------------------------------------------------------------------------

    @property
    def must(self) -> IntArray:
        """Must-linked rows."""
        return self._by_row("must").must

    @property
    def cannot(self) -> IntArray:
        """Cannot-linked rows."""
        return self._by_row("cannot").cannot

    @property
    def must_confidence(self) -> FloatArray:
        """Confidence of each must-link."""
        return self._pairs.must_confidence

    @property
    def cannot_confidence(self) -> FloatArray:
        """Confidence of each cannot-link."""
        return self._pairs.cannot_confidence

    @property
    def apart(self) -> tuple[IntArray, ...]:
        """Groups of rows that are all apart from each other, as `apart_within` gives them."""
        return tuple(self._by_row("apart").apart)

    @property
    def separates(self) -> bool:
        """Whether anything is held apart, by cannot-links or groups."""
        return bool(len(self._pairs.cannot) or len(self._pairs.apart))

    @property
    def must_ids(self) -> tuple[tuple[Hashable, ...], ...]:
        """Must-linked pairs as they are keyed: sample ids, or else rows."""
        return tuple(_combine.named(self._pairs.must, self._pairs.names))

    @property
    def cannot_ids(self) -> tuple[tuple[Hashable, ...], ...]:
        """Cannot-linked pairs as they are keyed: sample ids, or else rows."""
        return tuple(_combine.named(self._pairs.cannot, self._pairs.names))

    @property
    def keyed_by_id(self) -> bool:
        """Whether pairs hold sample ids that `resolve` has yet to turn into rows."""
        return self._pairs.names is not None

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
        _parse.check_range(self._by_row("clustering a table"), n_samples)
        if self._n_samples is not None and n_samples < self._n_samples:
            raise PairError(
                f"the links are for {self._n_samples} samples, but the data have {n_samples}",
                python="; for a subset of the data use links.take(indices)",
            )
        return self

    def _without(self, must: IntArray, cannot: IntArray) -> Self:
        """Leave out the pairs at some positions."""
        return self._make(_combine.without(self._pairs, must, cannot), self._n_samples)

    def _by_row(self, operation: str) -> Parsed:
        names = self._pairs.names
        if names is not None:
            raise ValueError(
                f"{operation} needs row numbers, but these links are keyed by sample id, such "
                f"as {names[0]!r}; call links.resolve(ids) with the ids in row order first"
            )
        return self._pairs

    def _rows_needed(self) -> int:
        pairs = self._pairs
        named = (pairs.must, pairs.cannot, pairs.apart.member)
        return 1 + max(int(rows.max(initial=-1)) for rows in named)

    def _only_pairs(self) -> Self:
        """Leave the groups out."""
        return self._make(self._pairs._replace(apart=NO_GROUPS), self._n_samples)

    # Other forms -----------------------------------------------------------------------------

    def expanded(self, limit: int = MOST_EXPANDED, *, shared: bool = False) -> Self:
        """Write groups of rows that are apart as cannot-links, pair by pair.

        Parameters
        ----------
        limit : int, default=30_000
            Raise rather than build more pairs than this.
        shared : bool, default=False
            Give each pair of a group of m rows the confidence 2 / m, so that the group weighs as
            much as m - 1 links. False makes them certain.

        Examples
        --------
        >>> from linkshift import Links
        >>> Links.apart_within(["a", "b", "a", "a"]).expanded().cannot.tolist()
        [[0, 2], [0, 3], [2, 3]]
        """
        if not len(self._pairs.apart):
            return self
        pairs, share = self._by_row("expanded").apart.pairs(limit)
        sure = share if shared else np.ones(len(pairs))
        none = np.empty((0, 2), dtype=np.int64)
        more = Parsed(none, pairs, np.empty(0), sure, None)
        union = _combine.union(self._only_pairs()._pairs, more)
        return self._make(union, self._n_samples)

    def to_csv(self, path: _files.PathLike) -> None:
        """Write columns ``a,b,kind``, and ``confidence`` when some link is not certain.

        Groups of rows that are apart have no place there: `to_json` keeps them.
        """
        _files.write_csv(self._pairs, path)

    def to_json(self, path: _files.PathLike | None = None) -> str:
        """Give the links as JSON text, `n_samples` included; also write it to `path` if given.

        Examples
        --------
        >>> from linkshift import Links
        >>> links = Links(must=[(0, 1)], must_confidence=0.1)
        >>> Links.read_json(links.to_json()) == links
        True
        """
        text = _files.to_json(self._pairs, self._n_samples)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def to_sparse(self, n_samples: int | None = None) -> Any:
        """Give the links as a symmetric sparse matrix: confidences, below zero for cannot.

        Parameters
        ----------
        n_samples : int, default=None
            Number of rows. None means the number the links know, or else the largest row named,
            plus one.

        Returns
        -------
        scipy.sparse.csr_array of shape (n_samples, n_samples)

        Examples
        --------
        >>> from linkshift import Links
        >>> Links(must=[(0, 1)], cannot=[(1, 2)]).to_sparse().toarray()
        array([[ 0.,  1.,  0.],
               [ 1.,  0., -1.],
               [ 0., -1.,  0.]])
        """
        if n_samples is None:
            n_samples = self._n_samples if self._n_samples is not None else self._rows_needed()
        return _sparse.to_matrix(self.expanded().check(n_samples)._by_row("to_sparse"), n_samples)

    # A value ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Give the number of pairs; a group of rows that are apart counts as one more."""
        return len(self._pairs.must) + len(self._pairs.cannot) + len(self._pairs.apart)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairSet):
            return NotImplemented
        return _combine.identity(self._pairs) == _combine.identity(other._pairs)

    def __hash__(self) -> int:
        return hash(_combine.identity(self._pairs))

    def __repr__(self) -> str:
        parts = [f"{len(self._pairs.must)} must", f"{len(self._pairs.cannot)} cannot"]
        if groups := len(self._pairs.apart):
            rows = len(np.unique(self._pairs.apart.member))
            parts.append(f"{counted(groups, 'group')} of {rows} rows apart")
        sure = np.concatenate((self.must_confidence, self.cannot_confidence))
        if sure.min(initial=1.0) < 1:
            parts.append(f"confidence {sure.min():g} to {sure.max():g}")
        if self.keyed_by_id:
            parts.append("keyed by id")
        if self._n_samples is not None:
            parts.append(f"{self._n_samples} samples")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Say in a notebook how many pairs there are, and show the first."""
        kinds = (("must", self.must_confidence), ("cannot", self.cannot_confidence))
        rows = []
        for kind, sure in kinds:
            pairs = getattr(self._pairs, kind)
            names = _combine.named(pairs[:_SHOWN], self._pairs.names)
            for (a, b), confidence in zip(names, sure[:_SHOWN], strict=True):
                rows.append(row(tag.td(word(a)), tag.td(word(b)), tag.td(kind), f"{confidence:g}"))
            if len(pairs) > _SHOWN:
                rows.append(row(tag.td(f"and {len(pairs) - _SHOWN:,} more {kind}", colspan=4)))
        return notebook(repr(self), ("a", "b", "kind", ">confidence"), rows)

    def __setattr__(self, name: str, *_: object) -> NoReturn:
        raise AttributeError(
            f"{name!r} cannot be changed: links are frozen; add, remove and take give new ones"
        )

    __delattr__ = __setattr__

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Through `_make`: arrays come out of a pickle writable.
        return self._make, (self._pairs, self._n_samples)
