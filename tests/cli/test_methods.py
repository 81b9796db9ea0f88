"""The registry: entries fit, and no method is given what it would ignore."""

from dataclasses import fields
from typing import get_args

import numpy as np
import pytest

from linkshift.cli._console import InputError
from linkshift.cli._methods import (
    KERNELS,
    METHODS,
    Method,
    Options,
    Outcome,
    check_options,
)
from linkshift.links import Links
from linkshift.profiles import ProfileName


def test_kernels_are_those_of_the_library():
    assert get_args(ProfileName) == KERNELS


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_entries(method, groups):
    assert METHODS[method.name] is method
    assert method.help
    assert method.uses <= {field.name for field in fields(Options)}
    both = Links(must=[(0, 20)], cannot=[(0, 40)])
    must = Links(must=[(0, 20)])
    takes = {"cms": (both,), "kernel": (None, must), "metric": (both,)}.get(
        method.name, (None, must, both)
    )
    data, options = groups, Options()
    if method.takes_views:
        data = {"x": groups[:, :1], "y": groups[:, 1:]}
        options = Options(clusters=3, max_iter=2, view=("x=0", "y=1"))
    for links in takes:
        steps = []
        outcome = method.run(data, links, options, lambda *step, to=steps: to.append(step))
        assert outcome.labels.shape == (60,)
        assert outcome.done.endswith(".")
        assert steps
        assert steps[-1][0] == steps[-1][1]


def test_cms_asks_for_cannot_links(groups):
    for links in (None, Links(must=[(0, 20)])):
        with pytest.raises(InputError, match="cannot-links"):
            METHODS["cms"].run(groups, links, Options(), None)


@pytest.mark.parametrize("name", ["cms", "skms", "metric"])
def test_contradictions_are_refused_and_the_chain_is_named(groups, name):
    links = Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    with pytest.raises(InputError, match="0 - 1 - 2"):
        METHODS[name].run(groups, links, Options(), None)


def test_kernel_refuses_what_a_projection_cannot_use(groups):
    with pytest.raises(InputError, match="--method skms"):
        METHODS["kernel"].run(groups, Links(cannot=[(0, 40)]), Options(), None)
    unsure = Links(must=[(0, 20)], must_confidence=0.5)
    with pytest.raises(InputError, match="confidence below 1"):
        METHODS["kernel"].run(groups, unsure, Options(), None)


def test_metric_asks_for_links_that_share_a_row(groups):
    with pytest.raises(InputError, match="--label-column"):
        METHODS["metric"].run(groups, None, Options(), None)
    with pytest.raises(InputError, match="Add cannot-links"):
        METHODS["metric"].run(groups, Links([(0, 20)], [(1, 40)]), Options(), None)


def nothing(X, links, options, progress):
    return Outcome(np.zeros(len(X)), None, None, "Nothing.")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bandwidth", 1.0),
        ("kernel", "flat"),
        ("n_neighbors", 3),
        ("max_iter", 5),
        ("threads", 1),
        ("view", ("all=*",)),
    ],
)
def test_an_option_without_effect_is_refused(name, value):
    method = Method("still", "does nothing", frozenset(), nothing)
    with pytest.raises(InputError, match=f"--{name.replace('_', '-')} has no meaning with"):
        check_options(method, Options(**{name: value}))
    check_options(Method("still", "", frozenset({name}), nothing), Options(**{name: value}))


@pytest.mark.parametrize("name", [field.name for field in fields(Options)])
def test_refusals_name_the_methods_that_take_the_option(name):
    """A remedy that leads to another refusal is none."""
    with pytest.raises(InputError) as refusal:
        check_options(Method("still", "", frozenset(), nothing), Options(**{name: 1}))
    takers = str(refusal.value).partition("or use --method ")[2].rstrip(".").split(" or ")
    assert takers == [method.name for method in METHODS.values() if name in method.uses]
    assert takers


def test_a_number_of_clusters_is_asked_for_where_it_is_used():
    method = Method("still", "", frozenset({"clusters"}), nothing)
    with pytest.raises(InputError, match="give --clusters K"):
        check_options(method, Options())
    check_options(method, Options(clusters=1))


def test_the_command_runs_the_registered_function(run, data, monkeypatch):
    monkeypatch.setitem(METHODS, "mean-shift", Method("mean-shift", "", frozenset(), nothing))
    result = run("cluster", data)
    assert "Nothing." in result.stderr
    assert "1 cluster, size 60." in result.stderr
