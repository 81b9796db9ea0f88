"""Generators: their geometry. Loaders: the real files where they are present, and the errors."""

from __future__ import annotations

import numpy as np
import pytest

from linkshift import datasets
from linkshift.datasets import (
    MADE,
    available,
    load,
    make,
    make_circles,
    make_lines,
    make_moons,
    make_shapes,
)

GENERATORS = [make_moons, make_lines, make_circles, make_shapes]


@pytest.mark.parametrize("make", GENERATORS)
def test_same_seed_same_data(make):
    (X, y), (X_again, y_again) = make(random_state=3), make(random_state=3)
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    assert not np.array_equal(X, make(random_state=4)[0])
    assert X.dtype == np.float64
    assert y.dtype == np.int64


@pytest.mark.parametrize("make", GENERATORS)
def test_random_state_object_advances_and_global_state_is_left_alone(make):
    state = np.random.RandomState(0)
    assert not np.array_equal(make(random_state=state)[0], make(random_state=state)[0])
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    make(random_state=0)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_moons_lie_on_their_half_circles():
    X, y = make_moons(4000, noise=0.05, random_state=0)
    centre = np.array([[0.0, 0.0], [1.0, 0.5]])[y]
    off = np.linalg.norm(X - centre, axis=1) - 1.0
    assert np.std(off) == pytest.approx(0.05, rel=0.06)
    assert len(make_moons()[0]) == 500


def test_lines_are_the_papers_240_points_in_three_orientations():
    X, y = make_lines(random_state=0)
    assert X.shape == (240, 2)
    np.testing.assert_array_equal(np.bincount(y), np.full(6, 40))
    angle = []
    for line in range(6):
        points = X[y == line] - X[y == line].mean(axis=0)
        direction = np.linalg.svd(points, full_matrices=False)[2][0]
        angle.append(np.degrees(np.arctan2(direction[1], direction[0])) % 180)
    # Fitted orientations: each parallel pair agrees, the three are 60 degrees apart.
    expected = np.repeat([0.0, 120.0, 60.0], 2)
    gap = np.abs((np.array(angle) - expected + 90) % 180 - 90)
    assert gap.max() < 3


@pytest.mark.parametrize(("gap", "noise"), [(2.0, 0.1), (1.5, 0.3)])
def test_lines_distances_match_gap_and_noise(gap, noise):
    X, y = make_lines(3000, gap=gap, noise=noise, length=5.0, start=2.0, random_state=1)
    for orientation in range(3):
        angle = 2 * np.pi * orientation / 3
        direction = np.array([np.cos(angle), np.sin(angle)])
        normal = np.array([-np.sin(angle), np.cos(angle)])
        for side, line in ((-1, 2 * orientation), (1, 2 * orientation + 1)):
            across = X[y == line] @ normal
            assert across.mean() == pytest.approx(side * gap / 2, abs=5 * noise / 3000**0.5)
            assert across.std() == pytest.approx(noise, rel=0.06)
            along = X[y == line] @ direction
            assert along.mean() == pytest.approx(4.5, abs=0.15)
            assert along.std() == pytest.approx(np.hypot(5 / 12**0.5, noise), rel=0.05)


def test_lines_without_noise_run_along_the_rows():
    X, y = make_lines(20, noise=0, random_state=0)
    first = X[y == 0]
    assert np.ptp(first[:, 1]) == 0
    assert np.all(np.diff(first[:, 0]) >= 0)


def test_circles_are_the_papers_counts():
    X, y = make_circles(random_state=0)
    assert X.shape == (280, 2)
    assert np.sum(y == -1) == 80
    np.testing.assert_array_equal(np.bincount(y[y >= 0]), np.full(5, 40))


def test_circles_distances_match_radius_and_noise():
    radii = (2.0, 3.5, 7.0)
    X, y = make_circles(4000, radii=radii, noise=0.1, n_outliers=0, random_state=2)
    for circle, radius in enumerate(radii):
        from_centre = np.linalg.norm(X[y == circle], axis=1)
        # E|x| = r + noise^2 / 2r to second order: the tangential part lengthens a little.
        assert from_centre.mean() == pytest.approx(radius + 0.01 / (2 * radius), abs=0.008)
        assert from_centre.std() == pytest.approx(0.1, rel=0.06)
        angle = np.arctan2(*X[y == circle].T[::-1])
        quarters = np.histogram(angle, bins=4, range=(-np.pi, np.pi))[0]
        # Uniform angles: a quarter's count is binomial(4000, 1/4), five deviations wide.
        assert np.abs(quarters - 1000).max() < 5 * (4000 * 0.25 * 0.75) ** 0.5


