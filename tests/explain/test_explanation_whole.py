"""Explanations as they are told: of any estimator, from files, in words and in pictures."""

import copy
import json

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from tests.explain.cases import LINKS, MUST, Halves, X, check_counterfactuals, quiet_fit

from linkshift import (
    ConstrainedMeanShift,
    KernelMeanShift,
    Links,
    MeanShift,
    MetricMeanShift,
    RefinedClustering,
    model_files,
    plot,
)
from linkshift.explain.explanation import Counterfactual, Explanation, LinkRole

mpl.use("Agg")


def test_an_estimator_without_a_path_has_links_and_counterfactuals():
    links = Links(must=[(7, 8)], cannot=[(3, 40), (0, 59)])
    explanation = Halves(np.arange(60)).fit(X, links=links).explain(0)
    assert explanation.path is None
    assert explanation.mode is None
    assert [role.pair for role in explanation.links] == [(0, 59)]
    outcomes = {case.pair: (case.outcome, case.clusters) for case in explanation.counterfactuals}
    assert outcomes == {
        (0, 59): ("stays", (0,)),
        (7, 8): ("joins", (1,)),
        (3, 40): ("stays", (0,)),
    }
    assert "without must-link (7, 8) it joins cluster 1" in str(explanation)
    json.dumps(explanation.to_dict())


def test_a_refined_clustering_is_fitted_again_without_a_link():
    # k-means cuts the three blobs into eight, and must-links put some together again.
    links = Links(must=MUST.must[:3])
    model = RefinedClustering(KMeans(8, n_init=1, random_state=0)).fit(X, links=links)
    cases = []
    for row in np.unique(links.must)[:3].tolist():
        cases += check_counterfactuals(model, X, row, max_counterfactuals=3).counterfactuals
    assert {case.outcome for case in cases} != {"stays"}


def test_contradictory_links_are_not_passed_on():
    links = Links(must=[(0, 1), (1, 2)], cannot=[(0, 2), (2, 9)])
    explanation = Halves(np.arange(60)).fit(X, links=links).explain(0, max_counterfactuals=0)
    assert {role.pair for role in explanation.links} == {(0, 1), (0, 2)}


def test_models_of_earlier_versions_are_refused():
    model = ConstrainedMeanShift().fit(X, links=LINKS)
    del model.links_
    with pytest.raises(ValueError, match="Fit it again"):
        model.explain(0)


def test_changed_parameters_are_refused():
    model = ConstrainedMeanShift().fit(X, links=LINKS)
    with pytest.raises(ValueError, match="changed since fit"):
        model.set_params(penalty=1.0).explain(0)


# The whole ---------------------------------------------------------------------------------

MODELS = [
    ConstrainedMeanShift(n_jobs=1),
    ConstrainedMeanShift(n_jobs=1, keep_history=True),
    KernelMeanShift(n_jobs=1, use_links="learn", random_state=0),
    MetricMeanShift(n_jobs=1, random_state=0, n_neighbors=15),
]


