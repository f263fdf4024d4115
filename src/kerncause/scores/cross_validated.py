"""The cross-validated likelihood of Huang et al. (*Generalized Score Functions for Causal Discovery*, KDD 2018).

The centred features of X are regressed on those of its parents by ridge regression, on all folds but one; the
residuals of those n1 rows give a covariance, and under it the n0 rows of the fold left out have a likelihood. With
F, V the centred features of X and PA (K_X ~ F F', K_PA ~ V V'), rows split into train (1) and test (0):

    B     = (V1'V1 + n1 l I)^-1 V1'F1              E1 = F1 - V1 B         E0 = F0 - V0 B
    Sigma = E1'E1 / n1 + g I
    S     = mean over folds of  -1/2 [ n0^2 log 2pi + n0 log|Sigma / g| + tr(E0 Sigma^-1 E0') ]

With the regression of all rows, M = (V'V + n1 l I)^-1 and C = M V'F, a fold left out costs no regression of its own:
for its residuals R0 = F0 - V0 C under that one, and P = M V0',

    E0 = (I - V0 P)^-1 R0       B = C - P E0       E1'E1 = F'F - F'V C - R0'E0 - n1 l B'B

10 folds, l = g = 0.01 and bandwidths at twice the median distance are their settings; nothing is learned. (Their
program halves the log-determinant and leaves n0 q log g out; the first is put right here, the second cancels.)

Which fold a row is in follows from its place in the canonical order of the table, so the order in the file does not
matter. `dense` takes the features from the eigenvectors of the n x n matrices; `lowrank` from pivoted Cholesky, and
from what a part of the pivots gives it estimates how far the value is off.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from kerncause.data import Dataset, Points
from kerncause.errors import DataError, OptionError
from kerncause.kernels import gaussian, median_heuristic, product_gaussian
from kerncause.linalg import one_blas_thread, stacked_squared_distances
from kerncause.regression import Problem
from kerncause.regression.factors import LEAST_JITTER, Inputs
from kerncause.regression.sides import inputs_of
from kerncause.scores.base import LocalFit
from kerncause.scores.table import TableScore, nothing_to_explain
from kerncause.text import quoted

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
CVEngine = Literal["auto", "dense", "lowrank"]

LOG_2PI = float(np.log(2.0 * np.pi))
# Up to so many rows eigenvectors cost next to nothing.
DENSE_UP_TO = 100
MOST_DENSE_ROWS = 5000
# Eigenvalues below this share of the largest are rounding.
SMALLEST_SHARE = 1e-13
# How much of a kernel's trace its pivots may miss, in units of tolerance times ridge; tried in turn.
LACKS = (0.1, 1e-3, 1e-5)
MOST_PIVOTS = 1000
# What is held at once, as measured: features of both sides, and square matrices beside those of the parents.
FEATURE_COPIES = 2.5
TYPICAL_RANK = 200
SQUARE_MATRICES = 8
# The value is compared with that of the pivots which miss so many times more.
ROUGHER = 30.0


@dataclass(frozen=True, eq=False)
class Features:
    """Centred features of one side, (n, m), and of how many of its columns a rougher answer would make do."""

    values: Floats
    rougher: int
    missing: float = 0.0


@dataclass(frozen=True, eq=False)
class Regression:
    """The ridge regression of F on V on all rows.

    Attributes:
        ridge: n1 l.
        factor: of V'V + n1 l I, as scipy has it; None without parents.
        coefficients: C, (m, r).
        squares: C'C, (r, r).
        left: F'F - F'V C, (r, r).
    """

    ridge: float
    factor: tuple[Floats, bool] | None
    coefficients: Floats
    squares: Floats
    left: Floats

    @classmethod
    def of(cls, F: Floats, V: Floats, ridge: float) -> "Regression":
        """Solve it."""
        VF, FF = V.T @ F, F.T @ F
        if not len(VF):
            return cls(ridge, None, VF, np.zeros_like(FF), FF)
        factor = cho_factor(V.T @ V + ridge * np.eye(len(VF)), lower=True)
        C = cho_solve(factor, VF)
        return cls(ridge, factor, C, C.T @ C, FF - VF.T @ C)

    def without(self, F0: Floats, V0: Floats) -> tuple[Floats, Floats]:
        """Return E0 and E1'E1 of the regression without some rows (see above)."""
        if self.factor is None:
            return F0, self.left - F0.T @ F0
        P = cho_solve(self.factor, V0.T)
        R0 = F0 - V0 @ self.coefficients
        E0: Floats = np.asarray(np.linalg.solve(np.eye(len(V0)) - V0 @ P, R0), dtype=np.float64)
        across = (P.T @ self.coefficients).T @ E0
        squares = self.squares - across - across.T + E0.T @ (P.T @ P) @ E0
        return E0, self.left - R0.T @ E0 - self.ridge * squares


