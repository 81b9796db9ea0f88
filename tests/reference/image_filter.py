"""Mean-shift filtering straight from its definition: pixel by pixel, over the whole image."""

import numpy as np


def converged(image, h_s, h_r, *, kernel="flat", truncate=3.0, max_iter=1000, tol=1e-3):
    """Modes of an (h, w, c) image in float64: values (h, w, c) and positions (h, w, 2)."""
    colours = np.asarray(image, dtype=np.float64)
    h, w, _ = colours.shape
    ys, xs = np.mgrid[:h, :w].astype(np.float64)
    values, positions = np.empty_like(colours), np.empty((h, w, 2))
    ends = 1.0 if kernel == "flat" else truncate
    for i in range(h):
        for j in range(w):
            x, y, c = float(j), float(i), colours[i, j]
            landmark = None  # the point after 1, 2, 4, 8, ... steps: back there is a circle
            for step in range(max_iter):
                far = ((colours - c) ** 2).sum(axis=2)
                weight = (np.abs(xs - x) <= ends * h_s) & (np.abs(ys - y) <= ends * h_s)
                weight = (weight & (far <= (ends * h_r) ** 2)).astype(np.float64)
                if kernel == "gaussian":
                    place = (xs - x) ** 2 + (ys - y) ** 2
                    weight *= np.exp(-place / (2 * h_s**2) - far / (2 * h_r**2))
                total = weight.sum()
                if total == 0.0:
                    break
                # Sums first, then the division: those of whole numbers are exact.
                to_x, to_y = (weight * xs).sum() / total, (weight * ys).sum() / total
                mean = (weight[..., None] * colours).sum(axis=(0, 1)) / total
                place = (to_x - x) ** 2 + (to_y - y) ** 2
                moved = place / h_s**2 + ((mean - c) ** 2).sum() / h_r**2
                x, y, c = to_x, to_y, mean
                if moved <= tol**2 or (x, y, *c) == landmark:
                    break
                if step & (step + 1) == 0:
                    landmark = (x, y, *c)
            values[i, j], positions[i, j] = c, (x, y)
    return values, positions


def opencv(image, sp, sr, *, max_iter=5, epsilon=1.0):
    """What OpenCV gives for level 0, in whole numbers: values (h, w, 3) and positions (h, w, 2)."""
    colours = np.asarray(image, dtype=np.int64)
    h, w, _ = colours.shape
    ys, xs = np.mgrid[:h, :w]
    radius = np.float32(max(sp, 1.0))
    limit = round(sr * sr)
    values, positions = np.empty_like(colours), np.empty((h, w, 2))
    for i in range(h):
        for j in range(w):
            x, y, c = j, i, colours[i, j]
            for _ in range(max_iter):
                near = ((colours - c) ** 2).sum(axis=2) <= limit
                for axis, at in ((xs, x), (ys, y)):
                    near &= (axis >= np.rint(np.float32(at) - radius)) & (
                        axis <= np.rint(np.float32(at) + radius)
                    )
                if not near.any():
                    break
                share = 1.0 / near.sum()
                to = [int(np.rint(axis[near].sum() * share)) for axis in (xs, ys)]
                mean = np.rint(colours[near].sum(axis=0) * share).astype(np.int64)
                moved = abs(to[0] - x) + abs(to[1] - y)
                stays = moved == 0 or moved + ((mean - c) ** 2).sum() <= epsilon
                (x, y), c = to, mean
                if stays:
                    break
            values[i, j], positions[i, j] = c, (x, y)
    return values, positions
