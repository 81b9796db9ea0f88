"""Dask: the four functions of linkshift.scale as tasks; the same for whoever runs them."""

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sklearn.base import clone

import linkshift
from linkshift import ConstrainedMeanShift, Links
from linkshift._core.convergence import NotConverged
from linkshift._core.messages import Refusal
from linkshift.scale import cluster, fit, merge, predict, summarise
from linkshift.scale.chunks import rows_of_a_chunk

dask = pytest.importorskip("dask", reason="of the extra 'dask'")
pytest.importorskip("distributed", reason="of the extra 'dask'")
pd = pytest.importorskip("pandas")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from linkshift.scale.dask import MeanShift  # noqa: E402

SIZE, M, H = 512, 60, 1.5  # rows of a chunk, landmarks, bandwidth
NAMES = list("abcde")


def table(n=2300, dtype=np.float32):
    rng = np.random.default_rng(0)
    return (rng.integers(4, size=(n, 1)) * 9 + rng.normal(size=(n, 5))).astype(dtype)


ROWS = table()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr("linkshift.scale.chunks._ENTRIES", 5 * SIZE)


def by_hand(rows=ROWS, seed=0):
    chunks = [rows[i : i + SIZE] for i in range(0, len(rows), SIZE)]
    return fit(merge([summarise(chunk, M, seed) for chunk in chunks], M), bandwidth=H)


@pytest.fixture(scope="module")
def hand():
    return by_hand()


def made(**more):
    return MeanShift(**{"landmarks": M, "bandwidth": H} | more)


def frame(rows=ROWS, npartitions=7):
    named = pd.DataFrame(rows, columns=NAMES, index=np.arange(len(rows)) * 3)
    return dd.from_pandas(named, npartitions=npartitions)


def same(found, model, rows=ROWS):
    assert found.cluster_centers_.dtype == rows.dtype
    np.testing.assert_array_equal(found.cluster_centers_, model.modes.centers)
    np.testing.assert_array_equal(np.asarray(found.labels_.compute()), predict(model, rows))


# --- whoever runs the tasks -----------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_a_local_scheduler_gives_what_the_four_functions_give(scheduler, hand):
    with dask.config.set(scheduler=scheduler):
        found = made().fit(da.from_array(ROWS, chunks=(700, 5)))
        same(found, hand)
    assert found.n_clusters_ == 4
    assert found.n_features_in_ == 5
    assert found.bandwidth_ == H


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_any_number_of_workers_gives_what_the_four_functions_give(n_workers, cluster_of, hand):
    cluster_of(n_workers)
    same(made().fit(da.from_array(ROWS, chunks=(300, 5))), hand)
    same(made().fit(frame()), hand)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal on this system")
@pytest.mark.parametrize("stage", ["fit", "labels"])
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    stage, cluster_of, deadly, tmp_path, hand
):
    client, marker = cluster_of(2), tmp_path / "killed"
    X = da.from_array(ROWS, chunks=(300, 5))
    before = set(client.run(os.getpid).values())
    if stage == "fit":
        found = made().fit(deadly(X, marker))
    else:
        found = made().fit(X)
        found.labels_ = found.predict(deadly(X, marker))
    same(found, hand)
    killed = int(marker.read_text())
    assert killed in before
    assert killed not in client.run(os.getpid).values()


# --- however the rows are held --------------------------------------------------------------------


@hypothesis_settings(max_examples=15)
@given(cuts=st.sets(st.integers(1, len(ROWS) - 1), max_size=8), columns=st.integers(1, 5))
def test_blocks_do_not_matter(cuts, columns, hand):
    rows = tuple(np.diff([0, *sorted(cuts), len(ROWS)]).tolist())
    with dask.config.set(scheduler="synchronous"):
        found = made().fit(da.from_array(ROWS, chunks=(rows, columns)))
        assert found.labels_.chunks == (rows,)
        same(found, hand)


@pytest.mark.parametrize("npartitions", [1, 4, 9])
def test_a_data_frame_is_its_rows(npartitions, hand):
    X = frame(npartitions=npartitions)
    found = made().fit(X)
    same(found, hand)
    labels = found.labels_.compute()
    assert isinstance(labels, pd.Series)
    assert labels.index.equals(X.compute().index)
    assert list(found.feature_names_in_) == NAMES
    assert not hasattr(found.fit(da.from_array(ROWS)), "feature_names_in_")


def test_lengths_that_are_not_known_are_counted(hand):
    X = frame().to_dask_array()
    assert np.isnan(X.shape[0])
    found = made().fit(X)
    same(found, hand)
    assert np.isnan(X.shape[0])  # of the caller's array nothing is changed
    assert np.isnan(found.predict(X).shape[0])
    np.testing.assert_array_equal(found.predict(X).compute(), predict(hand, ROWS))


