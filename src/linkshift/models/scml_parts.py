"""A learned metric (SCML) in files: its fields, and how it is built again."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkshift._core.threads import one_blas_thread
from linkshift.metric_learning.embedding import Embedding
from linkshift.models.rules import Built, Sizes, Values, check
from linkshift.spaces.kernel import Kernel

__all__ = ["SCML_GLOBAL", "SCML_LOCAL", "scml_global", "scml_local"]

_SCML = {
    "classes_": "array ?",
    "_fit_y": "i n 0.. ?",
    "bases_": "f bases d",
    "scale_": "float >0",
    "n_bases_": "int 1..",
    "n_triplets_": "int 0..",
    "objective_": "float",
    "start_objective_": "float",
    "n_iter_": "int 0..",
}
SCML_GLOBAL = _SCML | {"weights_": "f bases 0..", "components_": "f rank d"}
SCML_LOCAL = _SCML | {
    "coefficients_": "f bases *",
    "embedding_.kernel.sigma": "float >0",
    "embedding_.landmarks": "f landmarks d",
    "embedding_.column_means": "f landmarks",
    "embedding_.map": "f landmarks *",
}


def _scml(_: Any, values: Values, sizes: Sizes) -> Built:
    X, classes, codes = values["_fit_X"], values["classes_"], values["_fit_y"]
    if classes is not None:
        check("_fit_y", codes, "i n 0..classes", sizes | {"classes": len(classes)})
    made = {name: values[name] for name in ("_fit_X", "classes_", "_fit_y")}
    return None, made | {"_centre": X.mean(axis=0, dtype=np.float64)}


def scml_global(model: Any, values: Values, sizes: Sizes) -> Built:
    """Build one metric for all rows."""
    _, made = _scml(model, values, sizes)
    root = values["components_"]
    with one_blas_thread():  # as in fit
        return None, made | {"metric_": root.T @ root, "_n_features_out": len(root)}


def scml_local(model: Any, values: Values, sizes: Sizes) -> Built:
    """Build a metric for each place."""
    _, made = _scml(model, values, sizes)
    sigma, *parts = [values[name] for name in SCML_LOCAL if "." in name]
    check("coefficients_", values["coefficients_"], f"f bases {parts[-1].shape[1] + 1}", sizes)
    embedding = Embedding(Kernel("gaussian", sigma=sigma), *parts)
    return None, made | {"embedding_": embedding, "embedding_sigma_": sigma}
