"""The strategies that are compared."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.active import rivals_cobras, rivals_explore, rivals_npu, rivals_random, strategies
from benchmarks.active.strategies import Run
from benchmarks.compare.journal import source

OURS = "session"
# What any strategy's scores hang on: sets, answers, how it is scored.
_COMMON = (
    "benchmarks/active/sets.py",
    "benchmarks/active/oracle.py",
    "benchmarks/active/running.py",
    "src/linkshift/datasets",
    "src/linkshift/tables",
)


@dataclass(frozen=True)
class Strategy:
    """How it is run; ``uses`` are files and folders that its scores hang on besides.

    ``told`` is whether it knows the number of classes; ``needs`` names modules, which
    ``install`` brings.
    """

    run: Run
    uses: tuple[str, ...]
    told: bool = False
    needs: tuple[str, ...] = ()
    install: str = ""

    @property
    def absent(self) -> list[str]:
        """Modules that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]

    @property
    def source(self) -> str:
        """Name the present state of all that its scores hang on."""
        return source((*_COMMON, *self.uses))


# Of the package all but what asks: that has no part in labels of pairs at random.
_NOT_ASKING = [
    f"src/linkshift/{place.name}"
    for place in sorted((Path(__file__).parents[2] / "src" / "linkshift").iterdir())
    if (place.is_dir() or place.suffix == ".py")
    and place.name not in ("active", "cli", "__pycache__")
]
_AT_RANDOM = (
    *_NOT_ASKING,
    "benchmarks/auto/draws.py",
    "benchmarks/auto/rivals.py",
    "benchmarks/active/rivals_random.py",
)
_GROUPS = (
    "benchmarks/active/neighbourhoods.py",
    "benchmarks/active/rivals_random.py",
    "src/linkshift/_core",
    "src/linkshift/baselines",
    "src/linkshift/links",
    "src/linkshift/refinement",
)
_SESSION: dict[str, Any] = {
    "uses": ("src", "src/linkshift/active/prior.json", "benchmarks/active/strategies.py"),
    "needs": ("linkshift.active",),
    "install": "this version has no linkshift.active",
}
METHODS: dict[str, Strategy] = {
    OURS: Strategy(strategies.session, **_SESSION),
    "session + one of five": Strategy(strategies.session_among, **_SESSION),
    "session without audits": Strategy(strategies.session_unaudited, **_SESSION),
    "session + auto": Strategy(strategies.session_auto, **_SESSION),
    "random + auto": Strategy(rivals_random.random_auto, _AT_RANDOM),
    "random + k-means + refine": Strategy(rivals_random.random_k_means, _AT_RANDOM, told=True),
    "cobras": Strategy(
        rivals_cobras.cobras,
        ("benchmarks/active/rivals_cobras.py",),
        needs=("cobras_ts",),
        install="pip install --no-deps cobras_ts",
    ),
    "npu": Strategy(rivals_npu.npu, (*_GROUPS, "benchmarks/active/rivals_npu.py"), told=True),
    "npu + refine": Strategy(rivals_npu.npu_refined, (*_GROUPS, "benchmarks/active/rivals_npu.py")),
    "explore + pckmeans": Strategy(
        rivals_explore.explore, (*_GROUPS, "benchmarks/active/rivals_explore.py"), told=True
    ),
}
#: Those whose questions are a session's.
SESSIONS = tuple(name for name in METHODS if name.startswith(OURS))
#: Those that the session is to be ahead of.
RIVALS = ("cobras", "random + auto")
