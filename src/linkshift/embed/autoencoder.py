"""The stacked denoising autoencoder (Vincent et al. 2010, as trained by Xie et al. 2016)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from linkshift._core.arrays import Array, Progress
from linkshift._core.attributes import all_or_none
from linkshift._core.messages import Refusal
from linkshift._core.threads import one_blas_thread
from linkshift.embed import _checkpoint
from linkshift.embed._network import Layer, Plan, Training, forward, is_linear, start
from linkshift.embed._training import torch_module, train

__all__ = ["StackedDenoisingAutoencoder"]

_FLOATS = [np.float64, np.float32]


class StackedDenoisingAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Few coordinates from which a network can tell the rows: a stacked denoising autoencoder.

    An encoder of several layers takes a row to its code, a decoder, its mirror image, takes the
    code back to the row. Layer l of either does

    .. math:: h_l = g_l(h_{l-1} W_l + b_l), \qquad g_l(t) = \max(0, t) ,

    but the layer that gives the code and the one that gives the row, for which g is the identity.
    First the layers are trained one after the other. Layer l of the encoder and its mirror image,
    with weights :math:`W'_l, b'_l`, learn to tell what comes out of the layers before,
    :math:`h`, from a corrupted copy, in which a share of the values is zero:

    .. math:: \min \; \| h - y \|^2, \qquad
              y = g'(D(z) W' + b'), \quad z = g(D(h) W + b) .

    D is dropout: a value is zero with probability ``noise``, and else divided by 1 - ``noise``.
    Then all layers are trained together on rows as they are, to give back the rows. No labels and
    no links take part.

    Parameters
    ----------
    n_components : int, default=10
        Coordinates of the code.
    layers : sequence of int, default=(500, 500, 2000)
        Sizes of the layers between a row and its code.
    noise : float, default=0.2
        Share of values that are zero in corrupted copies. From 0 to below 1.
    layer_steps : int, default=3500
        Steps for each layer; a step descends on ``batch_size`` rows.
    steps : int, default=7000
        Steps for all layers together.
    batch_size : int, default=256
        Rows of a step. Rows are shuffled for each pass over them.
    learning_rate : float, default=1e-3
        Of Adam, which makes the steps.
    checkpoint : path, default=None
        A file for how far training is, written at the start, every 500 steps and after each layer.
        Where it is there, ``fit`` goes on from it, to the same result as without a break; with
        more ``steps`` than it was written with, it goes on for these. A file for other rows or
        other parameters is refused. It stays when training has ended.
    random_state : int, RandomState or None, default=None
        Seed of first weights, order of rows and noise. With None, the seed of the checkpoint if
        there is one.
    progress : callable, default=None
        Called with (steps done, all steps) every 50 steps and at the end.

    Attributes
    ----------
    weights_ : list of ndarray of shape (columns in, columns out)
        W of each layer in float32, those of the encoder first.
    biases_ : list of ndarray of shape (columns out,)
        b of each layer.
    losses_ : list of ndarray of shape (steps,)
        Mean squared error at each step: one array for each layer of the encoder, one for all
        together. In units of ``scale_``.
    scale_ : float
        Root mean square of all values of the training rows, by which rows are divided.

    Notes
    -----
    Training needs PyTorch (``pip install "linkshift[deep]"``) and is made in float32 by one thread:
    the same seed gives the same weights whatever the number of cores. `transform` needs NumPy only,
    and keeps the precision of the rows. Columns should be on comparable scales, as pixels are.

    Defaults are those of the code of Schier et al. in steps: 15 passes a layer and 30 passes for
    all over 60,000 rows, batches of 256, Adam. Sizes, noise and the spread of the first weights,
    0.01, are those of Xie et al., who make 50,000 and 100,000 steps by gradient descent.

    References
    ----------
    Vincent, Larochelle, Lajoie, Bengio, Manzagol: Stacked Denoising Autoencoders, JMLR 11, 2010.

    Xie, Girshick, Farhadi: Unsupervised Deep Embedding for Clustering Analysis, ICML 2016.

    Schier, Reinders, Rosenhahn: Constrained Mean Shift Clustering, SIAM SDM 2022.

    Examples
    --------
    Images of 64 pixels in four numbers, by a small network:

    >>> from linkshift.embed import StackedDenoisingAutoencoder
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data[:200]
    >>> model = StackedDenoisingAutoencoder(
    ...     4, layers=(64,), layer_steps=100, steps=200, learning_rate=0.01, random_state=0
    ... )
    >>> Z = model.fit_transform(X)
    >>> Z.shape
    (200, 4)
    >>> error = ((model.inverse_transform(Z) - X) ** 2).mean()
    >>> bool(error < 0.5 * X.var(axis=0).mean())  # of the error of each pixel's mean
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "layers": ["array-like"],
        "noise": [Interval(Real, 0, 1, closed="left")],
        "layer_steps": [Interval(Integral, 0, None, closed="left")],
        "steps": [Interval(Integral, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "checkpoint": [str, os.PathLike, None],
        "random_state": ["random_state"],
        "progress": [callable, None],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        layers: Sequence[int] = (500, 500, 2000),
        noise: float = 0.2,
        layer_steps: int = 3500,
        steps: int = 7000,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.n_components = n_components
        self.layers = layers
        self.noise = noise
        self.layer_steps = layer_steps
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.weights_[len(self.weights_) // 2].shape[0])

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: object = None,  # noqa: ARG002  # of the contract
    ) -> StackedDenoisingAutoencoder:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored; here for pipelines.

        Returns
        -------
        self
        """
        torch_module()  # before any work
        with all_or_none(self), one_blas_thread():
            rows = validate_data(self, X, dtype=_FLOATS)
            scale = _root_mean_square(rows)
            data = (rows / rows.dtype.type(scale)).astype(np.float32)
            plan = self._plan(data.shape[1])
            training = self._train(data, plan)
            self.scale_ = scale
            self.weights_ = [weights for weights, _ in training.layers]
            self.biases_ = [biases for _, biases in training.layers]
            self.losses_ = [np.array(losses) for losses in training.losses]
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Codes of rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_components)
            In float32 for rows in float32.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=_FLOATS, reset=False)
        return self._half(rows / rows.dtype.type(self.scale_), 0)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Rows as the decoder tells them from codes.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Codes, as `transform` gives them.

        Returns
        -------
        ndarray of shape (n, n_features)
            In the units of the training rows.
        """
        check_is_fitted(self)
        codes = check_array(X, dtype=_FLOATS)
        if codes.shape[1] != self._n_features_out:
            raise Refusal(
                f"X has {codes.shape[1]} columns, and codes have {self._n_features_out}.",
                "Give what transform gives.",
            )
        return self._half(codes, 1) * codes.dtype.type(self.scale_)

    def _half(self, rows: Array, half: int) -> Array:
        """Rows through the encoder (0) or the decoder (1)."""
        depth = len(self.weights_) // 2
        which = range(half * depth, (half + 1) * depth)
        layers: list[Layer] = [(self.weights_[i], self.biases_[i]) for i in which]
        with one_blas_thread():
            return forward(rows, layers, [is_linear(i, depth) for i in which])

    def _plan(self, n_features: int) -> Plan:
        sizes = np.asarray(self.layers)
        if sizes.ndim != 1 or (sizes.size and (sizes.dtype.kind not in "iu" or sizes.min() < 1)):
            raise Refusal(
                f"layers is {self.layers!r}.",
                "Give whole numbers from one up, such as (500, 500, 2000).",
                parameter="layers",
                value=self.layers,
            )
        seed = None
        if self.random_state is None and self.checkpoint is not None:
            seed = _checkpoint.stored_seed(self.checkpoint)
        if seed is None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return Plan(
            (n_features, *sizes.tolist(), int(self.n_components)),
            float(self.noise),
            int(self.layer_steps),
            int(self.steps),
            int(self.batch_size),
            float(self.learning_rate),
            seed,
        )

    def _train(self, data: Array, plan: Plan) -> Training:
        training = start(plan)
        if self.checkpoint is None:
            train(data, plan, training, lambda _: None, self.progress)
            return training
        path, rows = self.checkpoint, _checkpoint.digest(data)
        training = _checkpoint.read(path, plan, rows, training)
        train(
            data,
            plan,
            training,
            lambda made: _checkpoint.write(path, plan, rows, made),
            self.progress,
        )
        return training


def _root_mean_square(rows: Array) -> float:
    """Root mean square of all values; one where all are zero. Large squares do not overflow."""
    peak = float(np.abs(rows).max())
    if peak == 0.0:
        return 1.0
    return peak * float(np.sqrt(np.mean((rows / rows.dtype.type(peak)) ** 2, dtype=np.float64)))
