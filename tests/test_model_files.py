"""Model files: what is saved comes back, in another process too, and nothing else gets in."""

from __future__ import annotations

import base64
import functools
import inspect
import json
import pickle
import subprocess
import sys
import zipfile
import zlib
from collections import UserDict
from contextlib import suppress
from copy import copy
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from linkshift import (
    SCML,
    ConstrainedMeanShift,
    GroupFeatureClustering,
    KernelMeanShift,
    Links,
    MeanShift,
    MetricMeanShift,
    RefinedClustering,
    _model_values,
    model_files,
)
from linkshift.groups.views import KernelBank
from linkshift.model_files import about, load, save
from linkshift.profiles import Profile
from linkshift.shift.anisotropic import build_composed
from linkshift.shift.density import build_density

RNG = np.random.default_rng(0)
CENTRES = np.array([[0.0, 0.0], [4.0, 4.0], [0.0, 6.0]])
TRUTH = np.repeat([0, 1, 2], 20)
X = CENTRES[TRUTH] + RNG.normal(scale=0.4, size=(60, 2))
NEW = CENTRES[np.repeat([0, 1, 2], 5)] + RNG.normal(scale=0.8, size=(15, 2))
WIDE, WIDE_NEW = (np.hstack([x, RNG.normal(scale=0.2, size=(len(x), 68))]) for x in (X, NEW))
FRAME, FRAME_NEW = (pd.DataFrame(x, columns=["length", "width"]) for x in (X, NEW))
KNOWN = np.where(np.arange(60) % 20 < 5, TRUTH, -1)
LINKS = Links(must=[(0, 1), (20, 21)], cannot=[(0, 20), (20, 40), (1, 41)])
MUST = Links(must=[(0, 1), (20, 21), (40, 41)])
SOFT = Links(must=[(0, 1)], cannot=[(0, 20), (20, 40)], cannot_confidence=[0.9, 0.5])
SMALL_GROUPS = {"n_init": 2, "max_iter": 2, "n_folds": 3, "random_state": 0}


