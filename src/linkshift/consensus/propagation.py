"""Links spread over the graph: edges near must-links grow, edges near cannot-links fade."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

from linkshift._core.arrays import Array
from linkshift._core.threads import one_blas_thread
from linkshift.links import Groups, Links
from linkshift.spaces.graph import symmetric_walk

__all__ = ["bent_by_links", "spread"]

_ALPHA = 0.8  # how far links spread: the share of a row's word that it has from its neighbours
_ROUNDING = 1e-13  # of the surest link
_FAINT = 1e-4  # weight of an edge that links speak against
_FULL = 0.99  # quantile of what edges hear that counts as certainty


def spread(weights: sparse.csr_matrix, links: Links) -> Array:
    r"""Say of each edge how much links speak for it (above zero) or against it.

    .. math:: F = (1 - \alpha)^2 (I - \alpha S)^{-1} Z (I - \alpha S)^{-1}

    with :math:`S = D^{-1/2} W D^{-1/2}` and :math:`Z_{ij}` the confidence of a must-link between i
    and j, or less the confidence of a cannot-link (Lu and Ip, "Constrained spectral clustering via
    exhaustive and efficient constraint propagation", 2010). Pairs of a group of m rows that are
    apart have -2/m. Only rows with links are solved for, and only edges are worked out.
    """
    pairs = np.concatenate([links.must, links.cannot])
    sign = np.concatenate([links.must_confidence, -links.cannot_confidence])
    groups = links._pairs.apart
    n, rows = weights.shape[0], np.union1d(pairs, groups.member)
    with one_blas_thread():
        system = np.eye(n) - _ALPHA * symmetric_walk(weights)[0].toarray()
        unit = np.zeros((n, len(rows)))
        unit[rows, np.arange(len(rows))] = 1 - _ALPHA
        heard = linalg.cho_solve(linalg.cho_factor(system), unit)
        a, b = np.searchsorted(rows, pairs).T
        signs = sparse.csr_matrix((sign, (a, b)), shape=(len(rows), len(rows)))
        told = (signs + signs.T) @ heard.T
        for part in groups:  # all of a group but the row itself: no pair is written out
            inside = np.searchsorted(rows, part)
            others = heard.T[inside].sum(axis=0) - heard.T[inside]
            told[inside] -= 2.0 / len(part) * others
    edges = weights.tocoo()
    return np.einsum("ij,ji->i", heard[edges.row], told[:, edges.col])


def bent_by_links(weights: sparse.csr_matrix, links: Links) -> sparse.csr_matrix:
    r"""Adjust a graph to links.

    .. math::
        w'_{ij} = 1 - (1 - f_{ij})(1 - w_{ij}) \text{ for } f_{ij} \ge 0, \quad
        (1 + f_{ij}) w_{ij} \text{ otherwise}

    with f what links say of an edge (:func:`spread`), in units of its 99th percentile. Must-linked
    rows have an edge of their confidence, cannot-linked ones hardly any.
    """
    edges = weights.tocoo()
    said = spread(weights, links)
    # Links and groups that cancel out leave rounding errors, which are nothing to go by.
    loudest = max(links.must_confidence.max(initial=0.0), links.cannot_confidence.max(initial=0.0))
    loudest = max(loudest, 1.0) if len(links._pairs.apart) else loudest
    said[np.abs(said) < _ROUNDING * loudest] = 0.0
    said = np.clip(said / max(np.quantile(np.abs(said), _FULL), np.finfo(float).tiny), -1, 1)
    new = np.where(said >= 0, 1 - (1 - said) * (1 - edges.data), (1 + said) * edges.data)
    shape = weights.shape
    bent = sparse.csr_matrix((np.maximum(new, _FAINT), (edges.row, edges.col)), shape=shape)
    for pairs, confidence, kind in (
        (links.cannot, links.cannot_confidence, "cannot"),
        (links.must, links.must_confidence, "must"),
    ):
        one_way = sparse.csr_matrix((confidence, tuple(pairs.T)), shape=shape)
        both = one_way.maximum(one_way.T)
        bent = bent - bent.multiply(both) * (1 - _FAINT) if kind == "cannot" else bent.maximum(both)
        if kind == "cannot" and len(links._pairs.apart):
            bent = bent - bent.multiply(_shared(bent, links._pairs.apart)) * (1 - _FAINT)
    return bent.tocsr()


def _shared(weights: sparse.csr_matrix, groups: Groups) -> sparse.csr_matrix:
    """For each edge within a group of m rows 2 / m, at most one."""
    shape = weights.shape[0], len(groups)
    ones = np.sqrt(2.0 / groups.sizes)[groups.group]
    member = sparse.csr_matrix((ones, (groups.member, groups.group)), shape=shape)
    edges = weights.tocoo()
    both = np.asarray(member[edges.row].multiply(member[edges.col]).sum(axis=1)).ravel()
    both[edges.row == edges.col] = 0.0
    return sparse.csr_matrix((np.minimum(both, 1.0), (edges.row, edges.col)), shape=weights.shape)
