"""The bound on memory: stated, settable, checked before the work."""

import tracemalloc

import numpy as np
import pytest

from linkshift import (
    ConsensusClustering,
    ConstrainedMeanShift,
    KernelMeanShift,
    Links,
    MetricMeanShift,
)
from linkshift._core.memory import VARIABLE, check_memory
from linkshift._core.messages import Refusal


def test_the_bound_is_four_gigabytes(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    check_memory(4e9, "It", "Take less.")
    with pytest.raises(Refusal, match=r"It takes 4.1 GB of memory, and the bound is 4 GB. Take le"):
        check_memory(4.1e9, "It", "Take less.")


def test_the_bound_can_be_set(monkeypatch):
    monkeypatch.setenv(VARIABLE, "0.5")
    with pytest.raises(Refusal, match=f"bound is 0.5 GB. Less. .*{VARIABLE}=2") as caught:
        check_memory(1e9, "It", "Less.", command="Fewer.")
    assert "Fewer. On a machine" in caught.value.text("command")
    for wrong in ("much", "0", "-1", "nan"):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(Refusal, match="no number above 0"):
            check_memory(1.0, "It", "Less.")


ROWS = np.zeros((20_000, 2)) + np.arange(20_000)[:, None]
CLASSES = np.repeat([0, 0, -1], [2, 2, 19_996])


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (KernelMeanShift(n_landmarks=None), "Give n_landmarks"),
        (KernelMeanShift(n_landmarks=19_000), "Give n_landmarks"),
        (ConsensusClustering(max_rows=20_000), "Lower max_rows"),
        (MetricMeanShift("global", kernel="gaussian"), "Fit fewer rows"),
    ],
)
def test_too_many_rows_are_refused_before_memory_is_taken(model, told, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    tracemalloc.start()
    try:
        with pytest.raises(Refusal, match=r"GB of memory, and the bound is 4 GB") as caught:
            model.fit(ROWS, partial_labels=CLASSES)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert told in str(caught.value)
    assert peak < 100e6
    assert not hasattr(model, "labels_")


def test_lists_of_centres_near_links(monkeypatch):
    monkeypatch.setenv(VARIABLE, "0.0000005")
    X = np.random.default_rng(0).normal(size=(60, 2))
    links = Links(cannot=[(i, i + 30) for i in range(30)])
    with pytest.raises(Refusal, match=r"centres near the ends of cannot-links .* max_pairs"):
        ConstrainedMeanShift().fit(X, links=links)
