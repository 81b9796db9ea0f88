"""Names follow clusters: most members at home, and what is nobody's is said."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import web_worker as twin

from linkshift.web.names import MOST_MEMBERS, Name, homes, members_of

small = st.lists(st.sampled_from([0, 3, 4]), min_size=1, max_size=8)


@st.composite
def named(draw):
    labels = draw(small)
    rows = st.lists(st.integers(0, len(labels) - 1), unique=True, max_size=6)
    given_names = draw(st.lists(rows, max_size=3))
    return [Name(f"n{i}", tuple(some)) for i, some in enumerate(given_names)], labels


@given(named())
def test_as_many_members_as_can_be_are_at_home(case):
    names, labels = case
    found = homes(names, np.array(labels))
    total = 0.0
    for k, i in found.place.items():
        assert found.of[k] == names[i].name
        share = np.mean([labels[row] == k for row in names[i].rows])
        assert share >= 0.5
        total += share
    assert total == pytest.approx(twin.best_total(names, labels))


@given(named())
def test_each_name_is_somewhere_once(case):
    names, labels = case
    found = homes(names, np.array(labels))
    also = [name for some in found.also.values() for name in some]
    assert sorted([*found.of.values(), *also, *found.homeless]) == [one.name for one in names]
    assert set(found.also) <= set(found.of)  # a second name has a first
    for one in names:
        half = [
            k
            for k in set(labels)
            if one.rows and 2 * sum(labels[row] == k for row in one.rows) >= len(one.rows)
        ]
        assert (one.name in found.homeless) == (not half)


def test_two_names_of_a_merged_cluster_the_larger_share_is_ahead():
    names = [Name("a", (0, 1, 2, 3)), Name("b", (4, 5))]
    found = homes(names, np.array([5, 5, 5, 1, 5, 5]))
    assert found.of == {5: "b"}
    assert found.also == {5: ["a"]}


def test_of_equal_shares_more_members_then_the_first():
    labels = np.zeros(9, dtype=int)
    assert homes([Name("a", (0,)), Name("b", (1, 2))], labels).of == {0: "b"}
    assert homes([Name("a", (0, 3)), Name("b", (1, 2))], labels).of == {0: "a"}


def test_name_of_half_and_half_gives_way_to_one_that_has_no_choice():
    names = [Name("both", (0, 1)), Name("first", (2, 3))]
    assert homes(names, np.array([0, 1, 0, 0])).of == {0: "first", 1: "both"}


def test_name_without_half_of_its_rows_is_homeless():
    found = homes([Name("gone", (0, 1, 2, 3, 4))], np.array([0, 0, 1, 1, 2]))
    assert (found.of, found.homeless) == ({}, ["gone"])


def test_rows_that_are_not_there_do_not_count():
    found = homes([Name("a", (0, 1, 90, 91)), Name("b", (77,))], np.array([2, 2, 3]))
    assert found.of == {2: "a"}
    assert found.homeless == ["b"]


def test_no_names_and_no_rows():
    assert homes([], np.array([0, 1])).of == {}
    assert homes([Name("a", (0,))], np.array([], dtype=int)).homeless == ["a"]


def test_members_are_spread_over_the_cluster_with_those_that_must_be():
    labels = np.tile([0, 1], 2000)
    found = members_of(labels, 1, first=[3999, 7, 7, 2])
    assert len(found) == MOST_MEMBERS == len(set(found))
    assert {3999, 7} <= set(found)
    assert 2 not in found  # it is of another
    assert (labels[found] == 1).all()
    assert np.diff(found).max() < 20
    assert members_of(labels[:6], 0) == [0, 2, 4]
    assert members_of(labels, 9) == []


def test_a_usual_name_waits_for_no_library():
    code = (
        "import sys, numpy as np\nfrom linkshift.web.names import Name, homes\n"
        "names = [Name('a', (0, 1)), Name('b', (2,)), Name('c', (1,))]\n"
        "print(homes(names, np.array([0, 0, 1])).of, 'scipy.optimize' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "{0: 'a', 1: 'b'} False"
