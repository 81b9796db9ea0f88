"""The stacked denoising autoencoder: as its twin, repeatable, with a break or without."""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.reference import autoencoder as twin

torch = pytest.importorskip("torch", reason="the extra 'deep' (PyTorch) is not installed")

from linkshift._core.messages import Refusal  # noqa: E402
from linkshift.embed import StackedDenoisingAutoencoder, _checkpoint, _training  # noqa: E402

X = load_digits().data[:200]
LONGER = {"n_components": 8, "layers": (64,), "layer_steps": 150, "learning_rate": 0.01}


class Stop(Exception):
    pass


def model(**parameters):
    small = {
        "n_components": 3,
        "layers": (16, 12),
        "layer_steps": 30,
        "steps": 60,
        "batch_size": 48,
        "random_state": 0,
    }
    return StackedDenoisingAutoencoder(**{**small, **parameters})


def interrupted(at, **parameters):
    """A fit that ends at a step; what it leaves is its checkpoint."""

    def stop(done, _):
        if done >= at:
            raise Stop

    with pytest.raises(Stop):
        model(progress=stop, **parameters).fit(X)


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(_training, "SAVE_EVERY", 7)
    monkeypatch.setattr(_training, "_TOLD_EVERY", 1)


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X)


def same(one, other):
    for name in ("weights_", "biases_", "losses_"):
        for a, b in zip(getattr(one, name), getattr(other, name), strict=True):
            np.testing.assert_array_equal(a, b)


def error(fitted):
    return ((fitted.inverse_transform(fitted.transform(X)) - X) ** 2).mean()


# What is learned


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("layers", [(), (6,), (7, 5)])
def test_training_is_that_of_the_twin(layers, noise):
    data = X[:30, 20:40]
    settings = {"layer_steps": 8, "steps": 12, "batch_size": 8, "learning_rate": 0.01}
    found = model(layers=layers, noise=noise, random_state=5, **settings).fit(data)
    seed = int(np.random.RandomState(5).randint(2**31 - 1))
    sizes = (data.shape[1], *layers, 3)
    scale = np.sqrt((data**2).mean())
    expected, losses = twin.trained(data / scale, sizes, noise=noise, seed=seed, **settings)
    assert found.scale_ == pytest.approx(scale)
    for (W, b), weights, biases in zip(expected, found.weights_, found.biases_, strict=True):
        np.testing.assert_allclose(weights, W, atol=2e-4)
        np.testing.assert_allclose(biases, b, atol=2e-4)
    for stage, values in zip(losses, found.losses_, strict=True):
        np.testing.assert_allclose(values, stage, rtol=1e-3)


def test_codes_are_those_of_the_twin(fitted):
    rows = X[:5] / fitted.scale_
    expected = [twin.code(row, fitted.weights_, fitted.biases_) for row in rows]
    np.testing.assert_allclose(fitted.transform(X[:5]), expected, rtol=1e-9, atol=1e-12)
    single = fitted.transform(X[:5].astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-3, atol=1e-4)


def test_the_error_falls_and_ends_below_that_of_the_mean():
    found = model(**LONGER, steps=300).fit(X)
    for losses in found.losses_:
        assert losses[-20:].mean() < 0.6 * losses[:5].mean()
    assert error(found) < 0.3 * X.var(axis=0).mean()


def test_layers_learn_before_all_are_trained():
    found = model(**LONGER, steps=0).fit(X)
    assert error(found) < 0.7 * X.var(axis=0).mean()
    assert [len(losses) for losses in found.losses_] == [150, 150, 0]


def test_the_unit_of_the_rows_does_not_matter(fitted):
    other = model().fit(1024 * X)
    same(fitted, other)
    assert other.scale_ == 1024 * fitted.scale_
    codes = fitted.transform(X)
    np.testing.assert_array_equal(other.transform(1024 * X), codes)
    np.testing.assert_array_equal(
        other.inverse_transform(codes), 1024 * fitted.inverse_transform(codes)
    )


def test_huge_numbers_and_zeros():
    assert model().fit(1e200 * X).scale_ == pytest.approx(1e200 * np.sqrt((X**2).mean()))
    nought = model().fit(np.zeros((5, 4)))
    assert nought.scale_ == 1.0
    assert np.isfinite(nought.transform(np.zeros((5, 4)))).all()


