"""What may be asked of the methods: nothing is given that would be ignored."""

from dataclasses import fields
from typing import get_args

import pytest

from linkshift.cli._console import InputError
from linkshift.cli._methods import (
    KERNELS,
    METHODS,
    Options,
    bandwidth_option,
    check_links,
    check_options,
    uses,
)
from linkshift.clustering import MethodName
from linkshift.links import Links
from linkshift.profiles import ProfileName


def test_kernels_are_those_of_the_library():
    assert get_args(ProfileName) == KERNELS


def test_names_are_those_of_the_library():
    assert get_args(MethodName) == ("auto", *METHODS)


VALUES = {
    "bandwidth": 1.0,
    "kernel": "flat",
    "n_neighbors": 3,
    "space": "input",
    "max_iter": 5,
    "clusters": 2,
    "view": ("all=*",),
}


def test_all_options_are_tried():
    assert set(VALUES) == {field.name for field in fields(Options)}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("name", VALUES)
def test_an_option_without_effect_is_refused(method, name):
    """And the remedy leads to a method that takes it."""
    given = {name: VALUES[name]} | ({"clusters": 2} if method.takes_views else {})
    if name in uses(method):
        check_options(method.name, Options(**given))
        return
    with pytest.raises(InputError, match=f"--{name.replace('_', '-')} has no meaning") as refusal:
        check_options(method.name, Options(**given))
    takers = str(refusal.value).partition("or use --method ")[2].rstrip(".").split(" or ")
    assert takers == [other.name for other in METHODS.values() if name in uses(other)]
    assert takers


def test_auto_takes_any_option():
    for name, value in VALUES.items():
        check_options("auto", Options(**{name: value}))


def test_a_number_of_clusters_is_asked_for_where_it_is_used():
    with pytest.raises(InputError, match="give --clusters K"):
        check_options("groups", Options())


def test_options_become_parameters_of_the_library():
    assert Options(**VALUES).params() == {
        "bandwidth": 1.0,
        "kernel": "flat",
        "n_neighbors": 3,
        "space": "input",
        "max_iter": 5,
        "n_clusters": 2,
    }
    assert Options().params() == {}


@pytest.mark.parametrize("text", ["nan", "0", "-1", "inf", "wide", ""])
def test_a_bandwidth_is_a_number_or_links(text):
    with pytest.raises(InputError, match="--bandwidth"):
        bandwidth_option(text)


def test_bandwidths_that_are_taken():
    assert bandwidth_option("0.5") == 0.5
    assert bandwidth_option("links") == "links"
    assert bandwidth_option(None) is None


@pytest.mark.parametrize("other", [{"bandwidth": 1.0}, {"kernel": "flat"}])
def test_a_kernels_space_has_no_bandwidth(other):
    check_options("mean-shift", Options(space="kernel", n_neighbors=5))
    with pytest.raises(InputError, match="--space kernel"):
        check_options("mean-shift", Options(space="kernel", **other))


def test_bandwidth_by_links():
    links = Links(must=[(0, 1)])
    check_options("mean-shift", Options(bandwidth="links"))
    check_links("mean-shift", Options(bandwidth="links"), links)
    with pytest.raises(InputError, match="there are none"):
        check_links("mean-shift", Options(bandwidth="links"), None)
    with pytest.raises(InputError, match="--method mean-shift"):
        check_options("cms", Options(bandwidth="links"))


def test_cms_asks_for_cannot_links():
    for links in (None, Links(must=[(0, 20)])):
        with pytest.raises(InputError, match="cannot-links"):
            check_links("cms", Options(), links)


def test_kernel_refuses_what_a_projection_cannot_use():
    with pytest.raises(InputError, match="--method skms"):
        check_links("kernel", Options(), Links(cannot=[(0, 40)]))
    unsure = Links(must=[(0, 20)], must_confidence=0.5)
    with pytest.raises(InputError, match="confidence below 1"):
        check_links("kernel", Options(), unsure)


def test_metric_asks_for_links():
    with pytest.raises(InputError, match="--labels-column"):
        check_links("metric", Options(), None)


@pytest.mark.parametrize("name", ["cms", "skms", "metric"])
def test_contradictions_are_refused_and_the_chain_is_named(refused, data, links, name):
    file = links("0,1,must", "1,2,must", "0,2,cannot")
    told = refused("cluster", data, "--links", file, "--method", name)
    assert "0 - 1 - 2" in told
    assert "--method mean-shift" in told


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
    result = run("cluster", data, *options)
    assert len(result.stdout.splitlines()) == 61
    assert "as asked for" not in result.stderr
    assert "Method:" not in result.stderr
