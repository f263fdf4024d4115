"""What is regressed on the parents: the features of a kernel, of a centred one, or the variable itself.

For a response Y of q columns every engine computes

    L = -1/2 tr(Y' K_t^-1 Y) - q/2 log|K_t| - n q/2 log 2pi

and gives its derivative by the logarithm of one parameter r of the response.

| response | Y | q | r |
|---|---|---|---|
| `KernelResponse` | K_X, the empirical features of X | n | s_x |
| `CentredKernelResponse` | H K_X H / r at a fixed s_x | n | the amplitude of the regression, a standard deviation |
| `DataResponse` | X, standardised | columns of X | none |

An amplitude in K_t = r^2 (K_PA + s_e^2 I) is the same as dividing Y by r, up to 2 n log r in the determinant: it
needs no place in the engines, and the score adds what the determinant lacks.

Engines see Y in two ways. Those on distinct values take y, (v, c), with Y Y' = P y y' P', P the (n, v) indicator
of the value. Those that project take F, (n, r), and W with Y Y' = F W F'.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerncause.data import Points
from kerncause.kernels import ELLIPSOID, GAUSSIAN, Ellipsoid, Profile, Shape, gaussian
from kerncause.linalg import squared_distances, squares_between
from kerncause.regression.factors import JITTER, Basis, Inputs

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NO_PIVOTS: Ints = np.empty(0, dtype=np.int64)


class GroupedResponse(ABC):
    """A response on the distinct values of its variable."""

    @abstractmethod
    def factor(self, parameter: float) -> tuple[Floats, Floats]:
        """Return y with Y Y' = P y y' P', (v, c), and its derivative by log r."""

    @abstractmethod
    def outputs(self, parameter: float) -> Floats:
        """Return Y on the distinct values, (v, q), columns in the order of the rows."""


class Slope(ABC):
    """Gathers, over pieces of the rows, what dL/dlog r needs."""

    @abstractmethod
    def add(self, rows: slice, raw: Floats, F: Floats, Z: Floats) -> None:
        """Take some rows of F and of Z = K_t^-1 F, with what `features` gave beside F."""

    @abstractmethod
    def total(self, T: Floats, W: Floats) -> float:
        """Return dL/dlog r, for T = F' K_t^-1 F."""


class ProjectedResponse(ABC):
    """A response at one parameter as features F of few columns."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """Columns of F."""

    @abstractmethod
    def features(self, rows: slice) -> tuple[Floats, Floats]:
        """Return what the slope will need of some rows, and F on them, scaled by the roots of their weights."""

    @abstractmethod
    def weight(self, gram: Floats) -> Floats:
        """Return W, given F'F."""

    @abstractmethod
    def missing(self, gram: Floats | None = None) -> float:
        """Return the trace of Y's kernel that F lacks; `gram` is F'F if it is known."""

    @abstractmethod
    def slope(self) -> Slope:
        """Return a new accumulator."""


class Response(ABC):
    """How a variable becomes the response of a regression."""

    @property
    def shape(self) -> Shape:
        """Of its kernel, if it has one."""
        return ELLIPSOID

    @abstractmethod
    def output_count(self, points: Points) -> int:
        """Return q."""

    @abstractmethod
    def grouped(self, points: Points) -> GroupedResponse:
        """Return the response on distinct values."""

    @abstractmethod
    def pivots(self, inputs: Inputs, parameter: float, tolerance: float, most: int) -> Ints:
        """Choose rows to project on until little more than `tolerance` of the trace is missing."""

    @abstractmethod
    def projected(self, inputs: Inputs, parameter: float, pivots: Ints, jitter: float = JITTER) -> ProjectedResponse:
        """Return the response projected on some rows."""


