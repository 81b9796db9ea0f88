"""
A path of bandwidths
====================

How many clusters are there? `bandwidth_path` answers for a whole range of bandwidths in one sweep:
the number of clusters at each, how long a clustering stays the same, and which links it breaks.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs

from linkshift import Links, bandwidth_path, plot

centres = [[0, 0], [2.4, 0], [8, 0], [8, 2.4], [4, 8]]
X, y = make_blobs(300, centers=centres, cluster_std=0.6, random_state=0)
path = bandwidth_path(X)
plot.bandwidth_path(path)

# %%
# Two answers are plausible here, five small groups or three large ones, and stability alone has to
# choose. A few links say which is meant: first that the near groups are apart, then that they are
# one.

apart = Links.sample(y, 30, random_state=0)
together = Links.sample([0 if c < 2 else 1 if c < 4 else 2 for c in y], 30, random_state=0)

figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
level = path.best(by="stability")
title = f"By stability: h = {path.bandwidths[level]:.2f}"
plot.clusters(X, path.labels(level), ax=axes[0], title=title, legend=False)
for ax, name, links in zip(axes[1:], ("five", "three"), (apart, together), strict=True):
    path = bandwidth_path(X, links)
    level = path.best(by="links")
    title = f"Links of {name} groups: h = {path.bandwidths[level]:.2f}"
    plot.clusters(X, path.labels(level), links=links, ax=ax, title=title, legend=False)
    print(name, path.n_clusters[level], "clusters,", path.link_support[level], "of the links kept")
