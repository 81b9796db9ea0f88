"""A stacked denoising autoencoder as printed: one value at a time, derivatives by hand, float64."""

from itertools import pairwise

import numpy as np


def code(row, weights, biases):
    """The code of one row, sum by sum."""
    depth = len(weights) // 2
    values = list(row)
    for layer in range(depth):
        W, b = weights[layer], biases[layer]
        sums = [
            sum(values[i] * W[i, j] for i in range(W.shape[0])) + b[j] for j in range(W.shape[1])
        ]
        values = sums if layer == depth - 1 else [max(0.0, s) for s in sums]
    return np.array(values, dtype=float)


def first_layers(sizes, seed):
    """Weights and biases before training: normal numbers, of spread 0.01."""
    rng = np.random.default_rng([seed, 0])
    wide = [*sizes, *reversed(sizes[:-1])]
    layers = []
    for a, b in pairwise(wide):
        W = np.float32(0.01) * rng.standard_normal((a, b), dtype=np.float32)
        layers.append([W.astype(float), None])
        layers[-1][1] = (np.float32(0.01) * rng.standard_normal(b, dtype=np.float32)).astype(float)
    return layers


def trained(data, sizes, *, noise, layer_steps, steps, batch_size, learning_rate, seed):
    """Layers [W, b] after all stages, and the loss at each step of each."""
    depth = len(sizes) - 1
    layers = first_layers(sizes, seed)
    linear = {depth - 1, 2 * depth - 1}
    losses = []
    for stage in range(depth + 1):
        rows = np.asarray(data, dtype=float)
        whole = stage == depth
        if whole:
            chosen, n_steps = list(range(2 * depth)), steps
        else:
            chosen, n_steps = [stage, 2 * depth - 1 - stage], layer_steps
            for W, b in layers[:stage]:
                rows = np.maximum(rows @ W + b, 0)
        moments = {(k, part): (0.0, 0.0) for k in chosen for part in (0, 1)}
        per_epoch = -(-len(rows) // batch_size)
        losses.append([])
        for step in range(n_steps):
            epoch, place = divmod(step, per_epoch)
            order = np.random.default_rng([seed, 1, stage, epoch]).permutation(len(rows))
            clean = rows[order[place * batch_size : (place + 1) * batch_size]]
            shapes = clean.shape, (len(clean), layers[chosen[0]][0].shape[1])
            factors = [
                dropout(0 if whole else noise, shape, [seed, 2, stage, step, side])
                for side, shape in enumerate(shapes)
            ]
            loss, slopes = _slopes(clean, layers, chosen, linear, factors)
            losses[-1].append(loss)
            for key, slope in slopes.items():
                first, second = moments[key]
                first = 0.9 * first + 0.1 * slope
                second = 0.999 * second + 0.001 * slope**2
                moments[key] = first, second
                mean = first / (1 - 0.9 ** (step + 1))
                square = second / (1 - 0.999 ** (step + 1))
                layer, part = key
                layers[layer][part] -= learning_rate * mean / (np.sqrt(square) + 1e-8)
    return layers, losses


def dropout(noise, shape, seed):
    """Factors: zero for values that are left out, more than one for the others."""
    if noise == 0:
        return np.ones(shape)
    drawn = np.random.default_rng(seed).random(shape, dtype=np.float32)
    return np.where(drawn >= noise, 1 / (1 - noise), 0.0)


def _slopes(clean, layers, chosen, linear, factors):
    """The loss of a batch, and its derivatives by weights (0) and biases (1) of chosen layers."""
    inputs, outputs, masks = [], [], []
    h = clean * factors[0]
    for place, k in enumerate(chosen):
        inputs.append(h)
        out = h @ layers[k][0] + layers[k][1]
        if k not in linear:
            out = np.maximum(out, 0)
        outputs.append(out)
        masks.append(factors[1] if place == 0 else np.ones(out.shape))
        h = out * masks[-1]
    loss = ((h - clean) ** 2).mean()
    back = 2 * (h - clean) / clean.size
    slopes = {}
    for place in reversed(range(len(chosen))):
        k = chosen[place]
        back = back * masks[place]
        if k not in linear:
            back = back * (outputs[place] > 0)
        slopes[k, 0], slopes[k, 1] = inputs[place].T @ back, back.sum(axis=0)
        back = back @ layers[k][0].T
    return loss, slopes
