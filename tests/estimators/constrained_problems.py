"""Rows and links that ConstrainedMeanShift is tried on."""

from tests.helpers import blobs

from linkshift import Links

X, TRUTH = blobs(seed=1)
LINKS = Links.sample(TRUTH, 60, random_state=0)
PAPER = {"refine": None, "enforce": False}
