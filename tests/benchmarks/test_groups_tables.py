"""The paper's tables of group-dependent features: distances by hand, and every printed cell."""

from functools import partial

import numpy as np
import pytest
from benchmarks.harness import Options
from benchmarks.papers import groups_faces, groups_photos, groups_tables, tables
from benchmarks.papers.groups_tables import Problem


def small_problem(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 12)
    apart = {}
    for name in groups_photos.DISTANCES:
        X = rng.normal(size=(36, 3)) + 6.0 * np.eye(3)[y]
        apart[name] = np.linalg.norm(X[:, None] - X, axis=2)
    monkeypatch.setattr(groups_tables, "photographs", lambda: Problem(apart, y))
    monkeypatch.setattr(groups_photos, "archive", lambda: "here")


def test_every_cell_of_table_1_has_ours_beside_it(monkeypatch):
    small_problem(monkeypatch)
    options = Options(size="quick", repeats=2, seed=5)
    # Which cells there are does not depend on how far the method runs.
    brief = partial(groups_tables.GroupFeatureClustering, max_iter=2, n_init=2)
    monkeypatch.setattr(groups_tables, "GroupFeatureClustering", brief)
    parts = ("table_1_rivals", "table_1", "table_1_literal")
    rows = [row for part in parts for row in getattr(groups_tables, part)(options)]
    found = {(row.cells["views"], row.cells["method"]): row.cells for row in rows}
    printed = tables.load("groups_1").records()
    assert len(printed) == 24
    for record in printed:
        methods = [record["method"]]
        if methods == ["group-dependent"]:
            methods = ["ours", "literal"]
        for method in methods:
            cells = found.pop((record["kernel"], method))
            assert cells["paper ACC %"] == record["Caltech-101/ACC %"]
            assert cells["paper NMI"] == record["Caltech-101/NMI"]
            assert 0 <= cells["NMI"] <= 1
    assert not found
    assert rows[-1].cells["sd"] is not None  # as many repeats as asked for


def test_tables_without_their_data_say_so(monkeypatch):
    monkeypatch.setattr(groups_photos, "archive", lambda: None)
    monkeypatch.setattr(groups_tables, "have_faces", lambda: False)
    for part, file in (("table_1", "caltech101_20_images.zip"), ("table_2", "face_pie_pose27.npz")):
        (row,) = getattr(groups_tables, part)(Options(size="full"))
        assert row.cells["part"] == "left out"
        assert file in row.cells["why"]


def test_bounds_are_the_papers():
    assert Problem({}, np.repeat([0, 1, 2], [12, 15, 21])).sizes == (9, 26)


def test_mutual_information_is_over_the_geometric_mean():
    y, labels = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])
    assert groups_tables.scores(y, labels)[1] == pytest.approx(np.sqrt(0.5))


def test_trimmed_squares_forget_a_fifth_of_the_pixels():
    rng = np.random.default_rng(0)
    rows = rng.random((5, 10))
    rows[1] = rows[0]
    rows[1, :2] += 100.0
    found = groups_faces.trimmed_distances(rows)
    np.testing.assert_array_equal(found, found.T)
    assert found[0, 1] == 0.0
    expected = np.sqrt(np.sort((rows[2] - rows[3]) ** 2)[:8].sum())
    assert found[2, 3] == pytest.approx(expected, rel=1e-5)


def test_patterns_do_not_mind_a_turn():
    rng = np.random.default_rng(0)
    image = rng.random((51, 51))
    patterns = [groups_faces.polar_patterns(np.rot90(image, k)) for k in range(4)]
    other = groups_faces.polar_patterns(rng.random((51, 51)))
    found = groups_faces.pattern_distances(np.array([*patterns, other]))
    assert found[:4, :4].max() < 0.1 < found[4, :4].min()
    one, two = patterns[0].astype(float), np.roll(other, 3, axis=0).astype(float)
    literal = min(
        1.0 - np.minimum(one, t).sum() / np.maximum(one, t).sum()
        for t in (np.roll(two, k, axis=0) for k in range(24))
    )
    assert found[0, 4] == pytest.approx(literal)


def test_delighting_takes_a_smooth_light_away():
    rng = np.random.default_rng(0)
    surface = np.kron(rng.uniform(0.3, 0.6, size=(6, 6)), np.ones((8, 8)))
    y, x = np.indices(surface.shape) / 48.0
    images = [surface * light for light in (1.0, 0.4 + 0.6 * x, 0.4 + 0.6 * y)]
    before = groups_faces.cosine_distances(np.array([image.ravel() for image in images]))
    rows = np.array([groups_faces.delighted(image).ravel() for image in images])
    after = groups_faces.cosine_distances(rows)
    assert after[0, 1] < 0.5 * before[0, 1]
    assert after[1, 2] < 0.5 * before[1, 2]


@pytest.mark.slow
def test_faces_come_in_four_groups():
    if not groups_tables.have_faces():
        pytest.skip("the data sets are not here; set LINKSHIFT_DATA")
    drawn = groups_faces.faces(0)
    sizes = {g: np.unique(np.bincount(drawn.y[drawn.group == g])) for g in range(4)}
    assert [len(np.unique(drawn.y[drawn.group == g])) for g in range(4)] == [17, 17, 17, 10]
    assert [int(sizes[g][-1]) for g in range(4)] == [21, 12, 12, 15]
    assert drawn.images.shape[1:] == (51, 51)
    np.testing.assert_array_equal(groups_faces.faces(0).images, drawn.images)
