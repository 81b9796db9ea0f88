"""`linkshift cluster --report`: a page that needs nothing else, and the way to make it again."""

import html
import json
import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from linkshift.cli.writing import results, targets

FOLDER = Path(sys.executable).parent
BOTH = (*(f"{i},{i + 20},cannot" for i in range(10)), "0,1,must", "40,41,must")


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.words.append(data)


def read(name="r.html"):
    return Path(name).read_bytes().decode("utf-8")


def command(page):
    """The command on the page, as a person copies it."""
    (found,) = re.findall(r"<pre>(.*?)</pre>", page, flags=re.DOTALL)
    return html.unescape(found)


def rows(page):
    """Facts in tables of two columns."""
    found = re.findall(
        r'<tr><th scope="row"><bdi>([^<]*)</bdi></th><td><code>([^<]*)</code></td></tr>', page
    )
    return {html.unescape(key): html.unescape(value) for key, value in found}


def without_time(page):
    page, first = re.subn(r"<dt>time</dt><dd>[^<]*</dd>", "", page)
    page, second = re.subn(r"<bdi>seconds</bdi></th><td><code>[^<]*</code>", "", page)
    assert (first, second) == (1, 1)
    return page


# --- what is on it --------------------------------------------------------------------------------


def test_needs_no_network(run, data, links):
    run("cluster", data, "--report", "r.html", "--links", links(*BOTH))
    page = read()
    assert page.startswith("<!DOCTYPE html>")
    found = Page(page)
    sources = {"src", "href", "srcset", "poster", "action", "data", "background"}
    assert not [pair for pair in found.attributes if pair[0] in sources]
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & set(found.tags)
    assert "http:" not in page
    assert "https:" not in page
    assert "url(" not in page
    assert "@import" not in page


def test_tells_what_came_out(run, data, links):
    result = run("cluster", data, "--report", "r.html", "--links", links(*BOTH), "--json")
    answer, page = json.loads(result.stdout), read()
    assert f"60 rows → {answer['n_clusters']} clusters" in page
    for size in answer["sizes"]:
        assert f'<td class="right">{size}</td>' in page
    kept = answer["links"]["must_kept"] + answer["links"]["cannot_kept"]
    assert f"{kept} of 12 links kept" in page
    assert answer["why"] in html.unescape(page)
    assert answer["done"] in html.unescape(page)
    for section in ("Picture", "Clusters", "Links", "Bandwidths", "How to reproduce it"):
        assert f"<h2>{section}</h2>" in page
    facts = rows(page)
    assert facts["method"] == "consensus"
    assert facts["scale"] == "none"
    assert facts["seed"] == "0"
    assert {name: facts[name] for name in answer["versions"]} == answer["versions"]
    assert "r.html" in result.stderr


def test_labels_on_the_page_are_those_of_the_command(run, data):
    """Each dot of the picture has its cluster; so many of each."""
    answer = json.loads(run("cluster", data, "--report", "r.html", "--json").stdout)
    dots = dict.fromkeys(range(answer["n_clusters"]), 0)
    for cluster, line in re.findall(r'<path class="dots" data-c="(\d+)"[^>]* d="([^"]*)"', read()):
        dots[int(cluster)] += line.count("M")
    assert list(dots.values()) == answer["sizes"]


def test_stdout_is_pure_and_quiet_is_quiet(run, data):
    result = run("cluster", data, "--report", "r.html", "-q")
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "row,label"
    assert len(lines) == 61


def test_groups(run, data):
    args = ("--view", "wide=x", "--view", "high=y", "--clusters", 3, "--max-iter", 3)
    run("cluster", data, *args, "--method", "groups", "--report", "r.html")
    page = read()
    assert "Bandwidths</h2>" not in page
    assert "wide" in page
    assert "high" in page


def test_contradictions_are_told(run, data, links):
    file = links("0,1,must", "1,2,must", "0,2,cannot")
    options = ("--conflicts", "refuse", "--method", "mean-shift")
    run("cluster", data, "--links", file, "--report", "r.html", *options)
    assert re.search(r"1\s+conflict|contradict", " ".join(Page(read()).words))


def test_bandwidth_is_marked_on_its_path(run, data):
    """Only where it lies on it."""
    run("cluster", data, "--report", "r.html", "--bandwidth", 1.5)
    assert read().count('<tr class="chosen">') == 1
    for far in (1e-4, 1e4):
        run("cluster", data, "--report", "r.html", "--bandwidth", far)
        assert '<tr class="chosen">' not in read()
    run("cluster", data, "--report", "r.html", "--n-neighbors", 5)
    assert '<tr class="chosen">' not in read()


