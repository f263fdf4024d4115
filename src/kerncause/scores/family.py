"""Which kernels of the parents a score tries, and for each: what is learned, where that begins, and how it is called.

| family | shape (`kerncause.kernels.shape`) | learned | begins |
|---|---|---|---|
| `gaussian`, `matern32`, ... | ellipsoid | a bandwidth for every parent | at the median heuristic and fractions of it |
| `columns` | columns | a weight for every column of the parents | at the inverse of the same |
| `direction` | direction | a weight for every column of the parents | along what the data show (below) |

**Where directions begin.** A weighted sum that the response depends on shows in the moments of the parents with
functions of the response: in their covariance where the dependence is not even (sliced inverse regression, Li 1991),
in their second moments where it is (principal Hessian directions, Li 1992). With phi_r the first principal features of
the response's kernel, of weight v_r, and q the parents' columns, centred and whitened, the first two candidates are

    the first left singular vector of  (v_r E[q phi_r])_r      and the first eigenvector of  sum_r (v_r E[q q' phi_r])^2

A dependence that swings often has neither moment, so sums and differences of the parents are candidates as well. They
are ranked by how little the features change between neighbours along them (von Neumann's ratio, which no moment of the
dependence can hide), and the best begin, each at the scale at which the likelihood is highest of three. So starts
follow from the data, not from luck. A precursor is one more, with weight 0 for the new parent: the gradient is not zero
there.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from kerncause.data import Points
from kerncause.errors import OptionError
from kerncause.kernels import (
    COLUMNS,
    DIRECTION,
    GAUSSIAN,
    PROFILES,
    Ellipsoid,
    Profile,
    Shape,
    gaussian,
    median_heuristic,
)
from kerncause.regression import Parameters, side_by_side
from kerncause.scores.base import LocalFit
from kerncause.scores.optimise import Interval
from kerncause.text import quoted

Floats = npt.NDArray[np.float64]
# The likelihood at some places, by an engine made for the first of them.
Values = Callable[[Sequence[Parameters]], list[float]]

START_NOISE = 0.1**0.5
START_SCALES = (1.0, 0.2, 0.5, 0.1, 2.0)
# Standard deviations of the weighted sum at which a direction may begin. The largest first: pivots that capture the
# wiggliest function capture the others.
DIRECTION_SCALES = (3.0, 1.0, 0.3)
# Features of the response by which directions are looked for, and rows from which they are made.
FEATURES = 4
FEATURE_ROWS = 200
# Rows on which directions are ranked, and columns or parents of which every sum and difference is.
MOST_ROWS = 2000
MOST_SIGNED = 6
RIDGE = 1e-6
# Two sums that correlate more than this, with deviations no more than this factor apart, are taken for one: an ascent
# from either ends at the same top.
SAME_DIRECTION = 0.98
SAME_SCALE = 1.5
# 1 / |weight| is shown as a bandwidth, up to this: a weight of 0 is a bandwidth without end.
LONGEST = 1e3


@dataclass(frozen=True, eq=False)
class Sides:
    """What is to be fitted: response and parents on the same rows, and where the response's parameter starts."""

    response: Points
    parents: tuple[Points, ...]
    start: float

    @property
    def columns(self) -> list[int]:
        """How many columns each parent has."""
        return [parent.values.shape[1] for parent in self.parents]


class Start(NamedTuple):
    """A place to begin from, and the likelihood there; inf: it is to be followed whatever that is."""

    place: Parameters
    value: float = math.inf


