"""Scores of segmentations straight from their definitions: pair by pair, set by set."""

from itertools import combinations
from math import log2


def rand_index(segmentation, human):
    """Share of pairs of pixels on which both agree."""
    pixels = list(zip(segmentation.ravel().tolist(), human.ravel().tolist(), strict=True))
    pairs = list(combinations(pixels, 2))
    if not pairs:
        return 1.0
    return sum((a[0] == b[0]) == (a[1] == b[1]) for a, b in pairs) / len(pairs)


def regions(labels):
    found = {}
    for at, label in enumerate(labels.ravel().tolist()):
        found.setdefault(label, set()).add(at)
    return list(found.values())


def variation_of_information(segmentation, human):
    """H(S) + H(G) - 2 I(S, G), in bits."""
    own, theirs, n = regions(segmentation), regions(human), segmentation.size

    def entropy(sets):
        return -sum(len(s) / n * log2(len(s) / n) for s in sets)

    shared = 0.0
    for s in own:
        for g in theirs:
            both = len(s & g) / n
            if both:
                shared += both * log2(both / (len(s) / n * len(g) / n))
    return entropy(own) + entropy(theirs) - 2.0 * shared


def covering(segmentation, human):
    """Best overlap of each human region, by its size."""
    own = regions(segmentation)
    total = 0.0
    for g in regions(human):
        total += len(g) * max(len(g & s) / len(g | s) for s in own)
    return total / segmentation.size
