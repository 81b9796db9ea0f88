"""What others do with the same rows and links. No rival's code is here but what formulas say."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.neighbors import NearestNeighbors

from benchmarks.harness import Array
from linkshift import Links

NEIGHBOURS = 15  # of Leiden's and UMAP's graphs
ALPHA = 0.8  # how far links propagate, as in the experiments of Lu and Ip


def k_means(X: Array, n_clusters: int, seed: int) -> Array:
    labels: Array = KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(X)
    return labels


def leiden(X: Array, seed: int) -> Array:
    """Communities of greatest modularity of the graph of nearest neighbours.

    V. A. Traag, L. Waltman, N. J. van Eck, "From Louvain to Leiden: guaranteeing well-connected
    communities", Scientific Reports 9, 2019.
    """
    import igraph
    import leidenalg

    count = min(NEIGHBOURS, len(X) - 1)
    near = NearestNeighbors(n_neighbors=count).fit(X).kneighbors(return_distance=False)
    pairs = np.column_stack((np.repeat(np.arange(len(X)), count), near.ravel()))
    edges = np.unique(np.sort(pairs, axis=1), axis=0)
    graph = igraph.Graph(n=len(X), edges=edges.tolist())
    found = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=seed)
    return np.array(found.membership, dtype=np.int64)


def umap_hdbscan(X: Array, seed: int) -> Array:
    """Density-based clusters in few columns that keep the neighbours; -1 is noise.

    L. McInnes, J. Healy, J. Melville, "UMAP: uniform manifold approximation and projection for
    dimension reduction", 2018, with the settings that its documentation advises for clustering.
    """
    import umap

    model = umap.UMAP(
        n_neighbors=min(NEIGHBOURS, len(X) - 1),
        n_components=min(5, X.shape[1]),
        min_dist=0.0,
        random_state=seed,
        n_jobs=1,
    )
    clusterer = HDBSCAN(min_cluster_size=max(5, len(X) // 50))
    labels: Array = clusterer.fit_predict(model.fit_transform(X)).astype(np.int64)
    return labels


# --- constraint propagation ---------------------------------------------------------------------


def affinity(X: Array, n_neighbors: int = 10, scale: int = 7) -> Array:
    """Self-tuned similarity of nearest neighbours, dense: w = exp(-d^2 / (s_i s_j)).

    s is the distance to the 7th neighbour (L. Zelnik-Manor, P. Perona, "Self-tuning spectral
    clustering", NIPS 2004), not below a tenth of its median, since duplicates have none.
    """
    count = min(n_neighbors, len(X) - 1)
    distance, near = NearestNeighbors(n_neighbors=count).fit(X).kneighbors()
    own = distance[:, min(scale, count) - 1]
    least = 0.1 * np.median(own[own > 0]) if (own > 0).any() else 1.0
    own = np.maximum(own, least)
    weight = np.maximum(np.exp(-(distance**2) / (own[:, None] * own[near])), 1e-4)
    W = np.zeros((len(X), len(X)))
    np.put_along_axis(W, near, weight, axis=1)
    return np.maximum(W, W.T)


def propagator(W: Array, alpha: float = ALPHA) -> Array:
    """(1 - alpha) (I - alpha S)^-1 with S = D^-1/2 W D^-1/2: made once for all links of a set."""
    scale = 1.0 / np.sqrt(W.sum(axis=1))
    S = scale[:, None] * W * scale
    result: Array = (1.0 - alpha) * linalg.inv(np.eye(len(W)) - alpha * S)
    return result


def propagated(W: Array, spread: Array, links: Links) -> Array:
    """Similarities that links have changed, theirs and all others'.

    F = G Z G for the propagator G and links Z (1 must, -1 cannot, 0 unknown), scaled to a largest
    entry of one; then w becomes 1 - (1 - f) (1 - w) where f >= 0, else (1 + f) w. Z. Lu,
    H. H. S. Ip, "Constrained spectral clustering via exhaustive and efficient constraint
    propagation", ECCV 2010.
    """
    pairs = np.vstack((links.must, links.cannot))
    value = np.repeat([1.0, -1.0], [len(links.must), len(links.cannot)])
    one_way = sparse.csr_array((value, (pairs[:, 0], pairs[:, 1])), shape=W.shape)
    F = spread @ ((one_way + one_way.T) @ spread)
    F /= max(np.abs(F).max(), 1e-12)
    return np.where(F >= 0, 1.0 - (1.0 - F) * (1.0 - W), (1.0 + F) * W)


def spectral(W: Array, n_clusters: int, seed: int) -> Array:
    """Cluster the rows of the leading eigenvectors by k-means, at length one.

    A. Y. Ng, M. I. Jordan, Y. Weiss, "On spectral clustering", NIPS 2001.
    """
    scale = 1.0 / np.sqrt(W.sum(axis=1) + 1e-12)
    n = len(W)
    A = scale[:, None] * W * scale
    _, vectors = linalg.eigh(A, subset_by_index=[n - n_clusters, n - 1])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-12
    labels: Array = KMeans(n_clusters, n_init=5, random_state=seed).fit_predict(vectors)
    return labels