@dataclass(frozen=True)
class KernelResponse(Response):
    """Y = K_X with s_x as its parameter."""

    profile: Profile = GAUSSIAN

    @property
    def shape(self) -> Shape:
        """Of its kernel."""
        return Ellipsoid(self.profile)

    def output_count(self, points: Points) -> int:
        """Return n."""
        return points.n

    def grouped(self, points: Points) -> GroupedResponse:
        """Return k and its derivative on distinct values."""
        return _GroupedKernel(points, self.profile)

    def pivots(self, inputs: Inputs, parameter: float, tolerance: float, most: int) -> Ints:
        """Choose pivots of the kernel at s_x."""
        return inputs.pivots(np.array([parameter]), tolerance, most).rows

    def projected(self, inputs: Inputs, parameter: float, pivots: Ints, jitter: float = JITTER) -> ProjectedResponse:
        """Return K_X ~ F F' at s_x."""
        return _ProjectedKernel(inputs.basis(np.array([parameter]), pivots, jitter))


@dataclass(frozen=True)
class CentredKernelResponse(Response):
    """Y = H K_X H / r with a fixed s_x; H = I - 11'/n."""

    bandwidth: float

    def output_count(self, points: Points) -> int:
        """Return n."""
        return points.n

    def grouped(self, points: Points) -> GroupedResponse:
        """Return the centred k on distinct values."""
        return _GroupedCentredKernel(points, self.bandwidth)

    def pivots(self, inputs: Inputs, parameter: float, tolerance: float, most: int) -> Ints:
        """Choose pivots of the kernel; centring and dividing by r only take away from what is missing."""
        return inputs.pivots(np.array([self.bandwidth]), tolerance * parameter, most).rows

    def projected(self, inputs: Inputs, parameter: float, pivots: Ints, jitter: float = JITTER) -> ProjectedResponse:
        """Return H K_X H / r ~ F F'."""
        return _ProjectedCentredKernel.of(inputs.basis(np.array([self.bandwidth]), pivots, jitter), parameter)


class DataResponse(Response):
    """Y = X: ordinary regression, in the space of the data. It has no parameter."""

    def output_count(self, points: Points) -> int:
        """Return the number of columns."""
        return int(points.values.shape[1])

    def grouped(self, points: Points) -> GroupedResponse:
        """Return the distinct values."""
        return _GroupedData(points.distinct)

    def pivots(self, inputs: Inputs, parameter: float, tolerance: float, most: int) -> Ints:
        """Return none: the columns are few already."""
        return NO_PIVOTS

    def projected(self, inputs: Inputs, parameter: float, pivots: Ints, jitter: float = JITTER) -> ProjectedResponse:
        """Return F = X, W = I."""
        return _ProjectedData(inputs)


class _GroupedKernel(GroupedResponse):
    def __init__(self, points: Points, profile: Profile) -> None:
        self._profile = profile
        self._distances = squared_distances(points.distinct)
        self._root_counts = np.sqrt(points.counts)
        self._codes = points.codes

    def factor(self, parameter: float) -> tuple[Floats, Floats]:
        t = self._distances / parameter**2
        k, slope = self._profile.both(t.copy())
        return k * self._root_counts, slope * t * self._root_counts

    def outputs(self, parameter: float) -> Floats:
        return self._profile.value(self._distances / parameter**2)[:, self._codes]


class _GroupedCentredKernel(GroupedResponse):
    def __init__(self, points: Points, bandwidth: float) -> None:
        k = gaussian(squared_distances(points.distinct), bandwidth)
        shares = points.counts / points.n
        mean = k @ shares
        self._k = k - mean - mean[:, None] + shares @ mean
        self._root_counts = np.sqrt(points.counts)
        self._codes = points.codes

    def factor(self, parameter: float) -> tuple[Floats, Floats]:
        y = self._k * (self._root_counts / parameter)
        return y, -y

    def outputs(self, parameter: float) -> Floats:
        return (self._k / parameter)[:, self._codes]


@dataclass(frozen=True, eq=False)
class _GroupedData(GroupedResponse):
    values: Floats

    def factor(self, parameter: float) -> tuple[Floats, Floats]:
        return self.values, np.zeros_like(self.values)

    def outputs(self, parameter: float) -> Floats:
        return self.values


