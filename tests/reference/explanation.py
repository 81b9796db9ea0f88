"""Explanations, word for word: loops over samples and pairs, and sets of rows.

Slow and plain. The share is that of
``linkshift.explain.link_shares``; positions are one for each row.
"""

from __future__ import annotations

import numpy as np


def share_taken(i, pairs, confidence, centres, samples, h, *, profile, scale, floor):
    """Share of the weight around the centre of row i that some cannot-linked pairs take."""
    total = left = 0.0
    for j in range(len(samples)):
        weight = 1.0
        for (x, y), c in zip(pairs, confidence, strict=True):
            h_c = max(floor, min(h, scale * np.linalg.norm(centres[x] - centres[y])))
            for one, other in ((x, y), (y, x)):
                near_i = profile(np.sum((centres[one] - centres[i]) ** 2) / h_c**2)
                near_j = profile(np.sum((centres[other] - centres[j]) ** 2) / h_c**2)
                weight *= 1.0 - c * near_i * near_j
        k = profile(np.sum((samples[j] - centres[i]) ** 2) / h**2)
        total += k
        left += k * weight
    return 1.0 - left / total if total > 0 else 0.0


def must_components(must, n):
    """Sets of rows that must-links connect, one for each row."""
    component = [{i} for i in range(n)]
    for a, b in must:
        joined = component[a] | component[b]
        for row in joined:
            component[row] = joined
    return component


def pairs_of_link(link, must, n):
    """Pairs of rows that must-links carry a cannot-link to."""
    component = must_components(must, n)
    return [(x, y) for x in sorted(component[link[0]]) for y in sorted(component[link[1]])]


def where_it_goes(row, now, then):
    """Outcome and clusters, from sets of rows; as ``where_it_goes`` says."""
    rows = [i for i in range(len(now)) if i != row]
    if then[row] == -1:
        return ("stays", {-1}) if now[row] == -1 else ("noise", set())
    company = {i for i in rows if then[i] == then[row]}
    if not company:
        alone = now[row] != -1 and all(now[i] != now[row] for i in rows)
        return ("stays", {now[row]}) if alone else ("alone", set())
    old = {c: {i for i in rows if now[i] == c} for c in {now[i] for i in rows} - {-1}}
    new = {c: {i for i in rows if then[i] == c} for c in {then[i] for i in rows} - {-1}}
    heirs = [
        c
        for c, members in old.items()
        if members & company
        and len(members & company) == max(len(members & other) for other in new.values())
    ]
    if not heirs:
        best = max((len(members & company) for members in old.values()), default=0)
        return "new", {min(c for c in old if len(old[c] & company) == best)} if best else set()
    most = max(len(old[c] & company) for c in heirs)
    equal = [c for c in heirs if len(old[c] & company) == most]
    main = now[row] if now[row] in equal else min(equal)
    merged = {main} | {c for c in heirs if 2 * len(old[c] & company) > len(old[c])}
    if len(merged) > 1:
        return "merged", merged
    return ("stays" if main == now[row] else "joins"), merged
