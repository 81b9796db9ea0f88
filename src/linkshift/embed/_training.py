"""Training by PyTorch: layer by layer on corrupted rows, then all layers on clean ones.

What is drawn at a step follows from the seed, the stage and the step alone: training that goes on
from a checkpoint draws what it would have drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from linkshift._core.arrays import Array, Progress
from linkshift._core.messages import Refusal
from linkshift.embed._network import Plan, Training, forward, is_linear, parts

__all__ = ["SAVE_EVERY", "MissingExtra", "torch_module", "train"]

SAVE_EVERY = 500  # steps between checkpoints: half a minute for the network of the paper
_TOLD_EVERY = 50  # steps between calls of progress


class MissingExtra(Refusal, ImportError):
    """What is asked for needs a package of an extra."""


def torch_module() -> Any:
    """PyTorch, or how to get it."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(
            "StackedDenoisingAutoencoder is trained by PyTorch, which is not installed.",
            'Install it with: pip install "linkshift[deep]"',
        ) from error
    return torch


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Keep PyTorch to one thread: sums of several are other sums."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def train(
    data: Array,
    plan: Plan,
    training: Training,
    save: Callable[[Training], None],
    progress: Progress | None,
) -> None:
    """Train from where ``training`` is to the end; it is changed in place.

    ``save`` is called at the start, every 500 steps and after each stage.
    """
    torch = torch_module()
    with _one_thread(torch):
        save(training)
        while True:
            stage = _Stage(torch, data, plan, training)
            for done in range(training.step + 1, plan.steps_of(training.stage) + 1):
                stage.make_step()
                if done % SAVE_EVERY == 0:
                    stage.store()
                    save(training)
                if progress is not None and done % _TOLD_EVERY == 0:
                    progress(training.stage * plan.layer_steps + done, plan.total)
            stage.store()
            if training.stage == plan.depth:
                break
            training.stage, training.step, training.moments = training.stage + 1, 0, []
            save(training)
    save(training)
    if progress is not None:
        progress(plan.total, plan.total)


class _Stage:
    """One stage: layers as tensors, and Adam."""

    def __init__(self, torch: Any, data: Array, plan: Plan, training: Training) -> None:
        self.torch, self.plan, self.training = torch, plan, training
        depth, stage = plan.depth, training.stage
        self.whole = stage == depth
        self.chosen = parts(stage, depth)
        self.linear = [is_linear(layer, depth) for layer in self.chosen]
        before = [] if self.whole else training.layers[:stage]
        self.rows = forward(data, before, [False] * stage) if before else data
        self.step, self.order = training.step, (-1, np.empty(0, np.intp))
        self.per_epoch = -(-len(data) // plan.batch_size)
        self.parameters = [
            torch.from_numpy(values.copy()).requires_grad_()
            for layer in self.chosen
            for values in training.layers[layer]
        ]
        self.adam = torch.optim.Adam(self.parameters, lr=plan.learning_rate, fused=True)
        for parameter, (first, second) in zip(self.parameters, training.moments, strict=False):
            self.adam.state[parameter] = {
                "step": torch.tensor(float(self.step)),
                "exp_avg": torch.from_numpy(first.copy()),
                "exp_avg_sq": torch.from_numpy(second.copy()),
            }

    def make_step(self) -> None:
        """Descend once, on the next rows of an order that is drawn for each pass."""
        clean = self._batch()
        out = clean if self.whole else self._corrupted(clean, 0)
        for i, straight in enumerate(self.linear):
            out = self.torch.addmm(self.parameters[2 * i + 1], out, self.parameters[2 * i])
            out = out if straight else self.torch.relu(out)
            if i == 0 and not self.whole:
                out = self._corrupted(out, 1)
        loss = self.torch.nn.functional.mse_loss(out, clean)
        value = float(loss.detach())
        if not np.isfinite(value):
            raise Refusal(
                f"Training has diverged: the loss is {value} at step {self.step + 1} of stage "
                f"{self.training.stage + 1}.",
                f"Give a learning_rate below {self.plan.learning_rate:g}.",
                parameter="learning_rate",
                value=self.plan.learning_rate,
            )
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        self.training.losses[self.training.stage].append(value)
        self.step += 1

    def store(self) -> None:
        """Put into ``training`` what has been reached."""
        values = [parameter.detach().numpy().copy() for parameter in self.parameters]
        for i, layer in enumerate(self.chosen):
            self.training.layers[layer] = (values[2 * i], values[2 * i + 1])
        self.training.step = self.step
        kept = [self.adam.state.get(parameter) for parameter in self.parameters]
        self.training.moments = [
            (one["exp_avg"].numpy().copy(), one["exp_avg_sq"].numpy().copy()) for one in kept if one
        ]

    def _batch(self) -> Any:
        epoch, place = divmod(self.step, self.per_epoch)
        if self.order[0] != epoch:
            rng = np.random.default_rng([self.plan.seed, 1, self.training.stage, epoch])
            self.order = epoch, rng.permutation(len(self.rows))
        size = self.plan.batch_size
        return self.torch.from_numpy(self.rows[self.order[1][place * size : (place + 1) * size]])

    def _corrupted(self, values: Any, side: int) -> Any:
        """Dropout: a share of the values is zero, the others are larger by as much."""
        if self.plan.noise == 0:
            return values
        rng = np.random.default_rng([self.plan.seed, 2, self.training.stage, self.step, side])
        kept = rng.random(tuple(values.shape), dtype=np.float32) >= self.plan.noise
        return values * self.torch.from_numpy(kept / np.float32(1 - self.plan.noise))
