"""Dask with links: linked rows whole, one constrained fit, and every certain link holds."""

import os
import pickle
import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from tests.helpers import blobs

from linkshift import Links
from linkshift._core.messages import Refusal
from linkshift.links import ClosedLinks, ConflictError, PairError
from linkshift.scale import LinkedModel, fit, merge, predict, summarise

dask = pytest.importorskip("dask", reason="of the extra 'dask'")
pytest.importorskip("distributed", reason="of the extra 'dask'")
pd = pytest.importorskip("pandas")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from linkshift.scale.dask import ConstrainedMeanShift, MeanShift  # noqa: E402

SIZE, M, N = 300, 40, 1000  # rows of a chunk, landmarks, rows
NAMES = list("abcd")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr("linkshift.scale.chunks._ENTRIES", 4 * SIZE)
    with dask.config.set(scheduler="synchronous"):
        yield


def problem():
    """Rows with twins across blocks, some of which are cannot-linked."""
    X, y = blobs(N, 4, k=4, std=1.0, seed=1)
    X = X.astype(np.float32)
    X[700:720] = X[20:40]
    y[700:720] = y[20:40]
    links = Links.sample(y[:700], 60, random_state=1)
    twins = [(20, 700), (21, 701)]
    return X, y, Links(links.must, [*links.cannot.tolist(), *twins], n_samples=N)


X, Y, LINKS = problem()


def by_hand(links=LINKS, weight=None):
    linked = ClosedLinks(links, N).linked_rows
    leaves = []
    for first in range(0, N, SIZE):
        here = linked[(linked >= first) & (linked < first + SIZE)] - first
        part = slice(first, first + SIZE)
        some = None if weight is None else weight[part]
        leaves.append(summarise(X[part], M, sample_weight=some, keep=here, first=first))
    return fit(merge(leaves, M), links)


@pytest.fixture(scope="module")
def hand():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linkshift.scale.chunks._ENTRIES", 4 * SIZE)
        return by_hand()


def made(**more):
    return ConstrainedMeanShift(**{"landmarks": M} | more)


def frame(rows=X, npartitions=5):
    """A frame with names for its rows, in an order of their own."""
    named = pd.DataFrame(rows, columns=NAMES, index=[f"r{7 * i % N}" for i in range(len(rows))])
    return dd.from_pandas(named, npartitions=npartitions, sort=False)


def holds(labels, links=LINKS):
    labels = np.asarray(labels)
    return bool(
        (labels[links.must[:, 0]] == labels[links.must[:, 1]]).all()
        and (labels[links.cannot[:, 0]] != labels[links.cannot[:, 1]]).all()
    )


def same(found, model, links=LINKS):
    labels = np.asarray(found.labels_.compute())
    np.testing.assert_array_equal(labels, predict(model, X, first=0))
    assert holds(labels, links)


# --- whoever runs the tasks, however rows are held ------------------------------------------------


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_it_gives_what_the_four_functions_give(scheduler, hand):
    with dask.config.set(scheduler=scheduler):
        found = made().fit(da.from_array(X, chunks=(170, 4)), links=LINKS)
        same(found, hand)
        assert adjusted_rand_score(Y, found.labels_.compute()) > 0.8
    assert isinstance(found.model_, LinkedModel)
    assert found.n_clusters_ == hand.n_clusters
    assert found.n_features_in_ == 4
    assert found.links_ == LINKS
    assert found.link_report_.share == 1.0
    assert found.labels_.chunks == ((170,) * 5 + (150,),)


@hypothesis_settings(max_examples=8)
@given(cuts=st.sets(st.integers(1, N - 1), max_size=6), columns=st.integers(1, 4))
def test_blocks_do_not_matter(cuts, columns, hand):
    rows = tuple(np.diff([0, *sorted(cuts), N]).tolist())
    same(made().fit(da.from_array(X, chunks=(rows, columns)), links=LINKS), hand)


