"""The image embedding of Schier et al. (2022), trained here, under constrained mean shift.

``python -m benchmarks.run embed [--tiny | --quick | --full] [--repeats N]`` trains the network
d-500-500-2000-10 on the 10,000 test images of MNIST, without labels, and clusters 2,000 rows with
2,000 links as the suite ``cms`` does for table 2, beside ten principal components of the pixels.
Training needs PyTorch (the extra ``deep``), takes some minutes of an idle core, and is kept in
``benchmarks/results``: a run that was stopped goes on, and the next one trains no more.

Layers are trained by the estimator's defaults, all together for 2,000 steps, not 7,000: 51 passes
over 10,000 images, where the authors make 30 over 60,000.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from benchmarks.harness import Array, Cell, Options, Row
from benchmarks.papers import cms_methods as cms
from linkshift import datasets
from linkshift.embed import StackedDenoisingAutoencoder

TITLE = "the stacked denoising autoencoder, trained on 10,000 images of MNIST"

DATA = "mnist_t10k"
KIND = "images"
FOLDER = Path(__file__).parents[1] / "results"
FULL: dict[str, Any] = {"steps": 2000}
TINY: dict[str, Any] = {"layers": (32,), "layer_steps": 20, "steps": 20}
METHODS = (cms.CLOSENESS, "ours, raw", "ours, refined", "k-means", "PCKMeans")


def run(options: Options) -> Iterator[Row]:
    data = datasets.load(DATA)
    rows = options.pick(500, len(data.y), len(data.y))
    X, y = data.X[:rows].astype(np.float32) / 255, data.y[:rows]
    model, cells = trained(X, options)
    yield Row(cells)
    spaces: dict[str, Array] = {
        "our embedding": model.transform(X),
        "10 principal components": PCA(10, random_state=0).fit_transform(X),
    }
    methods = {
        name: m for name, m in (cms.ours(KIND) | cms.rivals(KIND)).items() if name in METHODS
    }
    n_rows, n_links = options.pick((200, 100), (2000, 2000), (2000, 2000))
    repeats = range(options.seed, options.seed + options.repeats)
    for space, Z in spaces.items():
        draws = [drawn(Z.astype(np.float64), y, seed, n_rows, n_links) for seed in repeats]
        yield from cms.compare("clustering", "MNIST, 10,000 images", space, draws, methods)


def trained(X: Array, options: Options) -> tuple[StackedDenoisingAutoencoder, dict[str, Cell]]:
    """Train, or go on from the checkpoint; with what there is to say of it."""
    settings = options.pick(TINY, FULL, FULL)
    checkpoint = None
    if options.size != "tiny":
        FOLDER.mkdir(parents=True, exist_ok=True)
        checkpoint = FOLDER / f"embed_{DATA}_{options.seed}.npz"
    begin, cpu = time.perf_counter(), time.process_time()
    model = StackedDenoisingAutoencoder(
        **settings, checkpoint=checkpoint, random_state=options.seed, progress=_told
    ).fit(X)
    error = float(((model.inverse_transform(model.transform(X)) - X) ** 2).mean())
    return model, {
        "part": "training",
        "data": "MNIST, 10,000 images",
        "steps": sum(len(losses) for losses in model.losses_),
        "wall s": round(time.perf_counter() - begin),  # of this run: little, from a checkpoint
        "CPU s": round(time.process_time() - cpu),
        "unexplained": round(error / float(X.var(axis=0).mean()), 3),
        "by 10 components": round(1 - float(PCA(10).fit(X).explained_variance_ratio_.sum()), 3),
    }


def _told(done: int, total: int) -> None:
    if done % 500 == 0:
        print(f"embed: {done:,} of {total:,} steps", file=sys.stderr, flush=True)


def drawn(Z: Array, y: Array, seed: int, n_rows: int, n_links: int) -> cms.Draw:
    """Rows to cluster, as many others, and links, as `cms.embedding` draws them."""
    rng = np.random.default_rng([seed, 2])
    rows = rng.choice(len(y), 2 * n_rows, replace=False)
    fit, new = rows[:n_rows], rows[n_rows:]
    links = cms.Links.sample(y[fit], n_links, random_state=rng)
    low, span = Z[fit].min(axis=0), np.ptp(Z[fit], axis=0)
    scaled = (Z - low) / np.where(span > 0, span, 1.0)
    return cms.Draw(scaled[fit], y[fit], links, seed, scaled[new], y[new])
