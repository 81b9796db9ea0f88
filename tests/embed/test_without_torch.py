"""What there is without the extra: an import that costs nothing, and a message that helps."""

import subprocess
import sys

import numpy as np
import pytest

from linkshift._core.messages import Refusal
from linkshift.embed import StackedDenoisingAutoencoder


def test_nothing_but_fit_imports_torch():
    code = (
        "import sys, linkshift; from linkshift.embed import StackedDenoisingAutoencoder as S; S(); "
        "linkshift.embed; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("kind", [Refusal, ImportError])
def test_without_the_extra_fit_says_how_to_get_it(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    model = StackedDenoisingAutoencoder()
    with pytest.raises(kind, match=r'pip install "linkshift\[deep\]"'):
        model.fit(np.ones((4, 3)))
    assert not hasattr(model, "n_features_in_")
