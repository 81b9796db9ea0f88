"""Rows that MeanShift is tried on."""

import pytest
from tests.helpers import blobs

KERNELS = ["flat", "epanechnikov", "gaussian", "truncated_gaussian"]
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


X, TRUTH = blobs(300, k=4, std=1.2)
