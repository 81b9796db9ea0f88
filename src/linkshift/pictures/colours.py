"""The colours of all pictures, and which can be read on which."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Cluster colours. The first nine stay apart under red-green colour blindness; the others were
#: picked one by one, each as far as possible in OKLab from those before it. Then they repeat.
# fmt: off
PALETTE = (
    "#3B6FB6", "#E2711D", "#2A9D8F", "#B5387F", "#E8C547", "#6CC5EA",
    "#3A2A7D", "#F29CB4", "#7A4A1E", "#CB6CFF", "#6824C1", "#822155",
    "#967158", "#7A57F2", "#8EBA7A", "#53E488", "#7D8ED0", "#D9A02C",
    "#044B97", "#CD4805", "#376C79", "#924958", "#09E0DB", "#BA37BA",
    "#5F3B74", "#B397F9", "#8A9B52", "#ED5CD1", "#67772E", "#825D99",
)
# fmt: on

INK = "#2B2B2B"
FRAME = "#B8B8B8"
WORDS = "#444444"
NUMBERS = "#666666"
NOISE_GREY = "#9A9A9A"
NO_CLUSTER = "#C4C9D1"
MUST = "#1B7F3B"
CANNOT = "#D0202E"
LINKS = {"must": MUST, "cannot": CANNOT}
#: Shares from none to the largest.
SHARES = ("#FFFFFF", PALETTE[0], "#12294D")

_LEAST_CONTRAST = 3.0


def rgb(colour: str) -> NDArray[np.float64]:
    """Give red, green and blue, from 0 to 1, of a colour as ``#RRGGBB``."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def luminance(colours: Any) -> Any:
    """Relative luminance of colours (..., red, green, blue) as in WCAG 2."""
    colours = np.asarray(colours)[..., :3]
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722)


def takes_black(colours: Any) -> Any:
    """Whether black is the better text on a colour: the better has a contrast of 4.5 or more."""
    return luminance(colours) > 0.179


def contrast(a: Any, b: Any) -> float:
    """Contrast of two colours as in WCAG 2, from 1 to 21."""
    low, high = sorted(float(luminance(colour)) for colour in (a, b))
    return (high + 0.05) / (low + 0.05)


def lightened(colour: str, panel: str) -> str:
    """Mix with white until it stands out from a dark panel (WCAG 2, contrast of graphics)."""
    own, share = rgb(colour), 0.0
    while contrast(own + share * (1 - own), rgb(panel)) < _LEAST_CONTRAST:
        share += 0.05
    mixed = np.rint(255 * (own + share * (1 - own))).astype(int)
    return colour if share == 0 else "#{:02X}{:02X}{:02X}".format(*mixed)
