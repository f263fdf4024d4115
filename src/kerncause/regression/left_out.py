"""What the regression predicts of each row from all others, for a response of few values.

With K_t = K_PA + s_e^2 I and Y the features of the response, row i left out is predicted with

    mean  mu_i = Y_i - (K_t^-1 Y)_i / a_i        precision  a_i = (K_t^-1)_ii        (Rasmussen and Williams 2006, 5.12)

Rows with the same parents share what is needed. With u distinct parent rows (counts c), v values of the response, N the
(u, v) table of counts, phi_k the features of value k, R = C^1/2 K_u C^1/2 and Q = (s_e^2 I + R)^-1 (as in
`kerncause.regression.compressed`), a row with parents g and value k has

    a_g             = ((c_g - 1) / s_e^2 + Q_gg) / c_g
    (K_t^-1 Y)_gk   = (phi_k - mean of phi over the rows of g) / s_e^2 + (C^-1/2 Q C^-1/2 N phi)_g

How near the prediction lies to value l, in units of its precision and in the mean over the rows' features, is

    -a_g/2 |phi_l - mu_gk|^2  =  const + a_g (M_kl - M_ll / 2) - (M_kl - m_gl) / s_e^2 - h_gl,     M = phi W phi'

with W the shares of the values, m the means of M over the rows of g, h = C^-1/2 Q C^-1/2 N M. The same with indicators
in place of phi, M = I, predicts how often each value occurs, p_gkl. That is worth as many rows as the noise has in the
variance of the prediction, r = s_e^2 / (1/a - s_e^2), and one more row as values occur everywhere, f, keeps it from 0:

    share  = (r max(p, 0) + f) / (r sum of max(p, 0) + 1)

Rows with the very same parents, without the kernel, give (N_g - e_k + f) / c_g: both are means of a Dirichlet
distribution (Heckerman, Geiger and Chickering 1995). Only discrete parents count for the second: rows that are the same
in continuous ones as well are copies of each other, and say nothing of what a new row would be.

Rows left out overrate a table of counts: that charges for its parameters as AIC does, as many nats as it has, whatever
n. One after the other, each row predicted from those before it, the same distribution gives the evidence of the table,

    sum over g of (sum over l of log(Gamma(N_gl + f_l) / Gamma(f_l)) - log Gamma(N_g + 1))

which charges about log n / 2 for each and is what discrete Bayesian networks are scored by. `overrated` is by how much
the first is above it, less the same of one table for all rows.

The noise of a row may depend on its parents, where the regression has one s_e for all. With e = mu - phi_k what a row
left out is off by, e^2 = a |e|^2 in units of the precision, o the mean of e^2 over all rows, and A the rows about row
i: those with the same parents, and with the parents that lie nearest in the coordinates of the kernel until there are
`neighbours(n)`, places that are equally near at once, i itself not counted,

    steadiness of i  =  o / ((o + sum of e^2 over A) / (1 + number of A))

is by how much smaller errors are about there than everywhere; one row with the mean error keeps it from extremes. Times
how near a prediction lies, it is that nearness with a noise of its own for every place (as weights of a heteroscedastic
regression are from its residuals, Carroll and Ruppert 1988).

Q is computed from a projection on pivots that miss next to nothing of K_PA against the noise, O(u m^2), or as it
stands, O(u^3), where that takes too many and there are at most `EXACT_ROWS` distinct rows. Beyond, `missing` says what
the pivots lack. Of more than `MOST_ROWS` rows evenly spaced ones stand for all.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from scipy.special import gammaln

from kerncause.data import Points, occurrences
from kerncause.linalg import Cholesky, shifted
from kerncause.regression.base import Parameters, Problem
from kerncause.regression.compressed import distinct_parents
from kerncause.regression.factors import LEAST_JITTER, Inputs, side_by_side

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WRITTEN_OUT = 300
EXACT_ROWS = 3000
MOST_PIVOTS = 700
MOST_ROWS = 10_000
# What pivots may miss of the trace of K_PA, in units of the variance of the noise.
LACK = 0.01
# Predictions are worth no more rows than one over this.
RIDGE = 1e-9
# Distances in units of bandwidths that differ by rounding alone.
EQUALLY_NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Nearness:
    """How near predictions lie to every value, for rows that are alike at once.

    Attributes:
        counts: (r,) how many rows of the table are alike.
        values: (r,) which value they have.
        near: (r, v) -a/2 |phi_l - mu|^2 up to a constant for each row.
        shares: (r, v) how often each value is predicted to occur; they sum to 1.
        counted: (r, v) the same from rows with the very same discrete parents.
        local: (r, v) near with a noise of its own for each place among the parents, if asked for and there are several.
        missing: the trace that the projection of K_PA lacks, in units of the variance of the noise.
        overrated: by how many nats the probability of `counted` is above that of its rows one after the other.
    """

    counts: Floats
    values: Ints
    near: Floats
    shares: Floats
    counted: Floats
    local: Floats | None = None
    missing: float = 0.0
    overrated: float = 0.0


def nearness(
    problem: Problem, parameters: Parameters, is_discrete: Sequence[bool], *, local_noise: bool = False
) -> Nearness:
    """Return how near the prediction of each row from all others lies to every value of the response.

    Args:
        problem: the response and its parents.
        parameters: of their kernels.
        is_discrete: for each parent, whether rows with the same value are more than copies.
        local_noise: whether to tell how steady rows are about each place.
    """
    everywhere, n = problem.response.counts / problem.n, problem.n
    problem = _thinned(problem)
    codes, representatives = distinct_parents(problem)
    u, v = len(representatives), len(problem.response.distinct)
    cells = occurrences(codes * v + problem.response.codes, problem.response.weights, u * v)
    table = cells.reshape(u, v).astype(np.float64)
    counts = table.sum(axis=1)
    points, owner = side_by_side(problem.parents, representatives)
    inputs = Inputs(points, owner, np.sqrt(counts), problem.shape)
    outputs = problem.model.grouped(problem.response).factor(parameters.response_bandwidth)[0]
    M = outputs @ outputs.T / problem.n
    noise2, root = parameters.noise**2, inputs.root_weights[:, None]
    diagonal, h, missing = _solved(inputs, parameters.parents, noise2, (table / root) @ np.hstack([M, np.eye(v)]))
    precision = ((counts - 1.0) / noise2 + diagonal) / counts
    g, k = np.nonzero(table)
    a, (of_features, of_values) = precision[g, None], np.split(h / root, 2, axis=1)
    mean, share = table @ M / counts[:, None], table / counts[:, None]
    near = a * (M[k] - 0.5 * np.diagonal(M)) - (M[k] - mean[g]) / noise2 - of_features[g]
    own = np.eye(v)[k]
    off = ((own - share[g]) / noise2 + of_values[g]) / a
    worth = noise2 / np.maximum(1.0 / a - noise2, RIDGE * noise2)
    shares = worth * np.maximum(own - off, 0.0) + everywhere
    shares /= shares.sum(axis=1, keepdims=True)
    equal, of_row = _with_equal(problem, is_discrete, codes, representatives, table)
    alike = equal[of_row[g]]
    counted = (alike - own + everywhere) / alike.sum(axis=1, keepdims=True)
    local = None
    if local_noise and u > 1:
        squared = a[:, 0] * np.einsum("ij,ij->i", off @ M, off)
        steadiness = _steadiness(inputs.scaled(parameters.parents, points), table, g, squared, k)
        local = near * steadiness[:, None]
    overrated = _overrated(equal, everywhere) - _overrated(equal.sum(axis=0, keepdims=True), everywhere)
    return Nearness(table[g, k] * (n / problem.n), k, near, shares, counted, local, missing, max(overrated, 0.0))


def neighbours(n: float) -> int:
    """Return how many rows tell the noise of a place: the rate at which smooth functions of one parent are learned."""
    return round(0.5 * math.pow(n, 0.8))


def _steadiness(coordinates: Floats, table: Floats, g: Ints, squared: Floats, k: Ints) -> Floats:
    """Return by how much smaller errors are about each cell's place than everywhere, a row itself left out, (r,).

    Args:
        coordinates: (u, d) of the distinct parent rows, in which the kernel measures distance.
        table: (u, v) how many rows have which value.
        g: (r,) the distinct row of each cell that is not empty.
        squared: (r,) e^2 of its rows.
        k: (r,) its value.
    """
    counts = table.sum(axis=1)
    n = counts.sum()
    errors = np.bincount(g, table[g, k] * squared, len(counts)).astype(np.float64)
    # Where no row is off at all, every place is as steady as every other.
    everywhere = max(errors.sum() / n, np.finfo(np.float64).tiny)
    rows, summed = _sums_about(coordinates, counts, errors, neighbours(n) + 1)
    others = np.maximum(summed[g] - squared, 0.0)
    return np.asarray(everywhere * rows[g] / (others + everywhere))


def _sums_about(coordinates: Floats, counts: Floats, errors: Floats, wanted: int) -> tuple[Floats, Floats]:
    """Return the rows and the errors of as many places about each, the nearest first, as have the rows wanted.

    Places that are equally near count all or none, so that which comes first does not matter.
    """
    wanted = int(min(wanted, counts.sum()))
    along = _along_a_line if coordinates.shape[1] == 1 else _in_space
    return along(coordinates, counts, errors, wanted)


def _along_a_line(coordinates: Floats, counts: Floats, errors: Floats, wanted: int) -> tuple[Floats, Floats]:
    order = np.argsort(coordinates[:, 0], kind="stable")
    x, counts, errors = coordinates[order, 0], counts[order], errors[order]
    ends = np.concatenate([[0.0], np.cumsum(counts)])
    rows = np.repeat(x, counts.astype(np.int64))
    first, last = ends[:-1].astype(np.int64), len(rows) - wanted
    reach = np.full(len(x), np.inf)
    for before in range(wanted):  # rows that stand before the place, in a stretch of as many as are wanted
        start = np.clip(first - before, 0, last)
        np.minimum(reach, np.maximum(x - rows[start], rows[start + wanted - 1] - x), out=reach)
    reach = _with_rounding(reach)
    low, high = np.searchsorted(x, x - reach), np.searchsorted(x, x + reach, side="right")
    summed = np.concatenate([[0.0], np.cumsum(errors)])
    back = np.argsort(order)
    return (ends[high] - ends[low])[back], (summed[high] - summed[low])[back]


def _in_space(coordinates: Floats, counts: Floats, errors: Floats, wanted: int) -> tuple[Floats, Floats]:
    tree = cKDTree(coordinates)
    most = min(wanted + 1, len(counts))
    distances, nearest = map(np.asarray, tree.query(coordinates, k=range(1, most + 1)))
    enough = np.argmax(np.cumsum(counts[nearest], axis=1) >= wanted, axis=1)
    reach = _with_rounding(distances[np.arange(len(counts)), enough])
    is_about = distances <= reach[:, None]
    rows, summed = ((each[nearest] * is_about).sum(axis=1) for each in (counts, errors))
    if most < len(counts):
        for i in np.flatnonzero(is_about[:, -1]):  # there may be more that are as near
            about = tree.query_ball_point(coordinates[i], reach[i])
            rows[i], summed[i] = counts[about].sum(), errors[about].sum()
    return rows, summed


def _with_rounding(distances: Floats) -> Floats:
    return distances * (1.0 + EQUALLY_NEAR) + EQUALLY_NEAR


def _with_equal(
    problem: Problem, is_discrete: Sequence[bool], codes: Ints, representatives: Ints, table: Floats
) -> tuple[Floats, Ints]:
    """Return how often values occur with the same discrete parents, (d, v), and which of those each row has, (u,)."""
    if all(is_discrete):
        return table, np.arange(len(table))
    discrete = tuple(parent for parent, kept in zip(problem.parents, is_discrete, strict=True) if kept)
    number, _ = distinct_parents(replace(problem, parents=discrete))
    of_row = number[representatives]
    summed = np.zeros((int(number.max()) + 1, table.shape[1]))
    np.add.at(summed, of_row, table)
    return summed, of_row


def _overrated(table: Floats, everywhere: Floats) -> float:
    """Return by how much more probable counts make rows that are left out than rows that come one after the other."""
    g, k = np.nonzero(table)
    counts, prior, totals = table[g, k], everywhere[k], table.sum(axis=1)
    left_out = counts @ np.log((counts - 1.0 + prior) / totals[g])
    in_turn = (gammaln(counts + prior) - gammaln(prior)).sum() - gammaln(totals + 1.0).sum()
    return float(left_out - in_turn)


def nearness_bytes(rows: int, values: int) -> float:
    """Return the bytes held at the peak, roughly: features and what they are solved with, and tables of the values."""
    rows = min(rows, MOST_ROWS)
    exactly = 3.5 * rows if rows <= EXACT_ROWS else 0.0
    about = 4.0 * neighbours(rows)
    return 8.0 * rows * (max(2.5 * min(rows, MOST_PIVOTS), exactly, about) + 12.0 * values)


def _thinned(problem: Problem) -> Problem:
    """Return the problem on evenly spaced rows, if there are many."""
    if problem.rows <= MOST_ROWS:
        return problem
    rows = np.linspace(0, problem.rows - 1, MOST_ROWS).astype(np.int64)

    def some(points: Points) -> Points:
        weights = None if points.weights is None else points.weights[rows]
        return Points(points.values[rows], points.distinct, points.codes[rows], weights)

    return replace(problem, response=some(problem.response), parents=tuple(map(some, problem.parents)))


def _solved(inputs: Inputs, parameters: Floats, noise2: float, B: Floats) -> tuple[Floats, Floats, float]:
    """Return the diagonal of Q, (u,), Q B, and what a projection lacks."""
    u = len(inputs.points)
    if u <= WRITTEN_OUT:
        return *_exactly_solved(inputs, parameters, noise2, B), 0.0
    most = min(MOST_PIVOTS, u // 3 if u <= EXACT_ROWS else u)
    pivots = inputs.pivots(parameters, LACK * noise2, most)
    if len(pivots.rows) >= most and u <= EXACT_ROWS:
        return *_exactly_solved(inputs, parameters, noise2, B), 0.0
    basis = inputs.basis(parameters, pivots.rows, LEAST_JITTER)
    V = np.vstack([basis.features(basis.kernel(rows)) for rows in inputs.chunks()])
    factor = Cholesky.of(shifted(V.T @ V, noise2), "the projected kernel matrix with its noise")
    through = V @ factor.inverse_lower().T
    diagonal = (1.0 - np.einsum("ij,ij->i", through, through)) / noise2
    missing = max(float(np.square(inputs.root_weights).sum() - np.vdot(V, V)), 0.0) / noise2
    return diagonal, (B - V @ factor.solve(V.T @ B)) / noise2, missing


def _exactly_solved(inputs: Inputs, parameters: Floats, noise2: float, B: Floats) -> tuple[Floats, Floats]:
    R = inputs.matrix(parameters) * np.outer(inputs.root_weights, inputs.root_weights)
    factor = Cholesky.of(shifted(R, noise2), "the kernel matrix of the distinct parent rows with its noise")
    return np.diagonal(factor.inverse()).copy(), factor.solve(B)
