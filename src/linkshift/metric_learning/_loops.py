# mypy: disable-error-code="no-untyped-def"
"""Jit loop of metric learning: hinge losses of triplets and their slopes. It trusts its input."""

from __future__ import annotations

import numpy as np

from linkshift._core.jit import jit


@jit
def hinge_batch(projections, weights, batch, anchor, targets, impostors, slope):
    """Add up [1 + d(i, j) - d(i, k)]_+ over the triplets of a batch of anchors.

    ``projections`` (n, K) are the rows on the bases. ``weights`` and ``slope`` hold one row for
    each anchor of the batch, or a single row for all. The derivative by the weights is added to
    ``slope``; a ``slope`` without rows asks for the loss alone. The three are float32.

    ``targets`` and ``impostors`` are (rows, start, weight) of a Triplets. Returns the loss and the
    weight of the triplets that hold (by any margin).
    """
    target, target_start, target_weight = targets
    impostor, impostor_start, impostor_weight = impostors
    most = 0
    for m in batch:
        pairs = target_start[m + 1] - target_start[m] + impostor_start[m + 1] - impostor_start[m]
        most = max(most, pairs)
    squares = np.empty((most, projections.shape[1]), np.float32)
    distance, pull = np.empty(most, np.float32), np.empty(most, np.float32)
    steep = np.empty(projections.shape[1], np.float32)
    loss, held = 0.0, 0.0
    for s in range(batch.shape[0]):
        m = batch[s]
        row = s if weights.shape[0] > 1 else 0
        near = target[target_start[m] : target_start[m + 1]]
        far = impostor[impostor_start[m] : impostor_start[m + 1]]
        n_near, n_pairs = near.shape[0], near.shape[0] + far.shape[0]
        _fill(projections, anchor[m], near, squares[:n_near])
        _fill(projections, anchor[m], far, squares[n_near:n_pairs])
        # Two products with a small matrix: BLAS adds up many numbers at once.
        np.dot(squares[:n_pairs], weights[row], distance[:n_pairs])
        more, holding = _hinge(
            distance[:n_near],
            distance[n_near:n_pairs],
            target_weight[target_start[m] : target_start[m + 1]],
            impostor_weight[impostor_start[m] : impostor_start[m + 1]],
            pull,
        )
        loss += more
        held += holding
        if slope.shape[0] and more > 0.0:
            np.dot(pull[:n_pairs], squares[:n_pairs], steep)
            _add(slope[row], steep)
    return loss, held


@jit
def _fill(projections, a, others, squares):
    """Squared differences along all bases from row a to other rows."""
    here = projections[a]
    for p in range(others.shape[0]):
        there, square = projections[others[p]], squares[p]
        for k in range(here.shape[0]):
            difference = here[k] - there[k]
            square[k] = difference * difference


@jit
def _hinge(near, far, near_weight, far_weight, pull):
    """Loss of each target with each impostor; ``pull`` is its slope by the distances."""
    loss, held = 0.0, 0.0
    pull[: near.shape[0] + far.shape[0]] = 0.0
    for t in range(near.shape[0]):
        for p in range(far.shape[0]):
            weight = near_weight[t] * far_weight[p]
            margin = 1.0 + near[t] - far[p]
            if near[t] < far[p]:
                held += weight
            if margin > 0.0:
                loss += weight * margin
                pull[t] += weight
                pull[near.shape[0] + p] -= weight
    return loss, held


@jit
def _add(total, more):
    for k in range(total.shape[0]):
        total[k] += more[k]