class Family(ABC):
    """One kernel of the parents.

    Attributes:
        name: what a user calls it.
        shape: along what rows are compared.
        hopeless: nats a row; a start further below a top that is known hardly ever leads to a higher one (inf: the
            likelihood at a start says nothing of where it leads).
    """

    name: str
    shape: Shape
    hopeless: float

    @abstractmethod
    def count(self, sides: Sides) -> int:
        """Return the number of parameters."""

    @abstractmethod
    def limits(self, bounds: Interval) -> tuple[Interval, bool]:
        """Return where each parameter may lie, given the bounds of bandwidths, and whether it may have either sign."""

    @abstractmethod
    def heuristic(self, sides: Sides) -> Parameters:
        """Return a place from which an engine can be made."""

    @abstractmethod
    def cold(self, sides: Sides, count: int, values: Values) -> list[Start]:
        """Return where to begin if nothing is known; `values` gives the likelihood at places."""

    @abstractmethod
    def beside(self, sides: Sides, count: int, values: Values, precursor: Parameters) -> list[Start]:
        """Return where to begin as well if there is a precursor."""

    def is_elsewhere(self, sides: Sides, start: Floats, top: Floats) -> bool:
        """Tell whether an ascent from these parameters of the parents may end elsewhere than at that top."""
        return True

    def metric(self, sides: Sides) -> Floats | None:
        """Return a lower triangle C, (d, d): in the coordinates C'w of the weights w the likelihood is rounder."""
        return None

    @abstractmethod
    def off(self, begin: LocalFit, names: Sequence[str], sides: Sides, longest: float) -> Floats | None:
        """Return the parameters of a fit without one of the parents, with that next to switched off."""

    @abstractmethod
    def short(self, begin: LocalFit, names: Sequence[str], sides: Sides) -> Floats | None:
        """Return the same with the new parent at a short bandwidth; None: there is no such place."""

    @abstractmethod
    def named(self, parameters: Floats, names: Sequence[str], sides: Sides) -> dict[str, Any]:
        """Return what a fit says of its parents."""

    @abstractmethod
    def owners(self, names: Sequence[str], sides: Sides) -> list[str]:
        """Return which parent each parameter belongs to."""

    @abstractmethod
    def given(self, told: Mapping[str, Any], names: Sequence[str], sides: Sides) -> Floats:
        """Return the parameters by name as an array; refuse missing and surplus ones."""


class Bandwidths(Family):
    """A bandwidth for every parent.

    Starts are at bandwidths that were not fitted to anything, so that the likelihood there says nothing.
    """

    hopeless = math.inf

    def __init__(self, profile: Profile = GAUSSIAN) -> None:
        self.name, self.shape = profile.name, Ellipsoid(profile)

    def count(self, sides: Sides) -> int:
        """Return how many parents there are."""
        return len(sides.parents)

    def limits(self, bounds: Interval) -> tuple[Interval, bool]:
        """Return the bounds."""
        return bounds, False

    def heuristic(self, sides: Sides) -> Parameters:
        """Return the median heuristic."""
        return Parameters(sides.start, np.array([median_heuristic(p) for p in sides.parents]), START_NOISE)

    def cold(self, sides: Sides, count: int, values: Values) -> list[Start]:
        """Return the heuristic and fractions of it."""
        at = self.heuristic(sides)
        return [Start(Parameters(s * at.response_bandwidth, s * at.parents, at.noise)) for s in START_SCALES[:count]]

    def beside(self, sides: Sides, count: int, values: Values, precursor: Parameters) -> list[Start]:
        """Return the fractions."""
        return self.cold(sides, count, values)[1:]

    def off(self, begin: LocalFit, names: Sequence[str], sides: Sides, longest: float) -> Floats | None:
        """Return the bandwidths of the others, and the longest one."""
        return np.array([begin.bandwidths.get(name, longest) for name in names])

    def short(self, begin: LocalFit, names: Sequence[str], sides: Sides) -> Floats | None:
        """Return the bandwidths of the others, and a fifth of the heuristic."""
        short = [START_SCALES[1] * median_heuristic(parent) for parent in sides.parents]
        return np.array([begin.bandwidths.get(name, new) for name, new in zip(names, short, strict=True)])

    def named(self, parameters: Floats, names: Sequence[str], sides: Sides) -> dict[str, Any]:
        """Return the bandwidths."""
        return {"bandwidths": dict(zip(names, parameters.tolist(), strict=True))}

    def owners(self, names: Sequence[str], sides: Sides) -> list[str]:
        """Return the parents."""
        return list(names)

    def given(self, told: Mapping[str, Any], names: Sequence[str], sides: Sides) -> Floats:
        """Return the bandwidths in order."""
        _refuse_others("bandwidths", told, names)
        values = [told[name] for name in names]
        if not all(isinstance(v, int | float | np.number) and 0 < v < np.inf for v in values):
            raise OptionError(f"the bandwidths {values} are not all positive numbers: they must be")
        return np.array([float(v) for v in values])


