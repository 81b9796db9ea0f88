"""Try an installed linkshift, by the Python that has it: `python -I inside.py VERSION EXTRA ...`.

Extras that are named must work; with none named, what needs an extra must name it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata, resources
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

import numpy as np

import linkshift
from linkshift import ConstrainedMeanShift, Links

N = 40  # rows of each of two groups that nobody could take for one
GROUPS = np.repeat([0, 1], N)
X = np.random.default_rng(0).normal(size=(2 * N, 2)) + 8.0 * GROUPS[:, None]


def main(version: str, *extras: str) -> None:
    """Run the checks, in an empty folder."""
    assert "site-packages" in str(linkshift.__file__), f"{linkshift.__file__} is not installed"
    no_compiler()
    assert linkshift.__version__ == metadata.version("linkshift") == version
    for name in linkshift.__all__:
        assert getattr(linkshift, name) is not None, name
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        fits()
        for name, check in CHECKS.items():
            if name in extras:
                check()
            elif not extras:
                names_its_extra(name, check)
        os.chdir("/")


def no_compiler() -> None:
    """Make sure that nothing here could be compiled from C: many machines have no compiler."""
    if os.name != "nt":  # where PATH is left as it is
        found = [shutil.which(name) for name in ("cc", "gcc", "clang", "c++", "g++")]
        assert not any(found), f"on PATH: {found}"


def names_its_extra(name: str, check: Callable[[], None]) -> None:
    """See what needs an extra fail without it, and say what to install."""
    said = "nothing: it works without"
    try:
        check()
    except (ImportError, RuntimeError) as error:
        said = str(error)
    assert f"linkshift[{name}]" in said, f"without the extra {name} it says {said}"


def same_groups(labels: object) -> None:
    """Expect two clusters, the two groups."""
    found = np.asarray(labels)
    assert len(set(found)) == 2, f"{len(set(found))} clusters"
    assert np.array_equal(found == found[0], GROUPS[0] == GROUPS)


def fits() -> None:
    """Fit, ask, report, save and load: what works without extras."""
    links = Links(must=[(0, 1)], cannot=[(0, N)])
    same_groups(ConstrainedMeanShift().fit(X, links=links).labels_)
    found = linkshift.cluster(X, links)
    same_groups(found.labels)
    found.report("page.html")
    assert "<script" in Path("page.html").read_text(encoding="utf-8")
    found.save("model.npz")
    same_groups(linkshift.load("model.npz").predict(X))
    assert linkshift.Session(X).ask().a < 2 * N
    assert linkshift.datasets.REGISTRY


def plot() -> None:
    """Draw a picture."""
    axes = linkshift.plot.clusters(X, GROUPS)
    axes.figure.canvas.print_figure("clusters.png")
    assert Path("clusters.png").stat().st_size > 1000


def command(*words: str) -> str:
    """Run the installed command, and take what it prints."""
    program = Path(sys.executable).with_name("linkshift")
    done = subprocess.run(
        [program, *words], capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise RuntimeError(f"linkshift {' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def cli() -> None:
    """Go through the command: help, clusters of a table with links, a report, a model, new rows."""
    assert linkshift.__version__ in command("--version")
    assert "cluster" in command("--help")
    assert "browser" in command("label", "--help")
    made = ("-o", "data.csv", "--links-output", "links.csv", "--n-links", "20")
    command("datasets", "shapes", "--rows", "200", *made)
    out = ("-o", "labels.csv", "--report", "report.html", "--save", "cli.npz")
    command("cluster", "data.csv", "--links", "links.csv", *out)
    command("predict", "cli.npz", "data.csv", "-o", "again.csv")
    assert Path("again.csv").read_text() == Path("labels.csv").read_text()
    assert "</html>" in Path("report.html").read_text(encoding="utf-8")


def image() -> None:
    """Divide a picture of two halves."""
    picture = np.zeros((24, 24, 3))
    picture[:, 12:] = 1.0
    assert len(np.unique(linkshift.image.segment(picture))) == 2


def anndata() -> None:
    """Cluster an AnnData object."""
    try:
        from anndata import AnnData
    except ImportError as error:  # whoever has such an object has the package
        raise ImportError("linkshift[anndata]") from error

    cells = AnnData(X)
    linkshift.anndata.cluster(cells)
    same_groups(cells.obs["linkshift"])


def dask() -> None:
    """Cluster a Dask array."""
    from linkshift.scale.dask import MeanShift

    try:
        import dask.array

        rows = dask.array.from_array(X, chunks=(30, 2))
    except ImportError:
        rows = X
    same_groups(MeanShift(landmarks=20, bandwidth=3.0).fit(rows).labels_.compute())


def web() -> None:
    """Open the labelling page, and fetch it with every file that it is made of."""
    session = linkshift.Session(X)
    with session.serve(browser=False) as page:
        cookies = HTTPCookieProcessor()  # the address opens it once, for whoever keeps the cookie
        browser = build_opener(ProxyHandler({}), cookies)
        shown = browser.open(page.address, timeout=60)
        assert b"<script" in shown.read()
        files = list(resources.files("linkshift.web").joinpath("static").iterdir())
        assert {"index.html", "start.js", "style.css"} <= {one.name for one in files}
        for one in files:
            there = urljoin(shown.url, one.name)
            assert browser.open(there, timeout=60).read() == one.read_bytes(), there


def notebook() -> None:
    """Make the labelling page as a widget."""
    from linkshift.web.widget import LabelWidget

    widget = LabelWidget(linkshift.Session(X))
    assert "render" in widget._esm
    widget.close()


def deep() -> None:
    """Learn an embedding by a network."""
    made = linkshift.embed.StackedDenoisingAutoencoder(
        n_components=1, layers=(4,), layer_steps=5, steps=5, random_state=0
    )
    assert made.fit_transform(X).shape == (2 * N, 1)


CHECKS = {check.__name__: check for check in (plot, cli, image, anndata, dask, web, notebook, deep)}

if __name__ == "__main__":
    main(*sys.argv[1:])
