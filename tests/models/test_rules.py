"""Rules for what comes from a file: what they let in, and what not."""

import numpy as np
import pytest

from linkshift.models.rules import Refused, check, check_all

FLOATS, NUMBERS = np.ones((3, 2)), np.arange(3)


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ("f n d", [FLOATS, FLOATS[::-1]], [FLOATS[:2], FLOATS[:0], FLOATS[0], FLOATS[None]]),
        ("f n d", [], [FLOATS.astype("f4"), FLOATS.astype(int), FLOATS > 0, FLOATS.astype("U3")]),
        ("f n d", [], [FLOATS * np.nan, FLOATS * np.inf, FLOATS.tolist(), None, 1.0]),
        ("x n d", [FLOATS, FLOATS.astype("f4")], [FLOATS.astype("f2"), FLOATS.astype(complex)]),
        ("f n *", [FLOATS, FLOATS[:, :0]], [FLOATS[:2]]),
        ("f k", [np.ones(7)], [np.ones(0)]),
        ("f k k", [np.eye(4)], [FLOATS]),
        ("f 2", [np.ones(2)], [np.ones(3)]),
        ("f n d >0", [FLOATS], [FLOATS - 1, -FLOATS]),
        ("f n d 0..", [FLOATS - 1], [-FLOATS]),
        ("f n d >0..9", [8 * FLOATS], [9 * FLOATS, 0 * FLOATS]),
        ("i n 0..n", [NUMBERS], [NUMBERS + 1, NUMBERS - 1, NUMBERS.astype("i4"), FLOATS[:, 0]]),
        ("i n -1..n", [NUMBERS - 1], [NUMBERS - 2, np.full(3, 2**62)]),
        ("float", [1.5], [1, True, np.float64(1.5), np.nan, np.inf, "1.5"]),
        ("float >0", [1e-300], [0.0, -1.0]),
        ("int 1..", [1, 2**60], [0, 1.0, True]),
        ("int ?", [3, None], ["3"]),
        ("dict", [{}], [[], None]),
        ("array", [FLOATS, np.array(["a"])], [[1.0], None]),
        ("any", [None, [], object()], []),
        ("float >0 | f n >0", [1.0, np.ones(3)], [0.0, np.ones(2), np.zeros(3), "1"]),
    ],
)
def test_rules(rule, good, bad):
    for value in good:
        check("field", value, rule, {"n": 3, "d": 2})
    for value in bad:
        with pytest.raises(Refused, match="its field"):
            check("field", value, rule, {"n": 3, "d": 2})


def test_sizes_hold_for_all_fields_together():
    rules = {"centers": "f k d", "radius": "f k >0", "labels": "i n 0..k"}
    values = {"centers": FLOATS, "radius": np.ones(3), "labels": np.array([2, 0, 1, 1])}
    assert check_all("model", values, rules) == {"k": 3, "d": 2, "n": 4}
    for name, wrong in {
        "centers": FLOATS[:2],
        "radius": np.ones(2),
        "labels": np.array([3]),
        "more": 1,
    }.items():
        with pytest.raises(Refused):
            check_all("model", values | {name: wrong}, rules)
    for name in values:
        with pytest.raises(Refused, match=f"lacks the field '{name}'"):
            check_all("model", {k: v for k, v in values.items() if k != name}, rules)
    with pytest.raises(Refused, match="lacks the field"):
        check_all("model", [], rules)
