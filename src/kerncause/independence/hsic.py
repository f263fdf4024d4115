"""The Hilbert-Schmidt independence criterion of Gretton et al. (2005), as a measure of dependence.

    HSIC(x, y) = 1/n^2 tr(K H L H),        H = I - 11'/n

with Gaussian kernels K of x and L of y, each as wide as the median distance of its points. It is 0 for independent
variables as n grows, and biased upwards by O(1/n) before that.
"""

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist, squareform

Floats = npt.NDArray[np.float64]


def hsic(x: Floats, y: Floats) -> float:
    """Return HSIC of two variables with rows in common, (n,) or (n, columns)."""
    return float(hsic_of_columns(x.reshape(len(x), -1), y, together=True)[0])


def hsic_of_columns(columns: Floats, y: Floats, *, together: bool = False) -> Floats:
    """Return HSIC of each column (n, q) with y, (q,); `together` takes the columns as one variable, (1,)."""
    L = _kernel(y.reshape(len(y), -1))
    # tr(K H L H) is the sum over i, j of K_ij (H L H)_ij, so L alone need be centred.
    L -= L.mean(axis=0)
    L -= L.mean(axis=1, keepdims=True)
    sides = [columns] if together else [columns[:, [j]] for j in range(columns.shape[1])]
    return np.array([float(np.vdot(_kernel(side), L)) for side in sides]) / len(y) ** 2


def _kernel(points: Floats) -> Floats:
    """Return exp(-d^2 / 2 s^2), s the median of the positive distances; all ones where there are none."""
    distances = pdist(points)
    positive = distances[distances > 0.0]
    if len(positive) == 0:
        return np.ones((len(points), len(points)))
    kernel: Floats = squareform(np.exp(-0.5 * (distances / np.median(positive)) ** 2))
    np.fill_diagonal(kernel, 1.0)
    return kernel
