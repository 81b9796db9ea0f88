"""Metrics that several tests measure by, learned once for each module."""

import pytest
from tests.estimators.metric_problems import KINDS, STRIPE, STRIPES, scml, sides

from linkshift import SCML


@pytest.fixture(scope="module")
def learned():
    """Fitted metrics of both kinds, on stripes."""
    return {kind: scml(kind).fit(STRIPES, STRIPE) for kind in KINDS}


@pytest.fixture(scope="module")
def crossed():
    """Data with a local metric that does change from side to side."""
    X, y = sides()
    return X, y, SCML("local", random_state=0).fit(X, y)
