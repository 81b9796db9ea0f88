"""What methods refuse: parameters that do not go together, links and rows of no use to them.

Nothing heavy is imported at the top: the command line reads the table of methods for its help.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from linkshift._core.messages import Refusal
from linkshift._core.text import counted

if TYPE_CHECKING:
    from linkshift.links import Links

SPACES = ("input", "kernel", "graph")
STARTS = ("k-means++", "random", "greedy")  # of k-means
COUNT = frozenset({"n_clusters", "max_clusters"})
Params = Mapping[str, Any]


class Given(NamedTuple):
    """What a method works on: parameters of `cluster` that were set, links, number of rows."""

    params: Params
    links: Links
    n_rows: int


def is_by_links(bandwidth: Any) -> bool:
    return isinstance(bandwidth, str) and bandwidth == "links"


def check_one_count(params: Params) -> None:
    if params.keys() >= COUNT:
        raise Refusal(
            "n_clusters says how many clusters there are, max_clusters at most how many.",
            "Give one of them.",
            command="Give --clusters or --max-clusters.",
            parameter="max_clusters",
        )


def check_n_clusters(method: str, params: Params) -> None:
    if "n_clusters" not in params:
        raise Refusal(
            f"The method {method} has to be told the number of clusters.",
            "Give n_clusters.",
            command="Give --clusters K.",
            parameter="n_clusters",
        )


def check_kmeans(params: Params) -> None:
    check_n_clusters("kmeans", params)
    if str(init := params.get("init", "random")) not in STARTS:
        takes = f"init must be one of {', '.join(STARTS)}; got {init!r}."
        raise Refusal(takes, "linkshift.KMeans takes centres of your own.", parameter="init")


def check_reach(params: Params) -> None:
    """Refuse parameters that say twice how far rows see, where they move, or how many groups."""
    check_one_count(params)
    space = params.get("space")
    if space not in (None, *SPACES):
        raise Refusal(
            f"space must be {' or '.join(map(repr, SPACES))}, got {space!r}.", parameter="space"
        )
    if space not in (None, "input") and not params.keys().isdisjoint({"bandwidth", "kernel"}):
        raise Refusal(
            f"In a {space}'s space rows see as far as the number of neighbours says.",
            "bandwidth and kernel are for space='input'.",
            command=f"--bandwidth and --kernel have no meaning with --space {space}; leave them "
            "out.",
            parameter="space",
        )
    if params.keys() >= {"bandwidth", "n_neighbors"}:
        raise Refusal(
            "A bandwidth and a number of neighbours both say how far the kernel sees.",
            "Give bandwidth or n_neighbors.",
            command="Give --bandwidth or --n-neighbors.",
            parameter="n_neighbors",
        )


def check_links_to_choose_by(given: Given) -> None:
    if is_by_links(given.params.get("bandwidth")) and not len(given.links):
        raise Refusal(
            "The bandwidth is to be chosen by links, and there are none.",
            "Give links or partial_labels, or leave bandwidth out.",
            command="Give some with --links or --labels-column, or leave --bandwidth out.",
            parameter="bandwidth",
        )


def check_weighted(params: Params) -> None:
    """Refuse parameters that take rows without weights."""
    space = params.get("space")
    if space not in (None, "input"):
        raise Refusal(
            f"In a {space}'s space rows have no weights.",
            "Leave space out, or sample_weight.",
            command="Leave --space out, or --weights.",
            parameter="sample_weight",
        )
    if is_by_links(params.get("bandwidth")):
        raise Refusal(
            "A bandwidth that links choose is for rows without weights.",
            "Give bandwidth a number, or leave sample_weight out.",
            command="Give --bandwidth a number, or leave --weights out.",
            parameter="sample_weight",
        )


def check_number(params: Params) -> None:
    check_one_count(params)
    if is_by_links(params.get("bandwidth")):
        raise Refusal(
            "Constrained mean shift takes a bandwidth as a number; mean shift chooses by links.",
            "Use method='mean-shift', or give a number.",
            command="Use --method mean-shift, or give --bandwidth a number.",
            parameter="bandwidth",
        )


def check_must_links(given: Given) -> None:
    if given.links.separates:
        raise Refusal(
            "A projection takes must-links only, and there are cannot-links (known labels of two "
            "classes and more make some).",
            "Use method='skms', which takes both, or keep the must-links: Links(must=links.must).",
            command="Use --method skms, which takes both.",
            parameter="links",
        )
    if (given.links.must_confidence < 1).any():
        raise Refusal(
            "A projection takes links that are certain, and some have a confidence below 1.",
            "Use method='skms', or drop them.",
            command="Use --method skms, or drop them.",
            parameter="links",
        )


def check_both_kinds(given: Given) -> None:
    must, cannot = len(given.links.must), int(given.links.separates)
    if not (must and cannot):
        which = "none" if not must + cannot else f"no {'cannot' if must else 'must'}-links"
        raise Refusal(
            "A metric is learned from must-links and cannot-links, or known labels, and there are "
            f"{which}.",
            "Give links or partial_labels, or use method='mean-shift'.",
            command="Give some with --links or --labels-column, or use --method mean-shift.",
            parameter="links",
        )


def check_rows(given: Given) -> None:
    n_clusters = given.params["n_clusters"]
    if n_clusters > given.n_rows:
        raise Refusal(
            f"{n_clusters} clusters are asked for, of {counted(given.n_rows, 'row')}.",
            "Take a smaller n_clusters.",
            command="Take a smaller --clusters.",
            parameter="n_clusters",
        )
