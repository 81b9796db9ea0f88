"""Before all tests: where the data sets are, and examples that need what is not installed."""

from importlib.util import find_spec

import pytest
from benchmarks.environment import find_data

find_data()


def pytest_collection_modifyitems(items):
    if find_spec("torch") is None:
        skip = pytest.mark.skip(reason="the extra 'deep' (PyTorch) is not installed")
        for item in items:
            if item.nodeid.startswith("src/linkshift/embed/"):
                item.add_marker(skip)
