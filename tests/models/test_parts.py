"""Every kind of model in a file: what is saved comes back, in another process too."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from tests.models.cases import CASES, KNOWN, X, answers, assert_same, case, unpacked

from linkshift import ConstrainedMeanShift, Links, RefinedClustering
from linkshift.models import parts, values
from linkshift.models.files import load, save

# Loads every model, answers for the rows beside it and saves the model again; knows nothing of
# how the models were made.
CHILD = """
import sys
from pathlib import Path
import numpy as np, pandas as pd
from linkshift.models.files import load, save
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
    """A class or field that is on a list but in no case would be untested."""
    texts = [json.dumps(unpacked(path)[0]["model"]) for path in folder.glob("*.model")]
    for name in values._OBJECTS.keys() - {"range"}:  # range: see test_values.py
        assert any(f'{{"{name}": {{' in text for text in texts), name
    for name, part in {**parts._PARTS, "SCML (local)": parts._LOCAL}.items():
        fits = [parts.taken(model) for model in every_model() if parts._part(model) is part]
        for field in part.rules:
            assert any(found.get(field) is not None for found in fits), (name, field)


def every_model():
    for name in CASES:
        model = case(name)[0]
        within = (getattr(model, name, None) for name in ("estimator_", "metric_"))
        yield from (model, *(inner for inner in within if isinstance(inner, BaseEstimator)))


def test_history_goes_on_after_loading(folder):
    model = ConstrainedMeanShift(keep_history=True, max_iter=20).fit(X, partial_labels=KNOWN)
    loaded = load(folder / "constrained_history.model")
    assert_same(loaded.history_, model.history_)
    more = Links.from_labels(KNOWN) + Links(cannot=[(10, 50)])
    assert_same(vars(loaded.refit(links=more)), vars(model.refit(links=more)))


def test_what_can_be_computed_again_is_left_out(folder):
    """No memory layouts, and no equal arrays twice: little more than rows, labels and modes."""
    rows, labels, modes = X.nbytes, 8 * 60, 3 * 3 * 8
    _, arrays = unpacked(folder / "mean_shift.model")
    assert sum(array.nbytes for array in arrays.values()) <= rows + labels + modes
    _, arrays = unpacked(folder / "groups.model")
    assert all(array.size < 60 * 60 for array in arrays.values())  # no kernel values
    assert load(folder / "groups.model")._state.values is None


def test_equal_tables_are_stored_once(tmp_path):
    model = RefinedClustering().fit(X)
    save(model, tmp_path / "m")
    header, arrays = unpacked(tmp_path / "m")
    assert json.dumps(header["model"]).count('"_fit_X": {"array": "a0"}') == 2
    assert sum(np.array_equal(array, X) for array in arrays.values()) == 1
    loaded = load(tmp_path / "m")
    loaded.estimator_.labels_[:] = -1
    np.testing.assert_array_equal(loaded.labels_, model.labels_)


def test_a_loaded_model_is_explained_as_before(folder):
    for name in (
        "mean_shift_bins",
        "path",
        "constrained",
        "kernel",
        "metric_local_span",
        "refined",
    ):
        model, loaded = case(name)[0], load(folder / f"{name}.model")
        one, other = (m.explain(7, max_counterfactuals=0).to_dict() for m in (model, loaded))
        assert one == other, name


FORMAT_2_FIELDS = {
    "ConstrainedMeanShift": "_state.low _state.span _state.schedule _state.params _state.runs "
    "bandwidth_ n_iter_ shifted_ labels_",
    "GraphMeanShift": "_state.shift _state.space.n_edges _state.space.scale _state.space.values "
    "labels_",
    "GroupFeatureClustering": "views _state.groups classifiers_.view classifiers_.positive "
    "classifiers_.negative classifiers_.threshold classifiers_.a "
    "classifiers_.b classifiers_.gain classifiers_.start history_ "
    "size_bounds_ loss_ labels_",
    "KernelMeanShift": "_state.space.kernel.name _state.space.kernel.sigma "
    "_state.space.kernel.degree _state.space.kernel.gamma "
    "_state.space.kernel.coef0 _state.space.landmarks _state.space.map "
    "_state.space.exact _state.modes.centers _state.modes.radius "
    "_state.map _state.ends points_ _state.start _state.nearest_point "
    "embedding_ bandwidth_ bandwidth_scale_ dimension_ "
    "effective_dimension_ rank_ n_iter_ labels_",
    "MeanShift": "_state.modes.centers _state.modes.radius _state.density "
    "_state.cells.side _state.cell_labels bandwidth_ n_iter_ paths_ "
    "labels_",
    "MetricMeanShift": "_state.space.kernel.name _state.space.kernel.sigma "
    "_state.space.kernel.degree _state.space.kernel.gamma "
    "_state.space.kernel.coef0 _state.space.landmarks _state.space.map "
    "_state.space.exact _state.modes.centers _state.modes.radius "
    "_state.root _state.landscape _state.from_labels metric_ bandwidth_ "
    "dimension_ rank_ n_iter_ cluster_centers_ labels_",
    "PathMeanShift": "_state.density.profile _state.modes.centers _state.bandwidths "
    "cluster_centers_ _state.lift labels_",
    "RefinedClustering": "estimator_ labels_before_ labels_",
    "SCML": "classes_ _fit_y bases_ scale_ n_bases_ n_triplets_ objective_ "
    "start_objective_ n_iter_ weights_ components_",
    "SCML, local": "classes_ _fit_y bases_ scale_ n_bases_ n_triplets_ objective_ "
    "start_objective_ n_iter_ coefficients_ embedding_.kernel.sigma "
    "embedding_.landmarks embedding_.column_means embedding_.map",
}


@pytest.mark.parametrize("name", FORMAT_2_FIELDS)
def test_fields_are_those_of_format_2(name):
    """Whoever breaks this changes the format: raise its version, or take the field by its name."""
    part = parts._LOCAL if name == "SCML, local" else parts._PARTS[name]
    assert sorted(part.rules.keys() - parts._LATER) == sorted(FORMAT_2_FIELDS[name].split())
