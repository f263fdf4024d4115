"""The Gaussian process behind a local score, to look at: what share it explains, and how the effect follows a parent.

With K_t = K_PA + s_e^2 I and A = K_t^-1, for any function g of the response

    E[g(X) | pa] ~ k(pa, PA) A g(X)                       (the same weights that predict K_X)
    residual of row i, left out: (A Y)_i / A_ii           (Y centred; Rasmussen and Williams 2006, eq. 5.12)

The share explained is 1 - |residuals, left out|^2 / |Y - its mean, left out|^2 over all columns of Y = K_X: near 0 if
the parents say nothing, and below 0 if they mislead. A partial dependence averages the prediction over the rows' values
of the other parents: for a product of kernels the mean of k over those rows is a vector, computed once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from kerncause.data import Dataset, Kind
from kerncause.kernels import GAUSSIAN, PROFILES, Profile, gaussian, median_heuristic
from kerncause.linalg import one_blas_thread, squared_distances, squares_between
from kerncause.scores import LocalFit

Floats = npt.NDArray[np.float64]
# A share is known to a few hundredths from so many, and n^3 grows.
MOST_ROWS = 500
CURVE_POINTS = 40
# The range of a curve leaves out the outermost values, where there are few rows to go by.
CURVE_RANGE = (0.01, 0.99)


@dataclass(frozen=True, eq=False)
class Curve:
    """How a variable follows one of its parents, the other parents as they come.

    Attributes:
        at: (g,) values of the parent, in its own units, or codes of its levels.
        mean: (g,) mean of the response in its own units; for a categorical response (g, levels), probabilities.
        spread: (g,) standard deviation of the response there; None for a categorical response.
        labels: (g,) the same in words.
        levels: the names of the response's levels, if it is categorical.
    """

    at: Floats
    mean: Floats
    spread: Floats | None
    labels: tuple[str, ...] = ()
    levels: tuple[str, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as plain lists."""
        return {
            "at": self.at.tolist(),
            "mean": self.mean.tolist(),
            "spread": None if self.spread is None else self.spread.tolist(),
            "labels": list(self.labels),
            "levels": None if self.levels is None else list(self.levels),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "Curve":
        """Return what `as_json` wrote."""
        spread, levels = written["spread"], written["levels"]
        return cls(
            np.asarray(written["at"], dtype=np.float64),
            np.asarray(written["mean"], dtype=np.float64),
            None if spread is None else np.asarray(spread, dtype=np.float64),
            tuple(written["labels"]),
            None if levels is None else tuple(levels),
        )


@dataclass(frozen=True, eq=False)
class FittedModel:
    """The model of one variable at the parameters of a fit, on at most `MOST_ROWS` rows."""

    data: Dataset
    target: str
    fit: LocalFit

    @classmethod
    def of(cls, data: Dataset, target: str, fit: LocalFit) -> "FittedModel | None":
        """Return the model; None if the fit is of a score without kernels, or there are no rows."""
        if fit.noise is None:
            return None
        rows = data.complete_for({target, *fit.bandwidths}).repeated().thinned(MOST_ROWS)
        return cls(rows, target, fit) if rows.n_rows > 1 else None

    @property
    def parents(self) -> tuple[str, ...]:
        """The parents, in the order of the bandwidths."""
        return tuple(self.fit.bandwidths)

    @property
    def _is_direction(self) -> bool:
        return self.fit.kernel == "direction"

    def _along(self, names: Sequence[str]) -> Floats:
        """Return the weighted sum of some parents, (n,), of a direction."""
        weights = self.fit.weights or {}
        parts = [self.data.points(name).values @ np.array(weights[name]) for name in names]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)

    @property
    def _profile(self) -> Profile:
        """How the kernel of the parents falls with distance; that of a direction is Gaussian."""
        return PROFILES.get(self.fit.kernel, GAUSSIAN)

    def _in_units(self, name: str, values: Floats) -> Floats:
        """Return values of a parent in units of its bandwidth, or of those of its columns."""
        weights = self.fit.weights
        return values / self.fit.bandwidths[name] if weights is None else values * np.array(weights[name])

    def _apart(self, names: Sequence[str]) -> Floats:
        """Return the squared distances of rows by some parents with bandwidths, in units of those, (n, n)."""
        columns = [self._in_units(name, self.data.points(name).values) for name in names]
        return squared_distances(np.hstack([np.zeros((self.data.n_rows, 1)), *columns]))

    def _kernel(self, names: Sequence[str]) -> Floats:
        """Return the kernel of some parents, (n, n); ones for none."""
        if not self._is_direction:
            return self._profile.value(self._apart(names))
        along = self._along(names) if names else np.zeros(self.data.n_rows)
        return gaussian(np.subtract.outer(along, along) ** 2, 1.0)

    @cached_property
    def _inverse(self) -> Floats:
        with one_blas_thread():
            K = self._kernel(self.parents)
            K[np.diag_indices_from(K)] += float(self.fit.noise or 0.0) ** 2
            factor = scipy.linalg.cho_factor(K, lower=True)
            inverse: Floats = scipy.linalg.cho_solve(factor, np.eye(len(K)))
        return inverse

    def share_explained(self) -> float:
        """Return the share of the response's variance in kernel space that the parents predict, each row left out."""
        response, n = self.data.response(self.target), self.data.n_rows
        width = self.fit.response_bandwidth or median_heuristic(response)
        Y = gaussian(squared_distances(response.values), width)
        Y = Y - Y.mean(axis=0)
        with one_blas_thread():
            left_out = (self._inverse @ Y) / np.diag(self._inverse)[:, None]
        return float(1.0 - np.sum(left_out**2) / np.sum((Y * n / (n - 1)) ** 2))

    def curve(self, parent: str) -> Curve | None:
        """Return how the response follows a parent; None where one of the two is a vector."""
        cause, effect = self.data.variable(parent), self.data.variable(self.target)
        if Kind.VECTOR in (cause.kind, effect.kind):
            return None
        at, standardised = self._places(parent)
        k = self._averaged(parent, standardised)
        codes = self._codes(self.target)
        with one_blas_thread():
            weights = k @ self._inverse
        labels = tuple(cause.level(code) for code in at.tolist())
        if effect.kind is Kind.CATEGORICAL:
            shares = np.clip(_predicted(weights, codes[:, None] == np.array(effect.level_codes)), 0.0, None)
            return Curve(at, shares / shares.sum(axis=1, keepdims=True), None, labels, effect.levels)
        mean, square = _predicted(weights, np.column_stack([codes, codes**2])).T
        return Curve(at, mean, np.sqrt(np.clip(square - mean**2, 0.0, None)), labels)

    def _averaged(self, parent: str, standardised: Floats) -> Floats:
        """Return the kernel of a parent at some places with all rows, (g, n), averaged over the rows of the others."""
        others = [name for name in self.parents if name != parent]
        values = self.data.points(parent).values
        if not self._is_direction:
            squares = squares_between(self._in_units(parent, standardised), self._in_units(parent, values))
            between = self._apart(others)
            return np.array([self._profile.value(square + between).mean(axis=0) for square in squares])
        weights = np.array((self.fit.weights or {})[parent])
        gaps = np.subtract.outer(standardised @ weights, values @ weights)
        rest = self._along(others) if others else np.zeros(self.data.n_rows)
        between = np.subtract.outer(rest, rest)
        return np.array([gaussian((gap + between) ** 2, 1.0).mean(axis=0) for gap in gaps])

    def _places(self, parent: str) -> tuple[Floats, Floats]:
        """Return where to look at a parent: in its own units, (g,), and as the score sees it, (g, l)."""
        codes, standardised = self._codes(parent), self.data.points(parent).values
        distinct, first = np.unique(codes, return_index=True)
        if self.data.variable(parent).kind is not Kind.CONTINUOUS or len(distinct) < 2:
            return distinct, standardised[first]
        low, high = np.quantile(codes, CURVE_RANGE).tolist()
        at = np.linspace(low, high, CURVE_POINTS)
        return at, np.interp(at, distinct, standardised[first, 0])[:, None]

    def _codes(self, name: str) -> Floats:
        """Return the numbers of a variable with one column, before standardising."""
        column: Floats = self.data.codes[:, self.data.columns_of(name)[0]]
        return column


def _predicted(weights: Floats, values: npt.NDArray[Any]) -> Floats:
    """Return the weighted means (g, c) of values (n, c), which are shifted towards the mean where weights are short."""
    mean = values.mean(axis=0)
    predicted: Floats = mean + weights @ (values - mean)
    return predicted
