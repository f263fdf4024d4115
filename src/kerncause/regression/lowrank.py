"""The low-rank engine: linear in n, to a stated error.

K_X and K_PA are replaced by their projections on a few rows, the pivots (Nystrom): with K_mm the kernel among
the pivots, K_nm that of all rows with them, and K_mm = L L',

    K_PA ~ V V',   V = K_nm L^-T        K_X ~ U U'   likewise                       V (n, m), U (n, r)

    B = s_e^2 I + V'V     F = B^-1 V'U     Z = (U - V F) / s_e^2 = K_t^-1 U
    W = U'U               T = U' K_t^-1 U = s_e^2 Z'Z + F'F

    tr(K_X K_t^-1 K_X) = tr(T W)           log|K_t| = (n - m) log s_e^2 + log|B|
    dL/dV = Z W F' - n V B^-1              dL/dU = -(Z W + U T)
    dL/d(s_e^2) = 1/2 tr(Z'Z W) - n/2 ((n - m) / s_e^2 + tr B^-1)

(The textbook form tr(WW) - tr(F'B F W) cancels; this one does not.) L depends on V only through V V', so

    dL/dK_nm = G = dL/dV L^-1              dL/dK_mm = -1/2 L^-T V' G

and with V'Z = F, U'Z = T, everything of size n is touched by four products a factor. Rows that are equal in
response and parents are kept once, scaled by the root of their count: V'V, V'U, U'U are then the same sums.

One evaluation costs O(n (m + r)^2) time and O(n (m + r)) memory; no n x n array is ever formed.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas
from scipy.spatial.distance import cdist

from kerncause.linalg import Cholesky, Pivots, pivoted_cholesky, shifted
from kerncause.regression.base import LOG_2PI, Evaluation, Parameters, Problem
from kerncause.regression.compressed import joint_rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Added to the diagonal of K_mm: pivots chosen at a short bandwidth make it singular at a long one. A constant
# keeps L smooth in the parameters, and V V' stays below K, so the certificate holds.
JITTER = 1e-10


@dataclass(frozen=True, eq=False)
class Inputs:
    """One side of the regression, response or parents, on the distinct rows.

    Attributes:
        points: (N, d) the columns of its variables side by side.
        owner: (d,) which variable each column belongs to.
        root_weights: (N,) root of how often each row occurs.
    """

    points: Floats
    owner: Ints
    root_weights: Floats

    def scaled(self, bandwidths: Floats) -> Floats:
        """Return the points in units of their bandwidths."""
        return self.points / bandwidths[self.owner] if len(self.owner) else np.zeros((len(self.points), 1))

    def projected(self, bandwidths: Floats, pivots: Ints) -> "Factor":
        """Project the kernel on some rows."""
        scaled = self.scaled(bandwidths)
        K_nm = np.exp(-0.5 * cdist(scaled, scaled[pivots], "sqeuclidean"))
        K_mm = K_nm[pivots]
        K_nm *= self.root_weights[:, None]
        cholesky = Cholesky.of(shifted(K_mm, JITTER), "the kernel matrix of the pivots")
        # L X = K_mn, X = V', on column-major views, so that nothing is copied.
        V: Floats = blas.dtrsm(1.0, cholesky.lower, K_nm.T, lower=1).T
        return Factor(K_nm, K_mm, cholesky, V)

    def log_bandwidth_gradient(
        self, dK_nm: Floats, dK_mm: Floats, factor: "Factor", pivots: Ints, bandwidths: Floats
    ) -> Floats:
        """Return sum(dK o K o D_k) / s_k^2 over both kernels, for each variable k; D_k is never formed."""
        at = self.points[pivots]
        gradient = np.zeros(len(bandwidths))
        for M, left in ((dK_nm * factor.K_nm, self.points), (dK_mm * factor.K_mm, at)):
            over_rows, over_pivots, cross = M.sum(axis=1) @ left**2, M.sum(axis=0) @ at**2, M @ at
            per_column = over_rows + over_pivots - 2.0 * np.einsum("ij,ij->j", left, cross)
            np.add.at(gradient, self.owner, per_column)
        return gradient / bandwidths**2

    def pivots(self, bandwidths: Floats, tolerance: float, most: int) -> Pivots:
        """Choose pivots until the trace of what the projection misses, over all rows, is small."""
        scaled = self.scaled(bandwidths)

        def column(i: int) -> Floats:
            distances: Floats = cdist(scaled, scaled[i : i + 1], "sqeuclidean")[:, 0]
            return np.exp(-0.5 * distances)

        return pivoted_cholesky(np.ones(len(scaled)), column, tolerance, most, self.root_weights**2)


@dataclass(frozen=True, eq=False)
class Factor:
    """A kernel projected on its pivots: V with V V' ~ K on weighted rows, and what the chain rule needs."""

    K_nm: Floats
    K_mm: Floats
    cholesky: Cholesky
    V: Floats

    def inverse_lower(self) -> Floats:
        """Return L^-1, (m, m)."""
        inverse: Floats = blas.dtrsm(1.0, self.cholesky.lower, np.eye(len(self.K_mm)), lower=1)
        return inverse