def test_many_rows_have_no_path(run, here, monkeypatch):
    rng = np.random.default_rng(0)
    np.save("large.npy", rng.normal(size=(5001, 2)) + 9 * rng.integers(0, 2, size=(5001, 1)))
    args = ("--bandwidth", 2, "--report", "r.html")
    told = run("cluster", "large.npy", *args).stderr
    assert "The report leaves out the bandwidth path of more than 5,000 rows" in told
    assert "linkshift bandwidths makes it" in told
    assert "Bandwidths</h2>" not in read()
    assert "5,001 rows" in read()
    monkeypatch.setattr(results, "_PATH_ROWS", 60)
    np.save("small.npy", np.load("large.npy")[:60])
    told = run("cluster", "small.npy", *args).stderr
    assert "leaves out" not in told
    assert "Bandwidths</h2>" in read()


NASTY = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;b&gt;", "\"'`"]


def test_hostile_names_are_text(run, here, frame, links):
    """Of rows, columns and files: no tag more than with tame ones."""
    tags = []
    for names, column, name in (
        (["a", "b", "c", "d"], "x", "tame.csv"),
        (NASTY, "<b>x</b>", "<i>bad<i>.csv"),
    ):
        table = frame.rename(columns={"x": column})
        table.loc[:3, "name"] = names
        table.to_csv(name, index=False)
        file = links("s20,s40,must", "s20,s41,cannot", "s40,s41,must", name=f"l {name}")
        text = (
            here / file
        ).read_text() + f'"{names[0].replace(chr(34), chr(34) * 2)}",s21,cannot\n'
        (here / file).write_text(text)
        run("cluster", name, "--id-column", "name", "--links", file, "--report", "r.html", "-q")
        tags.append(Page(read()).tags)
    assert tags[0] == tags[1]
    page = read()
    assert "<b>" not in page
    assert "<i>bad" not in page
    assert "<img" not in page
    assert page.count("<script") == 2


# --- how to make it again -------------------------------------------------------------------------


def test_the_same_input_gives_the_same_page(run, data, links):
    file = links(*BOTH)
    for method in ("auto", "skms"):
        args = ("cluster", data, "--links", file, "--method", method, "--report", "r.html")
        run(*args)
        first = without_time(read())
        run(*args)
        assert without_time(read()) == first


