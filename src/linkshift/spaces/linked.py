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
    """Rows in a kernel's space under links.

    Attributes
    ----------
    space : KernelSpace
        From rows to coordinates.
    map : ndarray or None
        From coordinates to where links move them; None where they do not.
    points : ndarray of shape (n, r)
        The rows, moved.
    before : ndarray of shape (n, s)
        The rows before links moved them.
    rank : int
        Axes with any extent.
    effective_dimension : float
        Participation ratio of the axes.
    """

    space: KernelSpace
    map: Array | None
    points: Array
    before: Array
    rank: int
    effective_dimension: float


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

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Data, or kernel values.
    kernel : Kernel
    closed : ClosedLinks
        For "project" certain must-links only.
    use_links : {"project", "learn"}
        Onto the null space of the must-links (:mod:`linkshift.spaces.null_space`), or by a learned
        kernel (:mod:`linkshift.spaces.learned_kernel`).
    learn_params : dict or None
        Keywords of ``learn_kernel``.
    n_landmarks : int or None
        Landmarks of the space; None for all rows.
    random_state : RandomState
        For landmarks.

    Returns
    -------
    LinkedSpace
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
