"""Sessions for the laws: small data of three kinds, random logs, and all that can be seen."""

import numpy as np
from hypothesis import strategies as st
from tests.helpers import blobs
from tests.reference import active as twin

from linkshift import Links, Session

MOST = 26  # rows that are looked at
KINDS = {"plain": 26, "twice": 26, "rounded": 24, "many": 44}
WORDS = ("same", "different", "unknown")

kinds = st.sampled_from(sorted(KINDS))


def data(kind):
    """Rows of three clusters and their classes.

    Plain ones, each twice, rounded so that heaps of rows are equal, or more than are looked at.
    """
    n = KINDS[kind]
    X, y = blobs(n, 2, seed=4)
    if kind == "twice":
        X[n // 2 :], y[n // 2 :] = X[: n // 2], y[: n // 2]
    return (np.round(X / 2) if kind == "rounded" else X), y


def closed(session):
    """What follows from the links of a session, by the literal twin."""
    links, n = session.links, len(session.labels_)
    told = [(*pair, True) for pair in links.must.tolist()]
    return twin.closure(told + [(*pair, False) for pair in links.cannot.tolist()], n)


def answers(words=WORDS, sure=(1.0, 1.0, 0.9, 0.4), most=12):
    """Answers to random pairs; rows are taken modulo the number of rows."""
    row = st.integers(0, 10**4)
    return st.lists(
        st.tuples(row, row, st.sampled_from(words), st.sampled_from(sure)), max_size=most
    )


def pairs_of(kind, some):
    """Answers to pairs of two different rows."""
    n = KINDS[kind]
    found = [(a % n, b % n, word, sure) for a, b, word, sure in some]
    return [one for one in found if one[0] != one[1]]


def links_of(kind, some):
    """Take answers for links."""
    kept = {(min(a, b), max(a, b)): (word, sure) for a, b, word, sure in pairs_of(kind, some)}
    must = {pair: sure for pair, (word, sure) in kept.items() if word == "same"}
    cannot = {pair: sure for pair, (word, sure) in kept.items() if word == "different"}
    return Links(
        list(must) or None,
        list(cannot) or None,
        must_confidence=list(must.values()) or None,
        cannot_confidence=list(cannot.values()) or None,
    )


def begin(kind, links=None, log=(), **more):
    """Begin a session; ``log`` has answers by hand, or entries of another session's log."""
    session = Session(data(kind)[0], links, **{"n_jobs": 1, **more})
    for one in log:
        if isinstance(one, dict):
            session.answer(
                one["word"], one["confidence"], pair=(one["a"], one["b"]), purpose=one["purpose"]
            )
        else:
            a, b, word, sure = one
            session.answer(word, sure, pair=(a, b))
    return session


def ask_on(session, y, n):
    """Answer questions by the classes, every fifth with unknown and every seventh wrongly."""
    for i in range(n):
        question = session.ask()
        if question is None:
            break
        same = bool(y[question.a] == y[question.b])
        session.answer(None if i % 5 == 4 else same != (i % 7 == 6))
    return session


def all_of(session):
    """All that a session says, to be compared to the bit."""
    n = len(session.labels_)
    pairs = [(0, n - 1), (1, n // 2), (2 % n, 3 % n), (n // 3, n - 2)]
    return {
        "labels": session.labels_.tolist(),
        "clusters": session.n_clusters_,
        "links": session.links,
        "log": session.log,
        "changed": session.changed.tolist(),
        "probability": [session.probability(a, b) for a, b in pairs],
        "batch": session.ask(3),
        "question": session.ask(),
        "estimate": session.estimate(),
        "progress": session.progress(),
        "contradictions": session.contradictions(),
    }
