"""Texture straight from its definition: 24 kernels of two dimensions, summed out."""

import numpy as np


def correlate(image, kernel):
    """Sum over the kernel; beyond its frame the image goes on as it ends there."""
    reach = kernel.shape[0] // 2
    h, w = image.shape
    padded = np.pad(image, reach, mode="edge")
    found = np.zeros((h, w))
    for i, j in np.ndindex(kernel.shape):
        found += kernel[i, j] * padded[i : i + h, j : j + w]
    return found


def gaussian(scale):
    """Offsets and weights that sum to one, to four scales."""
    reach = int(4.0 * scale + 0.5)
    x = np.arange(-reach, reach + 1)
    weight = np.exp(-(x**2) / (2.0 * scale**2))
    return x, weight / weight.sum()


def texture(lightness):
    """Responses of the bank: scales 1 and 2, first then second derivatives, six directions."""
    columns = []
    _, smooth = gaussian(4.0)
    for scale in (1.0, 2.0):
        x, weight = gaussian(scale)
        bell = np.outer(weight, weight)
        for order in (1, 2):
            for k in range(6):
                along = np.cos(np.pi * k / 6) * x[None, :] + np.sin(np.pi * k / 6) * x[:, None]
                if order == 1:
                    kernel = scale * (-along / scale**2) * bell
                else:
                    kernel = scale**2 * (along**2 / scale**4 - 1.0 / scale**2) * bell
                response = correlate(lightness, kernel)
                columns.append(np.sqrt(correlate(response**2, np.outer(smooth, smooth))))
    return np.stack(columns, axis=-1)