@pytest.mark.parametrize("npartitions", [1, 6])
def test_a_data_frame_is_its_rows(npartitions, hand):
    table = frame(npartitions=npartitions)
    found = made().fit(table, links=LINKS)
    same(found, hand)
    labels = found.labels_.compute()
    assert isinstance(labels, pd.Series)
    assert labels.index.equals(table.compute().index)
    assert list(found.feature_names_in_) == NAMES
    unknown = table.to_dask_array()
    same(found.fit(unknown, links=LINKS), hand)
    assert not hasattr(found, "feature_names_in_")


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # which Dask writes files with
def test_some_columns_of_many_files(tmp_path, hand):
    """Dask reads files together where few columns are asked for: not the partitions of X."""
    wide = pd.DataFrame(np.zeros((N, 40)), columns=[f"c{j}" for j in range(40)])
    wide = pd.concat([pd.DataFrame(X, columns=NAMES), wide], axis=1)
    dd.from_pandas(wide, npartitions=16, sort=False).to_parquet(tmp_path / "wide")
    table = dd.read_parquet(tmp_path / "wide")[NAMES]
    found = made().fit(table, links=LINKS)
    same(found, hand)
    parts = [found.labels_.partitions[i].compute() for i in range(found.labels_.npartitions)]
    assert holds(pd.concat(parts))
    np.testing.assert_array_equal(found.predict(table).compute(), predict(hand, X))


def test_labels_go_into_a_frame_of_known_divisions(hand):
    table = dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=5)
    labels = made().fit(table, links=LINKS).labels_
    found = table.assign(label=labels).compute()
    np.testing.assert_array_equal(found["label"], predict(hand, X, first=0))


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_equal_rows_apart(kind):
    rows = np.repeat(X[:50], 2, axis=0)
    links = Links(cannot=[(2 * i, 2 * i + 1) for i in range(50)])
    table = dd.from_pandas(pd.DataFrame(rows), npartitions=3)
    table = da.from_array(rows, chunks=(33, 4)) if kind == "array" else table
    assert holds(made().fit(table, links=links).labels_.compute(), links)


# --- links in all forms ---------------------------------------------------------------------------


def test_ids_are_those_of_the_index(hand):
    table = frame()
    ids = table.compute().index
    must, cannot = ([(ids[a], ids[b]) for a, b in pairs] for pairs in (LINKS.must, LINKS.cannot))
    found = made().fit(table, links=Links(must, cannot))
    assert found.links_ == LINKS
    same(found, hand)


def test_partial_labels_are_links():
    classes = np.full(N, -1)
    classes[:40] = Y[:40]
    links = Links.from_labels(classes, complete=True)
    table = da.from_array(X, chunks=(170, 4))
    for given_ones in (classes, da.from_array(classes, chunks=90)):
        found = made().fit(table, partial_labels=given_ones)
        assert found.links_ == links
        same(found, by_hand(links), links)
    both = made().fit(table, links=LINKS, partial_labels=np.full(N, -1))
    assert both.links_ == LINKS


def test_weights():
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=N)
    found = made().fit(da.from_array(X, chunks=(170, 4)), None, weight, links=LINKS)
    same(found, by_hand(weight=weight))


def test_without_links_it_is_mean_shift():
    table = da.from_array(X, chunks=(170, 4))
    found, plain = made().fit(table), MeanShift(landmarks=M).fit(table)
    np.testing.assert_array_equal(found.labels_.compute(), plain.labels_.compute())
    assert found.link_report_.share == 1.0
    assert not found.links_


def test_links_that_give_way_are_told_by_row():
    """A doubtful link that certain ones contradict does not hold: which, by number of row."""
    sure = [(0, 900), (0, 901)]
    links = Links(must=sure, cannot=[(900, 901), (5, 950)], cannot_confidence=[0.5, 1.0])
    found = made().fit(da.from_array(X, chunks=(170, 4)), links=links)
    assert found.link_report_.violated_cannot.tolist() == [[900, 901]]
    assert found.link_report_.violated_must.tolist() == []