def gaussian_gram(A, B):
    return np.exp(-0.125 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def distances(A, B):
    return np.sqrt(((A[:, None] - B[None]) ** 2).sum(axis=2))


def fitted_scml(data=X, **parameters):
    return SCML(random_state=0, **parameters).fit(data, TRUTH)


# Name of each case to a function that gives a fitted model, training rows and new rows.
CASES = {
    "mean_shift": lambda: (MeanShift().fit(X), X, NEW),
    "mean_shift_frame": lambda: (
        MeanShift(kernel="gaussian", n_neighbors=15).fit(FRAME),
        FRAME,
        FRAME_NEW,
    ),
    "mean_shift_profile": lambda: (
        MeanShift(kernel=Profile("truncated_gaussian", 2.0), bandwidth=[0.8] * 60).fit(X),
        X,
        NEW,
    ),
    "mean_shift_bins": lambda: (
        MeanShift(bin_size=0.5, keep_paths=True, assignment="basin").fit(X),
        X,
        NEW,
    ),
    "mean_shift_blurring": lambda: (MeanShift(blurring=True).fit(X), X, NEW),
    "mean_shift_orphans": lambda: (
        MeanShift(bandwidth=0.8, seeds=X[::7], cluster_all=False).fit(X),
        X,
        NEW,
    ),
    "mean_shift_float32": lambda: (
        MeanShift().fit(X.astype(np.float32)),
        X.astype(np.float32),
        NEW.astype(np.float32),
    ),
    "mean_shift_wide": lambda: (MeanShift(kernel="gaussian").fit(WIDE), WIDE, WIDE_NEW),
    "mean_shift_by_links": lambda: (
        MeanShift(bandwidth="links", kernel="gaussian").fit(X, links=LINKS),
        X,
        NEW,
    ),
    "refined": lambda: (RefinedClustering().fit(X, links=LINKS), X, NEW),
    "refined_kernel": lambda: (
        RefinedClustering(KernelMeanShift(n_neighbors=10, random_state=0)).fit(X, links=SOFT),
        X,
        NEW,
    ),
    "mean_shift_weights": lambda: (
        MeanShift(kernel="gaussian", bandwidth=0.7).fit(X, sample_weight=np.arange(60) / 7),
        X,
        NEW,
    ),
    "constrained": lambda: (ConstrainedMeanShift().fit(X, links=LINKS), X, NEW),
    "constrained_frame": lambda: (
        ConstrainedMeanShift(kernel="gaussian", schedule="geometric").fit(FRAME, links=LINKS),
        FRAME,
        FRAME_NEW,
    ),
    "constrained_history": lambda: (
        ConstrainedMeanShift(keep_history=True, max_iter=20).fit(X, partial_labels=KNOWN),
        X,
        NEW,
    ),
    "constrained_soft": lambda: (
        ConstrainedMeanShift(enforce=False, scale_features=False).fit(X, links=SOFT),
        X,
        NEW,
    ),
    "kernel": lambda: (KernelMeanShift(n_neighbors=10).fit(X, links=MUST), X, NEW),
    "kernel_frame": lambda: (
        KernelMeanShift(sigma=1.5, n_neighbors=10).fit(FRAME, links=MUST),
        FRAME,
        FRAME_NEW,
    ),
    "kernel_learned": lambda: (
        KernelMeanShift(
            use_links="learn",
            n_neighbors=5,
            learn_params={"gamma": 5.0, "quantiles": (0.05, 0.95)},
            n_landmarks=20,
            max_points=30,
            random_state=0,
        ).fit(X, links=LINKS),
        X,
        NEW,
    ),
    "kernel_refined": lambda: (
        KernelMeanShift(
            "polynomial", degree=2, use_links="learn", refine="links", n_neighbors=5
        ).fit(X, links=LINKS),
        X,
        NEW,
    ),
    "kernel_linear": lambda: (
        KernelMeanShift("linear", n_neighbors=10).fit(WIDE, links=MUST),
        WIDE,
        WIDE_NEW,
    ),
    "kernel_precomputed": lambda: (
        KernelMeanShift("precomputed", n_neighbors=10).fit(gaussian_gram(X, X), links=MUST),
        gaussian_gram(X, X),
        gaussian_gram(NEW, X),
    ),
    "metric_global": lambda: (MetricMeanShift(random_state=0).fit(X, partial_labels=KNOWN), X, NEW),
    "metric_local_frame": lambda: (
        MetricMeanShift("local", random_state=0, profile="gaussian", n_neighbors=8).fit(
            FRAME, partial_labels=KNOWN
        ),
        FRAME,
        FRAME_NEW,
    ),
    "metric_local_span": lambda: (
        MetricMeanShift("local", random_state=0).fit(WIDE[:, :8], partial_labels=KNOWN),
        WIDE[:, :8],
        WIDE_NEW[:, :8],
    ),
    "metric_local_many": lambda: (
        MetricMeanShift(SCML("local", n_bases=30), random_state=0).fit(
            WIDE[:, :20], partial_labels=KNOWN
        ),
        WIDE[:, :20],
        WIDE_NEW[:, :20],
    ),
    "metric_kernel": lambda: (
        MetricMeanShift(kernel="gaussian", random_state=0).fit(X, partial_labels=KNOWN),
        X,
        NEW,
    ),
    "metric_links": lambda: (
        MetricMeanShift(SCML(n_bases=8), random_state=0).fit(
            X, links=Links.from_labels(KNOWN), partial_labels=KNOWN
        ),
        X,
        NEW,
    ),
    "metric_matrix": lambda: (MetricMeanShift(np.diag([1.0, 0.25])).fit(X), X, NEW),
    "metric_frozen": lambda: (MetricMeanShift(FrozenEstimator(fitted_scml())).fit(X), X, NEW),
    "scml": lambda: (fitted_scml(), X, NEW),
    "scml_local_frame": lambda: (
        SCML("local", random_state=0).fit(FRAME, np.array(["a", "b", "c"])[TRUTH]),
        FRAME,
        FRAME_NEW,
    ),
    "scml_objects": lambda: (
        SCML(random_state=0).fit(X, np.array(["a", "b", "c"], dtype=object)[TRUTH]),
        X,
        NEW,
    ),
    "scml_links": lambda: (SCML(random_state=0).fit(X, links=Links.from_labels(KNOWN)), X, NEW),
    "groups": lambda: (GroupFeatureClustering(3, **SMALL_GROUPS).fit(X, links=LINKS), X, NEW),
    "groups_views_frame": lambda: (
        GroupFeatureClustering(
            3,
            views={"a": ["length"], "b": slice(1, 2)},
            gamma={"a": 0.5},
            size_bounds=(10, 30),
            **SMALL_GROUPS,
        ).fit(FRAME, partial_labels=KNOWN),
        FRAME,
        FRAME_NEW,
    ),
    "groups_tables": lambda: (
        GroupFeatureClustering(3, metric=["cosine", "precomputed"], **SMALL_GROUPS).fit(
            [WIDE, distances(X, X)]
        ),
        [WIDE, distances(X, X)],
        [WIDE_NEW, distances(NEW, X)],
    ),
}


@functools.cache
def case(name):
    return CASES[name]()


def answers(model, rows):
    """Labels, or the distances under a metric."""
    return model.distances(rows, rows) if isinstance(model, SCML) else model.predict(rows)


# Loads every model, answers for the rows beside it and saves the model again; knows nothing of
# how the models were made.
CHILD = """
import sys
from pathlib import Path
import numpy as np, pandas as pd
from linkshift.model_files import load, save
for path in sorted(Path(sys.argv[1]).glob("*.model")):
    model, found = load(path), {}
    with np.load(path.with_suffix(".rows.npz")) as stored:
        for part in ("train", "new"):
            rows = [stored[name] for name in stored.files if name.startswith(part)]
            if "columns" in stored.files:
                rows = [pd.DataFrame(rows[0], columns=stored["columns"].tolist())]
            rows = rows if len(rows) > 1 else rows[0]
            ask = model.predict if hasattr(model, "predict") else lambda r: model.distances(r, r)
            found[part] = ask(rows)
    np.savez(path.with_suffix(".answers.npz"), **found)
    save(model, path.with_suffix(".again"))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Save all cases, and the rows to ask them about."""
    folder = tmp_path_factory.mktemp("models")
    for name in CASES:
        model, *parts = case(name)
        save(model, folder / f"{name}.model")
        stored = {}
        for part, rows in zip(("train", "new"), parts, strict=True):
            tables = rows if isinstance(rows, list) else [rows]
            stored |= {f"{part}{i}": np.asarray(table) for i, table in enumerate(tables)}
            if isinstance(rows, pd.DataFrame):
                stored["columns"] = np.array(rows.columns, dtype=str)
        np.savez(folder / f"{name}.rows.npz", **stored)
    return folder


@pytest.fixture(scope="module")
def answered(folder):
    """Run another process that loads all models, answers and saves them again."""
    subprocess.run([sys.executable, "-W", "error", "-c", CHILD, str(folder)], check=True)
    return folder


def assert_same(one, other, where="model"):
    """Compare whatever a model may hold, bit for bit, to the bottom."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray | np.generic):
        assert one.dtype == other.dtype, where
        assert one.shape == other.shape, where
        np.testing.assert_array_equal(one, other, err_msg=where)
        if isinstance(one, np.ndarray):
            assert one.flags.writeable == other.flags.writeable, where
    elif isinstance(one, float):
        assert one.hex() == other.hex(), where
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            assert_same(one[key], other[key], f"{where}[{key!r}]")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif isinstance(one, KernelBank):
        assert_same(one.views, other.views, f"{where}.views")
        assert_same(one.groups, other.groups, f"{where}.groups")
        samples = np.arange(one.n_samples)
        assert_same(one.columns(samples), other.columns(samples), f"{where}.columns")
    elif is_dataclass(one):
        for field in fields(one):  # what else there is was computed from them
            name = field.name
            assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    elif isinstance(one, BaseEstimator):
        assert_same(vars(one), vars(other), where)
    else:
        assert one == other, where


@pytest.mark.parametrize("name", CASES)
def test_a_new_process_gives_the_same_labels(name, answered):
    model, *parts = case(name)
    with np.load(answered / f"{name}.answers.npz") as found:
        for part, rows in zip(("train", "new"), parts, strict=True):
            np.testing.assert_array_equal(found[part], answers(model, rows))


@pytest.mark.parametrize("name", CASES)
def test_a_new_process_has_the_same_model(name, answered):
    model, _, new = case(name)
    assert (answered / f"{name}.again").read_bytes() == (answered / f"{name}.model").read_bytes()
    loaded = load(answered / f"{name}.again")
    assert_same(loaded, model)
    assert_same(loaded.get_params(deep=False), model.get_params(deep=False))
    np.testing.assert_array_equal(answers(loaded, new), answers(model, new))


@pytest.mark.parametrize("name", CASES)
def test_numpy_reads_the_file_without_pickle(name, folder):
    with np.load(folder / f"{name}.model", allow_pickle=False) as members:
        assert all(members[key].dtype.kind in "biufcU" for key in members.files)
        header = json.loads(members["header"].tobytes())
    assert header["versions"]["numpy"] == np.__version__
    assert header["model"]["estimator"]["class"] == type(case(name)[0]).__name__


def test_cases_reach_all_that_may_be_in_a_file(folder):
    """A class that is on the list but in no case would be untested."""
    texts = [np.load(path)["header"].tobytes().decode() for path in folder.glob("*.model")]
    used = {name for name in _model_values.PARTS if any(f'["{name}", ' in t for t in texts)}
    assert not _model_values.PARTS.keys() - used


def test_history_goes_on_after_loading(folder):
    model = ConstrainedMeanShift(keep_history=True, max_iter=20).fit(X, partial_labels=KNOWN)
    loaded = load(folder / "constrained_history.model")
    assert_same(loaded.history_, model.history_)
    more = Links.from_labels(KNOWN) + Links(cannot=[(10, 50)])
    assert_same(vars(loaded.refit(links=more)), vars(model.refit(links=more)))


def test_kernel_values_that_can_be_computed_again_are_left_out(folder):
    assert load(folder / "groups.model")._bank.values is None
    assert load(folder / "groups_tables.model")._bank.values is not None


def test_one_array_under_two_names_is_stored_once(tmp_path):
    save(MeanShift().fit(X), tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.cluster_centers_ is loaded._modes.centers


# Values ------------------------------------------------------------------------------------------


def carry(value, path):
    """Send a value through a file, as an attribute of a model."""
    model = small_model()
    model.extra_ = value
    save(model, path)
    return load(path).extra_


def small_model():
    return copy(small_fit())


@functools.cache
def small_fit():
    return MeanShift(bandwidth=1.0).fit([[0.0], [0.1], [5.0]])


ARRAYS = hnp.arrays(
    st.sampled_from([bool, np.int8, np.int64, np.uint16, np.float32, np.float64, complex, "U3"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
NAMES = st.lists(st.text(max_size=4), max_size=3).map(lambda texts: np.array([*texts, 0], object))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | ARRAYS
    | NAMES.map(lambda texts: texts[:-1].copy())
    | ARRAYS.filter(lambda a: a.size > 0).map(lambda a: a.ravel()[0])
    | ARRAYS.filter(lambda a: a.ndim > 1).map(np.asfortranarray)
    | st.slices(9)
    | st.builds(range, st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 3)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(VALUES)
@example([float("nan"), float("inf"), -float("inf"), -0.0, 5e-324])
@example({"float": "nan", "array": "a0", "object": ["Profile", {}]})
@example([True, 1, 1.0, "1", (), [], {}, np.float64(1), np.array(3)])
@example("\ud800")
def test_values_come_back_as_they_were(tmp_path, value):
    assert_same(carry(value, tmp_path / "m"), value)


def test_order_in_memory_is_kept(tmp_path):
    value = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert carry(value, tmp_path / "m").flags.f_contiguous
    assert carry(value.T, tmp_path / "m").flags.c_contiguous
    assert_same(
        carry(np.arange(12.0).reshape(3, 4)[:, ::2], tmp_path / "m"),
        np.array([[0.0, 2], [4, 6], [8, 10]]),
    )


@pytest.mark.parametrize(
    "links",
    [
        Links(),
        SOFT,
        Links(must=[(0, 1)], n_samples=7),
        Links(must=[("ann", "bob")], cannot=[("bob", "cid")], cannot_confidence=0.5),
    ],
)
def test_links_come_back(tmp_path, links):
    found = carry(links, tmp_path / "m")
    assert found == links
    assert (found.n_samples, found.keyed_by_id) == (links.n_samples, links.keyed_by_id)
    assert (found.must_ids, found.cannot_ids) == (links.must_ids, links.cannot_ids)
    assert not found.must_confidence.flags.writeable


def test_requests_of_metadata_and_output_come_back(tmp_path):
    with sklearn.config_context(enable_metadata_routing=True):
        model = ConstrainedMeanShift().set_fit_request(links=True, partial_labels="known")
        model.fit(X, links=LINKS)
        save(model, tmp_path / "m")
    routing = load(tmp_path / "m").get_metadata_routing()
    assert routing.fit.requests == {"links": True, "partial_labels": "known"}
    save(fitted_scml().set_output(transform="pandas"), tmp_path / "m")
    assert isinstance(load(tmp_path / "m").transform(X), pd.DataFrame)


# About the model ---------------------------------------------------------------------------------


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(st.text(), PLAIN, max_size=4))
@example({"third": 1 / 3, "least": 5e-324, "most": 1.7976931348623157e308, "nought": [-0.0, 0]})
@example(
    {"Länge": ["größer als ½ µm", "😀", "\x00", "\ud800"], "": {"array": "a0", "float": "nan"}}
)
@example({"whole": [True, 1, 1.0, "1", None, 2**70]})
def test_what_is_told_about_a_model_comes_back(tmp_path, notes):
    save(small_model(), tmp_path / "m", about=notes)
    assert_same(about(tmp_path / "m"), notes)
    assert_same(load(tmp_path / "m"), small_model())


def test_about_is_empty_when_nothing_was_told(tmp_path):
    save(small_model(), tmp_path / "never")
    for name, notes in (("none", None), ("empty", {})):
        save(small_model(), tmp_path / name, about=notes)
        assert (tmp_path / name).read_bytes() == (tmp_path / "never").read_bytes()
        assert about(tmp_path / name) == {}
    (tmp_path / "old").write_bytes(zlib.decompress(base64.b64decode(FORMAT_1_FILE)))
    assert about(tmp_path / "old") == {}


def test_about_does_not_look_at_the_arrays(tmp_path):
    forge(tmp_path / "m", setting("about", to={"a": 1}), a0=np.zeros(2, dtype="M8[D]"))
    assert about(tmp_path / "m") == {"a": 1}
    assert_refused(tmp_path / "m", "not numbers")


@pytest.mark.parametrize(
    ("notes", "match"),
    [
        ([1], "about is a list; give a dict"),
        ("text", "about is a str; give a dict"),
        (UserDict(a=1), "about is a UserDict; give a dict"),
        ({1: 2}, "about has the key 1; .* Use str keys"),
        ({"a": {None: 2}}, r"about\['a'\] has the key None"),
        ({"a": float("nan")}, r"about\['a'\] is nan; .* Use None or text"),
        ({"a": [1, float("-inf")]}, r"about\['a'\]\[1\] is -inf"),
        ({"a": (1, 2)}, r"about\['a'\] is a tuple.* list\(\.\.\.\)"),
        ({"a": np.float64(1)}, r"about\['a'\] is a float64.* \.tolist\(\)"),
        ({"a": [np.int64(1)]}, r"about\['a'\]\[0\] is a int64"),
        ({"a": np.zeros(2)}, r"about\['a'\] is a ndarray"),
        ({"a": b"bytes"}, r"about\['a'\] is a bytes"),
        ({"a": {1, 2}}, r"about\['a'\] is a set"),
        ({"a": print}, r"about\['a'\] is a builtin_function"),
    ],
)
def test_what_json_does_not_give_back_is_refused(tmp_path, notes, match):
    with pytest.raises(TypeError, match=match):
        save(small_model(), tmp_path / "m", about=notes)
    assert not list(tmp_path.iterdir())


def test_notes_that_hold_themselves_are_refused(tmp_path):
    endless: dict = {"a": []}
    endless["a"].append(endless)
    with pytest.raises(TypeError, match="nested too deeply"):
        save(small_model(), tmp_path / "m", about=endless)


@pytest.mark.parametrize("notes", [None, 3, [1], "text"])
def test_a_header_with_notes_of_another_kind_is_refused(tmp_path, notes):
    forge(tmp_path / "m", setting("about", to=notes))
    assert_refused(tmp_path / "m", "give a dict")
    assert_refused(tmp_path / "m", "give a dict", read=about)


def test_about_refuses_what_load_refuses(tmp_path):
    forge(tmp_path / "m", setting("format_version", to=2))
    assert_refused(tmp_path / "m", "update linkshift", read=about)
    (tmp_path / "m").write_bytes(b"text")
    assert_refused(tmp_path / "m", "no npz archive", read=about)
    text = json.dumps({"format": "linkshift model", "format_version": 1, "versions": {}})[:-1]
    large = np.frombuffer(f'{text}, "about": {{"a": 1e999}}}}'.encode(), dtype=np.uint8)
    forge(tmp_path / "m", header=large)
    assert_refused(tmp_path / "m", "is inf", read=about)
    with pytest.raises(FileNotFoundError):
        about(tmp_path / "none")


# Refused by save ---------------------------------------------------------------------------------


def told(done, all_of_them):
    pass


@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (lambda: MeanShift(progress=told).fit(X), r"model\.set_params\(progress=None\)"),
        (
            lambda: KernelMeanShift(random_state=np.random.RandomState(0)).fit(X, links=MUST),
            r"model\.set_params\(random_state=None\)",
        ),
        (
            lambda: (
                MetricMeanShift(random_state=np.random.RandomState(0))
                .fit(X, partial_labels=KNOWN)
                .set_params(random_state=None)
            ),
            r"model\.metric_\.set_params\(random_state=None\)",
        ),
        (lambda: KernelMeanShift(gaussian_gram).fit(X, links=MUST), "precomputed"),
        (
            lambda: GroupFeatureClustering(3, metric=distances, **SMALL_GROUPS).fit(X),
            "precomputed",
        ),
        (
            lambda: GroupFeatureClustering(
                3, views=UserDict({"a": [0], "b": [1]}), **SMALL_GROUPS
            ).fit(X),
            r"model\.views is a UserDict.* dict",
        ),
        (lambda: KMeans(2, n_init=1).fit(X), "holds one of"),
        (lambda: type("Own", (MeanShift,), {})().fit(X), "not Own"),
    ],
)
def test_what_is_no_data_is_refused_with_the_remedy(tmp_path, make, remedy):
    with pytest.raises(TypeError, match=remedy):
        save(make(), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_the_remedy_for_functions_works(tmp_path):
    model = MeanShift(progress=told).fit(X)
    save(model.set_params(progress=None), tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(NEW), model.predict(NEW))


@pytest.mark.parametrize(
    "value",
    [
        {1: 2},
        {"a": [object()]},
        np.array([1, "a"], dtype=object),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.zeros(2, dtype=[("a", int)]),
        np.ma.masked_array([1.0]),
        pd.Series([1.0]),
        b"bytes",
        {1, 2},
        np.dtype("O"),
        len,
    ],
)
def test_other_values_are_refused_by_place(tmp_path, value):
    with pytest.raises(TypeError, match=r"^model\.extra_"):
        carry(value, tmp_path / "m")


def test_a_list_that_holds_itself_is_refused(tmp_path):
    endless: list = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested too deeply"):
        carry(endless, tmp_path / "m")


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save(MeanShift(), tmp_path / "m")


# The file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["model", "model.npz", "model.v1.bin"])
@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_paths_are_taken_as_they_are(tmp_path, name, kind):
    save(small_model(), kind(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert load(kind(tmp_path / name)).n_clusters_ == 2


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "m"
    save(small_model(), path)
    before = path.read_bytes()

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(model_files.npy, "write_array", fail)
    with pytest.raises(OSError, match="disk full"):
        save(small_model(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in "ab":
        save(small_model(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_files_that_cannot_be_opened_raise_as_usual(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        save(small_model(), tmp_path / "none" / "m")


# Refused by load ---------------------------------------------------------------------------------


def assert_refused(path, match="cannot be loaded", read=load):
    with pytest.raises(ValueError, match=match) as caught:
        read(path)
    assert type(caught.value) is ValueError
    assert repr(str(path)) in str(caught.value)
    assert "linkshift.model_files.save" in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def forge(path, change=None, **members):
    """Change the header of a good file, or its members, and write it with right checksums."""
    save(small_model(), path)
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    if change is not None:
        header = json.loads(arrays["header"].tobytes())
        change(header)
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as stream:
        np.savez(stream, **{**arrays, **members})


def setting(*keys, to):
    def change(header):
        node = header
        for key in keys[:-1]:
            node = node[key]
        node[keys[-1]] = to

    return change


MODEL = ("model", "estimator")
EXTRA = (*MODEL, "fitted", "extra_")


def test_a_forged_file_without_a_change_is_good(tmp_path):
    forge(tmp_path / "m")
    assert_same(load(tmp_path / "m"), small_model())
    forge(tmp_path / "m", setting(*EXTRA, to={"tuple": [1]}))
    assert load(tmp_path / "m").extra_ == (1,)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (setting("format", to="other"), "another kind of file"),
        (setting("format_version", to=2), "format version 2.*reads up to 1; update linkshift"),
        (setting("format_version", to="1"), "format version"),
        (setting("format_version", to=True), "format version"),
        (setting("format_version", to=0), "format version"),
        (setting("versions", to=3), "versions"),
        (setting("versions", to={"numpy": 2}), "versions"),
        (setting("model", to=None), "no estimator"),
        (setting("model", to={"array": "a0"}), "no estimator"),
        (setting("model", to={"estimator": 3}), "does not know"),
        (setting(*MODEL, "class", to="KMeans"), "holds a 'KMeans'"),
        (setting(*MODEL, "class", to="os.system"), "holds a 'os.system'"),
        (setting(*MODEL, "class", to=["MeanShift"]), "class"),
        (setting(*MODEL, "parameters", to=[]), "parameters"),
        (setting(*MODEL, "parameters", "later", to=1), "had a parameter 'later'"),
        (setting(*MODEL, "fitted", to=None), "fitted"),
        (setting(*MODEL, "fitted", "predict", to=1), "'predict' is no fitted attribute"),
        (setting(*MODEL, "fitted", "bandwidth", to=1), "'bandwidth' is no fitted attribute"),
        (setting(*MODEL, "fitted", "__class__", to=1), "no fitted attribute"),
        (setting(*MODEL, "fitted", "a b", to=1), "no fitted attribute"),
        (setting(*MODEL, "requests", to={"dict": {"eval": {"dict": {}}}}), "requests"),
        (setting(*MODEL, "requests", to=[]), "requests"),
        (setting(*EXTRA, to={"array": "a99"}), "'a99' is missing"),
        (setting(*EXTRA, to={"array": "header"}), "header is no array"),
        (setting(*EXTRA, to={"array": 3}), "does not know"),
        (setting(*EXTRA, to={"scalar": "a0"}), "single value"),
        (setting(*EXTRA, to={"tuple": 3}), "'tuple' that"),
        (setting(*EXTRA, to={"float": "1e3"}), "'float' that"),
        (setting(*EXTRA, to={"text": [1]}), "'text' that"),
        (setting(*EXTRA, to={"dtype": "O"}), "'dtype' that"),
        (setting(*EXTRA, to={"slice": [1]}), "'slice' that"),
        (setting(*EXTRA, to={"range": [0, 1, 0]}), "ValueError"),
        (setting(*EXTRA, to={"set": [1]}), "'set' that"),
        (setting(*EXTRA, to={}), "no value"),
        (setting(*EXTRA, to={"tuple": [], "dict": {}}), "no value"),
        (setting(*EXTRA, to={"object": ["subprocess.Popen", {}]}), "'object' that"),
        (setting(*EXTRA, to={"object": ["Profile", {"name": "flat", "odd": 1}]}), "other fields"),
        (setting(*EXTRA, to={"object": ["Modes", {}]}), "other fields"),
        (setting(*EXTRA, to={"object": ["Links", {}]}), "KeyError"),
        (setting(*EXTRA, to={"object": ["Profile", {"name": "none"}]}), "Unknown kernel"),
    ],
)
def test_a_header_that_is_wrong_is_refused(tmp_path, change, match):
    forge(tmp_path / "m", change)
    assert_refused(tmp_path / "m", match)


def test_a_parameter_that_the_file_does_not_have_takes_its_default(tmp_path):
    forge(tmp_path / "m", lambda header: header["model"]["estimator"]["parameters"].pop("tol"))
    assert load(tmp_path / "m").tol == MeanShift().tol


@pytest.mark.parametrize(
    ("header", "match"),
    [
        (np.zeros(3), "not JSON as bytes"),
        (np.array("{}"), "not JSON as bytes"),
        (np.frombuffer(b"{", dtype=np.uint8), "not JSON"),
        (np.frombuffer(b"\xff\xfe\xfd", dtype=np.uint8), "not JSON"),
        (np.frombuffer(b"[NaN]", dtype=np.uint8), "not JSON"),
        (np.frombuffer(b"[1]", dtype=np.uint8), "another kind of file"),
        (np.frombuffer(b"[" * 200_000, dtype=np.uint8), "RecursionError"),
    ],
)
def test_a_header_that_is_no_json_is_refused(tmp_path, header, match):
    forge(tmp_path / "m", header=header)
    assert_refused(tmp_path / "m", match)


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_inside_is_refused_and_not_run(tmp_path):
    sprung = tmp_path / "sprung"
    forge(tmp_path / "m", a0=np.array([Trap(sprung)], dtype=object))
    assert_refused(tmp_path / "m", "'a0' holds pickled objects")
    (tmp_path / "m").write_bytes(pickle.dumps(Trap(sprung)))
    assert_refused(tmp_path / "m", "no npz archive")
    forge(tmp_path / "m", header=np.array([Trap(sprung)], dtype=object))
    assert_refused(tmp_path / "m", "'header' holds pickled objects")
    assert not sprung.exists()


@pytest.mark.parametrize(
    "array", [np.zeros(2, dtype="M8[D]"), np.zeros(2, dtype=[("a", int)]), np.array([b"bytes"])]
)
def test_other_kinds_of_arrays_are_refused(tmp_path, array):
    forge(tmp_path / "m", a0=array)
    assert_refused(tmp_path / "m", "not numbers or text|another version")


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "m"
    np.savez(tmp_path / "m.npz", X=X)
    assert_refused(tmp_path / "m.npz", "no member 'header'")
    forge(path, more=X)
    assert_refused(path, "'more' is not part of the model")
    for data in (b"", b"text", b"PK\x03\x04", b"\x93NUMPY"):
        path.write_bytes(data)
        assert_refused(path, "no npz archive")
    forge(path)
    with np.load(path) as stored, path.with_name("packed").open("wb") as stream:
        np.savez_compressed(stream, **stored)
    assert_refused(path.with_name("packed"), "compressed")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("a0.npy", b"")
    assert_refused(path, "same name")


@pytest.mark.parametrize("shape", [(10**15,), (3,), (-2, -1), (0, 5)])
def test_an_array_of_another_size_than_it_says_is_refused(tmp_path, shape):
    forge(tmp_path / "good")
    with zipfile.ZipFile(tmp_path / "good") as good, zipfile.ZipFile(tmp_path / "m", "w") as bad:
        for info in good.infolist():
            data = good.read(info)
            if info.filename == "a0.npy":
                header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
                text = header.encode().ljust(117) + b"\n"
                data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"\0" * 16
            bad.writestr(info.filename, data)
    assert_refused(tmp_path / "m", "size|damaged")


def test_arrays_of_the_other_byte_order_are_read(tmp_path):
    model = small_model()
    forge(tmp_path / "m", setting(*EXTRA, to={"array": "big"}), big=np.arange(3, dtype=">i4"))
    assert_same(load(tmp_path / "m").extra_, np.arange(3, dtype=np.int32))
    np.testing.assert_array_equal(load(tmp_path / "m").labels_, model.labels_)


# Damage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mean_shift", "constrained", "metric_local_frame", "groups"])
def test_truncated_files_are_refused(name, folder, tmp_path):
    data = (folder / f"{name}.model").read_bytes()
    for end in range(0, len(data), 97):
        (tmp_path / "m").write_bytes(data[:end])
        assert_refused(tmp_path / "m")


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(draws=st.data())
def test_damaged_files_are_refused_or_give_the_same_model(draws, folder, tmp_path):
    name = draws.draw(st.sampled_from(["mean_shift_frame", "constrained", "scml"]))
    damaged = bytearray((folder / f"{name}.model").read_bytes())
    # Half of the damage goes to the end, where the archive's directory is.
    position = st.integers(0, len(damaged) - 1) | st.integers(len(damaged) - 2000, len(damaged) - 1)
    for place, flip in draws.draw(
        st.lists(st.tuples(position, st.integers(1, 255)), min_size=1, max_size=3)
    ):
        damaged[place] ^= flip
    (tmp_path / "m").write_bytes(damaged)
    loaded = None
    with suppress(ValueError):
        loaded = load(tmp_path / "m")
    if loaded is None:
        assert_refused(tmp_path / "m")
    else:
        assert_same(loaded, case(name)[0])


# Later versions ----------------------------------------------------------------------------------


FORMAT_1_FIELDS = {
    "Alternation": "partitions loss changed",
    "AnisotropicDensity": "points bases weights bandwidth profile dimension ridge",
    "Cells": "points weight member low side keys",
    "Classifiers": "view positive negative threshold a b gain start n_views",
    "Density": "X bandwidth profile sample_weight dimension",
    "Embedding": "kernel landmarks column_means map",
    "Kernel": "name sigma degree gamma coef0 params",
    "KernelBank": "views values groups",
    "KernelSpace": "kernel landmarks map exact",
    "LinkReport": "n_must n_cannot must_kept cannot_kept violated_must violated_cannot "
    "weighted_share",
    "Modes": "centers radius",
    "Pairs": "must cannot must_confidence cannot_confidence names",
    "Profile": "name reach",
    "Route": "density modes lift bandwidths",
    "Run": "history bending",
    "View": "name metric gamma n width origin data",
}


BUILDERS = {"AnisotropicDensity": build_composed, "Density": build_density}


@pytest.mark.parametrize("name", FORMAT_1_FIELDS)
def test_files_of_format_1_still_fit_the_classes(name):
    """Whoever breaks this changes the format: raise its version and read the old one too."""
    now = _model_values._names(_model_values.PARTS[name].cls)
    if name in BUILDERS:
        parameters = inspect.signature(BUILDERS[name]).parameters.values()
        now = {one.name: one.default is one.empty for one in parameters}
    then = FORMAT_1_FIELDS[name].split()
    assert now.keys() >= set(then)
    assert not any(needed for field, needed in now.items() if field not in then)


# MeanShift(bandwidth=1.0).fit([[0.0], [0.25], [5.0]]) as linkshift 0.1 saved it, packed by zlib.
FORMAT_1_FILE = """
eNq1Vr2L3EYU18U+21xhXLhxp6jZGPaEtBeMbQJ2EULCcWHBBGyCGWalt7vjHY3kmdE5l8sWLtwfuDGkTRnXxl3qpEgq/wkhAR
dJ4Tp5bzR7K6034I/LLMvwfvO+fu89jTTcPXV6O2jWh8Hv+fln//i1FVwMpsBz0LGqDjaCC8HT043eYn/85Vd7wzsbwX5w2MvB
ZLp3Pex9V6e9ftgbl9pqrlip0QHin3FpAHEz5RWg/FGaXLnWv9wP5+G7rq3DCKMU3EbXw0gKNTNTMbZhUeYgo37oD9k+aCNKhU
opgl4yKB4ujchDEqdxEuewn5CxqovqgOBB/HF8hRCTiZmw2xK4JmdRGl+L02iOJ01EcgjGCoxZaidlkhsKFO0BV7dcHNSuuOYF
WMzDKaGKmKgClEuC17YkpRFX+QOR2ymlHSeECMUMQC7UBLFxU84GFd8CQqqWkhBZa91VymRtMB7jkrK0uiZwBlCxitupaWnOQC
tHJRpL7rIt+DdMoDFiOwnlUWBEijrWcN/XVLF75cgsU1BMgZhMR6VugRSKFaAnlGviKFW6nGgwLSUi2BJtKRvlJKU6j4W1kLuq
YXzgtkZrhrn4PBhOnFANdyys1tx1kCeuS0yXtW0XalFidlxjloMywh44+3J0DzJqytfRpx7uI3x7rfPX+4XkxkLCqquhh8mVwj
lo11oDz7yD+V3yanhRSWAPqJp2mXkuCkrIzTRBjTKjMTSr8fYcSNEyHLHjoTtOv5lgzXNRrx4N3FGlIROvB8tAylanGPaG3W6P
AA0NVXbQGkCfAlubg2JezSzMXBAm+QjaoRp51cdONHdE4H6ND2FDJReuCIdzWsPORffrL5+/XFx0Z/Ci48niknvidRb72kvuk/
HVN7rkdvph+l53XLgVdNZvN5r94s0un7+/n/3R4ZMu+Bx5naOT4DM4KT4//QcP++LHWYfH4H/i8X4sjnn8dWOxd3k8evHq5w6P
nbebL/Gm83VCPJZrw+/D3Y0Ptk91Pw3oxU//ttEPzmD5obBqR0/aE8/3TMfuT/TUPHerNjTNR77XXZvnm4Gf7VUbmpz1Ng9RbO
Zo1Ya6tD63L84GvmfD3U13tIm/c8j10jmS/gU6fVld
"""


def test_a_file_of_format_1_is_read(tmp_path):
    (tmp_path / "m").write_bytes(zlib.decompress(base64.b64decode(FORMAT_1_FILE)))
    loaded, fresh = load(tmp_path / "m"), MeanShift(bandwidth=1.0).fit([[0.0], [0.25], [5.0]])
    new = [[-0.5], [0.1], [4.6]]
    np.testing.assert_array_equal(loaded.labels_, fresh.labels_)
    np.testing.assert_allclose(loaded.cluster_centers_, fresh.cluster_centers_)
    np.testing.assert_array_equal(loaded.predict(new), fresh.predict(new))
