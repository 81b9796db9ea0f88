"""
Answers that contradict each other
==================================

People err. If *a* goes with *b* and *b* with *c*, then *a* and *c* cannot be apart. `Links` finds
every such contradiction, shows the chain of answers behind it, and names the fewest answers to
take back.
"""

import numpy as np
from matplotlib import pyplot as plt

from linkshift import ConflictError, ConstrainedMeanShift, Links, plot

random = np.random.default_rng(0)
X = np.vstack([random.normal(centre, 0.5, (6, 2)) for centre in ([0, 0], [4, 0], [2, 3])])
links = Links(
    must=[(0, 1), (1, 2), (2, 3), (3, 4), (6, 7), (7, 8), (12, 13), (4, 9)],
    cannot=[(0, 6), (0, 12), (6, 12), (1, 8), (3, 9)],
    must_confidence=[1, 1, 1, 1, 1, 1, 1, 0.6],
    cannot_confidence=[1, 1, 1, 1, 0.9],
)
conflicts = links.conflicts()
print(conflicts)

# %%
# Methods refuse links that contradict each other and are certain. Here two are not: they may stay,
# and are weighed. Made certain, they are refused.

certain = Links(must=links.must, cannot=links.cannot)
try:
    ConstrainedMeanShift().fit(X, links=certain)
except ConflictError as error:
    print(str(error).splitlines()[0])

# %%
# Without the answer that the doctor names, the rest agrees.

mended = conflicts.resolve()
model = ConstrainedMeanShift().fit(X, links=mended)

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
groups = np.repeat(range(3), 6)
plot.clusters(X, groups, links=links, ax=axes[0], title="All answers", legend=False, size=60)
plot.clusters(
    X, model.labels_, links=mended, ax=axes[1], title="One answer fewer", legend=False, size=60
)
for row, (x, y) in enumerate(X):
    axes[0].annotate(str(row), (x, y), xytext=(5, 5), textcoords="offset points", fontsize=8)
