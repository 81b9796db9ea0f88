"""Refusals and advice: a problem, and a remedy for where the reader is."""

import copy
import pickle
import warnings

import numpy as np
import pytest

from linkshift import ConstrainedMeanShift, KernelMeanShift, Links, RefinedClustering
from linkshift._core.attributes import all_or_none
from linkshift._core.convergence import NotConverged, warn_if_moving
from linkshift._core.disjoint import DisjointSets, roots
from linkshift._core.messages import Advice, Refusal, warn


@pytest.mark.parametrize("kind", [Refusal, Advice, NotConverged])
def test_parts_stay_apart_and_survive_a_copy(kind):
    message = kind("It is so.", "Set n=2.", command="Add --n 2.", parameter="n", value=[1])
    for twin in (message, copy.copy(message), pickle.loads(pickle.dumps(message))):
        assert str(twin) == twin.text("python") == "It is so. Set n=2."
        assert twin.text("command") == "It is so. Add --n 2."
        assert (twin.problem, twin.parameter, twin.value) == ("It is so.", "n", [1])
        assert type(twin) is kind


def test_without_a_remedy_of_its_own_the_command_has_that_of_python():
    assert Refusal("No.", "Do this.").text("command") == "No. Do this."
    assert Refusal("No.", "Do this.", command="").text("command") == "No."
    assert str(Refusal("No.")) == "No."


def test_kinds_are_those_that_people_catch():
    assert issubclass(Refusal, ValueError)
    assert issubclass(Advice, UserWarning)
    with pytest.warns(UserWarning, match="1 of 2 points were still moving after 3 steps"):
        warn_if_moving(np.array([True, False]), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_moving(np.array([True, True]), 3)


X = np.random.default_rng(0).normal(size=(30, 2))


@pytest.mark.parametrize(
    "call",
    [
        lambda: warn(Advice("Here.")),
        lambda: ConstrainedMeanShift(max_iter=3).fit(X),
        lambda: ConstrainedMeanShift(max_iter=3).fit_predict(X),
        lambda: KernelMeanShift(n_neighbors=99).fit(X),
        lambda: RefinedClustering(ConstrainedMeanShift(max_iter=3)).fit(X),
        lambda: ConstrainedMeanShift(max_iter=3, keep_history=True, max_pairs=1).fit(
            X, links=Links(must=[(0, 1), (2, 3)], cannot=[(0, 2)])
        ),
    ],
)
def test_a_warning_is_given_at_the_line_that_called(call):
    with pytest.warns(Advice) as caught:
        call()
    assert {warning.filename for warning in caught} == {__file__}


def test_attributes_are_set_all_or_none():
    class Thing:
        pass

    thing = Thing()
    thing.kept = 1

    def interrupted():
        with all_or_none(thing):
            thing.kept, thing.new = 2, 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert vars(thing) == {"kept": 1}
    with all_or_none(thing):
        thing.new = 3
    assert vars(thing) == {"kept": 1, "new": 3}


def test_disjoint_sets_are_what_was_joined():
    rng = np.random.default_rng(1)
    sets, names = DisjointSets(40), list(range(40))
    for a, b in rng.integers(40, size=(60, 2)).tolist():
        assert sets.join(a, b) == (names[a] != names[b])
        names = [names[a] if name == names[b] else name for name in names]
    for found in (np.array([sets.find(i) for i in range(40)]), roots(np.array(sets.parent))):
        np.testing.assert_array_equal(found[:, None] == found, np.equal.outer(names, names))
