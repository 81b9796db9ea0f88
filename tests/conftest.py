"""Before all tests: where the data sets are, and that no test depends on speed."""

from benchmarks.environment import find_data
from hypothesis import settings

find_data()
settings.register_profile("linkshift", deadline=None)
settings.load_profile("linkshift")
