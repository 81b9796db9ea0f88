"""Before all tests: where the data sets are, that no test depends on speed, what is installed."""

from importlib.util import find_spec

import pytest
from benchmarks.environment import find_data
from hypothesis import settings

find_data()
settings.register_profile("linkshift", deadline=None)
settings.load_profile("linkshift")


def pytest_collection_modifyitems(items):
    if find_spec("torch") is None:
        skip = pytest.mark.skip(reason="the extra 'deep' (PyTorch) is not installed")
        for item in items:
            if item.nodeid.startswith("src/linkshift/embed/"):
                item.add_marker(skip)