def test_fewer_rows_than_a_batch_and_one_row():
    for n in (1, 5):
        assert model(layer_steps=3, steps=3).fit_transform(X[:n]).shape == (n, 3)


# Repeatable


def test_the_same_seed_gives_the_same_weights(fitted):
    same(fitted, model().fit(X))
    other = model(random_state=1).fit(X)
    assert not np.array_equal(other.weights_[0], fitted.weights_[0])
    same(model(random_state=np.random.RandomState(0)).fit(X), fitted)


def test_threads_of_torch_make_no_difference_and_stay(fitted):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        same(fitted, model().fit(X))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_global_generators_are_left_alone():
    states = np.random.mtrand._rand.get_state()[1].copy(), torch.get_rng_state()
    model(layer_steps=2, steps=2).fit(X)
    np.testing.assert_array_equal(np.random.mtrand._rand.get_state()[1], states[0])
    assert torch.equal(torch.get_rng_state(), states[1])


@pytest.mark.parametrize(
    "changed",
    [
        {"n_components": 4},
        {"layers": (16, 13)},
        {"noise": 0.3},
        {"layer_steps": 31},
        {"steps": 61},
        {"batch_size": 47},
        {"learning_rate": 2e-3},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_every_parameter_acts(fitted, changed):
    other = model(**changed).fit(X)
    codes, before = other.transform(X), fitted.transform(X)
    assert codes.shape != before.shape or not np.array_equal(codes, before)


# Checkpoints


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("at", [1, 7, 20, 30, 31, 65, 95, 149, 150])
def test_after_a_break_training_ends_as_without(at, fitted, tmp_path):
    path = tmp_path / "training"
    interrupted(at, checkpoint=path)
    calls = []
    found = model(checkpoint=path, progress=lambda *told: calls.append(told)).fit(X)
    same(found, fitted)
    assert calls[-1] == (150, 150)
    assert calls[0][0] > at - 8  # it went on, and did not begin anew
    assert [file.name for file in tmp_path.iterdir()] == ["training"]


def test_training_that_has_ended_is_taken_as_it_is(fitted, tmp_path):
    path = str(tmp_path / "training.npz")
    model(checkpoint=path).fit(X)
    calls = []
    same(model(checkpoint=path, progress=lambda *told: calls.append(told)).fit(X), fitted)
    assert calls == [(150, 150)]


def test_more_steps_go_on_where_fewer_have_ended(tmp_path):
    path = tmp_path / "training"
    model(checkpoint=path, steps=25).fit(X)
    same(model(checkpoint=path, steps=60).fit(X), model(steps=60).fit(X))
    with pytest.raises(Refusal, match="made 60 steps, more than 30"):
        model(checkpoint=path, steps=30).fit(X)


def test_without_a_seed_that_of_the_checkpoint_is_taken(fitted, tmp_path):
    path = tmp_path / "training"
    model(checkpoint=path).fit(X)
    same(model(checkpoint=path, random_state=None).fit(X), fitted)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"n_components": 4}, "sizes"),
        ({"noise": 0.3}, "noise"),
        ({"layer_steps": 31}, "layer_steps"),
        ({"batch_size": 47}, "batch_size"),
        ({"learning_rate": 2e-3}, "learning_rate"),
        ({"random_state": 1}, "random_state"),
    ],
)
def test_a_checkpoint_of_other_training_is_refused(changed, said, tmp_path):
    path = tmp_path / "training"
    model(checkpoint=path).fit(X)
    before = path.read_bytes()
    with pytest.raises(Refusal, match=f"other .*{said}.*remove this one"):
        model(checkpoint=path, **changed).fit(X)
    assert path.read_bytes() == before


def test_a_checkpoint_of_other_rows_is_refused(tmp_path):
    path = tmp_path / "training"
    model(checkpoint=path).fit(X)
    with pytest.raises(Refusal, match="other rows"):
        model(checkpoint=path).fit(X[::-1])


def members(path):
    with np.load(path) as stored:
        return dict(stored.items())


def rewrite(path, arrays):
    with path.open("wb") as file:
        np.savez(file, **arrays)


def without(arrays, name):
    del arrays[name]


