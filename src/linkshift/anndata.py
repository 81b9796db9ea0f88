"""Cells: clusters of an AnnData object, written where scanpy and its kin look for them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linkshift._core.messages import Advice, Refusal, warn
from linkshift._core.text import listed

if TYPE_CHECKING:
    from linkshift.links import Links
    from linkshift.methods import Clustering

__all__ = ["cluster"]

_PCA = "X_pca"
_COUNTS = 2  # whole numbers up to one are rather marks


def cluster(
    adata: Any,
    links: Links | None = None,
    *,
    use_rep: str | None = None,
    partial_labels: Any = None,
    key_added: str = "linkshift",
    **params: Any,
) -> Clustering:
    """Cluster the observations of an AnnData object, as `linkshift.cluster` does.

    ``adata.obs[key_added]`` becomes the clusters as a category ("0", "1", ...; "-1" is noise), and
    ``adata.uns[key_added]`` says how they were found. Both are replaced where they are there. A
    view, such as ``part = adata[mask]``, becomes an object of its own that has them; what it is a
    view of does not.

    Parameters
    ----------
    adata : anndata.AnnData
        Observations and what is known of them.
    links : Links, default=None
        Pairs that belong together or apart, by row or keyed by the names of observations.
    use_rep : str, default=None
        What to go by: a key of ``adata.obsm``, taken as it is, or "X". None takes "X_pca" where it
        is there, else "X". "X" with 50 columns or more goes by its principal components, and a
        sparse one by its truncated singular value decomposition.
    partial_labels : str or array-like of shape (n_obs,), default=None
        Known classes, a column of ``adata.obs`` or one for each observation; missing where unknown.
    key_added : str, default="linkshift"
        Name of what is written.
    **params
        Those of :func:`linkshift.cluster`; ``labels_like`` may be the name of a column of
        ``adata.obs`` that this function has written.

    Returns
    -------
    Clustering
        The result; its labels have the names of observations.

    Examples
    --------
    >>> import linkshift.anndata
    >>> import numpy as np
    >>> import pandas as pd
    >>> from types import SimpleNamespace
    >>> obs = pd.DataFrame(index=["a", "b", "c", "d"])
    >>> adata = SimpleNamespace(  # in the place of an anndata.AnnData
    ...     X=np.array([[0.0], [0.1], [5.0], [5.1]]), obs=obs, obs_names=obs.index, obsm={}, uns={}
    ... )
    >>> found = linkshift.anndata.cluster(adata, n_clusters=2)
    >>> adata.obs["linkshift"].tolist()
    ['0', '0', '1', '1']
    """
    import pandas as pd

    from linkshift.methods import cluster as cluster_rows

    if not all(hasattr(adata, name) for name in ("obs", "obsm", "obs_names", "uns", "X")):
        raise TypeError(
            f"adata is a {type(adata).__name__}, not an AnnData; linkshift.cluster takes tables"
        )
    if isinstance(partial_labels, str):
        partial_labels = _column(adata, partial_labels)
    if use_rep is None:
        use_rep = _PCA if _PCA in adata.obsm else "X"
        if use_rep == "X":
            _warn_of_counts(adata)
    rows, said = _rows(adata, use_rep)
    if isinstance(params.get("labels_like"), str):
        params["labels_like"] = _numbers(adata, params["labels_like"])
    found = cluster_rows(rows, links, partial_labels=partial_labels, **params)
    if isinstance(rows, pd.DataFrame):
        names = tuple(f"{use_rep}_{name}" for name in rows.columns)
        found = replace(found, columns=names)
    with warnings.catch_warnings():
        # That a view becomes an object of its own when it is written to is what is documented.
        warnings.filterwarnings("ignore", "Trying to modify attribute .* of view")
        _write(adata, key_added, found, use_rep, said)
    return found


def _warn_of_counts(adata: Any) -> None:
    """Advise a representation where X holds counts as they were measured."""
    values = getattr(adata.X, "data", adata.X) if hasattr(adata.X, "tocsr") else adata.X
    values = np.asarray(values if values is not None else [])
    if not values.size or values.dtype.kind not in "iuf" or float(values.max()) < _COUNTS:
        return
    if (values >= 0).all() and (values == np.floor(values)).all():
        others = f" (it has {listed(adata.obsm)})" if len(adata.obsm) else ""
        warn(
            Advice(
                "adata.X holds counts, and is clustered as it is: cells that were read deeper, "
                "and genes of large counts, outweigh the others.",
                "Make a representation first (sc.pp.normalize_total, sc.pp.log1p, sc.tl.pca) or "
                f"name one by use_rep{others}; use_rep='X' takes counts without this warning.",
                parameter="use_rep",
            )
        )


def _numbers(adata: Any, name: str) -> Any:
    """Give the clusters in a column of ``adata.obs`` as numbers."""
    column = _column(adata, name, "labels_like")
    try:
        return column.where(column.notna(), -1).astype(int)
    except (TypeError, ValueError):
        raise Refusal(
            f"adata.obs[{name!r}] holds other than numbers of clusters.",
            "Name a column that linkshift.anndata.cluster has written.",
            parameter="labels_like",
        ) from None


def _column(adata: Any, name: str, parameter: str = "partial_labels") -> Any:
    if name not in adata.obs:
        raise Refusal(
            f"adata.obs has no column {name!r}.",
            f"It has {listed(adata.obs.columns) or 'none'}.",
            parameter=parameter,
        )
    return adata.obs[name].astype(object)


def _rows(adata: Any, use_rep: str) -> tuple[Any, list[str]]:
    """Give the rows to cluster, with the names of observations, and what was done to them."""
    import pandas as pd

    from linkshift.tables.preparing import prepare

    if use_rep == "X":
        if adata.X is None:
            raise Refusal("adata.X is None.", f"Give use_rep, one of {listed(adata.obsm)}.")
        prepared = prepare(adata.X, log=False, scale="none")
        return replace(prepared, index=adata.obs_names), list(prepared.said)
    if use_rep not in adata.obsm:
        raise Refusal(
            f"adata.obsm has no {use_rep!r}.",
            f"It has {listed(adata.obsm) or 'nothing'}; 'X' takes adata.X.",
            parameter="use_rep",
            value=use_rep,
        )
    rep = adata.obsm[use_rep]
    if hasattr(rep, "toarray"):
        prepared = prepare(rep, log=False, scale="none")
        return replace(prepared, index=adata.obs_names), list(prepared.said)
    # Columns have numbers: arrays are given to predict, which have no names to compare.
    return pd.DataFrame(np.asarray(rep), index=adata.obs_names), []


def _write(adata: Any, key: str, found: Clustering, use_rep: str, said: list[str]) -> None:
    import pandas as pd

    labels = np.asarray(found.labels)
    kinds = [str(label) for label in np.unique(labels).tolist()]
    adata.obs[key] = pd.Categorical(labels.astype(str).astype(object), categories=kinds)
    told: dict[str, Any] = {"use_rep": use_rep, "method": found.method, "why": found.why}
    told |= {"done": found.done, "n_clusters": found.n_clusters}
    if said:
        told["prepared"] = np.array(said, dtype=object)
    if len(found.links):
        report = found.link_report
        told["links"] = {
            name: int(getattr(report, name))
            for name in ("n_must", "n_cannot", "must_kept", "cannot_kept")
        }
    adata.uns[key] = told
