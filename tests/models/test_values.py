"""Values in a model file, as parameters: all kinds come back, or are refused by place."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.models.cases import LINKS, SOFT, X, assert_same, fitted_scml, small_model

from linkshift import ConstrainedMeanShift, Links
from linkshift.models.files import load, save


def carry(value, path):
    """Send a value through a file, within a parameter."""
    save(small_model().set_params(seeds=[value]), path)
    return load(path).seeds[0]


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
@example({"float": "nan", "array": "a0", "profile": {"name": "flat"}})
@example([True, 1, 1.0, "1", (), [], {}, np.array(3), range(3), slice(None, 2)])
@example("\ud800")
def test_values_come_back_as_they_were(tmp_path, value):
    assert_same(carry(value, tmp_path / "m"), value)


@pytest.mark.parametrize("value", [np.float64(0.1), np.float32(0.1), np.int8(3), np.bool_(True)])
def test_scalars_of_numpy_come_back_as_those_of_python(tmp_path, value):
    found = carry(value, tmp_path / "m")
    assert type(found) in (bool, int, float)
    assert found == value


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
    ],
)
def test_links_come_back(tmp_path, links):
    found = carry(links, tmp_path / "m")
    assert found == links
    assert found.n_samples == links.n_samples
    assert not found.must_confidence.flags.writeable


def test_requests_of_metadata_and_output_come_back(tmp_path):
    with sklearn.config_context(enable_metadata_routing=True):
        model = ConstrainedMeanShift().set_fit_request(links=True, partial_labels="known")
        model.fit(X, links=LINKS)
        save(model, tmp_path / "m")
    routing = load(tmp_path / "m").get_metadata_routing()
    asked = {"links": True, "partial_labels": "known", "sample_weight": None}
    assert routing.fit.requests == asked
    save(fitted_scml().set_output(transform="pandas"), tmp_path / "m")
    assert isinstance(load(tmp_path / "m").transform(X), pd.DataFrame)


@pytest.mark.parametrize(
    "value",
    [
        {1: 2},
        np.complex128(1j),
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
    with pytest.raises(TypeError, match=r"^model\.seeds\[0\]"):
        carry(value, tmp_path / "m")


def test_a_list_that_holds_itself_is_refused(tmp_path):
    endless: list = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested too deeply"):
        carry(endless, tmp_path / "m")