def header(arrays, **changed):
    told = json.loads(arrays["header"].tobytes()) | changed
    arrays["header"] = np.frombuffer(json.dumps(told).encode(), np.uint8)


DAMAGES = {
    "no array": lambda arrays: without(arrays, "weights_1"),
    "no moments": lambda arrays: without(arrays, "second_0"),
    "no header": lambda arrays: without(arrays, "header"),
    "shape": lambda arrays: arrays.update(biases_0=np.zeros(3, np.float32)),
    "type": lambda arrays: arrays.update(weights_0=arrays["weights_0"].astype(float)),
    "not a number": lambda arrays: arrays["weights_2"].fill(np.nan),
    "losses": lambda arrays: arrays.update(losses_0=np.zeros(2)),
    "stage": lambda arrays: header(arrays, stage=9),
    "step": lambda arrays: header(arrays, step="4"),
    "format": lambda arrays: header(arrays, format="linkshift model"),
    "plan": lambda arrays: header(arrays, plan=3),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("seed", [0, None])
def test_a_damaged_checkpoint_is_refused(damage, seed, tmp_path):
    path = tmp_path / "training"
    model(checkpoint=path).fit(X)
    arrays = members(path)
    DAMAGES[damage](arrays)
    rewrite(path, arrays)
    with pytest.raises(Refusal, match=r"(damaged|no checkpoint).*Name another file"):
        model(checkpoint=path, random_state=seed).fit(X)


def test_files_that_are_no_checkpoint_are_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a checkpoint")
    pickled = tmp_path / "pickled.npz"
    rewrite(pickled, {"header": np.array([{"format": 1}], dtype=object)})
    for path in (text, pickled):
        with pytest.raises(Refusal, match="no checkpoint"):
            model(checkpoint=path).fit(X)
    with pytest.raises(OSError):
        model(checkpoint=tmp_path / "no folder" / "training").fit(X)


def test_a_checkpoint_holds_plain_arrays(tmp_path):
    path = tmp_path / "training"
    model(checkpoint=path).fit(X)
    with np.load(path, allow_pickle=False) as stored:
        kinds = {stored[name].dtype.kind for name in stored.files}
    assert kinds == {"f", "u"}
    assert _checkpoint.stored_seed(path) == int(np.random.RandomState(0).randint(2**31 - 1))


# As scikit-learn has it


@parametrize_with_checks([model(layers=(8,), layer_steps=10, steps=10)])
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(estimator)


def test_names_frames_and_clones(fitted):
    pandas = pytest.importorskip("pandas")
    names = fitted.get_feature_names_out().tolist()
    assert names == [f"stackeddenoisingautoencoder{i}" for i in range(3)]
    frame = pandas.DataFrame(X, columns=[f"pixel{i}" for i in range(64)])
    out = model().set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == names
    np.testing.assert_array_equal(out.to_numpy(), fitted.transform(X))
    assert clone(model(layers=[4, 5])).layers == [4, 5]


# Refusals


@pytest.mark.parametrize("layers", [(0,), (5, -1), (2.5,), ((3, 4), (5, 6)), ("a",)])
def test_layers_that_are_none(layers):
    with pytest.raises(Refusal, match=r"layers is .*whole numbers"):
        model(layers=layers).fit(X)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_components": 0},
        {"layers": 5},
        {"noise": 1.0},
        {"noise": -0.1},
        {"layer_steps": -1},
        {"steps": 1.5},
        {"batch_size": 0},
        {"learning_rate": 0.0},
        {"checkpoint": 3},
        {"progress": "yes"},
        {"random_state": "x"},
    ],
    ids=str,
)
def test_parameters_are_checked(wrong):
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter"):
        model(**wrong).fit(X)


def test_training_that_diverges_says_so(fitted):
    again = clone(fitted).set_params(learning_rate=1e30)
    with pytest.raises(Refusal, match=r"diverged.*learning_rate below 1e\+30"):
        again.fit(X)
    assert not hasattr(again, "weights_")


def test_codes_of_another_width_and_no_fit(fitted):
    with pytest.raises(Refusal, match="X has 2 columns, and codes have 3"):
        fitted.inverse_transform(np.zeros((1, 2)))
    for method in ("transform", "inverse_transform"):
        with pytest.raises(NotFittedError):
            getattr(model(), method)(X)