class CrossValidatedScore(TableScore):
    """The k-fold likelihood of centred kernel regression.

    Args:
        data: the table.
        engine: `auto`, `dense` or `lowrank`.
        folds: k, at least 2 and at most the number of rows.
        ridge: l, the ridge per row.
        floor: g, what is added to the residuals' covariance.
        tolerance: how far, in nats, the value may lie from that of the exact kernels (an estimate, not a bound).
    """

    def __init__(
        self,
        data: Dataset,
        engine: CVEngine = "auto",
        *,
        folds: int = 10,
        ridge: float = 0.01,
        floor: float = 0.01,
        tolerance: float = 0.01,
    ) -> None:
        if engine not in get_args(CVEngine):
            raise OptionError(f"cv has no engine {quoted(engine)}: the choices are {', '.join(get_args(CVEngine))}")
        if not isinstance(folds, int) or folds < 2:
            raise OptionError(f"folds cannot be {folds}: give a whole number of 2 or more")
        for name, value in {"ridge": ridge, "floor": floor, "tolerance (--tolerance)": tolerance}.items():
            if not 0 < value < np.inf:
                raise OptionError(f"{name} cannot be {value}: give a positive number, such as 0.01")
        super().__init__(data, engine=engine, folds=folds, ridge=ridge, floor=floor, tolerance=tolerance)

    @property
    def resolution(self) -> float:
        """How far values may be off: a search takes no smaller gain for one."""
        return float(self._options["tolerance"])

    def most_memory(self, parents: int) -> float:
        """Return the bytes that one of its scores takes at its worst: features with most pivots, or square matrices."""
        n = self.data.n_rows
        features = FEATURE_COPIES * min(n, MOST_PIVOTS + TYPICAL_RANK) * n
        square = (parents + SQUARE_MATRICES) * n * n
        return 8.0 * (square if self._engine(n) == "dense" else features) + self._copies

    def prepare(self) -> None:
        """Group equal values of every variable, and measure its bandwidth."""
        for name in self.data.names:
            median_heuristic(self.data.points(name))

    def fit(self, target: str, parents: Collection[str] = ()) -> LocalFit:
        """Return the cross-validated likelihood of one variable on its parents."""
        names, data = self._rows_for(target, parents, self.data)
        if (nothing := nothing_to_explain(data, target)) is not None:
            return nothing
        folds = self._options["folds"]
        if data.n_rows < folds:
            has_gaps = data.n_rows < self.data.n_rows
            cure = "leave out the parent with the gaps, or ask" if has_gaps else "ask"
            raise DataError(
                f"cv cannot split the {data.n_rows} rows complete for {quoted(target)} and its parents into "
                f"{folds} folds: {cure} for fewer folds (--set folds=2) or for another score"
            )
        data = data.repeated()
        response, inputs = data.points(target), [data.points(name) for name in names]
        is_dense = self._engine(data.n_rows) == "dense"
        with one_blas_thread():
            value, error, rank = self._dense(response, inputs) if is_dense else self._lowrank(response, inputs)
        return LocalFit(
            value=value,
            bandwidths={name: median_heuristic(points) for name, points in zip(names, inputs, strict=True)},
            response_bandwidth=median_heuristic(response),
            engine="dense" if is_dense else "lowrank",
            rank=rank,
            error_bound=error,
            certified=error <= self._options["tolerance"],
            rows=data.n_rows,
        )

    def _engine(self, n: int) -> str:
        engine: str = self._options["engine"]
        if engine == "dense" and n > MOST_DENSE_ROWS:
            raise OptionError(f"{n:,} rows are too many for the dense engine of cv: choose --engine lowrank")
        return engine if engine != "auto" else ("dense" if n <= DENSE_UP_TO else "lowrank")

    def _dense(self, response: Points, parents: Sequence[Points]) -> tuple[float, float, None]:
        F = _exact_features(_kernel([response]))
        V = _exact_features(_kernel(parents)) if parents else np.empty((response.n, 0))
        return self._likelihood(F, V, 0.0), 0.0, None

    def _lowrank(self, response: Points, parents: Sequence[Points]) -> tuple[float, float, int]:
        """Take more pivots until fewer would have given almost the same."""
        of_response, of_parents = inputs_of(Problem(response, tuple(parents)), np.arange(response.n))
        s_x, s = (np.array([median_heuristic(p) for p in side]) for side in ([response], parents))
        scale = self._options["tolerance"] * min(self._options["ridge"], self._options["floor"])
        for lack in LACKS:
            F = _projected_features(of_response, s_x, lack * scale)
            V = _projected_features(of_parents, s, lack * scale) if parents else Features(np.empty((response.n, 0)), 0)
            value = self._likelihood(F.values, V.values, F.missing)
            rough = self._likelihood(F.values[:, : F.rougher], V.values[:, : V.rougher], ROUGHER * F.missing)
            if abs(value - rough) <= self._options["tolerance"]:
                break
        return value, abs(value - rough), V.values.shape[1]

    def _likelihood(self, F: Floats, V: Floats, missing: float) -> float:
        """Return S for centred features; `missing` is the trace of K_X that F lacks, which only the floor covers."""
        n, folds, floor = len(F), self._options["folds"], self._options["floor"]
        fold = _folds(n, folds)
        of_all: dict[int, Regression] = {}
        total = 0.0
        for k in range(folds):
            F0, V0 = F[fold == k], V[fold == k]
            n0, n1 = len(F0), n - len(F0)
            if n1 not in of_all:  # folds differ by a row at most
                of_all[n1] = Regression.of(F, V, n1 * self._options["ridge"])
            E0, S = of_all[n1].without(F0, V0)
            S /= n1
            factor = cho_factor(0.5 * (S + S.T) / floor + np.eye(len(S)), lower=True)
            log_determinant = 2.0 * float(np.log(np.diagonal(factor[0])).sum())
            distance = float(np.vdot(E0.T, cho_solve(factor, E0.T))) / floor
            total -= 0.5 * (n0 * n0 * LOG_2PI + n0 * log_determinant + distance + missing * n0 / n / floor)
        return float(total / folds)


