"""Messages as their readers see them: numbers that can be read, and no words of Python."""

import re

import numpy as np
import pytest

from linkshift import ConstrainedMeanShift, Links
from linkshift.tables.scaling import Scaling


def test_spreads_are_told_in_numbers_that_can_be_read():
    X = np.random.default_rng(0).normal(size=(50, 2))
    told = Scaling.of(X * [1.0, 1e3], "auto", ("a", "b")).why
    assert re.fullmatch(r"'b' varies [\d,]+ times as much as 'a'", told)
    told = Scaling.of(X * [1e-7, 1.0], "auto", ("a", "b")).why
    assert told == "'b' varies over a million times as much as 'a'"


def test_links_by_id_are_told_in_words_of_what_was_called():
    links = Links(must=[("a", "b")])
    with pytest.raises(ValueError, match=r"keyed by id, such as .a., .*links.resolve"):
        ConstrainedMeanShift().fit(np.zeros((3, 1)), links=links)


def test_too_many_clusters_are_told_by_the_option(refused, data, links):
    file = links(*(f"{i},{i + 1},must" for i in range(58)))
    told = refused("cluster", data, "--links", file, "--method", "mean-shift", "--clusters", 5)
    assert "Give --clusters of at most 2" in told
