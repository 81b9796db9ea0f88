r"""Mean shift where every point has its own metric: starts climb a sum of tilted kernels.

With a metric :math:`M_j` and a bandwidth :math:`h_j` for each point,

.. math::

    f(x) = \sum_j a_j \, k(z_j), \qquad
    x \leftarrow \Big[\sum_j B_j g(z_j)\Big]^{-1} \sum_j B_j g(z_j) \, x_j, \qquad
    z_j = \frac{(x - x_j)^\top M_j (x - x_j)}{h_j^2}

with :math:`a_j = \sqrt{\det M_j} \, h_j^{-d}` and :math:`B_j = a_j M_j / h_j^2`: equations 4.7 and
4.8 of Cheema's thesis (2016), "Anisotropic mean shift clustering using distance metric learning".

One metric everywhere. :math:`M_j` is made definite once, at the door (``ridge``), and that metric
serves for distances, determinants and solves alike.

What is exact. Every weight that is used comes from the direct difference x - x_j; matrix products
only tell which points are certainly out of reach, with a bound on their rounding. Each start is
climbed by itself: neither the other starts nor the number of threads change a bit of its end.
Factors are logarithms, so that no power of a bandwidth or a determinant under- or overflows.

The Gaussian, which reaches every point, takes its distances and sums from matrix products, where
the data spans so few bandwidths that z is right to about 1e-9; elsewhere it goes the direct way.
By products its ends are the same for any number of threads, and for other batches to rounding.

Positions are resolved to machine epsilon times the span of the data, distances and weights follow.

Metrics come as weights of directions that all of them share (:func:`build_composed`), as SCML
learns them.

Memory is O(n d^2) for packed metrics, half of the full ones, and O(n (K + d)) for those composed
of K directions. Each thread takes O(n d), and some arrays of 64 n numbers, for many points of 4
million; a start costs O(d), an end to be merged as much as a metric. Time is O(n) for each step of
each start, with a small constant, besides the points near it, O(d^2) or O(K + d) each, and for
composed metrics one sum of K outer products.
"""

from linkshift.shift.anisotropic.density import (
    AnisotropicDensity,
    build_composed,
    composed_bandwidth,
)

__all__ = ["AnisotropicDensity", "build_composed", "composed_bandwidth"]