class Weights(Family):
    """A weight for every column."""

    def count(self, sides: Sides) -> int:
        """Return how many columns there are."""
        return sum(sides.columns)

    def limits(self, bounds: Interval) -> tuple[Interval, bool]:
        """Return a weight as large as the shortest bandwidth makes it, of either sign."""
        return (-1.0 / bounds[0], 1.0 / bounds[0]), True

    def named(self, parameters: Floats, names: Sequence[str], sides: Sides) -> dict[str, Any]:
        """Return the weights, and the inverse of their length as bandwidths."""
        parts = np.split(parameters, np.cumsum(sides.columns)[:-1])
        weights = {name: tuple(part.tolist()) for name, part in zip(names, parts, strict=True)}
        lengths = {name: float(np.linalg.norm(part)) for name, part in weights.items()}
        return {
            "bandwidths": {name: 1.0 / max(length, 1.0 / LONGEST) for name, length in lengths.items()},
            "weights": weights,
        }

    def owners(self, names: Sequence[str], sides: Sides) -> list[str]:
        """Return the parents, each as often as it has columns."""
        return [name for name, count in zip(names, sides.columns, strict=True) for _ in range(count)]

    def given(self, told: Mapping[str, Any], names: Sequence[str], sides: Sides) -> Floats:
        """Return the weights in order."""
        _refuse_others("weights", told, names)
        parts = [np.atleast_1d(np.asarray(told[name], dtype=np.float64)) for name in names]
        for name, part, count in zip(names, parts, sides.columns, strict=True):
            if len(part) != count or not np.all(np.isfinite(part)):
                raise OptionError(f"the weights of {quoted(name)} are not {count} numbers: give one for each column")
        return np.concatenate(parts)


class OneDirection(Weights):
    """Along one weighted sum of the columns."""

    name, shape, hopeless = "direction", DIRECTION, 0.1

    def heuristic(self, sides: Sides) -> Parameters:
        """Return equal weights."""
        count = self.count(sides)
        return Parameters(sides.start, np.full(count, count**-0.5), START_NOISE)

    def cold(self, sides: Sides, count: int, values: Values) -> list[Start]:
        """Return the most promising directions, each at its best scale."""
        return self.beside(sides, count, values, self.heuristic(sides))

    def beside(self, sides: Sides, count: int, values: Values, precursor: Parameters) -> list[Start]:
        """Return the same, with the response as it was without the new parent, and its noise or more.

        Where the precursor fits tightly, every other direction is hopeless with as little noise.
        """
        r, noises = precursor.response_bandwidth, {precursor.noise, max(precursor.noise, START_NOISE)}
        found = []
        for direction in promising_directions(sides.response, sides.parents)[:count]:
            places = [Parameters(r, scale * direction, noise) for scale in DIRECTION_SCALES for noise in sorted(noises)]
            found.append(max(map(Start, places, values(places)), key=lambda start: start.value))
        return found

    def is_elsewhere(self, sides: Sides, start: Floats, top: Floats) -> bool:
        """Tell whether the two sums are far from being the same, up to sign and a little of their scale."""
        spread = _Cloud.of(sides.response, sides.parents).spread
        one, other = float(start @ spread @ start), float(top @ spread @ top)
        is_other_direction = float(start @ spread @ top) ** 2 < SAME_DIRECTION**2 * one * other
        return is_other_direction or not other < SAME_SCALE**2 * one < SAME_SCALE**4 * other

    def metric(self, sides: Sides) -> Floats | None:
        """Return the root of the covariance of the parents' columns, if some belong together.

        The columns of one vector are often much alike, so that their sum can be told well and their difference badly;
        those of a category are never independent.
        """
        if max(sides.columns, default=1) == 1:
            return None
        return np.asarray(np.linalg.cholesky(_Cloud.of(sides.response, sides.parents).spread), dtype=np.float64)

    def off(self, begin: LocalFit, names: Sequence[str], sides: Sides, longest: float) -> Floats | None:
        """Return the weights of the others, and 0; a single parent with a bandwidth has its inverse as a weight."""
        told = begin.weights
        if told is None and len(begin.bandwidths) == 1:
            ((name, bandwidth),) = begin.bandwidths.items()
            columns = dict(zip(names, sides.columns, strict=True))[name]
            told = {name: (1.0 / bandwidth,)} if columns == 1 else None
        if told is None:
            return None
        parts = [told.get(name, (0.0,) * count) for name, count in zip(names, sides.columns, strict=True)]
        return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])

    def short(self, begin: LocalFit, names: Sequence[str], sides: Sides) -> Floats | None:
        """Return none."""
        return None


