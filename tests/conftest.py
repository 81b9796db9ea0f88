"""Before all tests: where the data sets are, that no test depends on speed, what is installed."""

import signal
from importlib.util import find_spec

import pytest
from benchmarks.environment import find_data
from hypothesis import settings

find_data()
settings.register_profile("linkshift", deadline=None)
settings.load_profile("linkshift")


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


def pytest_collection_modifyitems(items):
    for place, (module, extra) in EXAMPLES.items():
        if find_spec(module) is None:
            skip = pytest.mark.skip(reason=f"the extra {extra!r} is not installed")
            for item in items:
                if item.nodeid.startswith(place):
                    item.add_marker(skip)