def test_circle_outliers_fill_their_square():
    X, y = make_circles(1, n_outliers=4000, random_state=0)
    outliers = X[y == -1]
    assert np.abs(outliers).max() <= 5.5
    np.testing.assert_allclose(outliers.std(axis=0), 11 / 12**0.5, rtol=0.05)


def test_shapes_are_two_moons_and_three_blobs():
    X, y = make_shapes(16_000, random_state=0)
    np.testing.assert_array_equal(np.bincount(y), [4000, 4000, 6000, 1000, 1000])
    moon = y < 2
    centre = np.array([[0.0, 0.0], [1.0, 0.5]])[y[moon]]
    off = np.linalg.norm(X[moon] - centre, axis=1) - 1.0
    assert off.std() == pytest.approx(0.06, rel=0.06)
    for blob, centre, spread in (
        (2, (3.5, 0.3), (0.45, 0.4)),
        (3, (2.45, 1.0), (0.09, 0.09)),
        (4, (2.4, -0.5), (0.09, 0.09)),
    ):
        points = X[y == blob]
        # Five deviations of a mean, and of a spread.
        within = 5 * np.array(spread) / len(points) ** 0.5
        assert (np.abs(points.mean(axis=0) - centre) < within).all()
        np.testing.assert_allclose(points.std(axis=0), spread, rtol=0.12)
    for n in range(5, 40):
        X, y = make_shapes(n, random_state=0)
        assert len(X) == len(y) == n
        assert set(y) == set(range(5))


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (make_shapes, {"n_samples": 4}),
        (make_moons, {"noise": -1}),
        (make_lines, {"n_per_line": 0}),
        (make_lines, {"noise": -0.1}),
        (make_lines, {"length": 0}),
        (make_circles, {"n_per_circle": 0}),
        (make_circles, {"n_outliers": -1}),
        (make_circles, {"radii": ()}),
        (make_circles, {"radii": (1.0, -2.0)}),
        (make_circles, {"noise": -1}),
    ],
)
def test_generators_name_the_wrong_argument(make, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        make(**wrong)


# --- by name ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(MADE))
def test_made_by_name_is_made_by_its_function(name):
    function = {"moons": make_moons, "lines": make_lines, "circles": make_circles}
    X, y = function.get(name, make_shapes)(random_state=7)
    data = make(name, random_state=7)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert len(X) == MADE[name].n_samples
    assert X.shape[1] == MADE[name].n_features
    assert data.target_names == MADE[name].class_names
    np.testing.assert_array_equal(np.unique(y[y >= 0]), np.arange(len(data.target_names)))
    np.testing.assert_array_equal(data.classes, np.arange(len(data.target_names)))


@pytest.mark.parametrize("name", sorted(MADE))
def test_made_in_any_size_has_every_class(name):
    n_classes = len(MADE[name].class_names)
    for n in (n_classes, n_classes + 1, 20, 101):
        data = make(name, n, random_state=0)
        assert data.X.shape == (n, 2)
        assert set(range(n_classes)) <= set(data.y.tolist())
        sizes = np.bincount(data.y[data.y >= 0])
        if name in ("lines", "circles"):
            assert np.ptp(sizes) <= 1


def test_made_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="no made data set is called 'mons'; there are moons"):
        make("mons")
    with pytest.raises(ValueError, match="n_samples=5 is too few: 'lines' has 6 classes"):
        make("lines", 5)
    with pytest.raises(TypeError, match=r"whole number, got 7\.5"):
        make("lines", 7.5)