@dataclass(frozen=True, eq=False)
class LowRankEngine:
    """L with K_X and K_PA projected on pivots, which stay while the parameters move."""

    n: int
    response: Inputs
    parents: Inputs
    response_pivots: Ints
    parent_pivots: Ints
    name: str = "lowrank"

    def evaluate(self, parameters: Parameters) -> Evaluation:
        """Return L of the projected kernels and its gradient."""
        n, m, noise2 = self.n, len(self.parent_pivots), parameters.noise**2
        s_x = np.array([parameters.response_bandwidth])
        X = self.response.projected(s_x, self.response_pivots)
        P = self.parents.projected(parameters.bandwidths, self.parent_pivots)
        U, V = X.V, P.V
        VtV, W = V.T @ V, U.T @ U
        B = Cholesky.of(shifted(VtV, noise2), "the projected kernel matrix of the parents with its noise")
        F = B.solve(V.T @ U)
        Z = (U - V @ F) / noise2
        ZtZ = Z.T @ Z
        T = noise2 * ZtZ + F.T @ F
        B_inverse = B.inverse()
        fit, log_determinant = np.vdot(T, W), (n - m) * math.log(noise2) + B.log_determinant
        d_noise2 = 0.5 * np.vdot(ZtZ, W) - 0.5 * n * ((n - m) / noise2 + B_inverse.trace())

        L_inverse = P.inverse_lower()
        left, right = W @ (F.T @ L_inverse), n * (B_inverse @ L_inverse)
        d_parents = self.parents.log_bandwidth_gradient(
            Z @ left - V @ right,
            -0.5 * L_inverse.T @ (F @ left - VtV @ right),
            P,
            self.parent_pivots,
            parameters.bandwidths,
        )
        L_inverse = X.inverse_lower()
        left, right = W @ L_inverse, T @ L_inverse
        d_response = self.response.log_bandwidth_gradient(
            -(Z @ left + U @ right), 0.5 * L_inverse.T @ (T @ left + W @ right), X, self.response_pivots, s_x
        )
        return Evaluation(
            value=float(-0.5 * fit - 0.5 * n * log_determinant - 0.5 * n * n * LOG_2PI),
            response_bandwidth=float(d_response[0]),
            bandwidths=d_parents,
            noise=2.0 * noise2 * float(d_noise2),
        )


def inputs_of(problem: Problem) -> tuple[Inputs, Inputs]:
    """Return the response and the parents on the rows that differ in either, with their counts."""
    rows, counts = joint_rows(problem)
    root_weights = np.sqrt(counts)
    owner = [np.full(parent.values.shape[1], k) for k, parent in enumerate(problem.parents)]
    columns = [parent.values[rows] for parent in problem.parents]
    response = problem.response.values[rows]
    return (
        Inputs(response, np.zeros(response.shape[1], dtype=np.int64), root_weights),
        Inputs(
            np.hstack([np.empty((len(rows), 0)), *columns]),
            np.concatenate([np.empty(0, dtype=np.int64), *owner]),
            root_weights,
        ),
    )
