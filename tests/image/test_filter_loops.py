"""The table of known steps answers for the very same point only."""

import numpy as np
import pytest

from linkshift.image._filter_loops import KNOWN_SHAPE, _is_known, _remember, _slot

POINT = (3.25, 7.5, np.float32(10.5), np.float32(20.25), np.float32(30.125))
MEAN = (4.0, 8.0, np.float32(11.0), np.float32(21.0), np.float32(31.0))


def table():
    known = np.full(KNOWN_SHAPE, -1.0)
    _remember(known, _slot(POINT), POINT, MEAN)
    return known


def test_a_step_is_remembered_with_its_end():
    known = table()
    slot = _slot(POINT)
    assert _is_known(known, slot, POINT)
    np.testing.assert_array_equal(known[slot], [*POINT, *MEAN])
    assert (np.delete(known, slot, axis=0) == -1.0).all()


@pytest.mark.parametrize("which", range(5))
def test_a_point_that_differs_in_the_last_bit_is_not_known(which):
    other = list(POINT)
    other[which] = np.nextafter(other[which], type(other[which])(np.inf))
    assert other[which] != POINT[which]
    assert not _is_known(table(), _slot(POINT), tuple(other))


def test_an_empty_table_knows_nothing():
    assert not _is_known(np.full(KNOWN_SHAPE, -1.0), _slot(POINT), POINT)


def test_points_are_spread_over_the_table():
    rng = np.random.default_rng(0)
    places, colours = rng.random((4096, 2)) * 100, rng.random((4096, 3)).astype(np.float32) * 255
    slots = {_slot((*place, *colour)) for place, colour in zip(places, colours, strict=True)}
    assert len(slots) > 0.55 * 4096  # 63 % by chance
    assert all(0 <= slot < KNOWN_SHAPE[0] for slot in slots)
