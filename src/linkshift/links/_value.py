"""The frozen value behind `Links`: pairs, confidences, how they are keyed."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NoReturn, Self

import numpy as np

from linkshift._core.markup import notebook, row, tag, word
from linkshift.links import _combine, _parse
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
        _parse.check_range(self._by_row("check"), n_samples)
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
        return 1 + max(int(pairs.must.max(initial=-1)), int(pairs.cannot.max(initial=-1)))

    # A value ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Give the number of pairs."""
        return len(self._pairs.must) + len(self._pairs.cannot)

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