@dataclass(frozen=True, eq=False)
class _ProjectedKernel(ProjectedResponse):
    """K_X ~ F F', so W = F'F; dL/dF = -(Z W + F T) goes to the bandwidth as in `kerncause.regression.factors`."""

    basis: Basis

    @property
    def rank(self) -> int:
        return len(self.basis.at)

    def features(self, rows: slice) -> tuple[Floats, Floats]:
        K_nm, slope = self.basis.kernel_and_slope(rows)
        return slope, self.basis.features(K_nm)

    def weight(self, gram: Floats) -> Floats:
        return gram

    def missing(self, gram: Floats | None = None) -> float:
        inputs = self.basis.inputs
        captured = float(inputs.root_weights**2 @ self.basis.captured()) if gram is None else float(np.trace(gram))
        return max(inputs.n - captured, 0.0)

    def slope(self) -> Slope:
        return _KernelSlope(self.basis)


class _KernelSlope(Slope):
    """E = dK_nm/dlog s_x s_x^2 contracted to F'E and Z'E, because T is known only at the end."""

    def __init__(self, basis: Basis) -> None:
        self._basis = basis
        self._FtE = np.zeros_like(basis.K_mm)
        self._ZtE = np.zeros_like(basis.K_mm)

    def add(self, rows: slice, raw: Floats, F: Floats, Z: Floats) -> None:
        E = squares_between(self._basis.inputs.points[rows], self._basis.at)
        E *= raw
        self._FtE += F.T @ E
        self._ZtE += Z.T @ E

    def total(self, T: Floats, W: Floats) -> float:
        basis = self._basis
        left, right = W @ basis.inverse, T @ basis.inverse
        of_pivots = 0.5 * basis.inverse.T @ (T @ left + W @ right) * basis.slope
        by_square = float(np.vdot(of_pivots, squares_between(basis.at, basis.at)))
        by_square -= float(np.vdot(left, self._ZtE) + np.vdot(right, self._FtE))
        return by_square / float(basis.parameters[0]) ** 2


@dataclass(frozen=True, eq=False)
class _ProjectedCentredKernel(ProjectedResponse):
    """F = H K_nm L^-T / sqrt(r): the mean feature is taken off every row.

    Attributes:
        basis: of the kernel.
        parameter: r.
        mean: (m,) the mean of the features over the rows of the table.
        lack: the trace that the features lack before centring.
    """

    basis: Basis
    parameter: float
    mean: Floats
    lack: float

    @classmethod
    def of(cls, basis: Basis, parameter: float) -> "_ProjectedCentredKernel":
        inputs = basis.inputs
        total, captured, n = np.zeros(len(basis.at)), 0.0, inputs.n
        for rows in inputs.chunks():
            F = basis.features(basis.kernel(rows))
            total += inputs.root_weights[rows] @ F
            captured += float(np.vdot(F, F))
        return cls(basis, parameter, total / n, max(n - captured, 0.0))

    @property
    def rank(self) -> int:
        return len(self.basis.at)

    def features(self, rows: slice) -> tuple[Floats, Floats]:
        F = self.basis.features(self.basis.kernel(rows))
        F -= self.basis.inputs.root_weights[rows, None] * self.mean
        F /= math.sqrt(self.parameter)
        return F[:, :0], F

    def weight(self, gram: Floats) -> Floats:
        return gram

    def missing(self, gram: Floats | None = None) -> float:
        return self.lack / self.parameter

    def slope(self) -> Slope:
        return _ScaleSlope()


class _ScaleSlope(Slope):
    """tr(T W) goes with r^-2."""

    def add(self, rows: slice, raw: Floats, F: Floats, Z: Floats) -> None:
        pass

    def total(self, T: Floats, W: Floats) -> float:
        return float(np.vdot(T, W))


@dataclass(frozen=True, eq=False)
class _ProjectedData(ProjectedResponse):
    inputs: Inputs

    @property
    def rank(self) -> int:
        return int(self.inputs.points.shape[1])

    def features(self, rows: slice) -> tuple[Floats, Floats]:
        F: Floats = self.inputs.points[rows] * self.inputs.root_weights[rows, None]
        return F[:, :0], F

    def weight(self, gram: Floats) -> Floats:
        return np.eye(len(gram))

    def missing(self, gram: Floats | None = None) -> float:
        return 0.0

    def slope(self) -> Slope:
        return _NoSlope()


class _NoSlope(Slope):
    def add(self, rows: slice, raw: Floats, F: Floats, Z: Floats) -> None:
        pass

    def total(self, T: Floats, W: Floats) -> float:
        return 0.0
