"""The methods of `linkshift cluster`, and what may be asked of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from linkshift._core.text import counted
from linkshift.cli._console import InputError
from linkshift.clustering import METHODS, Method

if TYPE_CHECKING:
    from linkshift.links import Links

# As in linkshift.profiles, which would take too long to import for --help; a test compares them.
KERNELS = ("flat", "epanechnikov", "gaussian", "truncated_gaussian")

AUTO = "auto"
NAMES = (AUTO, *METHODS)


@dataclass(frozen=True)
class Options:
    """What the user asked for; None where the method is to decide."""

    bandwidth: float | str | None = None
    kernel: str | None = None
    n_neighbors: int | None = None
    space: str | None = None
    max_iter: int | None = None
    clusters: int | None = None
    view: tuple[str, ...] | None = None

    def given(self) -> list[str]:
        """Names of the options that the user set."""
        return [field.name for field in fields(self) if getattr(self, field.name) is not None]

    def params(self) -> dict[str, Any]:
        """Give them as parameters of `linkshift.cluster`; views are in its data."""
        found = {name: getattr(self, name) for name in self.given() if name != "view"}
        if "clusters" in found:
            found["n_clusters"] = found.pop("clusters")
        return found


def uses(method: Method) -> frozenset[str]:
    """Options that a method takes."""
    views = {"view"} if method.takes_views else set()
    return frozenset({"clusters" if name == "n_clusters" else name for name in method.uses} | views)


def check_options(name: str, options: Options) -> None:
    """Refuse what the method would ignore, and numbers that make no sense."""
    if name != AUTO:
        _check_used(METHODS[name], options)
    bandwidth, n_neighbors = options.bandwidth, options.n_neighbors
    if options.space == "kernel":
        for given in ("bandwidth", "kernel"):
            if getattr(options, given) is not None:
                raise InputError(
                    f"--{given} has no meaning with --space kernel, where rows see as far as "
                    "--n-neighbors says; leave one of them out."
                )
    if n_neighbors is not None and n_neighbors < 1:
        raise InputError(f"--n-neighbors must be at least 1, and it is {n_neighbors}.")
    if bandwidth is not None and n_neighbors is not None:
        raise InputError(
            "--bandwidth and --n-neighbors both say how far the kernel sees; give one of them."
        )


def _check_used(method: Method, options: Options) -> None:
    for option in options.given():
        if option not in uses(method):
            takers = [other.name for other in METHODS.values() if option in uses(other)]
            raise InputError(
                f"--{option.replace('_', '-')} has no meaning with --method {method.name}; "
                f"leave it out, or use --method {' or '.join(takers)}."
            )
    if method.takes_views and options.clusters is None:
        raise InputError(
            f"--method {method.name} has to be told the number of clusters: give --clusters K."
        )
    if options.bandwidth == "links" and method.name != "mean-shift":
        raise InputError(
            f"--bandwidth links is for --method mean-shift; --method {method.name} takes a number."
        )


def bandwidth_option(text: str | None) -> float | str | None:
    """Read the value of --bandwidth."""
    if text is None or text == "links":
        return text
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"--bandwidth takes a number or the word links, not {text!r}.") from None
    if not 0 < number < float("inf"):
        raise InputError(
            f"--bandwidth must be more than 0 and finite, and it is {number:g}. "
            "Leave it out to take it from the data."
        )
    return number


def check_rows(options: Options, n_rows: int) -> None:
    """Refuse more neighbours or clusters than there are rows for."""
    if options.clusters is not None and options.clusters > n_rows:
        raise InputError(
            f"--clusters is {options.clusters}, but there {'is' if n_rows == 1 else 'are'} only "
            f"{counted(n_rows, 'row')}; take fewer."
        )
    if options.n_neighbors is not None and options.n_neighbors >= n_rows:
        raise InputError(
            f"--n-neighbors is {options.n_neighbors}, but each row has only "
            f"{counted(n_rows - 1, 'other')}; take fewer."
        )


def check_links(name: str, options: Options, links: Links | None) -> None:
    """Refuse links that a method cannot use, and methods that need other links."""
    must, cannot = (0, 0) if links is None else (len(links.must), len(links.cannot))
    if options.bandwidth == "links" and not must + cannot:
        raise InputError(
            "--bandwidth links chooses by links, and there are none. Give some with --links or "
            "--labels-column, or leave --bandwidth out."
        )
    if name == "cms" and not cannot:
        raise InputError(
            "--method cms needs cannot-links: without them its growing bandwidth merges all rows. "
            "Give some with --links or --labels-column, or use --method mean-shift."
        )
    if name == "kernel" and cannot:
        raise InputError(
            "--method kernel takes must-links only, and there are cannot-links (known labels of "
            "two classes and more make some). Use --method skms, which takes both."
        )
    if name == "kernel" and links is not None and (links.must_confidence < 1).any():
        raise InputError(
            "--method kernel takes links that are certain, and some have a confidence below 1. Use "
            "--method skms, or drop them."
        )
    if name == "metric" and not (must and cannot):
        which = "none" if not must + cannot else f"no {'cannot' if must else 'must'}-links"
        raise InputError(
            "--method metric learns from must-links and cannot-links, or known labels, and there "
            f"are {which}. Give some with --links or --labels-column, or use --method mean-shift."
        )
