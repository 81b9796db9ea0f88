"""
Links bend mean shift
=====================

Two moons, a wide blob and two small ones at its edge: no single bandwidth suits all of them. Sixty
answers of the kind "same" or "different" are enough for constrained mean shift to find the five.
"""

from matplotlib import pyplot as plt
from sklearn.metrics import adjusted_rand_score

from linkshift import ConstrainedMeanShift, Links, MeanShift, plot
from linkshift.datasets import make_shapes

X, y = make_shapes(random_state=0)
links = Links.sample(y, 60, random_state=0)

without = MeanShift().fit(X)
model = ConstrainedMeanShift(keep_history=True).fit(X, links=links)
for name, found in (("without links", without), ("with 60 links", model)):
    score = adjusted_rand_score(y, found.labels_)
    print(f"{name}: {found.n_clusters_} clusters, adjusted Rand index {score:.2f}")
print(model.link_report_)

figure, axes = plt.subplots(2, 1, figsize=(8, 6.4), layout="constrained")
plot.clusters(X, without.labels_, ax=axes[0], title="Mean shift, no links", legend=False)
plot.clusters(
    X, model.labels_, links=links, ax=axes[1], title="Constrained mean shift", legend=False
)

# %%
# What happens on the way: the bandwidth grows from step to step, centres gather, and those on
# either side of a cannot-link stay apart.

steps = [0, len(model.history_) // 4, len(model.history_) // 2, -1]
figure, axes = plt.subplots(2, 2, figsize=(9, 5.2), layout="constrained")
for ax, step in zip(axes.flat, steps, strict=True):
    title = f"Centres after {step} steps" if step >= 0 else "Centres at the end"
    plot.clusters(model.history_[step], model.labels_, ax=ax, title=title, legend=False)
    ax.set(xlim=(-1.5, 5.2), ylim=(-1.4, 1.8), aspect="equal", adjustable="box")