def test_take_keeps_rows_together(tmp_path):
    views = {"X_view1": np.arange(4.0)[:, None], "X_view2": np.arange(8.0).reshape(4, 2)}
    save(tmp_path, "mv_msrc_v1", y=[5, 5, 8, 8], light=[0, 1, 2, 3], note=["one"], **views)
    part = load("mv_msrc_v1", folder=tmp_path).take([3, 0])
    np.testing.assert_array_equal(part.X, [[3, 6, 7], [0, 0, 1]])
    np.testing.assert_array_equal(part.views["view2"], [[6, 7], [0, 1]])
    np.testing.assert_array_equal(part.y, [1, 0])
    np.testing.assert_array_equal(part.extras["light"], [3, 0])
    np.testing.assert_array_equal(part.extras["note"], ["one"])
    np.testing.assert_array_equal(part.classes, [5, 8])


# --- loaders ------------------------------------------------------------------------------------


def real(name):
    """The real set, or a skip that says why."""
    if not available()[name]:
        pytest.skip(f"{name}.npz is not here; set LINKSHIFT_DATA to the folder that holds it")
    return load(name)


@pytest.mark.parametrize("name", sorted(datasets.REGISTRY))
def test_real_file_has_dense_labels_and_float_features(name):
    data = real(name)
    assert data.X.ndim == 2
    assert data.X.dtype in (np.float32, np.float64)
    assert np.isfinite(data.X).all()
    assert data.y.dtype == np.int64
    assert data.y.shape == (len(data.X),)
    np.testing.assert_array_equal(np.unique(data.y), np.arange(len(data.classes)))
    if data.target_names is not None:
        assert len(data.target_names) == len(data.classes)
    if data.views is not None:
        np.testing.assert_array_equal(data.X, np.hstack(list(data.views.values())))
    source = datasets.REGISTRY[name]
    views = [data.X] if data.views is None else list(data.views.values())
    told = (source.n_samples, source.n_features, source.widths, source.n_classes)
    widths = tuple(view.shape[1] for view in views)
    assert told == (*data.X.shape, widths, len(data.classes)), "the registry and the file disagree"
    assert f"({len(data.X)}," in source.arrays
    assert data.source


def test_real_counts_agree_with_the_publications():
    np.testing.assert_array_equal(np.bincount(real("uci_wine").y), [59, 71, 48])
    aggregation = real("sipu_aggregation")
    assert sorted(np.bincount(aggregation.y)) == [34, 34, 45, 102, 130, 170, 273]
    np.testing.assert_array_equal(aggregation.classes, np.arange(1, 8))


def test_real_multi_view_has_named_views():
    digits = real("mv_mfeat_digits")
    assert {name: view.shape[1] for name, view in digits.views.items()} == {
        "fac": 216, "fou": 76, "kar": 64, "mor": 6, "pix": 240, "zer": 47,
    }  # fmt: skip


def test_real_seven_classes_are_rows_of_the_twenty():
    seven, twenty = real("mv_caltech101_7_index"), real("mv_caltech101_20_recomputed")
    assert len(seven.X) == 1474
    # Each row is found in the large set, under the same name.
    row_of = {row.tobytes(): i for i, row in enumerate(twenty.X)}
    rows = [row_of[row.tobytes()] for row in seven.X]
    assert np.array_equal(
        np.array(twenty.target_names)[twenty.y[rows]], np.array(seven.target_names)[seven.y]
    )
    assert list(seven.views) == list(twenty.views)


def save(folder, name, **arrays):
    np.savez(folder / f"{name}.npz", **arrays)


def test_folder_from_the_environment(tmp_path, monkeypatch):
    save(tmp_path, "uci_vehicle", X=np.ones((3, 2), np.uint8), y=[5, 5, 9], class_names=["a", "b"])
    monkeypatch.setenv("LINKSHIFT_DATA", str(tmp_path))
    data = load("uci_vehicle")
    np.testing.assert_array_equal(data.y, [0, 0, 1])
    np.testing.assert_array_equal(data.classes, [5, 9])
    assert data.target_names == ("a", "b")
    assert data.X.dtype == np.float32
    assert [name for name, present in available().items() if present] == ["uci_vehicle"]
    assert repr(data) == "Dataset('uci_vehicle': 3 samples, 2 features, 2 classes)"


def test_folder_beside_a_parent_of_the_working_directory(tmp_path, monkeypatch):
    shared = tmp_path / "shared" / "data"
    deep = tmp_path / "repository" / "examples"
    shared.mkdir(parents=True)
    deep.mkdir(parents=True)
    # A shared/data nearer by that holds nothing of ours is passed over.
    (tmp_path / "repository" / "shared" / "data").mkdir(parents=True)
    save(shared, "uci_iris", X=np.zeros((2, 4)), y=[0, 1])
    monkeypatch.delenv("LINKSHIFT_DATA", raising=False)
    monkeypatch.chdir(deep)
    assert load("uci_iris").X.shape == (2, 4)


