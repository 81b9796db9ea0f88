"""
Why is this row in that cluster?
================================

`explain` tells the way of a row to its mode, the links that act on it, and what would happen
without each of them: the model is fitted again and the difference told.
"""

import tempfile
from pathlib import Path

from linkshift import ConstrainedMeanShift, Links, model_files, plot
from linkshift.datasets import make_moons

X, y = make_moons(300, random_state=0)
links = Links(must=[(143, 184)], cannot=[(149, 184)])  # both ends of a moon; one end of each
model = ConstrainedMeanShift().fit(X, links=links)
explanation = model.explain(143)
print(explanation)

# %%
# The path of the row, over the clusters and links.

plot.explanation(explanation, X, labels=model.labels_)

# %%
# A model goes into a file without pickle, and gives the same labels in another process.

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "model.npz"
    model_files.save(model, file)
    again = model_files.load(file)
print((again.predict(X) == model.predict(X)).all())
print(explanation.to_dict()["label"])
