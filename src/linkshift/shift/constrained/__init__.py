r"""Constrained mean shift: cannot-links bend the weights (Schier, Reinders, Rosenhahn, SDM 2022).

.. math::

    t_i \leftarrow \frac{\sum_j k_h(s_j - t_i)\, w_{ij}\, s_j}{\sum_j k_h(s_j - t_i)\, w_{ij}},
    \qquad
    w_{ij} = \prod_{(x, y) \in C} \bigl(1 - k_{h_c}(t_x - t_i)\, k_{h_c}(t_y - t_j)\bigr),
    \qquad
    h_c = \max\{\epsilon, \min\{h, \lambda \|t_x - t_y\|\}\}

(eq. 3.1, 4.3 with 4.2, and 4.4), over a schedule of growing bandwidths h. Kernels are written as in
the paper, :math:`k_h(x) = \exp(-\|x\|^2 / h^2)`, without the half of :mod:`linkshift.profiles`.

What makes it fast: trajectories that have met move as one, so that links become distinct pairs of
centres with a multiplicity; :math:`w_{ij}` depends on j only through the centre of j's trajectory;
and only pairs within the kernel's reach are looked at. Trajectories have met when they are closer
than ``merge_tol`` bandwidths: at the default, 1e-5, the kernel of two such centres differs from one
by 1e-10.
"""

from linkshift.shift.constrained.ascent import (
    ConstrainedAscent,
    History,
    LinkKernel,
    LinkKernelName,
    constrained_ascend,
    link_weights,
)

__all__ = [
    "ConstrainedAscent",
    "History",
    "LinkKernel",
    "LinkKernelName",
    "constrained_ascend",
    "link_weights",
]
