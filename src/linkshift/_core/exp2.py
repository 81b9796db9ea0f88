"""Two to a power, inside jit loops: a polynomial that LLVM vectorises.

``np.exp`` is a call for each number; this is a dozen instructions for a whole register.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

__all__ = ["exp2"]


def exp2(t: Any) -> Any:
    """2**t for t in [-126, 126] (float32) or [-1022, 1022] (float64), by a polynomial."""
    raise NotImplementedError  # pragma: no cover


@overload(exp2, inline="always")
def _exp2(t: Any) -> Any:
    # Adding 1.5 * 2^23 (2^52) rounds t to a whole number and leaves it in the low bits, from
    # where it is shifted into the exponent of the result. The rest, |f| <= 1/2, goes through a
    # polynomial: in float32 the best of degree 5 in relative error (9e-8) with p(0) = 1, in
    # float64 the series ln(2)^k f^k / k!, cut where the next term is below half a unit in the
    # last place.
    if t.bitwidth == 32:

        def single(t: Any) -> Any:
            magic = np.float32(12582912.0)
            rounded = t + magic
            f = t - (rounded - magic)
            p = np.float32(1.3264726899090938e-3)
            p = p * f + np.float32(9.671512660563958e-3)
            p = p * f + np.float32(5.5507337442444765e-2)
            p = p * f + np.float32(2.4022242084919238e-1)
            p = p * f + np.float32(6.931469775984721e-1)
            p = p * f + np.float32(1.0)
            bits = np.float32(rounded).view(np.int32)
            return p * np.int32((bits + np.int32(127)) << np.int32(23)).view(np.float32)

        return single

    def double(t: Any) -> Any:
        magic = 6755399441055744.0
        rounded = t + magic
        f = t - (rounded - magic)
        p = 2.5678435993488206e-11
        p = p * f + 4.4455382718708116e-10
        p = p * f + 7.0549116208011233e-09
        p = p * f + 1.0178086009239699e-07
        p = p * f + 1.3215486790144310e-06
        p = p * f + 1.5252733804059840e-05
        p = p * f + 1.5403530393381608e-04
        p = p * f + 1.3333558146428443e-03
        p = p * f + 9.6181291076284772e-03
        p = p * f + 5.5504108664821580e-02
        p = p * f + 2.4022650695910071e-01
        p = p * f + 6.9314718055994531e-01
        p = p * f + 1.0
        bits = np.float64(rounded).view(np.int64)
        return p * np.int64((bits + np.int64(1023)) << np.int64(52)).view(np.float64)

    return double
