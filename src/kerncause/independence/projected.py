"""Kernels projected on a few of their rows, and what regression on another kernel leaves of them.

    H K H ~ F F',  F (N, m) on N distinct rows          R F = F - V (V'V + e I)^-1 V'F  for  K_Z ~ V V'

How many rows are needed follows from how much of a trace may be left out.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerncause.linalg import Cholesky, pivots_of_matrix, shifted
from kerncause.regression.factors import LEAST_JITTER, Inputs

Floats = npt.NDArray[np.float64]

# A projection takes at most this many operations, n m^2 for m pivots.
MOST_WORK = 1e10
# A kernel that needs many pivots, by a rough guess, is written out on at most this many rows.
WRITTEN_OUT = 3000
MANY_PIVOTS = 400
# Relative to the rows: what a kernel of smaller trace holds is rounding.
SMALLEST_TRACE = 1e-12
# Relative to the rows: a projection that leaves out so much of the trace is cheap, and shows how fine one must be.
ROUGH = 0.03
# With more features it costs more to leave out the needless ones than to go on with them.
MOST_COMPRESSED = 100


@dataclass(frozen=True, eq=False)
class Projection:
    """A centred kernel H K H ~ F F' on N distinct rows.

    Attributes:
        features: (N, m) F, its rows scaled by the root of how often they occur.
        missed: the trace of what is left of K.
        is_full: whether more pivots would add nothing, or are not to be had.
    """

    features: Floats
    missed: float
    is_full: bool

    @classmethod
    def of(cls, inputs: Inputs, bandwidths: Floats, allowed: float) -> "Projection":
        """Project on pivots until the trace of what is left is as small as allowed."""
        N, root = len(inputs.points), inputs.root_weights
        n = float(root @ root)
        most = min(N, max(1, int(math.sqrt(MOST_WORK / N))))
        allowed = max(allowed, SMALLEST_TRACE * n)
        # A smooth kernel of d columns needs about as many pivots as there are polynomials of that degree.
        degree, d = math.log(n / allowed), inputs.points.shape[1]
        many = degree**d / math.factorial(d) > MANY_PIVOTS
        V = (written_out if many and N <= WRITTEN_OUT else pivoted)(inputs, bandwidths, allowed, most)
        missed = max(n - float(np.vdot(V, V)), 0.0)  # the diagonal of K is 1
        is_full = V.shape[1] == most or allowed <= SMALLEST_TRACE * n
        return cls(V - np.outer(root, root @ V / n), missed, is_full)


def pivoted(inputs: Inputs, bandwidths: Floats, allowed: float, most: int) -> Floats:
    """Return features of K, (N, m), by pivots that are looked for one after the other; K is not written out."""
    pivots = inputs.pivots(bandwidths, allowed, most)
    basis = inputs.basis(bandwidths, pivots.rows, LEAST_JITTER)
    return np.vstack([basis.features(basis.kernel(piece)) for piece in inputs.chunks()])


def written_out(inputs: Inputs, bandwidths: Floats, allowed: float, most: int) -> Floats:
    """Return the same by LAPACK's pivoted Cholesky of all of K: several times faster where many pivots are needed."""
    root = inputs.root_weights
    K = inputs.matrix(bandwidths)
    K *= root
    K *= root[:, None]
    return pivots_of_matrix(K, allowed, most)[1]


@dataclass(frozen=True, eq=False)
class Regression:
    """Regression on Z, whose kernel is K_Z ~ VV'.

    Attributes:
        V: (N, m) centred features.
        inner: the Cholesky factor of V'V + e I.
        missed: the trace of what is left of K_Z, relative to e.
    """

    V: Floats
    inner: Cholesky
    missed: float

    @classmethod
    def on(cls, inputs: Inputs, bandwidths: Floats, ridge: float, tolerance: float) -> "Regression":
        """Project K_Z.

        With a trace of t left out, R stays between its true value and 1 / (1 - t/e) times that.
        """
        Z = Projection.of(inputs, bandwidths, tolerance * ridge)
        inner = shifted(Z.features.T @ Z.features, ridge)
        return cls(Z.features, Cholesky.of(inner, "the kernel of the given variables with its ridge"), Z.missed / ridge)

    def residual(self, F: Floats) -> Floats:
        """Return R F = e (VV' + e I)^-1 F = F - V (V'V + e I)^-1 V'F."""
        left: Floats = F - self.V @ self.inner.solve(self.V.T @ F)
        return left


@dataclass(frozen=True, eq=False)
class Residual:
    """What regression on Z leaves of a kernel: features (N, r), the pivots they took, the share of the trace missed."""

    features: Floats
    rank: int
    missed: float


def residual_of(inputs: Inputs, bandwidths: Floats, Z: Regression | None, tolerance: float) -> Residual:
    """Project a kernel and regress it on Z.

    How fine the projection must be depends on how much is left, of which a rough one shows nearly all.
    """
    n = float(inputs.root_weights @ inputs.root_weights)
    allowed = ROUGH * n
    while True:
        projection = Projection.of(inputs, bandwidths, allowed)
        left = projection.features if Z is None else Z.residual(projection.features)
        trace = max(float(np.vdot(left, left)), SMALLEST_TRACE * n)
        if projection.is_full or projection.missed <= tolerance * trace:
            return Residual(_compressed(left, tolerance), left.shape[1], projection.missed / trace)
        allowed = min(tolerance * trace, 0.5 * projection.missed)


def _compressed(F: Floats, tolerance: float) -> Floats:
    """Return fewer columns with nearly the same FF': the trace changes by a hundredth of the tolerance at most."""
    if F.shape[1] > MOST_COMPRESSED:
        return F
    sizes, directions = np.linalg.eigh(F.T @ F)
    kept = np.cumsum(np.maximum(sizes, 0.0)) > 0.01 * tolerance * sizes.sum()
    if np.all(kept):
        return F
    fewer: Floats = F @ directions[:, kept]
    return fewer
