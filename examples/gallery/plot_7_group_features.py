"""
Clusters that choose their own features
=======================================

Six clusters in three views. Each is dense in one view and spread out in the other two, so that no
view shows them all. `GroupFeatureClustering` gives every cluster a classifier of its own, and
tells which views it went by.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from linkshift import GroupFeatureClustering, plot

random = np.random.default_rng(0)
y = np.repeat(range(6), 30)
views = {}
for number, name in enumerate(("shape", "colour", "texture")):
    views[name] = random.normal(scale=2.0, size=(180, 5))
    for cluster in (2 * number, 2 * number + 1):
        place = random.normal(scale=1.25, size=5)  # amidst all others
        views[name][y == cluster] = random.normal(place, 0.3, (30, 5))

model = GroupFeatureClustering(6, n_init=8, random_state=0).fit(views)

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (name, view) in zip(axes, views.items(), strict=True):
    plot.clusters(view, model.labels_, ax=ax, title=f"View: {name}", legend=False)

# %%
# Each cluster goes by the view in which it is dense.

plot.view_importances(model)

# %%
# k-means of all columns together, told the same number, for comparison.

everything = np.hstack(list(views.values()))
kmeans = KMeans(6, n_init=10, random_state=0).fit(everything)
print(f"group features: ARI {adjusted_rand_score(y, model.labels_):.2f}")
print(f"k-means:        ARI {adjusted_rand_score(y, kmeans.labels_):.2f}")
