"""
Learn how to measure, then cluster
==================================

Three classes differ in one direction and vary more in others. Mean shift under the plain distance
sees the large variation. From a few labels, `MetricMeanShift` learns which directions count, and
clusters all rows under that metric.
"""

import numpy as np
from matplotlib import pyplot as plt

from linkshift import MeanShift, MetricMeanShift, plot
from linkshift.metrics import labelled_score

random = np.random.default_rng(0)
y = np.repeat(range(3), 100)
X = np.column_stack([random.uniform(-6, 6, 300), 1.5 * y + random.normal(scale=0.25, size=300)])
X = X @ np.array([[np.cos(0.5), np.sin(0.5)], [-np.sin(0.5), np.cos(0.5)]])
X = np.hstack([X, random.normal(scale=2, size=(300, 2))])  # two columns of noise

labelled = np.arange(300) % 10 == 0  # every tenth row has a label
known = np.where(labelled, y, -1)
plain = MeanShift().fit(X)
model = MetricMeanShift(n_neighbors=40, random_state=0).fit(X, partial_labels=known)

# %%
# The metric draws the points together along the classes and ignores the noise: in its coordinates
# they are three groups. Below, the first two columns, and the same rows as the metric sees them.

figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
plot.clusters(X[:, :2], plain.labels_, ax=axes[0], title="Plain mean shift", legend=False)
plot.clusters(X[:, :2], model.labels_, ax=axes[1], title="Learned metric", legend=False)
seen = model.metric_.transform(X)
plot.clusters(seen, model.labels_, ax=axes[2], title="As the metric sees it", legend=False)

# %%
# Clusters take the name of their labelled members; errors are counted on the other rows.

for name, found in (("plain", plain), ("learned", model)):
    score = labelled_score(y, found.labels_, labelled)
    print(f"{name}: {found.n_clusters_} clusters, {100 * score.error:.1f} % errors")
