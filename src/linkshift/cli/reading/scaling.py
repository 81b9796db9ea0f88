"""Scaling of columns, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Scaling:
    """Column by column: (x - shift) / spread.

    Of one kind for all, as plain numbers that a model file keeps. scikit-learn's MinMaxScaler
    multiplies by the inverse of the spread instead, and its last bits are others.
    """

    kind: str
    shift: NDArray[Any]
    spread: NDArray[Any]

    @classmethod
    def of(cls, X: NDArray[Any], kind: str) -> Scaling:
        """Find the scaling ``none``, ``standard`` or ``minmax`` of some data."""
        if kind == "standard":
            shift, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        elif kind == "minmax":
            shift, spread = X.min(axis=0), np.ptp(X, axis=0)
        else:
            shift, spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
        # A constant column becomes zero, whatever it is divided by.
        spread = np.where(spread > 0, spread, 1.0)
        return cls(kind, shift.astype(X.dtype), spread.astype(X.dtype))

    @classmethod
    def from_about(cls, about: dict[str, Any]) -> Scaling:
        """Take it from what a model file says of itself."""
        shift, spread = (np.array(about[key], about["dtype"]) for key in ("shift", "spread"))
        return cls(about["scale"], shift, spread)

    def about(self) -> dict[str, Any]:
        """Say it in plain values; every number keeps all its digits."""
        numbers = {"shift": self.shift.tolist(), "spread": self.spread.tolist()}
        return {"scale": self.kind, "dtype": self.shift.dtype.name, **numbers}

    def apply(self, X: NDArray[Any]) -> NDArray[Any]:
        """Scale."""
        return X if self.kind == "none" else (X - self.shift) / self.spread

    def undo(self, X: NDArray[Any]) -> NDArray[Any]:
        """Scale back."""
        return X if self.kind == "none" else X * self.spread + self.shift
