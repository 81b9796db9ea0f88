"""The network: layers, what they do to rows, and how far it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from linkshift._core.arrays import Array

__all__ = ["Layer", "Plan", "Training", "forward", "is_linear", "parts", "start"]

_SPREAD = 0.01  # of the first weights, as in Xie et al.
_BLOCK = 1024  # rows at a time: fixed, so that memory is bounded and sums are always the same

Layer = tuple[Array, Array]  # weights (columns in, columns out), biases


@dataclass(frozen=True)
class Plan:
    """Sizes from the input to the code, and how they are trained."""

    sizes: tuple[int, ...]
    noise: float
    layer_steps: int
    steps: int
    batch_size: int
    learning_rate: float
    seed: int

    @property
    def depth(self) -> int:
        """Layers of the encoder; as many stages train them, and one more all together."""
        return len(self.sizes) - 1

    def steps_of(self, stage: int) -> int:
        """Give the steps of a stage; the last one is that of the whole network."""
        return self.steps if stage == self.depth else self.layer_steps

    @property
    def total(self) -> int:
        """Steps of all stages."""
        return self.depth * self.layer_steps + self.steps


@dataclass
class Training:
    """How far training is: layers, and what the optimiser keeps of those now trained."""

    layers: list[Layer]
    stage: int = 0
    step: int = 0  # of the stage
    moments: list[tuple[Array, Array]] = field(default_factory=list)
    losses: list[list[float]] = field(default_factory=list)  # of each stage, of each step


def start(plan: Plan) -> Training:
    """Layers before any training: encoder, then the decoder as its mirror image."""
    rng = np.random.default_rng([plan.seed, 0])
    wide = (*plan.sizes, *plan.sizes[-2::-1])
    layers = [
        (
            _SPREAD * rng.standard_normal((a, b), dtype=np.float32),
            _SPREAD * rng.standard_normal(b, dtype=np.float32),
        )
        for a, b in pairwise(wide)
    ]
    return Training(layers, losses=[[] for _ in range(plan.depth + 1)])


def parts(stage: int, depth: int) -> list[int]:
    """Which layers a stage trains: one of the encoder and its mirror image; at last all."""
    return list(range(2 * depth)) if stage == depth else [stage, 2 * depth - 1 - stage]


def is_linear(layer: int, depth: int) -> bool:
    """Whether a layer has no ReLU: the one that gives the code, and the one that gives rows."""
    return layer in (depth - 1, 2 * depth - 1)


def forward(rows: Array, layers: Sequence[Layer], linear: Sequence[bool]) -> Array:
    """Rows through layers, in the precision of the rows."""
    out = np.empty((len(rows), layers[-1][0].shape[1]), rows.dtype)
    cast = [(w.astype(rows.dtype, copy=False), b.astype(rows.dtype, copy=False)) for w, b in layers]
    for first in range(0, len(rows), _BLOCK):
        block = rows[first : first + _BLOCK]
        for (weights, biases), straight in zip(cast, linear, strict=True):
            block = block @ weights + biases
            if not straight:
                np.maximum(block, 0, out=block)
        out[first : first + _BLOCK] = block
    return out
