"""Before all tests: where the data sets are."""

from benchmarks.environment import find_data

find_data()
