r"""Kernel profiles: how much a point counts, given its squared distance in bandwidths.

With :math:`u = \|x - x_j\|^2 / h_j^2`, every profile has two faces:

- the *weight* :math:`g(u)` of point j in the mean that a start moves to;
- the *shadow* :math:`k(u)` with :math:`g = -k'`: the density that this movement climbs.

Profiles are named after their weight, as in scikit-learn and in Cheng (1995). Comaniciu and
Meer (2002) name the shadow instead: their Epanechnikov kernel is ``flat`` here.

============================ ============================= ==================================
name                         weight g(u)                   shadow k(u)
============================ ============================= ==================================
``flat``                     1 for u <= 1                  1 - u  (Epanechnikov)
``epanechnikov``             1 - u for u <= 1              (1 - u)^2 / 2  (biweight)
``gaussian``                 exp(-u / 2)                   2 exp(-u / 2)
``truncated_gaussian``       exp(-u / 2) for u <= r^2      2 (exp(-u / 2) - exp(-r^2 / 2))
============================ ============================= ==================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["Profile", "ProfileName", "get_profile"]

ProfileName = Literal["flat", "epanechnikov", "gaussian", "truncated_gaussian"]


@dataclass(frozen=True)
class Profile:
    """A kernel profile.

    Parameters
    ----------
    name : {"flat", "epanechnikov", "gaussian", "truncated_gaussian"}
        Which one.
    reach : float or None, default=None
        Distance, in bandwidths, beyond which a point has no weight. Free for the truncated
        Gaussian (default 1); fixed by the name for the others.

    Examples
    --------
    >>> from linkshift.profiles import Profile
    >>> Profile("flat").weight([0.0, 1.0, 1.1])
    array([1., 1., 0.])
    >>> Profile("truncated_gaussian", reach=2.0).weight([0.0, 4.1])
    array([1., 0.])
    """

    name: ProfileName
    reach: float | None = None

    def __post_init__(self) -> None:
        if self.name not in get_args(ProfileName):
            raise ValueError(
                f"Unknown kernel {self.name!r}; choose one of {', '.join(get_args(ProfileName))}."
            )
        fixed = {"flat": 1.0, "epanechnikov": 1.0, "gaussian": np.inf}.get(self.name)
        if fixed is None:
            reach = 1.0 if self.reach is None else float(self.reach)
            if not (np.isfinite(reach) and reach > 0):
                raise ValueError(f"reach must be a positive number, got {self.reach!r}.")
        elif self.reach is not None and self.reach != fixed:
            raise ValueError(
                f"The reach of the {self.name} kernel is {fixed:g} bandwidths; only "
                f"truncated_gaussian takes another (got {self.reach!r})."
            )
        else:
            reach = fixed
        object.__setattr__(self, "reach", reach)

    @property
    def squared_reach(self) -> float:
        """Largest u with a positive weight."""
        assert self.reach is not None
        return self.reach**2

    def weight(self, u: object) -> NDArray[np.floating]:
        """g(u), the weight in the mean."""
        u = np.asarray(u)
        inside = u <= self.squared_reach
        if self.name == "flat":
            return inside.astype(u.dtype if u.dtype.kind == "f" else float)
        if self.name == "epanechnikov":
            return np.maximum(1.0 - u, 0.0)
        return np.where(inside, np.exp(-0.5 * u), 0.0)

    def log_weight(self, u: object) -> NDArray[np.floating]:
        """Return log g(u), without underflow; minus infinity beyond the reach."""
        u = np.asarray(u)
        if self.name in ("flat", "epanechnikov"):
            with np.errstate(divide="ignore"):
                return np.log(self.weight(u))
        return np.where(u <= self.squared_reach, -0.5 * u, -np.inf)

    def shadow(self, u: object) -> NDArray[np.floating]:
        """k(u), the density that the weights climb: g = -k'."""
        u = np.asarray(u)
        if self.name == "flat":
            return np.maximum(1.0 - u, 0.0)
        if self.name == "epanechnikov":
            return 0.5 * np.maximum(1.0 - u, 0.0) ** 2
        floor = np.exp(-0.5 * self.squared_reach)
        return 2.0 * np.maximum(np.exp(-0.5 * u) - floor, 0.0)

    def log_mass(self, d: int) -> float:
        r"""Logarithm of the integral of :math:`k(\|x\|^2)` over d-dimensional space."""
        log_ball = 0.5 * d * np.log(np.pi) - special.gammaln(0.5 * d + 1.0)
        if self.name in ("flat", "epanechnikov"):
            power = 1 if self.name == "flat" else 2
            beta = (
                special.gammaln(0.5 * d + 1.0)
                + special.gammaln(power + 1.0)
                - special.gammaln(0.5 * d + power + 1.0)
            )
            return float(log_ball + beta - np.log(power))
        log_gauss = np.log(2.0) + 0.5 * d * np.log(2.0 * np.pi)
        if self.name == "gaussian":
            return float(log_gauss)
        # Polar coordinates and one integration by parts turn the mass of the cut Gaussian into
        # the chi-square distribution with d + 2 degrees of freedom: no cancellation at any d.
        return float(log_gauss + _log_gammainc(0.5 * d + 1.0, 0.5 * self.squared_reach))

    def spread(self, d: int) -> float:
        """Return the standard deviation per coordinate of the weight g, as a distribution (h = 1).

        Two profiles smooth alike when their bandwidths times their spreads agree: this is how
        a bandwidth is carried from one profile to another.
        """
        if self.name == "gaussian":
            return 1.0
        if self.name == "flat":
            return float(np.sqrt(1.0 / (d + 2.0)))
        if self.name == "epanechnikov":
            return float(np.sqrt(1.0 / (d + 4.0)))
        half = 0.5 * self.squared_reach
        return float(
            np.exp(0.5 * (_log_gammainc(0.5 * d + 1.0, half) - _log_gammainc(0.5 * d, half)))
        )


def _log_gammainc(a: float, x: float) -> float:
    """Logarithm of the regularised lower incomplete gamma function, also where it underflows."""
    value = special.gammainc(a, x)
    if value > 1e-290:
        return float(np.log(value))
    # Far below the mean: x^a e^-x / Gamma(a + 1) times a series that converges like (x / a)^k.
    terms = np.cumprod(x / (a + np.arange(1, 200)))
    return float(a * np.log(x) - x - special.gammaln(a + 1.0) + np.log1p(terms.sum()))


def get_profile(kernel: ProfileName | Profile) -> Profile:
    """Return ``kernel`` as a :class:`Profile`."""
    if isinstance(kernel, Profile):
        return kernel
    if isinstance(kernel, str):
        return Profile(kernel)
    raise TypeError(
        f"kernel must be one of {', '.join(get_args(ProfileName))} or a "
        f"linkshift.profiles.Profile, got {type(kernel).__name__}."
    )