class EveryColumn(Weights):
    """An ellipsoid with a weight, one over a bandwidth, for every column."""

    name, shape, hopeless = "columns", COLUMNS, math.inf

    def heuristic(self, sides: Sides) -> Parameters:
        """Return one over the median heuristic of a parent for each of its columns."""
        weights = [1.0 / median_heuristic(parent) for parent in sides.parents]
        return Parameters(sides.start, np.repeat(weights, sides.columns), START_NOISE)

    def cold(self, sides: Sides, count: int, values: Values) -> list[Start]:
        """Return the heuristic, and bandwidths that are fractions of it."""
        at = self.heuristic(sides)
        return [Start(Parameters(s * at.response_bandwidth, at.parents / s, at.noise)) for s in START_SCALES[:count]]

    def beside(self, sides: Sides, count: int, values: Values, precursor: Parameters) -> list[Start]:
        """Return the fractions."""
        return self.cold(sides, count, values)[1:]

    def off(self, begin: LocalFit, names: Sequence[str], sides: Sides, longest: float) -> Floats | None:
        """Return the weights of the others, and one over the longest bandwidth: at 0 the gradient would be 0."""
        return self._with(begin, names, sides, [1.0 / longest] * len(names))

    def short(self, begin: LocalFit, names: Sequence[str], sides: Sides) -> Floats | None:
        """Return the weights of the others, and one over a fifth of the heuristic."""
        return self._with(begin, names, sides, [1.0 / (START_SCALES[1] * median_heuristic(p)) for p in sides.parents])

    @staticmethod
    def _with(begin: LocalFit, names: Sequence[str], sides: Sides, new: Sequence[float]) -> Floats | None:
        """Return the weights of a fit, and for a parent that it lacks a new one for every column."""
        told = begin.weights
        if told is None and begin.bandwidths:
            return None
        parts = [(told or {}).get(name, (w,) * count) for name, w, count in zip(names, new, sides.columns, strict=True)]
        return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])


def _refuse_others(what: str, told: Mapping[str, Any], names: Sequence[str]) -> None:
    if set(told) != set(names):
        raise OptionError(f"{what} are given for {sorted(told)} but the parents are {sorted(names)}")


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (OneDirection(), EveryColumn(), *(Bandwidths(profile) for profile in PROFILES.values()))
}
# Those of which `auto` takes the best. Several parents of more dimensions than this (a vector has one for each of its
# columns) need more rows than there are to fill their space, and their kernel matrix has next to no structure to
# compute with: only directions are tried.
AUTOMATIC = ("gaussian", "direction")
MOST_FILLED = 3

_known: "WeakKeyDictionary[Points, Floats]" = WeakKeyDictionary()


def promising_directions(response: Points, parents: Sequence[Points]) -> list[Floats]:
    """Return directions, (d,) each, along which the parents have variance 1, the best first (see above)."""
    cloud = _Cloud.of(response, parents)
    features = _features(response)[cloud.rows]
    found = _spectral(cloud, features) + _sums(cloud.owner)
    unit = [direction / np.sqrt(direction @ cloud.spread @ direction) for direction in found]
    ranked = sorted(range(len(unit)), key=lambda i: _roughness(cloud.points @ unit[i], features, cloud.weights))
    return [unit[i] for i in ranked]