def test_the_command_on_the_page_makes_it_again(run, here, frame):
    """Pasted into a shell, in a folder with names that a shell takes apart."""
    data, pairs, out = "my 'data' $HOME.csv", 'l "and" m;.csv', "la bels & more.csv"
    table = frame.rename(columns={"name": "row name", "x": "a b", "y": "$y"})
    table["noise"] = np.random.default_rng(0).normal(size=60)
    table["class"] = ["one", "one", *[""] * 58]
    table.to_csv(data, index=False)
    Path(pairs).write_text("a,b,kind\ns00,s20,must\ns00,s45,cannot\n")
    run(
        *("cluster", data, "--links", pairs, "--id-column", "row name", "--labels-column", "class"),
        *("--columns", "a b,$y", "--scale", "standard", "--seed", 9, "--threads", 1),
        *("--report", "r.html", "-o", out, "--save", "the model.npz"),
    )
    page = read()
    found = {name: Path(name).read_bytes() for name in (out, "the model.npz")}
    for name in (*found, "r.html"):
        Path(name).unlink()
    words = shlex.split(command(page))
    assert words[:3] == ["linkshift", "cluster", data]
    done = subprocess.run(
        command(page),
        shell=True,
        cwd=here,
        env={**os.environ, "PATH": f"{FOLDER}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert Path(out).read_bytes() == found[out]
    assert without_time(read()) == without_time(page)
    names = {data, pairs, "r.html", *found}
    assert {path.name for path in here.iterdir()} == names


OPTIONS = {
    "links": ("data.csv", "--links", "links.csv"),
    "kernel": ("data.csv", "--kernel", "gaussian", "--bandwidth", "0.7512345678901234"),
    "neighbours": ("data.csv", "--n-neighbors", 5, "--max-iter", 77, "--scale", "minmax"),
    "space": ("data.csv", "--space", "kernel", "--n-neighbors", 9, "--seed", 3),
    "cosine": ("data.csv", "--metric", "cosine", "--method", "mean-shift"),
    "by links": ("data.csv", "--links", "links.csv", "--bandwidth", "links"),
    "skms": ("data.csv", "--links", "links.csv", "--method", "skms", "--seed", 4294967295),
    "metric": ("data.csv", "--links", "links.csv", "--method", "metric", "--seed", 2),
    "kernel mean shift": ("data.csv", "--method", "kernel", "--seed", 2),
    "views": ("data.csv", "--view", "b=y", "--view", "a=*", "--clusters", 2, "--max-iter", 2),
    "no header": ("bare.csv", "--no-header", "--columns", "1"),
    "header": ("bare.csv", "--header"),
    "a dash": ("./-dash.csv", "--columns", "x"),
    "folder": ("sub folder/data.npy",),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_on_the_page(run, here, frame, links, name):
    frame.to_csv("data.csv", index=False)
    frame.to_csv("-dash.csv", index=False)
    numbers = frame[["x", "y"]]
    pd.concat([numbers, numbers]).to_csv("bare.csv", index=False, header=False)
    Path("sub folder").mkdir()
    np.save("sub folder/data.npy", numbers.to_numpy())
    links(*BOTH)
    args = ("cluster", *OPTIONS[name], "--report", "r.html", "--save", "m.npz", "--plot", "p.png")
    first = run(*args, "-q")
    page, model = read(), Path("m.npz").read_bytes()
    given = {str(word) for word in OPTIONS[name] if str(word).startswith("--")}
    words = shlex.split(command(page))
    assert given | {"--report", "--save", "--plot", "--seed", "--method"} <= set(words)
    for path in ("r.html", "m.npz", "p.png"):
        Path(path).unlink()
    again = run(*words[1:], "-q")
    assert again.stdout == first.stdout
    assert without_time(read()) == without_time(page)
    assert Path("m.npz").read_bytes() == model
    assert Path("p.png").exists()


@pytest.mark.parametrize("method", ["kernel", "groups"])
def test_a_seed_makes_it_the_same(run, here, method):
    """Data without clusters, where chance decides."""
    X = np.random.default_rng(0).uniform(size=(150, 2))
    pd.DataFrame(X, columns=["x", "y"]).to_csv("data.csv", index=False)
    options = ("--view", "a=x", "--view", "b=y", "--clusters", 6, "--max-iter", 1)
    args = ("cluster", "data.csv", "--method", method, *(options if method == "groups" else ()))

    def model(seed):
        run(*args, "--seed", seed, "--save", "m.npz", "-q")
        return Path("m.npz").read_bytes()

    assert model(1) == model(1)
    labels = [run(*args, "--seed", seed, "-q").stdout for seed in (1, 1, 2)]
    assert labels[0] == labels[1]
    if method == "groups":
        assert labels[0] != labels[2]


# --- where it goes --------------------------------------------------------------------------------


def test_targets(refused, data, here):
    Path("r.html").write_bytes(b"old")
    assert "Use one of .html, .htm" in refused("cluster", data, "--report", "r.pdf")
    assert "mkdir -p no" in refused("cluster", data, "--report", "no/r.html")
    (here / "folder.html").mkdir()
    assert "is a folder" in refused("cluster", data, "--report", "folder.html")
    refused("cluster", data, "--report", "r.html", "--bandwidth", "links")
    assert Path("r.html").read_bytes() == b"old"


def test_interrupted_while_it_is_made(run, data, here, monkeypatch):
    """What was written before is whole; the page is not there."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("linkshift.bandwidth.path.bandwidth_path", interrupted)
    result = run("cluster", data, "--report", "r.html", "-o", "o.csv", code=130)
    assert result.stdout == ""
    assert sorted(path.name for path in here.iterdir()) == ["data.csv", "o.csv"]
    assert len(pd.read_csv("o.csv")) == 60


def test_interrupted_while_it_is_written(run, data, here, monkeypatch):
    def interrupted(path, *_, **__):
        path.touch()
        raise KeyboardInterrupt

    Path("r.html").write_bytes(b"old")
    monkeypatch.setattr(targets.Path, "write_text", interrupted)
    run("cluster", data, "--report", "r.html", code=130)
    assert sorted(path.name for path in here.iterdir()) == ["data.csv", "r.html"]
    assert Path("r.html").read_bytes() == b"old"


@pytest.mark.parametrize("n", [1, 2, 30])
def test_data_without_any_spread(run, here, n):
    np.save("same.npy", np.ones((n, 3)))
    run("cluster", "same.npy", "--report", "r.html", "--scale", "standard")
    assert f"{n} row{'' if n == 1 else 's'} → 1 cluster<" in read()
