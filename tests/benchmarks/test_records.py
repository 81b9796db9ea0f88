"""Made records of people: what they are, and that fifty answers find the people."""

import numpy as np
import pytest
from benchmarks.quality.records import STYLES, Style, draw, people


@pytest.mark.parametrize("name", STYLES)
def test_styles(name):
    texts, y = people(STYLES[name], 0)
    assert len(texts) == len(y)
    assert set(np.bincount(y)) == set(STYLES[name].records)
    assert len(np.bincount(y)) == STYLES[name].n_people
    assert people(STYLES[name], 0)[0] == texts != people(STYLES[name], 1)[0]


def test_records_without_mistakes_are_equal():
    texts, y = people(Style(40, (2, 3), 0), 0)
    assert len(set(zip(texts, y, strict=True))) == 40


# Clusters of the graph that links have bent were taken in the first, for they keep to all links;
# in the second, small groups were fewer than other families go to, and not looked at.
@pytest.mark.parametrize(("name", "least"), [("mistakes", 0.6), ("two to six each", 0.95)])
def test_fifty_answers_find_the_people(name, least):
    precision, recall, *_ = draw(people(STYLES[name], 1), 50, 1, {})
    assert precision > 0.9
    assert recall > least