def test_partitions_without_rows_are_nothing(hand):
    X = frame()
    X = dd.concat([X[X.a > 1e9], X, X[X.a > 1e9]], interleave_partitions=False)
    same(made().fit(X), hand)
    blocks = da.from_array(ROWS, chunks=((0, 2000, 0, 300), 5))
    same(made().fit(blocks), hand)


def test_labels_and_predictions_are_lazy():
    seen = []

    def look(block):
        if len(block):
            seen.append(len(block))
        return block

    X = da.from_array(ROWS, chunks=(700, 5)).map_blocks(look, dtype=np.float32)
    with dask.config.set(scheduler="synchronous"):
        found = made().fit(X)
        assert sum(seen) == len(ROWS)  # once
        predicted = found.predict(X[:700])
        assert sum(seen) == len(ROWS)
        predicted.compute()
        assert sum(seen) == len(ROWS) + 700


def test_rows_in_memory_are_labelled_at_once(hand):
    found = made().fit(da.from_array(ROWS))
    labels = found.predict(ROWS[:9])
    assert isinstance(labels, np.ndarray)
    np.testing.assert_array_equal(labels, predict(hand, ROWS[:9]))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, bool])
def test_other_numbers(dtype):
    rows = (ROWS > 9 if dtype is bool else ROWS * 4).astype(dtype)
    found = made(bandwidth=6.0 if dtype is not bool else 0.5).fit(da.from_array(rows, chunks=800))
    assert found.cluster_centers_.dtype == np.float64
    np.testing.assert_array_equal(found.labels_.compute(), found.predict(rows))


def test_columns_of_a_frame_may_be_of_several_kinds():
    rows = np.round(table(dtype=np.float64) * 4)
    mixed = pd.DataFrame(rows, columns=NAMES).astype({"a": "int64", "b": "Int64", "c": "float32"})
    found = made(bandwidth=6.0).fit(dd.from_pandas(mixed, npartitions=3))
    same(found, fit(merge([summarise(rows[i : i + SIZE], M) for i in range(0, 2300, SIZE)], M),
                    bandwidth=6.0), rows)  # fmt: skip


# --- weights, chance, and what is told ------------------------------------------------------------


def test_a_weight_of_two_is_the_row_twice():
    rows = ROWS[:200]
    weight = np.random.default_rng(1).integers(0, 3, size=200)
    twice = np.repeat(rows, weight, axis=0)
    assert len(twice) <= SIZE
    weighted = made().fit(da.from_array(rows, chunks=90), sample_weight=weight)
    repeated = made().fit(da.from_array(twice, chunks=50))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-5)


@pytest.mark.parametrize("kind", ["array", "unknown", "series", "numpy"])
def test_weights_come_in_any_form(kind):
    weight = np.random.default_rng(2).uniform(size=len(ROWS))
    weight[SIZE : 3 * SIZE] = 0  # two chunks have nothing to say
    series = frame().a * 0 + dd.from_pandas(
        pd.Series(weight, index=np.arange(len(ROWS)) * 3), npartitions=7
    )
    given = {
        "array": da.from_array(weight, chunks=400),
        "unknown": series.to_dask_array(),
        "series": series,
        "numpy": weight,
    }[kind]
    found = made().fit(da.from_array(ROWS, chunks=(700, 5)), sample_weight=given)
    first, fourth, fifth = (
        summarise(ROWS[i : i + SIZE], M, sample_weight=weight[i : i + SIZE])
        for i in (0, 3 * SIZE, 4 * SIZE)
    )
    same(found, fit(merge([merge([first, fourth], M), fifth], M), bandwidth=H))


def test_the_seed_is_that_of_summaries():
    X = da.from_array(ROWS, chunks=(700, 5))
    same(made(random_state=5).fit(X), by_hand(seed=5))
    drawn = [made(random_state=np.random.RandomState(3)).fit(X) for _ in range(2)]
    np.testing.assert_array_equal(drawn[0].cluster_centers_, drawn[1].cluster_centers_)


def test_what_a_worker_would_tell_is_told_here():
    with pytest.warns(NotConverged, match="landmarks were still moving"):
        made(max_iter=1).fit(da.from_array(ROWS))


def test_scikit_learn_s_conventions():
    found = made(kernel="truncated_gaussian")
    assert clone(found).get_params() == found.get_params()
    X = da.from_array(ROWS, chunks=(700, 5))
    labels = found.fit_predict(X).compute()
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X).compute(), labels)
    with pytest.raises(ValueError, match="landmarks"):
        MeanShift(landmarks=0).fit(X)


