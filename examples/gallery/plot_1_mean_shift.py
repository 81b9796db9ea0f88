"""
Mean shift: every point climbs to a mode
========================================

Mean shift moves each point to the mean of the points around it, again and again, until it stands
still on a mode of the density. Points with the same mode form a cluster; nobody says how many.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs

from linkshift import MeanShift, plot

X, _ = make_blobs(300, centers=[[0, 0], [4, 1], [1.5, 4]], cluster_std=0.8, random_state=0)
model = MeanShift(kernel="gaussian", keep_paths=True).fit(X)

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
plot.paths(X, model.paths_, labels=model.labels_, ax=axes[0], title="The way of each point")
plot.clusters(
    X, model.labels_, modes=model.cluster_centers_, ax=axes[1], title="Clusters and their modes"
)

# %%
# How many clusters there are follows from the bandwidth: how far a point looks. The default comes
# from the data.

print(f"bandwidth {model.bandwidth_:.2f}: {model.n_clusters_} clusters")
for bandwidth in (0.3, 0.6, 1.2, 2.4):
    found = MeanShift(kernel="gaussian", bandwidth=bandwidth, max_iter=1000).fit(X)
    print(f"bandwidth {bandwidth:.2f}: {found.n_clusters_} clusters")

# %%
# New points climb the same density and take the cluster of the mode that they reach.

print(model.predict([[0.5, 0.5], [2.0, 3.0]]))
