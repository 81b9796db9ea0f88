"""Links that are made: of labels, by chance, of a column, of a matrix."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np

from linkshift._core.messages import Refusal
from linkshift.links import _sparse
from linkshift.links._build import RandomState, class_codes, links_of_labels, sample_of_labels
from linkshift.links._groups import Groups
from linkshift.links._parse import Parsed, index_names, parse, row_of_id
from linkshift.links._value import PairSet


class MadeLinks(PairSet):
    """Ways in beside pairs and files."""

    __slots__ = ()

    @classmethod
    def from_labels(cls, y: Any, *, complete: bool = False) -> Self:
        """Say with links what partial labels say.

        The samples of a class are must-linked in a chain, and each two classes are held apart by
        one cannot-link between their first samples. The closure of these links is complete,
        although their number is only n + c (c - 1) / 2 for n labelled samples in c classes.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels; -1, None, NaN or blank text where unknown.
        complete : bool, default=False
            Link every two labelled samples instead, n (n - 1) / 2 pairs. They mean the same,
            but weigh more where links are counted: in :func:`linkshift.refine`, a chain has
            one cannot-link to say what all pairs of two classes say.

        Examples
        --------
        >>> from linkshift import Links
        >>> links = Links.from_labels([0, 1, -1, 0, 0])
        >>> links.must.tolist(), links.cannot.tolist()
        ([[0, 3], [3, 4]], [[0, 1]])
        """
        must, cannot, n_samples = links_of_labels(y, complete=complete)
        return cls._make(parse(must, cannot, None, None), n_samples)

    @classmethod
    def sample(
        cls, y: Any, n_links: int, *, random_state: RandomState = None, error_rate: float = 0.0
    ) -> Self:
        """Draw random links from known labels, as an experiment does.

        One cannot-link is drawn between each two classes, the rest uniformly
        among all other pairs: a must-link within a class, else a cannot-link
        [1]_. Samples labelled -1 (or None, NaN) take no part.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.
        n_links : int
            How many links in all; at least the number of pairs of classes.
        random_state : int, Generator, RandomState or None, default=None
            The source of chance.
        error_rate : float, default=0.0
            This share of the links, chosen at random among all of them, gets the wrong kind.

        References
        ----------
        .. [1] M. Schier, C. Reinders, B. Rosenhahn, "Constrained Mean Shift
           Clustering", SIAM International Conference on Data Mining, 2022, section 5.2.

        Examples
        --------
        >>> from linkshift import Links
        >>> links = Links.sample([0, 0, 1, 1, -1], 6, random_state=0)
        >>> links
        Links(2 must, 4 cannot, 5 samples)
        """
        must, cannot, n_samples = sample_of_labels(y, n_links, random_state, error_rate)
        return cls._make(parse(must, cannot, None, None), n_samples)

    @classmethod
    def apart_within(cls, column: Any) -> Self:
        """Hold apart all rows that have the same entry in a column.

        Two faces in one photo are two people; of a source without duplicates, no two records are
        one. The groups are kept as groups and never written out as pairs: memory is linear in the
        rows. They are certain. Where links contradict them, it is the links that go. Other links
        are added to them: ``links + Links.apart_within(column)``.

        Parameters
        ----------
        column : array-like of shape (n_samples,)
            The group of each row; -1, None, NaN or blank text where a row is in none. A pandas
            Series whose index is not 0, 1, 2, ... gives groups of the ids in its index, which
            ``linkshift.cluster`` and ``fit`` find in the index of a table, in any order;
            ``column.to_numpy()`` counts rows instead.

        Examples
        --------
        >>> from linkshift import Links
        >>> links = Links.apart_within(["photo 1", "photo 1", None, "photo 2", "photo 2"])
        >>> links
        Links(0 must, 0 cannot, 2 groups of 4 rows apart, 5 samples)
        >>> [group.tolist() for group in links.apart]
        [[0, 1], [3, 4]]
        >>> (links + Links(must=[(1, 3)])).closure().are_apart([(0, 3), (0, 4), (1, 4)])
        array([ True, False,  True])
        """
        codes, ids = class_codes(column), _ids(column)
        rows, none = np.flatnonzero(codes >= 0), np.empty((0, 2), dtype=np.int64)
        groups = Groups.of(rows, codes[rows])
        made = Parsed(none, none, np.empty(0), np.empty(0), ids, groups)
        return cls._make(made, len(codes) if ids is None else None)

    @classmethod
    def together_within(cls, column: Any) -> Self:
        """Join all rows that have the same entry in a column, by a chain of must-links.

        Parameters
        ----------
        column : array-like of shape (n_samples,)
            The group of each row; -1, None, NaN or blank text where a row is in none. A pandas
            Series whose index is not 0, 1, 2, ... gives links between the ids in its index, as in
            `apart_within`.

        Examples
        --------
        >>> from linkshift import Links
        >>> Links.together_within(["a", "b", "a", "a"]).must.tolist()
        [[0, 2], [2, 3]]
        """
        codes, ids = class_codes(column), _ids(column)
        order = np.argsort(codes, kind="stable")
        order = order[codes[order] >= 0]
        same = codes[order[1:]] == codes[order[:-1]]
        must = np.column_stack((order[:-1][same], order[1:][same]))
        in_order = ids is None and hasattr(column, "iloc")  # its index is a count
        made = parse(must, None, None, None)._replace(names=ids, in_order=in_order)
        return cls._make(made, len(codes) if ids is None else None)

    @classmethod
    def from_sparse(cls, matrix: Any) -> Self:
        """Read a sparse matrix of samples by samples: above zero must, below zero cannot.

        Parameters
        ----------
        matrix : scipy.sparse matrix or array of shape (n_samples, n_samples)
            Confidences with their signs, in [-1, 1]; one half, or both halves alike.

        Examples
        --------
        >>> from linkshift import Links
        >>> from scipy.sparse import coo_array
        >>> matrix = coo_array(([1.0, -0.5], ([0, 1], [1, 2])), shape=(4, 4))
        >>> Links.from_sparse(matrix)
        Links(1 must, 1 cannot, confidence 0.5 to 1, 4 samples)
        """
        arguments, n_samples = _sparse.of_matrix(matrix)
        return cls._make(parse(**arguments), n_samples)


def _ids(column: Any) -> tuple[Hashable, ...] | None:
    """Names of rows in the index of a pandas Series; None where it only counts them."""
    names = index_names(column)
    try:
        if names is not None:
            row_of_id(names)
    except ValueError as error:
        raise Refusal(
            f"The index of the column does not name rows: {error}.",
            "Give column.to_numpy() to count rows, or a column whose index has ids.",
        ) from error
    return names