def test_views_beyond_nine_keep_their_order(tmp_path):
    views = {f"X_view{i}": np.full((2, 1), i, np.int32) for i in range(1, 12)}
    save(tmp_path, "mv_msrc_v1", y=[0, 1], **views)
    data = load("mv_msrc_v1", folder=tmp_path)
    np.testing.assert_array_equal(data.X[0], np.arange(1, 12))
    assert list(data.views)[-1] == "view11"


def test_other_arrays_are_extras(tmp_path):
    save(tmp_path, "face_pie_pose27", X=np.ones((2, 3)), y=[0, 1], light=[1, 0])
    assert list(load("face_pie_pose27", folder=tmp_path).extras) == ["light"]


def test_missing_file_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKSHIFT_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError) as error:
        load("uci_wine")
    for part in ("LINKSHIFT_DATA", "uci_wine.npz", "X (178, 13)", "UCI", "Aeberhard"):
        assert part in str(error.value)


def test_missing_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKSHIFT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        load("uci_wine")
    assert not any(available().values())


def test_no_folder_known(monkeypatch):
    monkeypatch.setattr(datasets, "_data_folder", lambda folder: None)
    with pytest.raises(FileNotFoundError, match="no folder of data sets is known"):
        load("uci_wine")


def test_unknown_name_suggests_the_closest():
    with pytest.raises(ValueError, match="did you mean 'sipu_aggregation'"):
        load("sipu_agregation")
    with pytest.raises(ValueError, match=r"available\(\) lists"):
        load("zzzzzzzz")


def test_image_set_is_refused_with_its_reason():
    with pytest.raises(ValueError, match=r"set of images .* datasets\.load_images"):
        load("bsds500_sample26")


def test_images_come_with_their_segmentations(tmp_path):
    arrays = {
        f"{kind}_{key}": np.full(shape, value, dtype=np.uint8)
        for value, key in enumerate(("b", "a"))
        for kind, shape in (("img", (3, 4, 3)), ("gt", (5 + value, 3, 4)))
    }
    save(tmp_path, "bsds500_sample26", ids=["b", "a"], split=["val", "test"], **arrays)
    first, second = datasets.load_images(folder=tmp_path)
    assert (first.name, first.split, second.name, second.split) == ("b", "val", "a", "test")
    assert second.segmentations.shape == (6, 3, 4)
    assert (second.image == 1).all()


def test_images_that_are_not_there(tmp_path):
    with pytest.raises(ValueError, match="there is bsds500_sample26"):
        datasets.load_images("uci_wine")
    with pytest.raises(FileNotFoundError, match=r"LINKSHIFT_DATA.*gt_<id>"):
        datasets.load_images(folder=tmp_path)
    save(tmp_path, "bsds500_sample26", ids=["7"], split=["val"], img_7=np.zeros((2, 2, 3)))
    with pytest.raises(ValueError, match="no array 'gt_7'"):
        datasets.load_images(folder=tmp_path)


def test_wrong_layout_is_refused(tmp_path):
    save(tmp_path, "uci_wine", data=np.ones(3))
    with pytest.raises(ValueError, match=r"holds the arrays \['data'\]"):
        load("uci_wine", folder=tmp_path)
    save(tmp_path, "uci_wine", X=np.ones((3, 2)), y=[0, 1])
    with pytest.raises(ValueError, match="3 rows of X but 2 labels"):
        load("uci_wine", folder=tmp_path)


def test_damaged_file_is_refused(tmp_path):
    save(tmp_path, "uci_wine", X=np.ones((3, 2)), y=[0, 1, 1])
    path = tmp_path / "uci_wine.npz"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"uci_wine\.npz is not a whole npz file"):
        load("uci_wine", folder=tmp_path)


def test_pickled_objects_are_not_opened(tmp_path):
    save(tmp_path, "uci_wine", X=np.array([{"a": 1}], dtype=object), y=[0])
    with pytest.raises(ValueError, match="allow_pickle"):
        load("uci_wine", folder=tmp_path)