# --- refusals -------------------------------------------------------------------------------------


def with_hole():
    rows = ROWS.copy()
    rows[SIZE + 7, 2] = np.nan
    return da.from_array(rows)


@pytest.mark.parametrize(
    ("X", "more", "words"),
    [
        (ROWS, {}, "linkshift.MeanShift"),
        (dask.delayed(ROWS), {}, "from_delayed"),
        (da.from_array(ROWS[:, 0]), {}, "reshape"),
        (da.from_array(ROWS.astype(complex)), {}, "numbers"),
        (da.from_array(ROWS[:0]), {}, "no rows"),
        (frame().assign(f="text"), {}, "Column 'f'"),
        (with_hole(), {}, "from row 512 of X on: Row 7 of chunk is not finite"),
        (da.from_array(ROWS), {"links": Links(must=[(0, 1)])}, "ConstrainedMeanShift"),
        (da.from_array(ROWS), {"sample_weight": np.ones(7)}, "one weight for each row"),
        (da.from_array(ROWS), {"sample_weight": np.zeros(len(ROWS))}, "weight is zero"),
    ],
)
def test_what_cannot_be_served_is_refused(X, more, words):
    found = made().fit(da.from_array(ROWS))
    before = found.labels_
    with pytest.raises(Refusal) as refused:
        found.fit(X, **more)
    assert words in str(refused.value)
    assert found.labels_ is before


def test_other_columns_are_refused():
    found = made().fit(frame())
    with pytest.raises(Refusal, match="feature_names_in_"):
        found.predict(frame()[NAMES[::-1]])
    with pytest.raises(Refusal, match="3 columns"):
        found.predict(da.from_array(ROWS[:, :3]))
    with pytest.raises(Refusal, match="3 columns"):
        found.predict(ROWS[:, :3])


@pytest.mark.parametrize("X", [da.from_array(ROWS), frame()], ids=["array", "frame"])
@pytest.mark.parametrize(
    "call",
    [
        linkshift.MeanShift().fit,
        ConstrainedMeanShift().fit,
        linkshift.cluster,
        lambda X: linkshift.MeanShift(bandwidth=2.0).fit(ROWS[:50]).predict(X),
        lambda X: linkshift.MeanShift(bandwidth=2.0).fit(ROWS[:50]).score_samples(X),
        lambda X: linkshift.GroupFeatureClustering(2).fit(X),
        lambda X: ConstrainedMeanShift().fit(X, links=Links(must=[("a", "b")])),
        lambda X: linkshift.SCML().fit(X, np.arange(len(ROWS)) % 2),
    ],
    ids=["MeanShift", "CMS", "cluster", "predict", "score_samples", "groups", "ids", "SCML"],
)
def test_dask_is_not_pulled_into_memory_without_a_word(call, X):
    with pytest.raises(Refusal, match=r"linkshift\.scale\.dask\.MeanShift"):
        call(X)


def test_scale_does_not_import_dask():
    code = "import sys, linkshift.scale; sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path.cwd()).returncode == 0


def test_the_extra_is_named_where_dask_is_missing(monkeypatch):
    X = da.from_array(ROWS)
    monkeypatch.setitem(sys.modules, "dask.dataframe", None)
    with pytest.raises(ImportError, match=r"linkshift\[dask\]"):
        made().fit(X)


def test_chunks_go_by_columns_and_landmarks_alone(monkeypatch):
    monkeypatch.undo()
    assert rows_of_a_chunk(1) == 1 << 23
    assert rows_of_a_chunk(64, 8_000) == 1 << 17
    assert rows_of_a_chunk(1 << 20, 8_000) == 32_000
    assert rows_of_a_chunk(1 << 30) == 1


@pytest.mark.parametrize("landmarks", [M, 3 * SIZE // 8])  # columns say the size, or landmarks
def test_a_table_has_the_same_landmarks_out_of_core(tmp_path, landmarks):
    np.save(tmp_path / "rows.npy", ROWS)
    options = {"landmarks": landmarks, "bandwidth": H}
    table = cluster(tmp_path / "rows.npy", output=tmp_path / "l.parquet", scale="none", **options)
    found = MeanShift(**options).fit(da.from_array(ROWS, chunks=(700, 5)))
    ours, theirs = (model.landmarks.density.inputs() for model in (table.model, found.model_))
    for name in ("X", "bandwidth", "sample_weight"):
        np.testing.assert_array_equal(ours[name], theirs[name])
