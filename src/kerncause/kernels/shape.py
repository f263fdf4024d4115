"""Along what two rows of the parents are compared: the shape of the parents' kernel.

K_PA(i, j) = k(t_ij), t_ij = |c_i - c_j|^2, for a profile k (`kerncause.kernels.profile`; the paper's is exp(-t/2)),
with coordinates c made of the parents' columns p, (d,):

| shape | coordinates | parameters | t_ij, with D = p_i - p_j |
|---|---|---|---|
| `Ellipsoid` | p / s, a bandwidth for every parent | s_1..s_k | sum_k abs(D_k)^2 / s_k^2 |
| `Columns` | w o p, a weight for every column | w, (d,) | sum_c w_c^2 D_c^2 |
| `Direction` | w'p, one number | w, (d,), of either sign | (w'D)^2 |

An ellipsoid can bend to any function of its parents, but needs rows that fill the space of all of them. Where the
response depends on one weighted sum of its parents (a single-index model: Ichimura 1993; Gramacy and Lian 2012 for
Gaussian processes) a direction needs no more rows for many parents than for one; and a parent of weight 0 is switched
off. Columns are an ellipsoid in which every column of a vector has a bandwidth 1 / w_c of its own, and can be switched
off like that.

For L(K) everything a gradient needs is the scatter of the pairs,

    C = sum_ij (dL/dK o k~)_ij D_ij D_ij'   (d, d):       dL/dlog s_k = tr(C_kk) / s_k^2       dL/dw = -C w
                                                                of columns: dL/dw = -diag(C) o w

with k~ = -2 k'(t), which for a Gaussian is K itself.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kerncause.kernels.profile import GAUSSIAN, Profile

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Shape(Protocol):
    """How columns become coordinates. `owner`, (d,), says which variable each column belongs to."""

    @property
    def profile(self) -> Profile:
        """How the kernel falls with the distance of coordinates."""
        ...

    def coordinates(self, points: Floats, owner: Ints, parameters: Floats) -> Floats:
        """Return the coordinates, (N, c), of points, (N, d); without columns all are at the same place."""
        ...

    def gradient(self, scatter: Floats, owner: Ints, parameters: Floats) -> Floats:
        """Return the derivatives of L: by the logarithms of bandwidths, by weights as they are."""
        ...

    def pulled_back(self, slopes: Floats, points: Floats, owner: Ints, parameters: Floats) -> Floats:
        """Return the same from the derivatives by all coordinates, (N, c)."""
        ...

    def is_line(self, columns: int) -> bool:
        """Tell whether so many columns have one coordinate."""
        ...


@dataclass(frozen=True)
class Ellipsoid:
    """A bandwidth for every variable."""

    profile: Profile = GAUSSIAN

    def coordinates(self, points: Floats, owner: Ints, parameters: Floats) -> Floats:
        """Return the columns in units of their bandwidths."""
        return points / parameters[owner] if len(owner) else np.zeros((len(points), 1))

    def gradient(self, scatter: Floats, owner: Ints, parameters: Floats) -> Floats:
        """Return dL/dlog s_k."""
        total = np.zeros(len(parameters))
        np.add.at(total, owner, np.diagonal(scatter))
        return total / parameters**2

    def pulled_back(self, slopes: Floats, points: Floats, owner: Ints, parameters: Floats) -> Floats:
        """Return dL/dlog s_k = -sum of dL/dc c over its columns."""
        total = np.zeros(len(parameters))
        np.add.at(total, owner, -np.einsum("ij,ij->j", slopes, points))
        return total / parameters

    def is_line(self, columns: int) -> bool:
        """Tell whether there is one column."""
        return columns == 1


@dataclass(frozen=True)
class Direction:
    """A weight for every column."""

    profile: Profile = GAUSSIAN

    def coordinates(self, points: Floats, owner: Ints, parameters: Floats) -> Floats:
        """Return the weighted sum, one column."""
        return (points @ parameters)[:, None]

    def gradient(self, scatter: Floats, owner: Ints, parameters: Floats) -> Floats:
        """Return dL/dw."""
        return np.asarray(-(scatter @ parameters), dtype=np.float64)

    def pulled_back(self, slopes: Floats, points: Floats, owner: Ints, parameters: Floats) -> Floats:
        """Return dL/dw."""
        return np.asarray(points.T @ slopes[:, 0], dtype=np.float64)

    def is_line(self, columns: int) -> bool:
        """Tell whether there are any columns."""
        return columns > 0


@dataclass(frozen=True)
class Columns:
    """A weight for every column, each of which is compared by itself."""

    profile: Profile = GAUSSIAN

    def coordinates(self, points: Floats, owner: Ints, parameters: Floats) -> Floats:
        """Return the columns times their weights."""
        return points * parameters

    def gradient(self, scatter: Floats, owner: Ints, parameters: Floats) -> Floats:
        """Return dL/dw."""
        return np.asarray(-np.diagonal(scatter) * parameters, dtype=np.float64)

    def pulled_back(self, slopes: Floats, points: Floats, owner: Ints, parameters: Floats) -> Floats:
        """Return dL/dw."""
        return np.asarray(np.einsum("ij,ij->j", slopes, points), dtype=np.float64)

    def is_line(self, columns: int) -> bool:
        """Tell whether there is one column."""
        return columns == 1


ELLIPSOID, DIRECTION, COLUMNS = Ellipsoid(), Direction(), Columns()


def scatter(weights: Floats, left: Floats, right: Floats) -> Floats:
    """Return the sum over i, j of W_ij (l_i - r_j)(l_i - r_j)', (d, d)."""
    across = left.T @ (weights @ right)
    of_left = (left.T * weights.sum(axis=1)) @ left
    of_right = (right.T * weights.sum(axis=0)) @ right
    return np.asarray(of_left + of_right - across - across.T, dtype=np.float64)
