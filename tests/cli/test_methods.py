"""What may be asked of the methods: nothing is given that would be ignored."""

from typing import get_args

import pytest

from linkshift._core.messages import Refusal
from linkshift.cli.commands.cluster import bandwidth_option
from linkshift.cli.options import KERNELS
from linkshift.cli.talking import InputError
from linkshift.estimators._base import MetricName
from linkshift.links import Links
from linkshift.methods import METHODS, MethodName, check_params
from linkshift.methods._checks import Given
from linkshift.methods.table import DISTANCES
from linkshift.profiles import ProfileName


def test_kernels_are_those_of_the_library():
    assert get_args(ProfileName) == KERNELS


def test_distances_are_those_of_the_estimators():
    assert get_args(MetricName) == DISTANCES


def test_names_are_those_of_the_library():
    assert get_args(MethodName) == ("auto", *METHODS)


VALUES = {
    "bandwidth": 1.0,
    "kernel": "flat",
    "n_neighbors": 3,
    "space": "input",
    "metric": "cosine",
    "init": "random",
    "max_iter": 5,
    "n_clusters": 2,
    "max_clusters": 4,
    "views": ("all=*",),
}
OPTIONS = {"n_clusters": "--clusters", "views": "--view"}


def test_all_parameters_are_tried():
    used = {name for method in METHODS.values() for name in method.uses}
    assert set(VALUES) == used


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("name", VALUES)
def test_a_parameter_without_effect_is_refusal_of(method, name):
    """And the remedies lead to a method that takes it."""
    told = method.takes_views or method.name == "kmeans"
    given = {name: VALUES[name]} | ({"n_clusters": 2} if told else {})
    if name in method.uses:
        check_params(method.name, given)
        return
    with pytest.raises(Refusal, match=f"no meaning with the method {method.name}") as caught:
        check_params(method.name, given)
    refusal = caught.value
    assert refusal.parameter == name
    assert refusal.value == VALUES[name]
    takers = [other.name for other in METHODS.values() if name in other.uses]
    assert takers
    option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
    assert refusal.remedies["command"] == (
        f"Leave {option} out, or use --method {' or '.join(takers)}."
    )
    assert refusal.remedies["python"].endswith(f"use method={' or '.join(map(repr, takers))}.")


def test_auto_takes_any_parameter():
    for name, value in VALUES.items():
        check_params("auto", {name: value})


def refusal_of(method, links=None, **params):
    """Refuse parameters or links; gives the refusal."""
    try:
        check_params(method, params)
        METHODS[method].check_given(Given(params, Links() if links is None else links, 60))
    except Refusal as refusal:
        return refusal
    pytest.fail("nothing was refused")


def test_a_number_of_clusters_is_asked_for_where_it_is_used():
    refusal = refusal_of("groups")
    assert refusal.parameter == "n_clusters"
    assert refusal.remedies == {"python": "Give n_clusters.", "command": "Give --clusters K."}
    assert refusal_of("groups", n_clusters=61).parameter == "n_clusters"


@pytest.mark.parametrize("text", ["nan", "0", "-1", "inf", "wide", ""])
def test_a_bandwidth_is_a_number_or_links(text):
    with pytest.raises(InputError, match="--bandwidth"):
        bandwidth_option(text)


def test_bandwidths_that_are_taken():
    assert bandwidth_option("0.5") == 0.5
    assert bandwidth_option("links") == "links"
    assert bandwidth_option(None) is None


@pytest.mark.parametrize("method", ["auto", "mean-shift"])
@pytest.mark.parametrize("other", [{"bandwidth": 1.0}, {"kernel": "flat"}])
@pytest.mark.parametrize("space", ["kernel", "graph"])
def test_other_spaces_have_no_bandwidth(method, other, space):
    check_params(method, {"space": space, "n_neighbors": 5})
    refusal = refusal_of(method, space=space, **other)
    assert refusal.parameter == "space"
    assert f"--space {space}" in refusal.text("command")


@pytest.mark.parametrize("method", ["auto", "mean-shift"])
def test_one_thing_says_how_far_the_kernel_sees(method):
    refusal = refusal_of(method, bandwidth=1.0, n_neighbors=3)
    assert refusal.remedies["command"] == "Give --bandwidth or --n-neighbors."
    assert refusal.remedies["python"] == "Give bandwidth or n_neighbors."


def test_bandwidth_by_links():
    links = Links(must=[(0, 1)])
    check_params("mean-shift", {"bandwidth": "links"})
    METHODS["mean-shift"].check_given(Given({"bandwidth": "links"}, links, 60))
    assert "there are none" in refusal_of("mean-shift", bandwidth="links").problem
    assert "--method mean-shift" in refusal_of("cms", links, bandwidth="links").text("command")


def test_cms_does_without_cannot_links():
    for links in (Links(), Links(must=[(0, 20)])):
        METHODS["cms"].check_given(Given({}, links, 60))


def test_kernel_refuses_what_a_projection_cannot_use():
    assert "--method skms" in refusal_of("kernel", Links(cannot=[(0, 40)])).text("command")
    unsure = refusal_of("kernel", Links(must=[(0, 20)], must_confidence=0.5))
    assert "confidence below 1" in unsure.problem


@pytest.mark.parametrize(
    ("links", "which"),
    [
        (Links(), "none"),
        (Links(must=[(0, 1)]), "no cannot-links"),
        (Links(cannot=[(0, 1)]), "no must-links"),
    ],
)
def test_metric_asks_for_links(links, which):
    refusal = refusal_of("metric", links)
    assert refusal.problem.endswith(f"there are {which}.")
    assert "--labels-column" in refusal.remedies["command"]
    assert "partial_labels" in refusal.remedies["python"]


@pytest.mark.parametrize("method", ["auto", "consensus", "mean-shift", "cms"])
def test_one_thing_says_how_many_clusters_there_are(method):
    refusal = refusal_of(method, n_clusters=2, max_clusters=3)
    assert refusal.remedies["command"] == "Give --clusters or --max-clusters."


@pytest.mark.parametrize("name", ["auto", "consensus", "cms", "skms", "metric"])
def test_contradictions_are_refused_and_the_chain_is_named(refused, data, links, name):
    file = links("0,1,must", "1,2,must", "0,2,cannot")
    told = refused("cluster", data, "--links", file, "--method", name, "--conflicts", "refuse")
    assert "0 - 1 - 2" in told
    assert "--conflicts resolve" in told


def test_metric_asks_for_links_that_share_a_row(refused, data, links):
    file = links("0,20,must", "1,40,cannot")
    assert "Add cannot-links" in refused("cluster", data, "--links", file, "--method", "metric")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_clusters_and_says_what_it_did(run, data, links, name):
    options = ["--method", name]
    if name == "groups":
        options += ["--clusters", 3, "--view", "a=x", "--view", "b=y", "--max-iter", 2]
    elif name == "kernel":
        options += ["--links", links("0,20,must")]
    else:
        options += ["--links", links("0,20,must", "0,40,cannot")]
    if name == "kmeans":
        options += ["--clusters", 3]
    result = run("cluster", data, *options)
    assert len(result.stdout.splitlines()) == 61
    assert "as asked for" not in result.stderr
    assert "Method:" not in result.stderr
