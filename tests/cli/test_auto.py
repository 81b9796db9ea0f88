"""`linkshift cluster --method auto`: which method, and that the line on stderr says why."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkshift import Links
from linkshift.methods import METHODS

FEW_MUST = [(0, 1, "must"), (20, 21, "must")]
FEW_CANNOT = [(0, 20, "cannot"), (1, 45, "cannot")]
MANY_MUST = [(i, i + 1, "must") for i in (0, 2, 4, 6, 8, 20, 22, 24, 40, 42, 44)]
MANY_CANNOT = [(i, i + 20, "cannot") for i in range(5)] + [(i, i + 40, "cannot") for i in range(6)]


def written(links, pairs):
    return links(*(f"{a},{b},{kind}" for a, b, kind in pairs))


def method_line(stderr):
    """The only line on the method: its name, and why."""
    (line,) = [line for line in stderr.splitlines() if line.startswith("Method: ")]
    found = re.fullmatch(r"Method: ([a-z-]+), (.+)\.", line)
    assert found, line
    return found.groups()


def chosen(run, *args, words=""):
    """Cluster as JSON; stderr and JSON agree on what was chosen and why."""
    result = run("cluster", *args, "--json")
    answer = json.loads(result.stdout)
    method, why = method_line(result.stderr)
    assert (answer["method"], answer["why"]) == (method, why)
    assert words in why
    assert len(answer["labels"]) == answer["n_samples"]
    return answer


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (FEW_MUST, "2 links help to choose among partitions"),
        (FEW_MUST[:1], "1 link helps to choose among partitions"),
        (FEW_CANNOT, "2 links help"),
        (FEW_MUST + FEW_CANNOT, "4 links help"),
        (MANY_MUST, "11 links help"),
        (MANY_CANNOT, "11 links help"),
        (MANY_MUST + MANY_CANNOT, "22 links help"),
    ],
)
def test_links(run, data, links, pairs, words):
    answer = chosen(run, data, "--links", written(links, pairs), words=words)
    assert answer["method"] == "consensus"
    counts = answer["links"]
    assert counts["n_must"] + counts["n_cannot"] == len(pairs)
    assert counts["must_kept"] + counts["cannot_kept"] == len(pairs)


def test_no_links(run, data):
    answer = chosen(run, data, words="no links to go by: the partition that most agree on")
    assert answer["method"] == "consensus"
    assert answer["done"].startswith("Consensus of ")
    assert answer["links"] is None
    assert answer["sizes"] == [20, 20, 20]


def test_many_columns(run, here, groups, links):
    rng = np.random.default_rng(0)
    np.save("ten.npy", np.hstack([groups, rng.normal(scale=0.01, size=(60, 8))]))
    for options in ((), ("--links", written(links, FEW_MUST + FEW_CANNOT))):
        answer = chosen(run, "ten.npy", "--scale", "none", *options)
        assert answer["method"] == "consensus"
        assert answer["sizes"] == [20, 20, 20]
    answer = chosen(run, "ten.npy", "--bandwidth", 1)
    assert answer["done"].startswith("Mean shift")
    answer = chosen(run, "ten.npy", "--space", "kernel")
    assert answer["done"].startswith("Kernel mean shift")


@pytest.mark.parametrize("pairs", [[], FEW_MUST + FEW_CANNOT])
def test_numbers_of_clusters(run, refused, data, links, pairs):
    """Exactly so many, or so many at most; where both are given, neither is ignored."""
    options = ("--links", written(links, pairs))
    for k in (3, 5):
        answer = chosen(run, data, *options, "--clusters", k)
        assert (answer["method"], answer["n_clusters"]) == ("consensus", k)
    assert chosen(run, data, *options, "--max-clusters", 10)["n_clusters"] == 3
    assert chosen(run, data, *options, "--max-clusters", 2)["n_clusters"] == 2
    told = refused("cluster", data, "--clusters", 3, "--max-clusters", 3)
    assert "Give --clusters or --max-clusters" in told
    told = refused("cluster", data, "--method", "skms", "--max-clusters", 3)
    assert "A largest number of clusters has no meaning with the method skms" in told


def test_too_many_or_too_few_clusters(refused, data, links):
    assert "at most 60" in refused("cluster", data, "--clusters", 61)
    file = written(links, FEW_CANNOT)
    told = refused("cluster", data, "--clusters", 1, "--links", file)
    assert "One cluster is too few" in told


def test_steps_are_for_methods_that_shift(run, refused, data):
    told = refused("cluster", data, "--method", "consensus", "--max-iter", 5)
    assert "A number of iterations has no meaning with the method consensus" in told
    assert "Leave --max-iter out" in told
    assert chosen(run, data, "--max-iter", 50)["method"] == "mean-shift"


def test_an_empty_file_of_links_is_none(run, data, links):
    answer = chosen(run, data, "--links", links(), words="no links to go by")
    assert answer["method"] == "consensus"


@pytest.mark.parametrize("pairs", [MANY_CANNOT, MANY_MUST + MANY_CANNOT])
def test_contradictions(run, data, links, pairs):
    file = written(links, [*pairs, (10, 11, "must"), (11, 12, "must"), (10, 12, "cannot")])
    result = run("cluster", data, "--links", file, "--json")
    assert method_line(result.stderr)[0] == "consensus"
    assert "Warning: 1 link is set aside so that the rest has no contradiction" in result.stderr
    assert "--conflicts refuse takes links as they are" in result.stderr
    aside = json.loads(result.stdout)["links"]["set_aside"]
    assert len(aside["must"]) + len(aside["cannot"]) == 1
    assert result.stderr.count("Set aside: ") == 1


def known(frame, classes):
    frame["class"] = ""
    for name, rows in classes.items():
        frame.loc[list(rows), "class"] = name
    frame.to_csv("data.csv", index=False)


def test_labels(run, here, frame):
    args = ("data.csv", "--labels-column", "class")
    known(frame, {"a": range(3), "b": range(20, 23), "c": range(40, 43)})
    assert chosen(run, *args, words="known labels help")["method"] == "consensus"
    known(frame, {"a": (0, 1), "b": (20,)})
    assert chosen(run, *args, words="known labels help")["method"] == "consensus"
    known(frame, {"a": (0, 1)})  # one class: must-links only
    assert chosen(run, *args, words="known labels help")["links"]["n_must"] == 1


def test_labels_and_links(run, refused, here, frame, links):
    """Together they are so many; against each other they contradict."""
    known(frame, {"a": (0, 1), "b": (20, 21)})  # 2 must, 4 cannot
    args = ("data.csv", "--labels-column", "class", "--links")
    few = written(links, [(40, 41, "must"), (42, 43, "must"), (44, 45, "must")])
    assert chosen(run, *args, few, words="9 links help")["method"] == "consensus"
    against = written(links, [(0, 20, "must")])
    answer = chosen(run, *args, against, words="6 links help")
    assert answer["method"] == "consensus"
    assert answer["links"]["set_aside"] == {"must": [[0, 20]], "cannot": []}


def test_labels_that_say_nothing(run, here, frame):
    known(frame, {})
    args = ("data.csv", "--labels-column", "class")
    assert chosen(run, *args, words="no links to go by")["method"] == "consensus"


@pytest.mark.parametrize(
    ("option", "value"), [("bandwidth", 1.5), ("kernel", "gaussian"), ("n-neighbors", 7)]
)
def test_an_option_decides(run, data, links, option, value):
    """Whatever the links say, they are for mean shift."""
    file = written(links, MANY_CANNOT)
    answer = chosen(run, data, "--links", file, f"--{option}", value, words="the method that")
    assert answer["method"] == "mean-shift"
    assert answer["links"]["cannot_kept"] == 11
    plain = json.loads(
        run(
            *("cluster", data, "--links", file, f"--{option}", value),
            *("--method", "mean-shift", "--json"),
        ).stdout
    )
    assert plain["labels"] == answer["labels"]
    assert plain["why"] == "as asked for"


def test_bandwidth_by_links(run, refused, data, links):
    file = written(links, FEW_MUST + FEW_CANNOT)
    result = run("cluster", data, "--bandwidth", "links", "--links", file, "--json")
    assert "(chosen by links)" in result.stderr
    answer = json.loads(result.stdout)
    assert answer["method"] == "mean-shift"
    assert (answer["links"]["must_kept"], answer["links"]["cannot_kept"]) == (2, 2)
    assert "there are none" in refused("cluster", data, "--bandwidth", "links")


@pytest.mark.parametrize("method", ["consensus", "mean-shift", "cms", "kernel", "skms", "metric"])
def test_a_method_by_name_is_not_explained(run, data, links, method):
    pairs = MANY_MUST if method == "kernel" else MANY_MUST + MANY_CANNOT
    args = ("cluster", data, "--links", written(links, pairs), "--method", method, "--json")
    result = run(*args)
    assert "Method: " not in result.stderr
    answer = json.loads(result.stdout)
    assert (answer["method"], answer["why"]) == (method, "as asked for")


def test_auto_is_the_default_and_is_quiet(run, data):
    asked = run("cluster", data, "--method", "auto")
    default = run("cluster", data)
    assert method_line(asked.stderr) == method_line(default.stderr)
    assert asked.stdout == default.stdout
    assert run("cluster", data, "-q").stderr == ""
    assert "Method" not in asked.stdout


# --- views ----------------------------------------------------------------------------------------


@pytest.fixture
def views(here, groups):
    np.savez("views.npz", shape=groups, colour=groups[:, ::-1] * 3)
    return "views.npz"


def test_several_matrices_are_views(run, views, links):
    args = (views, "--clusters", 3, "--max-iter", 3)
    answer = chosen(run, *args, words="with 2 views each cluster can choose its own")
    assert answer["method"] == "groups"
    assert answer["views"]["names"] == ["shape", "colour"]
    # Links do not change that.
    file = written(links, FEW_MUST + FEW_CANNOT)
    assert chosen(run, *args, "--links", file)["method"] == "groups"


def test_views_of_a_table(run, data):
    args = (data, "--view", "wide=x", "--view", "high=y", "--clusters", 3, "--max-iter", 3)
    assert chosen(run, *args, words="2 views")["method"] == "groups"


def test_views_need_a_number_of_clusters(refused, views, data):
    assert "Give --clusters K" in refused("cluster", views)
    assert "Give --clusters K" in refused("cluster", data, "--view", "a=x", "--view", "b=y")


@pytest.mark.parametrize(
    ("option", "value"),
    [("bandwidth", 1), ("bandwidth", "links"), ("kernel", "flat"), ("n-neighbors", 5)],
)
def test_options_that_views_have_no_use_for(refused, views, option, value):
    told = refused("cluster", views, "--clusters", 3, f"--{option}", value)
    assert "no meaning with the method groups" in told
    assert f"Leave --{option} out" in told


def test_one_matrix_is_no_view(run, here, groups):
    np.savez("one.npz", X=groups)
    assert chosen(run, "one.npz")["method"] == "consensus"


@pytest.mark.parametrize("options", [(), ("--clusters", 3), ("--bandwidth", 1)])
def test_one_view_is_a_table(refused, data, options):
    """Nothing to choose among: what to do is said, not guessed."""
    told = refused("cluster", data, "--view", "all=*", *options)
    assert "use --method groups" in told


# --- whatever the links are -----------------------------------------------------------------------

PAIRS = st.lists(
    st.tuples(st.integers(0, 59), st.integers(0, 59), st.sampled_from(["must", "cannot"])).filter(
        lambda link: link[0] != link[1]
    ),
    max_size=14,
    unique_by=lambda link: frozenset(link[:2]),  # a pair given twice is refused
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(PAIRS)
def test_auto_always_clusters(run, data, links, pairs):
    """Any links: refused, or a line, all rows labelled, all links kept, and sound counts."""
    torn = Links(
        *([(a, b) for a, b, kind in pairs if kind == which] for which in ("must", "cannot"))
    ).conflicts()
    file = written(links, pairs)
    if torn:
        told = run("cluster", data, "--links", file, "--conflicts", "refuse", code=2).stderr
        assert "contradict" in told
        assert "set aside" in run("cluster", data, "--links", file).stderr
        return
    result = run("cluster", data, "--links", file, "--json")
    answer = json.loads(result.stdout)
    method, why = method_line(result.stderr)
    assert method in METHODS
    assert (answer["method"], answer["why"]) == (method, why)
    assert sum(answer["sizes"]) == 60 == len(answer["labels"])
    labels = answer["labels"]
    for a, b, kind in pairs:  # certain, and without contradiction
        assert (labels[a] == labels[b]) == (kind == "must")


def test_held_out(run, data, links):
    file = written(links, MANY_MUST + MANY_CANNOT)
    assert "held out" not in run("cluster", data, "--links", file).stderr
    for args in (("--held-out", 3), ("--report", "r.html")):
        told = run("cluster", data, "--links", file, *args).stderr
        assert "Links held out are met by 100% (" in told  # and no spread of nothing
    answer = json.loads(
        run("cluster", data, "--links", file, "--held-out", 2, "--json", "-q").stdout
    )
    assert answer["links"]["held_out"]["agreement"] == 1.0
    page = Path("r.html").read_text(encoding="utf-8")
    assert "Links held out are met by 100%" in page
    run("cluster", data, "--links", file, "--report", "r.html", "--held-out", 0)
    assert "held out" not in Path("r.html").read_text(encoding="utf-8")


def test_few_links_held_out_have_no_figure(run, data, links):
    file = written(links, FEW_MUST + FEW_CANNOT)
    told = run("cluster", data, "--links", file, "--held-out", 2).stderr
    assert "4 links held out, too few to say" in told
    assert "%" not in told.split("held out")[1]


def test_held_out_refusals(refused, data, links):
    assert "at least 2 parts" in refused("cluster", data, "--held-out", 1)
    assert "give --links" in refused("cluster", data, "--held-out", 5)
