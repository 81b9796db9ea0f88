"""
Lines and circles: what links say about all points
==================================================

Kernel mean shift takes from its space whatever makes must-linked points differ, for all points at
once. A link from end to end of one line says that the place along a line does not matter; its
parallel line profits as well.
"""

import numpy as np
from matplotlib import pyplot as plt

from linkshift import KernelMeanShift, Links, plot
from linkshift.datasets import make_circles, make_lines

X, y = make_lines(random_state=0)
links = Links(must=[(3, 36), (83, 116), (163, 196)])  # one line of each direction
without = KernelMeanShift(sigma=5).fit(X)
projected = KernelMeanShift(sigma=5).fit(X, links=links)

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
plot.clusters(X, without.labels_, ax=axes[0], title="No links", legend=False)
plot.clusters(X, projected.labels_, links=links, ax=axes[1], title="Three links", legend=False)

# %%
# Five circles among outliers. Four links between five points around the middle circle say that the
# angle does not matter. Outliers are drawn but have no class to find.

X, y = make_circles(random_state=0)
rows = np.flatnonzero(y == 2)
angle = np.arctan2(X[rows, 1], X[rows, 0])
wanted = 2 * np.pi * np.arange(5) / 5
five = [rows[np.argmin(np.abs(np.angle(np.exp(1j * (angle - a)))))] for a in wanted]
links = Links(must=[(five[0], other) for other in five[1:]])

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
without = KernelMeanShift(sigma=20, n_neighbors=15).fit(X)
projected = KernelMeanShift(sigma=20, n_neighbors=15).fit(X, links=links)
plot.clusters(X, without.labels_, ax=axes[0], title="No links", legend=False)
plot.clusters(X, projected.labels_, links=links, ax=axes[1], title="Four links", legend=False)
