"""Inputs, links, options and model files changed at random: no traceback, and nothing hangs."""

import pytest
from tests.cli import mutations


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


def check(folder, first, count):
    wrong = mutations.run(folder, first, count)
    assert not wrong, "\n".join(f"{what} (trial {numbers[0]})" for what, numbers in wrong.items())


def test_some(folder):
    check(folder, 0, 70)


# What trials have found: a list where a word should be, bandwidths whose square is zero (in
# cluster, explain and near links), one in whose unit the data overflow, a number where those of
# clusters should be, confidences whose product is zero, directions whose squares overflow, and a
# tolerance and a bandwidth in whose units rows, and steps, overflow.
@pytest.mark.parametrize(
    "number", [293, 1180, 1325, 5125, 20103, 20372, 22130, 41435, 50281, 60216, 76904, 96018]
)
def test_what_was_found(folder, number):
    check(folder, number, 1)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 10_000, 500))
def test_many(folder, first):
    check(folder, first, 500)
