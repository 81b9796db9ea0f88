"""Loaders: the real files where they are present, and the errors."""

from __future__ import annotations

import numpy as np
import pytest

from linkshift import datasets
from linkshift.datasets import available, load


def save(folder, name, **arrays):
    np.savez(folder / f"{name}.npz", **arrays)


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
    pairs = [(0, 1), (2, 3), (0, 2), (1, 3)]  # as many as rows
    save(tmp_path, "pccc_tae", X=np.eye(4), y=[0, 0, 1, 1], must_05=pairs[:2], cannot_05=pairs)
    whole = load("pccc_tae", folder=tmp_path)
    assert set(whole.extras) == {"must_05", "cannot_05"}
    assert not whole.take([3, 0]).extras


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


def test_no_folder_but_the_one_named(tmp_path, monkeypatch):
    monkeypatch.delenv("LINKSHIFT_DATA", raising=False)
    deep = tmp_path / "repository" / "examples"
    deep.mkdir(parents=True)
    (tmp_path / "shared" / "data").mkdir(parents=True)
    save(tmp_path / "shared" / "data", "uci_iris", X=np.zeros((2, 4)), y=[0, 1])
    monkeypatch.chdir(deep)
    assert not any(available().values())
    assert datasets.paths("uci_iris") == []
    with pytest.raises(FileNotFoundError, match="no folder of data sets is known"):
        load("uci_iris")


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