def _kernel(variables: Sequence[Points]) -> Floats:
    """Return the product kernel at the heuristic bandwidths, (n, n)."""
    distances = stacked_squared_distances([points.values for points in variables], variables[0].n)
    if len(variables) == 1:
        return gaussian(distances[0], median_heuristic(variables[0]))
    return product_gaussian(distances, np.array([median_heuristic(points) for points in variables]))


def _exact_features(K: Floats) -> Floats:
    """Return F with F F' = H K H."""
    mean = K.mean(axis=0)
    values, vectors = np.linalg.eigh(K - mean - mean[:, None] + mean.mean())
    kept = values > SMALLEST_SHARE * values[-1]
    features: Floats = vectors[:, kept] * np.sqrt(values[kept])
    return features


def _projected_features(inputs: Inputs, bandwidths: Floats, lack: float) -> Features:
    """Return the centred features of a kernel on pivots that miss no more than `lack` of its trace."""
    pivots = inputs.pivots(bandwidths, lack, min(MOST_PIVOTS, len(inputs.points)))
    basis = inputs.basis(bandwidths, pivots.rows, LEAST_JITTER)
    F = basis.features(basis.kernel(slice(None)))
    missing = max(len(F) - float(np.vdot(F, F)), 0.0)
    return Features(F - F.mean(axis=0), pivots.needed(ROUGHER * lack), missing)


def _folds(n: int, folds: int) -> Ints:
    """Return a fold for each place in the canonical order: dealt out by a fixed shuffle of the places.

    The shuffle sorts by SplitMix64 (Steele et al. 2014), so that it is the same everywhere and for ever.
    """
    z = (np.arange(1, n + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    fold = np.empty(n, dtype=np.int64)
    fold[np.argsort(z ^ (z >> np.uint64(31)), kind="stable")] = np.arange(n) % folds
    return fold