def test_scikit_learn_s_conventions():
    found = made(random_state=3)
    assert clone(found).get_params() == found.get_params()
    table = da.from_array(X, chunks=(170, 4))
    labels = found.fit_predict(table, links=LINKS).compute()
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.labels_.compute(), labels)
    np.testing.assert_array_equal(again.predict(table).compute(), found.predict(X))
    with pytest.raises(ValueError, match="landmarks"):
        made(landmarks=0).fit(table)


# --- refusals -------------------------------------------------------------------------------------


def never_computed():
    def fail(block):
        if len(block):
            pytest.fail("was computed")
        return block

    return da.from_array(X, chunks=(170, 4)).map_blocks(fail, dtype=X.dtype)


def test_contradictions_are_refused_before_anything_is_computed():
    with pytest.raises(ConflictError):
        made().fit(never_computed(), links=Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)]))
    classes = np.full(N, -1)
    classes[:2] = 0, 1
    with pytest.raises(ConflictError):
        made().fit(never_computed(), links=Links(must=[(0, 1)]), partial_labels=classes)
    with pytest.raises(ConflictError):
        made().fit(frame(), links=Links(must=[("r0", "r1")], cannot=[("r0", "r1")]))


def weight_without(row):
    weight = np.ones(N)
    weight[row] = 0.0
    return weight


@pytest.mark.parametrize(
    ("table", "more", "error", "words"),
    [
        (never_computed(), {"links": Links(must=[(0, N)])}, PairError, "1000"),
        (never_computed(), {"links": Links(must=[("a", "b")])}, Refusal, "for its index"),
        (frame(), {"links": Links(must=[("r1", "b")])}, Refusal, "Links name 'b'"),
        (
            dd.concat([frame(), frame()]),
            {"links": Links(must=[("r0", "r7")])},
            Refusal,
            "Rows 0 and 1000 of X have the same id",
        ),
        (never_computed(), {"partial_labels": [0, 1]}, ValueError, "2 entries for 1000 rows"),
        (never_computed(), {"y": Links(must=[(0, 1)])}, TypeError, "in the place of y"),
        (X, {"links": LINKS}, Refusal, "neither a Dask array nor a Dask DataFrame"),
        (frame().assign(e="text"), {"links": LINKS}, Refusal, "Column 'e'"),
        (
            da.from_array(X),
            {"links": Links(must=[(0, 650)]), "sample_weight": weight_without(650)},
            Refusal,
            "Row 650 of X has links, and its sample weight is zero",
        ),
        (
            da.from_array(X),
            {"links": Links(must=[(0, 650)]), "sample_weight": weight_without(slice(600, None))},
            Refusal,
            "Row 650 of X has links, and its sample weight is zero",
        ),
    ],
)
def test_what_cannot_be_served_is_refused(table, more, error, words):
    found = made().fit(da.from_array(X[:100]))
    before = found.labels_
    with pytest.raises(error) as refused:
        found.fit(table, **more)
    assert words in str(refused.value)
    assert found.labels_ is before


# --- processes ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal on this system")
@pytest.mark.parametrize("stage", ["nobody", "fit", "labels"])
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    stage, cluster_of, deadly, tmp_path, hand
):
    client = cluster_of(2)
    plain = da.from_array(X, chunks=(170, 4))
    marker = tmp_path / "killed"
    with dask.config.set(scheduler=None):
        before = set(client.run(os.getpid).values())
        found = made().fit(deadly(plain, marker) if stage == "fit" else plain, links=LINKS)
        if stage == "labels":
            found.labels_ = found._array_labels(deadly(plain, marker), numbered=True)
        same(found, hand)
        if stage != "nobody":
            assert int(marker.read_text()) in before
            assert int(marker.read_text()) not in client.run(os.getpid).values()
