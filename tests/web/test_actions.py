"""Actions: what is wanted comes of the answers that they would write, and these are few."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine, make_moons

from linkshift import Session
from linkshift._core.messages import Refusal
from linkshift.active.prepared import labels_with, links_in_force, looked_at
from linkshift.web.actions import Standing, join, merge, name, out, planned, split, split_by
from linkshift.web.heart import exemplars_of


def iris():
    X, y = load_iris(return_X_y=True)
    return X / X.std(axis=0), y


def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def moons():
    return make_moons(160, noise=0.08, random_state=0)


def heaps():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 40)
    return rng.normal(size=(5, 8))[y] * 4 + rng.normal(size=(200, 8)), y


SETS = {"iris": iris, "wine": wine, "moons": moons, "heaps": heaps}
cases = pytest.mark.parametrize("kind", SETS)
asked = pytest.mark.parametrize("n", [0, 25])


def begun(kind, n):
    X, y = SETS[kind]()
    return Session(X, n_jobs=1).run(lambda a, b: y[a] == y[b], n)


def standing(session, **more):
    labels, among = session.labels_ * 2 + 1, looked_at(session)  # numbers with gaps
    return Standing(
        session._X,
        labels,
        exemplars_of(session._X, labels, among),
        links_in_force(session),
        among,
        lambda links: labels_with(session, links),
        **more,
    )


def done(session, plan):
    """Answer as planned, and give the labels."""
    assert len(plan.links) <= 10
    assert len({frozenset(one[:2]) for one in plan.links}) == len(plan.links)
    for a, b, word in plan.links:
        session.answer(word, pair=(a, b))
    return session.labels_


def largest(stands):
    clusters, size = np.unique(stands.labels, return_counts=True)
    return clusters[np.argsort(-size, kind="stable")].tolist()


def halves(stands, k):
    """Rows of a cluster on either side of its middle, along its longest axis."""
    rows = stands.rows(k)
    Z = stands.X[rows] - stands.X[rows].mean(axis=0)
    side = Z @ np.linalg.svd(Z, full_matrices=False)[2][0] > 0
    return rows[side], rows[~side]


# Merge --------------------------------------------------------------------------------------------


@cases
@asked
def test_merged_clusters_are_one(kind, n):
    session = begun(kind, n)
    stands = standing(session)
    clusters = largest(stands)[:2]
    if len(clusters) < 2:
        pytest.skip("there is one cluster")
    rows = np.isin(stands.labels, clusters)
    now = done(session, merge(stands, clusters))
    assert (now[rows] == np.bincount(now[rows]).argmax()).mean() >= 0.95
    assert session.contradictions() == []


def test_answers_that_hold_clusters_apart_are_given_anew():
    session = Session(heaps()[0], n_jobs=1)
    session.different(3, 44)
    session.different(5, 46)
    stands = standing(session)
    clusters = [int(stands.labels[3]), int(stands.labels[44])]
    plan = merge(stands, clusters)
    assert {(3, 44, "same"), (5, 46, "same")} <= set(plan.links)
    assert plan.note == "(3, 44) and (5, 46) were different before; this takes the place of them."
    now = done(session, plan)
    assert now[3] == now[44] == now[5] == now[46]
    assert session.contradictions() == []


def test_chain_of_answers_against_a_merge_is_told():
    session = Session(heaps()[0], n_jobs=1)
    stands = standing(session)
    one, other = (stands.exemplars[int(stands.labels[row])][0] for row in (0, 40))
    session.same(one, 170)  # 170 is of a third heap, and stands between both
    session.different(170, other)
    links = links_in_force(session)
    stands = Standing(stands.X, stands.labels, stands.exemplars, links, stands.among)
    plan = merge(stands, [int(stands.labels[0]), int(stands.labels[40])])
    assert plan.links == ((one, other, "same"),)
    assert plan.note == (
        f"Answers say the opposite of ({one}, {other}): ({one}, 170) same; "
        f"(170, {other}) different. The least probable gives way."
    )


def test_merge_that_is_known_writes_nothing():
    session = Session(heaps()[0], n_jobs=1)
    stands = standing(session)
    hearts = [stands.exemplars[int(stands.labels[row])][0] for row in (0, 40)]
    links = [(*hearts, "same")]
    known = Standing(stands.X, stands.labels, stands.exemplars, links, stands.among)
    plan = merge(known, [int(stands.labels[0]), int(stands.labels[40])])
    assert plan.links == ()
    assert plan.text.startswith("Nothing to write")


def test_three_clusters_are_a_chain():
    stands = standing(Session(heaps()[0], n_jobs=1))
    clusters = largest(stands)[:3]
    plain = Standing(stands.X, stands.labels, stands.exemplars, [], stands.among)
    a, b, c = (stands.exemplars[k][0] for k in clusters)
    plan = merge(plain, [*clusters, clusters[0]])
    assert plan.links == ((a, b, "same"), (b, c, "same"))
    assert plan.text == (
        f"Writes 2 answers, so that cluster {clusters[0]}, cluster {clusters[1]} and cluster "
        f"{clusters[2]} become one: ({a}, {b}) and ({b}, {c}) are same."
    )


# Split --------------------------------------------------------------------------------------------


@cases
@asked
def test_rows_that_were_chosen_part_from_the_others(kind, n):
    session = begun(kind, n)
    stands = standing(session)
    some, rest = halves(stands, largest(stands)[0])
    plan = split(stands, some.tolist())
    crossing = stands.between(some, rest, "same")
    now = done(session, plan)
    tops = [np.bincount(now[rows]).argmax() for rows in (some, rest)]
    if len(crossing) <= 8:
        assert tops[0] != tops[1]
    if not (plan.note and "may" in plan.note):
        assert (now[some] == tops[0]).mean() >= 0.95
        assert (now[rest] == tops[1]).mean() >= 0.95


def test_two_heaps_in_one_cluster_are_split_with_few_answers():
    X, y = heaps()
    session = Session(X, n_jobs=1)
    session.same(*(int(np.flatnonzero(y == k)[0]) for k in (0, 1)))
    stands = standing(session)
    assert stands.labels[0] == stands.labels[40]
    plan = split(stands, range(40))
    assert plan.links[0] == (0, 40, "different")  # in the place of what was said
    assert len(plan.links) <= 4
    now = done(session, plan)
    assert len(set(now[:40])) == 1 == len(set(now[40:80]))
    assert now[0] != now[40]


def test_rows_of_other_clusters_are_left_out_and_that_is_told():
    session = Session(heaps()[0], n_jobs=1)
    stands = standing(session)
    plan = split(stands, [0, 1, 2, 3, 4, 41])
    assert "1 chosen row of other clusters left out." in plan.note
    assert all(41 not in link[:2] for link in plan.links)


@cases
def test_two_exemplars_split_their_cluster(kind):
    session = begun(kind, 10)
    stands = standing(session)
    one, other = stands.exemplars[largest(stands)[0]][:2]
    plan = split_by(stands, one, other)
    now = done(session, plan)
    assert now[one] != now[other]


# A row --------------------------------------------------------------------------------------------


@cases
@asked
def test_row_is_out(kind, n):
    session = begun(kind, n)
    stands = standing(session)
    k = largest(stands)[0]
    for row in (int(stands.rows(k)[-1]), stands.exemplars[k][0]):
        others = [one for one in stands.exemplars[k] if one != row]
        before = len(session.log)
        now = done(session, out(stands, row))
        assert now[row] != now[others[0]]
        while len(session.log) > before:
            session.undo()


def test_links_of_the_row_that_is_taken_out_are_told():
    session = Session(heaps()[0], n_jobs=1)
    session.same(7, 3, 9)
    plan = out(standing(session, called="r{}".format), 3)
    assert {(7, 3, "different"), (3, 9, "different")} <= set(plan.links)
    assert "(r7, r3) and (r3, r9) were same before" in plan.note
    now = done(session, plan)
    assert now[3] not in {now[7], now[9]}


@cases
@asked
def test_row_joins_another_cluster(kind, n):
    session = begun(kind, n)
    stands = standing(session)
    clusters = largest(stands)
    if len(clusters) < 2:
        pytest.skip("there is one cluster")
    row = int(stands.rows(clusters[0])[-1])
    now = done(session, join(stands, row, clusters[1]))
    assert now[row] == now[stands.exemplars[clusters[1]][0]]


def test_row_that_was_held_apart_joins_all_the_same():
    session = Session(heaps()[0], n_jobs=1)
    session.different(0, 44)
    session.same(0, 3)
    stands = standing(session)
    plan = join(stands, 0, int(stands.labels[44]))
    assert {(0, 44, "same"), (0, 3, "different")} <= set(plan.links)
    now = done(session, plan)
    assert now[0] == now[44] != now[3]


# Names and all ------------------------------------------------------------------------------------


def test_name_holds_what_stands_for_the_cluster():
    session = Session(heaps()[0], n_jobs=1)
    stands = standing(session)
    k = largest(stands)[0]
    plan = name(stands, k)
    assert len(plan.links) == len(stands.exemplars[k]) - 1
    done(session, plan)
    again = name(Standing(stands.X, stands.labels, stands.exemplars, links_in_force(session),
                          stands.among), k)  # fmt: skip
    assert again.links == ()


def test_actions_by_name_are_the_same():
    stands = standing(Session(heaps()[0], n_jobs=1))
    one, other = largest(stands)[:2]
    row = int(stands.rows(one)[0])
    pair = stands.exemplars[one][:2]
    rows = stands.rows(one)[:9].tolist()
    for do, about, plan in (
        ("merge", {"clusters": [one, other]}, merge(stands, [one, other])),
        ("out", {"row": row}, out(stands, row)),
        ("join", {"row": row, "cluster": other}, join(stands, row, other)),
        ("split", {"rows": rows}, split(stands, rows)),
        ("split", {"exemplars": pair}, split_by(stands, *pair)),
        ("name", {"cluster": one, "name": "x"}, name(stands, one)),
    ):
        assert planned(stands, do, about) == plan
        found = plan.to_dict()
        assert [(x["a"], x["b"], x["word"]) for x in found["links"]] == list(plan.links)


@pytest.mark.parametrize(
    ("do", "about"),
    [
        ("merge", {"clusters": [1]}), ("merge", {"clusters": [1, 1]}), ("merge", {}),
        ("merge", {"clusters": [1, 2]}), ("out", {"row": 999}), ("out", {"row": "3"}),
        ("out", {"row": True}), ("split", {"rows": []}), ("split", {"rows": [-1]}),
        ("split", {"rows": [999]}), ("split", {"exemplars": [0, 0]}),
        ("split", {"exemplars": [0, 199]}), ("join", {"row": 0, "cluster": 1}),
        ("join", {"row": 0, "cluster": 77}), ("name", {"cluster": 2}), ("burn", {"row": 1}),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(do, about):
    stands = standing(Session(heaps()[0], n_jobs=1))
    with pytest.raises(Refusal):
        planned(stands, do, about)


def test_all_rows_of_a_cluster_are_no_part_of_it():
    stands = standing(Session(heaps()[0], n_jobs=1))
    with pytest.raises(Refusal, match="all rows"):
        split(stands, stands.rows(largest(stands)[0]).tolist())


def test_row_alone_has_nothing_to_leave():
    X = np.concatenate([heaps()[0], [[90.0] * 8]])
    labels = np.append(np.zeros(200, dtype=int), 1)
    stands = Standing(X, labels, exemplars_of(X, labels, np.arange(201)), [], np.arange(201))
    with pytest.raises(Refusal, match="alone"):
        out(stands, 200)
