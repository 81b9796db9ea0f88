"""Before all tests: where the data sets are, that no test depends on speed, what is installed."""

import signal
from importlib.metadata import version
from importlib.util import find_spec
from math import ceil

import pytest
from benchmarks.environment import find_data
from hypothesis import is_hypothesis_test, settings

find_data()
settings.register_profile("linkshift", deadline=None)
settings.register_profile("few", deadline=None, max_examples=34)  # --hypothesis-profile=few
settings.load_profile("linkshift")

if version("scikit-learn").startswith("1.6."):
    # Beside array-api-compat, which anndata brings, its test helpers refuse SciPy from 1.14 on,
    # unless this is set. SciPy itself has read it by then, and is as it is without.
    import scipy.spatial  # noqa: F401

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIPY_ARRAY_API", "1")
        import sklearn.utils.estimator_checks  # noqa: F401


@pytest.fixture
def few_starts(monkeypatch):
    """Group-dependent features from four starts by default, where sixteen would tell no more."""
    from linkshift import GroupFeatureClustering

    monkeypatch.setitem(GroupFeatureClustering.__init__.__kwdefaults__, "n_init", 4)


# Files with examples that need what may not be installed: what to import, and the extra.
EXAMPLES = {
    "src/linkshift/embed/": ("torch", "deep"),
    "src/linkshift/scale/dask.py": ("dask", "dask"),
}


@pytest.fixture
def ctrl_c():
    """Ctrl-C as Python has it: in tests that somebody started in the background it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def fewer_examples(items):
    """Leave a third of the examples where a test says how many: a profile alone would not."""
    own = "_hypothesis_internal_use_settings"  # what @settings sets and hypothesis's plugin reads
    for item in items:
        function = getattr(item, "obj", None)
        function = getattr(function, "__func__", function)
        if is_hypothesis_test(function) and not getattr(function, "fewer", False):
            function.fewer = True  # parametrised, one function is many items
            asked = getattr(function, own, settings.default)
            if asked.max_examples != settings.default.max_examples:
                n = min(asked.max_examples, max(5, ceil(asked.max_examples / 3)))
                setattr(function, own, settings(asked, max_examples=n))


def pytest_collection_modifyitems(config, items):
    if config.getoption("--hypothesis-profile") == "few":
        fewer_examples(items)
    for place, (module, extra) in EXAMPLES.items():
        if find_spec(module) is None:
            skip = pytest.mark.skip(reason=f"the extra {extra!r} is not installed")
            for item in items:
                if item.nodeid.startswith(place):
                    item.add_marker(skip)
