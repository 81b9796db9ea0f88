"""
Which pair to ask next
======================

Links come from answers, and answers cost patience. A `Session` asks for the pair that decides most;
here it is beside pairs drawn at random, which `cluster` takes as links, for as many answers, all
right. Without any answer the two differ, too: one goes by its belief, the other by a consensus.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import linkshift
from linkshift import Links, Session, plot
from linkshift.datasets import make_shapes

COUNTS = (0, 5, 10, 20, 30, 40)


scores: dict[str, list[list[float]]] = {"a session asks": [], "any two rows": []}
for draw in range(3):
    X, y = make_shapes(400, random_state=draw)
    X = StandardScaler().fit_transform(X)

    session, line = Session(X), []
    for count in range(COUNTS[-1] + 1):
        if count in COUNTS:
            line.append(adjusted_rand_score(y, session.labels_))
        question = session.ask()
        if question is not None:  # else all is known
            session.answer("same" if y[question.a] == y[question.b] else "different")
    scores["a session asks"].append(line)

    rng, line = np.random.default_rng(draw), []
    pairs = np.array([rng.choice(len(X), 2, replace=False) for _ in range(COUNTS[-1])])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    for count in COUNTS:
        first = np.arange(len(pairs)) < count
        links = Links(must=pairs[first & same], cannot=pairs[first & ~same], n_samples=len(X))
        line.append(adjusted_rand_score(y, linkshift.cluster(X, links).labels))
    scores["any two rows"].append(line)

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for (name, lines), colour in zip(scores.items(), plot.PALETTE, strict=False):
    ax.plot(COUNTS, np.mean(lines, axis=0), marker="o", color=colour, label=name)
    ax.plot(COUNTS, np.transpose(lines), color=colour, alpha=0.3, linewidth=1)
ax.set(
    xlabel="questions", ylabel="adjusted Rand index", title="Five shapes, three draws, their mean"
)
ax.legend(frameon=False)

# %%
# What a session asks first, why, and what it believes the clusters to be worth in the end: pairs
# drawn at random are among its questions from the eleventh on, to measure that.

session = Session(X)
for number in range(40):
    question = session.ask()
    if number < 3:
        print(question.why)
    session.answer("same" if y[question.a] == y[question.b] else "different")
print(session.progress())
print(session.estimate())
print(f"true ARI {adjusted_rand_score(y, session.labels_):.2f}")

# %%
# The links that its answers are, over the clusters. They are fewer than the answers, some of which
# confirm another.

plot.clusters(X, session.labels_, links=session.links, title="40 answers")
