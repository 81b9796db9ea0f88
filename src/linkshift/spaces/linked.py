"""A kernel's space as links shape it: projected, or learned, and turned to its principal axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.convergence import NotConverged
from linkshift._core.messages import warn
from linkshift.bandwidth import pair_mean
from linkshift.links import ClosedLinks, Links
from linkshift.spaces.kernel import (
    Kernel,
    KernelName,
    KernelSpace,
    kernel_space,
    participation_ratio,
    principal_axes,
    sigma_from_links,
)
from linkshift.spaces.learned_kernel import learn_kernel
from linkshift.spaces.null_space import component_means, null_space

__all__ = ["LinkedSpace", "linked_space", "make_kernel"]


@dataclass(frozen=True, eq=False)
class LinkedSpace:
    """Rows in a kernel's space under links."""

    space: KernelSpace  # from rows to coordinates
    map: Array | None  # from coordinates to where links move them; None where they do not
    points: Array  # (n, r): the rows, moved
    before: Array  # (n, s): the rows before links moved them
    rank: int  # axes with any extent
    effective_dimension: float  # participation ratio of the axes


def make_kernel(
    kernel: KernelName | Callable[..., Any],
    X: Array,
    links: Links,
    *,
    sigma: float | Literal["links"] | None,
    degree: int,
    gamma: float | None,
    coef0: float,
    params: dict[str, Any] | None,
) -> Kernel:
    """Fill in what data and links say: the width of a Gaussian, the gamma of a polynomial."""
    if kernel == "gaussian":
        if sigma is None:
            return Kernel("gaussian", sigma=pair_mean(X))
        width = sigma_from_links(X, links) if isinstance(sigma, str) else float(sigma)
        return Kernel("gaussian", sigma=width)
    gamma = 1.0 / X.shape[1] if gamma is None else float(gamma)
    return Kernel(kernel, degree=degree, gamma=gamma, coef0=coef0, params=params or {})


def linked_space(
    X: Array,
    kernel: Kernel,
    closed: ClosedLinks,
    *,
    use_links: Literal["project", "learn"],
    learn_params: dict[str, Any] | None,
    n_landmarks: int | None,
    random_state: np.random.RandomState,
) -> LinkedSpace:
    """Go to the kernel's space, let links shape it, and turn to its principal axes.

    Links project onto the null space of the must-links (:mod:`linkshift.spaces.null_space`; only
    certain ones then) or learn a kernel (:mod:`linkshift.spaces.learned_kernel`, to which
    ``learn_params`` go).
    """
    space, coordinates = kernel_space(X, kernel, n_landmarks=n_landmarks, random_state=random_state)
    shape: Array | None
    if not len(closed) and space.on_axes:
        shape, points = None, coordinates
        eigenvalues = np.einsum("ij,ij->j", points, points)
    else:
        if use_links == "project":
            shape = null_space(coordinates, closed.closure.component).basis
        elif not len(closed):
            shape = np.eye(coordinates.shape[1])
        else:
            shape = _learned_map(coordinates, closed, learn_params or {})
        points = coordinates @ shape
        axes = principal_axes(points)
        shape, points, eigenvalues = shape @ axes.map, points @ axes.map, axes.eigenvalues
    if use_links == "project":
        points = component_means(points, closed.closure.component)
    rank, effective = int((eigenvalues > 0).sum()), participation_ratio(eigenvalues)
    return LinkedSpace(space, shape, points, coordinates, rank, effective)


def _learned_map(coordinates: Array, closed: ClosedLinks, params: dict[str, Any]) -> Array:
    learned = learn_kernel(coordinates, closed, **params)
    if not learned.converged:
        warn(
            NotConverged(
                f"The learned kernel was still changing after {learned.n_iter} rounds.",
                "Give learn_params={'max_iter': ...} a larger number, or a larger 'tol'.",
                command="",
                parameter="learn_params",
                value=params,
            )
        )
    return learned.map
