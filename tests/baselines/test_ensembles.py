import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering
from tests.helpers import blobs, same_partition
from tests.reference.baselines import co_association, longest_lived

from linkshift.baselines import cspa, evidence_accumulation


def partitions(seed, n=24, count=8, k=4):
    """Partitions that agree in part: clusters of a line, cut at places that shift."""
    rng = np.random.default_rng(seed)
    return np.array(
        [np.digitize(np.arange(n), np.sort(rng.choice(n, k - 1))) for _ in range(count)]
    )


@settings(max_examples=30, derandomize=True)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 6))
def test_evidence_accumulation_is_average_linkage_of_co_association(seed, k):
    # Twenty-three partitions, weighed by chance, so that no two heights are equal.
    labelings = partitions(seed, count=23)
    labelings = labelings[np.random.default_rng(seed).integers(23, size=2_003)]
    apart = 1.0 - co_association(labelings)
    theirs = AgglomerativeClustering(k, metric="precomputed", linkage="average").fit(apart)
    ours = evidence_accumulation(labelings, k)
    if len(np.unique(ours)) == k:  # equal heights are joined at once
        assert same_partition(ours, theirs.labels_)


@pytest.mark.parametrize("seed", range(8))
def test_the_number_of_clusters_is_the_one_that_lasts_longest(seed):
    labelings = partitions(seed)
    found = evidence_accumulation(labelings)
    assert len(np.unique(found)) == longest_lived(1.0 - co_association(labelings))


def test_partitions_that_agree_are_found_again():
    y = np.arange(30) % 3
    labelings = [y, (y + 1) % 3, 2 - y]
    assert same_partition(cspa(labelings, 3, random_state=0), y)
    assert same_partition(evidence_accumulation(labelings), y)
    assert same_partition(evidence_accumulation(labelings, 3), y)
    assert evidence_accumulation([np.zeros(5, int)]).tolist() == [0] * 5


def test_many_bad_partitions_make_a_good_one():
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    X, y = blobs(150, 2, std=1.0, seed=3)
    many = [KMeans(8, n_init=1, random_state=s).fit_predict(X) for s in range(20)]
    alone = np.mean([adjusted_rand_score(y, labels) for labels in many])
    k = len(np.unique(y))
    assert adjusted_rand_score(y, cspa(many, k, random_state=0)) > alone
    assert adjusted_rand_score(y, evidence_accumulation(many, k)) > alone


def test_noise_is_together_with_nobody():
    labelings = [[0, 0, -1, -1, 1, 1]] * 3
    assert len(np.unique(evidence_accumulation(labelings))) == 4
    assert evidence_accumulation([["a", "a", "b"], ["x", "x", "y"]]).tolist() == [0, 0, 1]


@pytest.mark.parametrize("ensemble", [lambda y, k: cspa(y, k), evidence_accumulation])
def test_bad_arguments_raise(ensemble, monkeypatch):
    with pytest.raises(ValueError, match="a row of labels for each partition"):
        ensemble([0, 1, 2], 2)
    with pytest.raises(ValueError, match="n_clusters=7 for 3 rows"):
        ensemble([[0, 1, 2]], 7)
    monkeypatch.setenv("LINKSHIFT_MEMORY_GB", "0.000001")
    with pytest.raises(ValueError, match="of memory"):
        ensemble(np.arange(400).reshape(4, 100), 2)
