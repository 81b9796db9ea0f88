"""Faces of CMU PIE as in Lin et al. (2010), section 5.2, as far as they are to be had.

The paper has 68 subjects in four groups of 17: lighting, rotation, occlusion, profile. Of these
images, the frontal ones under 21 flashes are public for all subjects (``face_pie_pose27``), and
five near-frontal poses for the first ten (``face_pie_5pose_10subj``); as crops of 32 x 32 pixels,
here brought to the paper's 51 x 51. So:

- lighting: 17 subjects, 21 flashes with room lights on, as in the paper;
- rotation: 17 subjects, 12 mild flashes (the paper: five poses under even light), turned by up to
  45 degrees;
- occlusion: 17 subjects, the same 12 flashes, a patch of a photograph over a tenth of the face;
- profile: the 10 subjects with other poses, 15 images each: C05, C07, C09, C27 and C29 with three
  expressions. The paper's farther poses C11 and C37 and seven of its subjects are missing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import rotate, zoom
from scipy.sparse import coo_array, diags_array
from scipy.sparse.linalg import spsolve
from scipy.spatial.distance import cdist

from linkshift import datasets

Array = NDArray[Any]
NEEDED = ("face_pie_pose27", "face_pie_5pose_10subj")
GROUPS = ("lighting", "rotation", "occlusion", "profile")
SIDE = 51
_MILD = (*range(4, 12), *range(16, 20))  # flashes that leave no half of the face dark
_EXPRESSIONS = 15  # images of the first ten subjects under even light, which come first
_SECTORS, _RINGS, _PATTERNS = 24, 4, 10  # of LBP
_SMOOTHNESS = 1.0  # of the light, in de-lighting
_KEPT = 0.8  # share of the pixels that trimmed squares keep
_BLOCK = 64  # rows of faces compared at a time


class Faces(NamedTuple):
    """Images (n, 51, 51) from 0 to 1, their subjects, and the group of each image."""

    images: Array
    y: Array
    group: Array  # index into GROUPS


def faces(seed: int = 0, *, per_group: int = 17) -> Faces:
    """Draw the four groups of conditions; fewer subjects each make a smaller problem."""
    frontal, posed = (datasets.load(name) for name in NEEDED)
    rng = np.random.default_rng(seed)
    images: list[Array] = []
    y: list[int] = []
    group: list[int] = []

    def add(faces_of_one: list[Array], kind: int) -> None:
        subject = len(set(y))
        images.extend(faces_of_one)
        y.extend([subject] * len(faces_of_one))
        group.extend([kind] * len(faces_of_one))

    people = np.unique(frontal.y)[10:]  # the first ten make the last group
    for kind, change in enumerate((_as_it_is, _turned, _covered)):
        for person in people[17 * kind : 17 * kind + per_group]:
            # Of 42 rows of a subject the last 21 are those with room lights on.
            rows = np.flatnonzero(frontal.y == person)[21:]
            rows = rows if kind == 0 else rows[list(_MILD)]
            add([change(_face(frontal.X[i]), rng) for i in rows], kind)
    for person in np.unique(posed.y)[: min(per_group, 10)]:
        rows = np.flatnonzero(posed.y == person)[:_EXPRESSIONS]
        add([_face(posed.X[i]) for i in rows], 3)
    return Faces(np.array(images), np.array(y), np.array(group))


def _face(row: Array) -> Array:
    """51 x 51 pixels from 0 to 1, of a row of 32 x 32 that runs down the columns."""
    image = np.asarray(row, dtype=np.float64).reshape(32, 32).T / 255.0
    return np.clip(zoom(image, SIDE / 32, order=1), 0.0, 1.0)


def _as_it_is(face: Array, _rng: np.random.Generator) -> Array:
    return face


def _turned(face: Array, rng: np.random.Generator) -> Array:
    """Turn by up to 45 degrees in the plane; beyond its frame the face goes on as it ends."""
    turned = rotate(face, rng.uniform(-45.0, 45.0), reshape=False, order=1, mode="nearest")
    return np.clip(turned, 0.0, 1.0)


def _covered(face: Array, rng: np.random.Generator) -> Array:
    """Put a patch of a photograph over a tenth of the face."""
    from skimage import data

    side = round(SIDE * np.sqrt(0.1))
    photograph = data.camera() / 255.0
    y, x = (rng.integers(length - 4 * side) for length in photograph.shape)
    patch = photograph[y : y + 4 * side : 4, x : x + 4 * side : 4]
    top, left = rng.integers(4, SIDE - side - 4, size=2)
    covered = face.copy()
    covered[top : top + side, left : left + side] = patch
    return covered


# Descriptors and distances ----------------------------------------------------------------------


def delighted(image: Array) -> Array:
    r"""Divide an image by its light (Gross and Brajovic 2003).

    The light L is smooth where contrast is low: it solves
    :math:`L_i + \lambda \sum_j (L_i - L_j) / \rho_{ij} = I_i` over neighbours j, with Weber's
    contrast :math:`\rho_{ij} = |I_i - I_j| / \min(I_i, I_j)`.
    """
    h, w = image.shape
    level = image.ravel() + 0.01  # black has no contrast to speak of
    at = np.arange(h * w).reshape(h, w)
    first = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    second = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    contrast = np.abs(level[first] - level[second]) / np.minimum(level[first], level[second])
    weight = _SMOOTHNESS / (contrast + 0.1)
    pairs = (np.concatenate([first, second]), np.concatenate([second, first]))
    joined = coo_array((np.concatenate([weight, weight]), pairs), shape=(h * w, h * w)).tocsr()
    matrix = diags_array(1.0 + joined.sum(axis=1)) - joined
    light = spsolve(matrix.tocsc(), level)
    return np.asarray((level / light).reshape(h, w))


def polar_patterns(image: Array) -> Array:
    """Count the ten rotation-invariant uniform patterns in 24 sectors x 4 rings, (24, 40)."""
    from skimage.feature import local_binary_pattern

    scaled = np.round(255.0 * image).astype(np.uint8)
    codes = local_binary_pattern(scaled, 8, 1, method="uniform").astype(np.int64)
    y, x = np.indices(image.shape) - (np.array(image.shape) - 1)[:, None, None] / 2
    far = np.hypot(y, x) / (image.shape[0] / 2)
    sector = (np.arctan2(y, x) / (2.0 * np.pi) % 1.0 * _SECTORS).astype(np.int64) % _SECTORS
    ring = (far * _RINGS).astype(np.int64)
    inside = ring < _RINGS
    cell = (sector * _RINGS + ring) * _PATTERNS + codes
    counts = np.bincount(cell[inside], minlength=_SECTORS * _RINGS * _PATTERNS)
    return counts.reshape(_SECTORS, -1)


def pattern_distances(patterns: Array) -> Array:
    """Least of 1 - sum(min) / sum(max) over all turns of the second image by a sector."""
    flat = patterns.reshape(len(patterns), -1).astype(np.float64)
    total = np.add.outer(flat.sum(axis=1), flat.sum(axis=1))
    least = np.full(total.shape, np.inf)
    for turn in range(_SECTORS):
        turned = np.roll(patterns, turn, axis=1).reshape(len(patterns), -1).astype(np.float64)
        np.minimum(least, cdist(flat, turned, "cityblock"), out=least)
    # The smaller and larger of two numbers are half their sum less and plus half their distance.
    found = 1.0 - (total - least) / (total + least)
    return np.minimum(found, found.T)


def trimmed_distances(rows: Array) -> Array:
    """Root of the sum of the least 80 % of the squared differences."""
    kept = int(_KEPT * rows.shape[1])
    X = rows.astype(np.float32)
    found = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        for begin in range(0, i, _BLOCK):
            squares = (X[begin : min(begin + _BLOCK, i)] - X[i]) ** 2
            least = np.partition(squares, kept - 1, axis=1)[:, :kept].sum(axis=1)
            found[i, begin : begin + len(least)] = np.sqrt(least)
    return found + found.T


def cosine_distances(rows: Array) -> Array:
    """1 - cos of the angle."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = np.maximum(1.0 - unit @ unit.T, 0.0)
    np.fill_diagonal(found, 0.0)
    return np.asarray(0.5 * (found + found.T))


def distances(drawn: Faces) -> dict[str, Array]:
    """Give the paper's four distances."""
    rows = drawn.images.reshape(len(drawn.images), -1)
    light = np.array([delighted(image).ravel() for image in drawn.images])
    return {
        "DeLight": cosine_distances(light),
        "LBP": pattern_distances(np.array([polar_patterns(image) for image in drawn.images])),
        "RsLTS": trimmed_distances(rows),
        "RsL2": cdist(rows, rows),
    }