def snapshot(value):
    """All that a fitted model holds, as text."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: snapshot(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [snapshot(item) for item in value]
    if hasattr(value, "__dict__"):
        return type(value).__name__, snapshot(vars(value))
    return repr(value)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_explaining_leaves_the_model_alone_and_works_from_a_file(model, tmp_path):
    model = quiet_fit(copy.deepcopy(model), X, LINKS)
    before = snapshot(vars(model))
    found = model.explain(4, max_counterfactuals=2).to_dict()
    assert snapshot(vars(model)) == before
    model_files.save(model, tmp_path / "model.npz")
    loaded = model_files.load(tmp_path / "model.npz")
    assert loaded.links_ == model.links_
    assert loaded.explain(4, max_counterfactuals=2).to_dict() == found


def test_mean_shift_explains_from_a_file(tmp_path):
    model = MeanShift(bandwidth=2.0, bin_size=0.6, kernel="gaussian", n_jobs=1).fit(X)
    model_files.save(model, tmp_path / "model.npz")
    loaded = model_files.load(tmp_path / "model.npz")
    assert loaded.explain(4).to_dict() == model.explain(4).to_dict()


def test_plain_values():
    explanation = ConstrainedMeanShift().fit(X, links=LINKS).explain(np.int64(7))
    plain = explanation.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["row"] == 7
    assert plain["ids"] is None
    assert plain["path"] == explanation.path.tolist()
    assert plain["links"][0]["pair"] == list(explanation.links[0].pair)
    assert len(plain["counterfactuals"]) == 5


def test_names_are_for_the_text():
    ids = [f"id{i}" for i in range(60)]
    model = ConstrainedMeanShift().fit(X, links=LINKS)
    explanation = model.explain(7, ids=ids, max_counterfactuals=1)
    text = str(explanation)
    assert text.startswith("Row id7 is in cluster")
    a, b = explanation.counterfactuals[0].pair
    assert f"without {explanation.counterfactuals[0].kind}-link (id{a}, id{b})" in text
    named = explanation.to_dict()["ids"]
    assert named["7"] == "id7"
    assert set(named) >= {str(row) for role in explanation.links for row in role.pair}
    assert (
        model.explain(7, max_counterfactuals=1).to_dict()["links"]
        == (explanation.to_dict()["links"])
    )


def test_the_text():
    roles = (
        LinkRole("cannot", (5, 17), 0.8, True, "density", share=0.4321, step=9, through=(5, 17)),
        LinkRole("must", (3, 7), 1.0, False, "component", chain=(1, 3)),
    )
    cases = (
        Counterfactual("cannot", (5, 17), "joins", (2,), 9, 3),
        Counterfactual("must", (3, 7), "merged", (0, 1, 2), 30, 1, "and more"),
        Counterfactual("must", (3, 8), "merged", (0, 2), 30, 1),
        Counterfactual("must", (3, 9), "new", (0,), 3, 4),
        Counterfactual("must", (3, 10), "alone", (), 1, 4),
        Counterfactual("must", (3, 11), "noise", ()),
    )
    explanation = Explanation(
        row=1,
        label=1,
        size=2,
        space="input",
        path=np.array([[0.0, 1.0], [0.25, 1.0]]),
        path_rows=(1, 4),
        mode=np.array([0.25, 1.0]),
        mode_row=4,
        links=roles,
        n_links=3,
        counterfactuals=cases,
        notes=("It rains.",),
    )
    assert str(explanation).splitlines() == [
        "Row 1 is in cluster 1, with 1 other.",
        "Path: 1 step, past rows 1, 4.",
        "Mode: at (0.25, 1), nearest to row 4.",
        "Links that act on it:",
        "  cannot-link (5, 17) of confidence 0.8: through the density; takes up to 43 % of its "
        "weight (step 9); holds",
        "  must-link (3, 7): through must-links 1 - 3; is violated",
        "What if:",
        "  without cannot-link (5, 17) it joins cluster 2",
        "  without must-link (3, 7) clusters 0, 1 and 2 become one (and more)",
        "  without must-link (3, 8) it joins clusters 0 and 2, which become one",
        "  without must-link (3, 9) it becomes part of a new cluster, with rows of cluster 0",
        "  without must-link (3, 10) it is alone in a cluster",
        "  without must-link (3, 11) it becomes noise",
        "Note: It rains.",
    ]


def test_wrong_arguments():
    model = MeanShift(bandwidth=2.0).fit(X)
    for row in (60, -1):
        with pytest.raises(IndexError, match=f"row {row} is out of range"):
            model.explain(row)
    for row in (1.0, "1", None, True):
        with pytest.raises(TypeError, match="whole number"):
            model.explain(row)
    with pytest.raises(ValueError, match="not be negative"):
        model.explain(0, max_counterfactuals=-1)
    with pytest.raises(TypeError, match="whole number"):
        model.explain(0, max_counterfactuals=1.5)
    with pytest.raises(ValueError, match="all 60 rows"):
        model.explain(0, ids=["a"])
    with pytest.raises(TypeError, match="got text"):
        model.explain(0, ids="a" * 60)
    with pytest.raises(NotFittedError):
        MeanShift().explain(0)


def test_one_row_and_equal_rows():
    explanation = MeanShift().fit([[1.0, 2.0]]).explain(0)
    assert (explanation.size, explanation.path_rows, explanation.mode_row) == (1, (0,), 0)
    assert "alone" in str(explanation)
    one = quiet_fit(ConstrainedMeanShift(), np.array([[1.0, 2.0]]), None).explain(0)
    assert one.path.tolist() == [[1.0, 2.0]]
    same = np.repeat([[0.0], [1.0]], 5, axis=0)
    links = Links(cannot=[(0, 9)])
    explanation = ConstrainedMeanShift().fit(same, links=links).explain(1)
    assert [role.acts for role in explanation.links] == ["density"]
    # Without it, the bandwidth stops growing before two spots are one.
    assert explanation.counterfactuals[0].outcome == "stays"
    assert MeanShift(bandwidth=0.5).fit(same).explain(7).size == 5


# The picture -------------------------------------------------------------------------------


def drawn(ax, label):
    """Artists of that label: positions of a scatter, or of a line."""
    for artist in (*ax.collections, *ax.lines):
        if artist.get_label() == label:
            return np.asarray(
                artist.get_xydata() if artist in ax.lines else artist.get_offsets(), dtype=float
            )
    raise AssertionError(f"no {label!r} among the artists")


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_picture_shows_path_mode_and_links():
    model = ConstrainedMeanShift().fit(X, links=LINKS)
    explanation = model.explain(7, max_counterfactuals=0)
    ax = plot.explanation(explanation, X, labels=model.labels_)
    np.testing.assert_allclose(drawn(ax, "its path"), explanation.path)
    np.testing.assert_allclose(drawn(ax, "the row"), X[[7]])
    np.testing.assert_allclose(drawn(ax, "modes"), explanation.mode[None])
    shown = sum(
        len(artist.get_segments()) for artist in ax.collections if hasattr(artist, "get_segments")
    )
    assert shown == min(12, len(explanation.links))
    assert legend_of(ax)[:3] == ["the row", "its path", "its mode"]
    fewer = plot.explanation(explanation, X, max_links=2, legend=False, title="seven")
    assert fewer.get_legend() is None
    assert fewer.get_title(loc="left") == "seven"
    mpl.pyplot.close("all")


def test_the_picture_of_another_space_goes_through_rows():
    model = KernelMeanShift(n_neighbors=5).fit(X, links=MUST)
    explanation = model.explain(3, max_counterfactuals=0)
    ax = plot.explanation(explanation, X)
    rows = [3, *explanation.path_rows, explanation.mode_row]
    np.testing.assert_allclose(drawn(ax, "rows on its path"), X[rows])
    np.testing.assert_allclose(drawn(ax, "modes"), X[[explanation.mode_row]])
    bare = plot.explanation(Halves(np.arange(60)).fit(X).explain(0), X)
    assert legend_of(bare) == ["the row"]
    mpl.pyplot.close("all")


def test_pictures_of_one_column_and_of_many():
    one = ConstrainedMeanShift().fit(X[:, :1], links=LINKS).explain(7, max_counterfactuals=0)
    ax = plot.explanation(one, X[:, :1])
    assert len(np.unique(drawn(ax, "its path")[:, 1])) == 1
    wide = np.hstack([X, X**2])
    many = MeanShift(bandwidth=20.0).fit(wide)
    ax = plot.explanation(many.explain(7), wide, labels=many.labels_)
    assert drawn(ax, "its path").shape == (len(many.explain(7).path), 2)
    mpl.pyplot.close("all")


def test_wrong_arguments_of_the_picture():
    explanation = MeanShift(bandwidth=2.0).fit(X).explain(50)
    with pytest.raises(TypeError, match="explain"):
        plot.explanation(X, explanation)
    with pytest.raises(ValueError, match="fitted on"):
        plot.explanation(explanation, X[:10])
    with pytest.raises(ValueError, match="columns"):
        plot.explanation(explanation, X[:, :1])


def test_many_labels_are_told_once():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 2)) + 6.0 * y[:, None]
    model = quiet_fit(ConstrainedMeanShift(), X, Links.from_labels(y, complete=True))
    explanation = model.explain(0, max_counterfactuals=0)
    (cannot,) = (role for role in explanation.links if role.kind == "cannot")
    assert cannot.acts == "own"
    assert len(cannot.alike) == 60 * 60 - 1
