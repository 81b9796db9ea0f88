"""Measurements: speed against peers, quality of defaults, and the papers' printed tables."""

from benchmarks.environment import find_data

find_data()
