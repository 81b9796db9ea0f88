"""Files that were changed: refused, or the same model; written on purpose: refused, or harmless.

A file has a digest, so that a change is seen. Somebody who changes a file on purpose writes the
digest anew (here: sealed): then the fields must fit together, or the model must be harmless.
"""

import functools
import os
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.models.cases import CASES, X, answers, assert_same, case, packed, unpacked
from tests.models.changes import (
    EVERY,
    REFILLED,
    RESIZED,
    RETYPED,
    changed,
    fields,
    with_other_field,
)

from linkshift import SCML, ConstrainedMeanShift, Links
from linkshift._core.messages import Refusal
from linkshift.models.files import load, save
from linkshift.models.parts import _LATER

# One of every estimator and of every kind of field.
SOME = [
    "mean_shift_bins",
    "mean_shift_frame",
    "mean_shift_weights",
    "mean_shift_float32",
    "mean_shift_blurring",
    "mean_shift_orphans",
    "path",
    "refined",
    "constrained",
    "constrained_halves",
    "kernel",
    "graph",
    "graph_smooth",
    "kernel_learned",
    "kernel_linear",
    "kernel_precomputed",
    "metric_global",
    "metric_local_frame",
    "metric_local_span",
    "metric_kernel",
    "groups",
    "groups_views_frame",
    "groups_tables",
    "scml",
    "scml_local_frame",
]
HARMLESS = (ValueError, ArithmeticError)  # such as: a row that is not finite; overflow
EXAMPLES = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@functools.cache
def file_of(name, folder=None):
    """Header and arrays of a case."""
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        save(case(name)[0], path)
    return unpacked(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def loaded(path):
    """The model in a file, or None where it is refused in words."""
    with warnings.catch_warnings(), suppress(Refusal):
        warnings.simplefilter("ignore")  # of numbers that overflow
        return load(path)
    return None


def assert_harmless(model, name):
    """Ask a model that somebody made up for all that reaches the loops."""
    _, train, new = case(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rows in (train, new):
            with suppress(*HARMLESS):
                found = answers(model, rows)
                if not isinstance(model, SCML):
                    assert found.dtype == np.int64
                    assert found.shape == (len(rows[0] if isinstance(rows, list) else rows),)
        if hasattr(model, "score_samples"):
            with suppress(*HARMLESS):
                model.score_samples(new)
        if isinstance(model, ConstrainedMeanShift) and model._state.runs:
            assert all(len(rows) == 60 for rows in model.history_)
            with suppress(*HARMLESS):
                model.refit(links=model.links_ + Links(cannot=[(10, 50)]))


def walk(name, path, header, arrays):
    """Make every change of every array, write it, and look at what comes back."""
    for member, array in arrays.items():
        for change in EVERY:
            other = changed(array, change)
            if other is None:
                continue
            packed(path, header, {**arrays, member: other})
            model = loaded(path)
            if model is not None:
                try:
                    assert_harmless(model, name)
                except Exception as error:
                    raise AssertionError(f"{name}: {member} {change}") from error


# Changed by somebody who does not know of the digest ----------------------------------------------


@settings(EXAMPLES, max_examples=150)
@given(draws=st.data())
def test_a_changed_array_is_refused(draws, folder, tmp_path):
    name = draws.draw(st.sampled_from(SOME))
    header, arrays = file_of(name, folder)
    member = draws.draw(st.sampled_from(sorted(arrays)))
    other = changed(arrays[member], draws.draw(st.sampled_from(sorted(EVERY))))
    if other is not None:
        packed(tmp_path / "m", header, {**arrays, member: other}, sealed=False)
        with pytest.raises(Refusal, match="changed or damaged since it was written"):
            load(tmp_path / "m")


@pytest.mark.parametrize("name", SOME)
def test_dropped_and_added_arrays_are_refused(name, folder, tmp_path):
    header, arrays = file_of(name, folder)
    for member in arrays:
        fewer = {key: array for key, array in arrays.items() if key != member}
        packed(tmp_path / "m", header, fewer, sealed=False)
        with pytest.raises(Refusal, match=f"member '{member}' is missing"):
            load(tmp_path / "m")
        packed(tmp_path / "m", header, fewer)
        with pytest.raises(Refusal, match=f"member '{member}' is missing"):
            load(tmp_path / "m")
    for sealed, match in ((False, "'more' is not listed"), (True, "'more' is not part of")):
        packed(tmp_path / "m", header, {**arrays, "more": X}, sealed=sealed)
        with pytest.raises(Refusal, match=match):
            load(tmp_path / "m")


@settings(EXAMPLES, max_examples=150)
@given(draws=st.data())
def test_damaged_files_are_refused_or_give_the_same_model(draws, folder, tmp_path):
    name = draws.draw(st.sampled_from(SOME))
    file_of(name, folder)
    damaged = bytearray((folder / f"{name}.npz").read_bytes())
    # Half of the damage goes to the end, where the archive's directory is.
    position = st.integers(0, len(damaged) - 1) | st.integers(len(damaged) - 2000, len(damaged) - 1)
    flips = st.lists(st.tuples(position, st.integers(1, 255)), min_size=1, max_size=3)
    for place, flip in draws.draw(flips):
        damaged[place] ^= flip
    (tmp_path / "m").write_bytes(damaged)
    model = loaded(tmp_path / "m")
    if model is not None:
        assert_same(model, case(name)[0])


@pytest.mark.parametrize("name", ["mean_shift", "constrained", "metric_local_frame", "groups"])
def test_truncated_files_are_refused(name, folder, tmp_path):
    file_of(name, folder)
    data = (folder / f"{name}.npz").read_bytes()
    for end in range(0, len(data), 97):
        (tmp_path / "m").write_bytes(data[:end])
        assert loaded(tmp_path / "m") is None


# Changed on purpose -------------------------------------------------------------------------------


@settings(EXAMPLES, max_examples=300)
@given(draws=st.data())
def test_a_sealed_change_of_an_array_is_refused_or_harmless(draws, folder, tmp_path):
    name = draws.draw(st.sampled_from(SOME))
    header, arrays = file_of(name, folder)
    members = dict(arrays)
    for _ in range(draws.draw(st.integers(1, 2))):
        member = draws.draw(st.sampled_from(sorted(members)))
        kinds = draws.draw(st.sampled_from([RESIZED, RETYPED, REFILLED]))
        other = changed(members[member], draws.draw(st.sampled_from(sorted(kinds))))
        members[member] = members[member] if other is None else other
    packed(tmp_path / "m", header, members)
    model = loaded(tmp_path / "m")
    if model is not None:
        assert_harmless(model, name)


@settings(EXAMPLES, max_examples=200)
@given(draws=st.data())
def test_a_sealed_change_of_the_header_is_refused_or_harmless(draws, folder, tmp_path):
    name = draws.draw(st.sampled_from(SOME))
    header, arrays = file_of(name, folder)

    def choose(options):
        return options[draws.draw(st.integers(0, len(options) - 1))]

    packed(tmp_path / "m", with_other_field(header, choose), arrays)
    model = loaded(tmp_path / "m")
    if model is not None:
        assert_harmless(model, name)


@pytest.mark.parametrize("name", SOME)
def test_a_dropped_or_added_field_is_refused(name, folder, tmp_path):
    header, arrays = file_of(name, folder)
    fitted = header["model"]["estimator"]["fitted"]["dict"]
    for field in fitted.keys() - _LATER:
        fewer = {key: value for key, value in fitted.items() if key != field}
        for other in (fewer, fitted | {"more_": 1}):
            estimator = header["model"]["estimator"] | {"fitted": {"dict": other}}
            packed(tmp_path / "m", header | {"model": {"estimator": estimator}}, arrays)
            with pytest.raises(Refusal, match=r"lacks the field|has no field 'more_'"):
                load(tmp_path / "m")


# Fields whose length nothing else knows, or that nothing is computed from.
FREE = (
    *("paths_", "size_bounds_", "classes_", "labels_before_"),
    *("_state.bandwidths", "_state.schedule", "bandwidth_", "_state.runs", "history_"),
    *("_state.ends", "cluster_centers_", "components_"),
)


@pytest.mark.parametrize("name", SOME)
def test_resized_and_retyped_arrays_are_refused(name, folder, tmp_path):
    """Not only harmless: what does not fit the rest is seen when it is loaded."""
    header, arrays = file_of(name, folder)
    free = [held.get(field) for held in fields(header["model"]) for field in FREE]
    free.append(header["model"]["estimator"]["parameters"])
    for member, array in arrays.items():
        if f"'array': '{member}'" in str(free):
            continue
        for change in ("one entry", "no entries", "longer", "in a list", "as bool", "as U9"):
            other = changed(array, change)
            if other is not None:
                packed(tmp_path / "m", header, {**arrays, member: other})
                assert loaded(tmp_path / "m") is None, (member, change)


def test_offsets_cut_to_one_entry_and_millions_of_rows(folder, tmp_path):
    """Once the first gave other labels, and the second ended the interpreter."""
    for name in SOME:
        header, arrays = file_of(name, folder)
        for member, array in arrays.items():
            if array.ndim and array.size > 1:
                packed(tmp_path / "m", header, {**arrays, member: array[:1]})
                model = loaded(tmp_path / "m")
                if model is not None:
                    assert_harmless(model, name)
    header, arrays = file_of("mean_shift_frame", folder)
    for member, array in arrays.items():
        packed(
            tmp_path / "m",
            header,
            {**arrays, member: np.resize(array, (3_000_000, *array.shape[1:]))},
        )
        assert loaded(tmp_path / "m") is None


# All of them --------------------------------------------------------------------------------------

WALK = """
import sys
from pathlib import Path
from tests.models.test_changed_files import file_of, walk
folder, *names = sys.argv[1:]
for name in names:
    walk(name, Path(folder) / "m", *file_of(name, folder))
"""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_every_change_of_every_array_under_bounds_checks(part, tmp_path):
    """In a process whose compiled loops look where they read: IndexError instead of a crash."""
    root = Path(__file__).parents[2]
    env = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    names = sorted(CASES)[part::4]
    args = [sys.executable, "-c", WALK, str(tmp_path), *names]
    subprocess.run(args, check=True, env=env, cwd=root)
