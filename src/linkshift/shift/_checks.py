"""What may enter a density; the loops behind trust it."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift.profiles import Profile


def check_points(points: Any, name: str) -> None:
    """Raise unless these are rows of finite float32 or float64 numbers."""
    if not isinstance(points, np.ndarray) or points.ndim != 2 or 0 in points.shape:
        shape = getattr(points, "shape", type(points).__name__)
        raise Refusal(
            f"{name} must be a table with a row for each point and a column or more; got {shape}.",
            parameter=name,
        )
    if points.dtype not in (np.float32, np.float64):
        raise Refusal(f"{name} must be float32 or float64, got {points.dtype}.", parameter=name)
    check_finite(points, name)


def check_finite(rows: Array, name: str) -> None:
    """Raise for a row with a value that is not finite."""
    if not (np.isfinite(rows.min(initial=0.0)) and np.isfinite(rows.max(initial=0.0))):
        row = int(np.argmin(np.isfinite(rows).all(axis=1)))
        raise Refusal(f"Row {row} of {name} is not finite.", parameter=name)


def checked_bandwidth(bandwidth: float | ArrayLike, n: int) -> Array:
    """One bandwidth for each of n points, as float64."""
    h = _per_point(bandwidth, ((), (n,)), n, "bandwidth")
    good = np.isfinite(h) & (h > 0)
    if not good.all():
        row = int(np.argmin(good))
        raise Refusal(
            f"Bandwidths must be positive; that of row {row} is {h[row]}.", parameter="bandwidth"
        )
    return h


def checked_weight(weight: ArrayLike | None, n: int) -> Array:
    """One weight for each of n points, as float64; ones where there are none."""
    if weight is None:
        return np.ones(n)
    found = _per_point(weight, ((n,),), n, "sample_weight")
    good = np.isfinite(found) & (found >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise Refusal(
            f"Sample weights must be numbers from 0 up; that of row {row} is {found[row]}.",
            parameter="sample_weight",
        )
    if not found.any():
        raise Refusal(
            "Every sample weight is zero: there is no density to climb.", parameter="sample_weight"
        )
    return found


def checked_dimension(dimension: float | None, d: int) -> float:
    """Return the d of h^(d+2): the number of columns when not given."""
    if dimension is None:
        return float(d)
    check_not_negative(dimension, "dimension")
    return float(dimension)


def check_not_negative(value: float, name: str) -> None:
    """Raise unless this is a finite number from 0 up."""
    if not (isinstance(value, Real) and np.isfinite(value) and value >= 0):
        raise Refusal(f"{name} must be a number from 0 up, got {value!r}.", parameter=name)


def check_profile(profile: Profile) -> None:
    """Raise unless this is a profile; one that exists is in order."""
    if not isinstance(profile, Profile):
        raise Refusal(
            f"profile must be a linkshift.profiles.Profile, got {type(profile).__name__}.",
            parameter="profile",
        )


def numbers(values: Any, name: str) -> Array:
    """Return the values as float64."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise Refusal(f"{name} must be numbers: {error}.", parameter=name) from error


def _per_point(values: float | ArrayLike, shapes: tuple[Any, ...], n: int, name: str) -> Array:
    found = numbers(values, name)
    if found.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise Refusal(
            f"{name} must have shape {expected} for {n} points, got {found.shape}.", parameter=name
        )
    return np.broadcast_to(found, (n,))
