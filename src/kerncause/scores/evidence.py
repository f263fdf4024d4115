"""What a parent set must pay for its parameters and for being one of many.

The maximum of a likelihood grows with every parent, whether it says something or not. The paper leaves that to the
upper bound of the bandwidths, which a parent that says nothing runs into: a penalty that depends on the bound, not on
the data, and that `direction` does not have, because a weight can be 0. Evidence is what theory puts in its place:

    S/q - c (d/2 log n - log P(PA))

* d/2 log n for the d parameters of the parents' kernel (Schwarz 1978): Laplace's approximation of the integral over
  them, without the terms that do not grow with n. S/q is the likelihood of one output on n rows, so n is the number of
  rows.
* c >= 1 is what a nat of a Gaussian likelihood is worth less where residuals are not Gaussian (below).
* log P(PA) is what being one of many costs. All numbers of parents are equally likely, and all sets of one number
  (Friedman and Koller 2003): -log C(m, k) for k of m possible parents. Nothing is then said about how dense a graph is:
  a first parent must pay for the choice among m, a fourth of seven pays nothing. With an expected degree D every
  possible edge is there with probability D/m, in either direction alike: k log(w / (1 - w)) with w = D/(2m).

**Why c.** A value that is rare weighs much in a Gaussian likelihood: of 200 rows with 5 that differ, explaining one of
the five takes a fifth off the variance and gains 100 log(5/4) = 22 nats, where chance explains one of five easily. The
likelihood of a model that is wrong about its residuals is worth less than it says, by the ratio of the variance of its
slope to its curvature (the sandwich; for composite likelihoods Varin, Reid and Firth 2011). For the noise that is

    c = Var(e) / (2 E[e]^2),        e_i = the squared distance of row i's features to their mean

which is 1 for Gaussian residuals, less where several outputs share a row, (kurtosis - 1) / 2 for a binary variable. It
is measured on the response alone, so that all parent sets of a variable are judged alike, and never taken below 1, like
the overdispersion of quasi-likelihoods (Burnham and Anderson 2002): a model that seems better than right is not.
"""

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from kerncause.data import Points
from kerncause.errors import OptionError
from kerncause.kernels import gaussian, median_heuristic
from kerncause.linalg import squared_distances
from kerncause.text import quoted

EVIDENCES = ("none", "bic")
# The overdispersion of more different values than this is measured on evenly spaced ones.
MOST_VALUES = 1000


@dataclass(frozen=True)
class Evidence:
    """What is taken off a score.

    Attributes:
        kind: `none` (nothing is) or `bic`.
        expected_degree: how many neighbours a variable has on average; None: nothing is known.
    """

    kind: str = "none"
    expected_degree: float | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.kind not in EVIDENCES:
            raise OptionError(f"evidence cannot be {quoted(self.kind)}: the choices are {', '.join(EVIDENCES)}")
        degree = self.expected_degree
        if degree is None:
            return
        if isinstance(degree, bool) or not isinstance(degree, int | float) or not 0 < degree < math.inf:
            raise OptionError(
                f"expected_degree (--expected-degree) cannot be {quoted(degree)}: give a positive number of neighbours"
            )
        if self.kind == "none":
            raise OptionError("expected_degree (--expected-degree) needs evidence: set evidence=bic as well")

    def of_parameters(self, n: int, parameters: int) -> float:
        """Return d/2 log n for some parameters."""
        return 0.0 if self.kind == "none" else 0.5 * parameters * math.log(n)

    def cost(self, n: int, parameters: int, parents: int, possible: int, dispersion: float = 1.0) -> float:
        """Return the nats to take off.

        Args:
            n: rows.
            parameters: d, of the parents' kernel.
            parents: k.
            possible: m, how many variables could be parents.
            dispersion: c.
        """
        if self.kind == "none" or not parents:
            return 0.0
        return dispersion * (self.of_parameters(n, parameters) - self._log_prior(parents, possible))

    def _log_prior(self, parents: int, possible: int) -> float:
        if self.expected_degree is None:
            return -math.log(math.comb(possible, parents))
        # A degree of all others would make every edge certain.
        share = min(self.expected_degree / (2.0 * max(possible, 1)), 0.5)
        return parents * math.log(share / (1.0 - share))


_known: "WeakKeyDictionary[Points, float]" = WeakKeyDictionary()


def overdispersion(response: Points) -> float:
    """Return Var(e) / (2 E[e]^2) of the features of a response at a bandwidth of 1.4 median distances (see above)."""
    if response not in _known:
        _known[response] = _measured(response)
    return _known[response]


def _measured(response: Points) -> float:
    distinct, counts = response.distinct, response.counts
    if len(distinct) > MOST_VALUES:
        some = np.linspace(0, len(distinct) - 1, MOST_VALUES).astype(np.int64)
        distinct, counts = distinct[some], counts[some]
    share = counts / counts.sum()
    K = gaussian(squared_distances(distinct), median_heuristic(response) / math.sqrt(2.0))
    away = np.square(K - share @ K) @ share  # e of each value: mean over rows j of (k_ij - mean_j)^2
    mean = float(share @ away)
    return float(share @ np.square(away - mean)) / (2.0 * mean**2) if mean > 0.0 else 1.0