@dataclass(frozen=True, eq=False)
class _Cloud:
    """The parents on some rows, centred, with their covariance.

    Attributes:
        rows: (N,) which.
        weights: (N,) how often each occurs.
        points: (N, d) columns.
        owner: (d,) which parent each belongs to.
        spread: (d, d).
    """

    rows: npt.NDArray[np.int64]
    weights: Floats
    points: Floats
    owner: npt.NDArray[np.int64]
    spread: Floats

    @classmethod
    def of(cls, response: Points, parents: Sequence[Points]) -> "_Cloud":
        rows = _some_rows(len(response.values))
        weights = (np.ones(len(response.values)) if response.weights is None else response.weights)[rows].astype(float)
        points, owner = side_by_side(parents, rows)
        points = points - weights @ points / weights.sum()
        spread = (points.T * (weights / weights.sum())) @ points + RIDGE * np.eye(points.shape[1])
        return cls(rows, weights, points, owner, spread)


def _some_rows(count: int) -> npt.NDArray[np.int64]:
    """Return evenly spaced rows in an order that has nothing to do with their values."""
    rows = np.unique(np.linspace(0, count - 1, MOST_ROWS).astype(np.int64))
    return np.random.default_rng(0).permutation(rows)


def _roughness(along: Floats, features: Floats, weights: Floats) -> float:
    """Return how much the features change between neighbours along a direction."""
    order = np.argsort(along, kind="stable")
    steps = np.square(np.diff(features[order], axis=0)).sum(axis=1)
    return float(steps @ np.minimum(weights[order][1:], weights[order][:-1]))


def _sums(owner: npt.NDArray[np.int64]) -> list[Floats]:
    """Return sums and differences of the columns; of many, those of whole parents; of many parents the sum alone."""
    for group in (np.arange(len(owner)), owner):
        parts = int(group.max()) + 1
        if parts <= MOST_SIGNED:
            signs = itertools.product((1.0, -1.0), repeat=parts - 1)
            return [np.array([1.0, *rest])[group] for rest in signs]
    return [np.ones(len(owner))]


def _spectral(cloud: _Cloud, features: Floats) -> list[Floats]:
    """Return the directions of the first and of the second moments."""
    values, vectors = np.linalg.eigh(cloud.spread)
    whitening = (vectors / np.sqrt(values)) @ vectors.T
    q, share = cloud.points @ whitening, cloud.weights / cloud.weights.sum()
    first = (q.T * share) @ features
    second = sum(np.linalg.matrix_power((q.T * (share * phi)) @ q, 2) for phi in features.T)
    odd, even = np.linalg.svd(first)[0][:, 0], np.linalg.eigh(second)[1][:, -1]
    return [whitening @ odd, whitening @ even]


def _features(response: Points) -> Floats:
    """Return the first principal features of the response's kernel, (N, r), scaled by their weight."""
    if response not in _known:
        _known[response] = _measured(response)
    return _known[response]


def _measured(response: Points) -> Floats:
    """Return the features, from the kernel at the median distance on evenly spaced distinct values."""
    distinct, counts = response.distinct, response.counts
    some = np.unique(np.linspace(0, len(distinct) - 1, FEATURE_ROWS).astype(np.int64))
    bandwidth = 0.5 * median_heuristic(response)
    at, share = distinct[some], counts[some] / counts[some].sum()

    def kernel(points: Floats) -> Floats:
        return gaussian(np.square(points[:, None, :] - at[None, :, :]).sum(axis=2), bandwidth)

    K = kernel(at)
    mean = K @ share
    centred = K - mean - mean[:, None] + share @ mean
    root = np.sqrt(share)
    values, vectors = np.linalg.eigh(centred * root * root[:, None])
    values, vectors = values[::-1][:FEATURES], vectors[:, ::-1][:, :FEATURES]
    kept = values > RIDGE * values[0]
    # phi_r(x) = sum_j k_c(x, x_j) root_j u_jr / sqrt(mu_r) has variance mu_r: the weight is in it.
    K_all = kernel(distinct)
    features = (K_all - mean) @ (root[:, None] * vectors[:, kept]) / np.sqrt(values[kept])
    features -= counts @ features / counts.sum()
    return np.asarray(features[response.codes], dtype=np.float64)
