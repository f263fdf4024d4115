"""The score of Wang et al. (ICML 2024): a Gaussian process in kernel space, all bandwidths learned.

    S(X, PA) = -1/2 tr(K_X K_t^-1 K_X) - n/2 log|K_t| - n^2/2 log 2pi + J(s_x)        (eq. 13 of the paper)

is maximised over s_x, s_1..s_k and s_e together, in log-space, by L-BFGS-B with analytic gradients and the
bounds given to the optimiser (`kerncause.scores.optimise`). K_X, K_PA, K_t are those of
`kerncause.regression.base`, J that of `kerncause.kernels.gaussian` (without the sum of log distances, which
cancels in every comparison). Reported is S/n, nats per output column.

Where this departs from the paper, and why:

* One bandwidth per parent (`bandwidths="per-parent"`), as the paper's program has it; its text has one for
  all, which is `bandwidths="shared"`.
* Two starts, twice the median distance and a fifth of that. From the first alone the optimiser can end in
  a basin of long bandwidths tens of nats below the optimum. Larger parent sets begin from smaller ones
  (`precursor`), and what can be found out on few rows is (`kerncause.scores.climb`); with `starts=1` every fit
  begins from the heuristic, as in the paper.
* The weight for tied values in J (see there).
* A binary response has no shape to learn: its kernel has one free value, k(a, b), and the likelihood grows
  without bound as s_x does while s_e shrinks with it. So s_x is held at twice the distance between the two
  values, where k(a, b) = exp(-1/8), whatever the split and whatever the bounds. The same holds for categories
  that are the same or different (`categories="delta"`): there is one distance, and nothing to learn from it.
"""

import numpy as np

from kerncause.data import WHOLE, Dataset, Points
from kerncause.data.views import LEVELS
from kerncause.errors import OptionError
from kerncause.kernels import (
    GAUSSIAN,
    PROFILES,
    JacobianTerm,
    PairwiseJacobian,
    Profile,
    least_noise,
    log_distance_sum,
    median_heuristic,
)
from kerncause.linalg import squared_distances
from kerncause.regression import KernelResponse, nearness_bytes
from kerncause.scores.kernel import Bandwidths, KernelScore
from kerncause.scores.optimise import Interval, Term
from kerncause.scores.parameters import check_interval
from kerncause.scores.response_model import ResponseModel
from kerncause.text import quoted

NOISE_FLOORS = ("none", "entropy")
NOISES = ("even", "local")
DISCRETE = ("density", "probability")
# More than this many values are as good as continuous.
MOST_VALUES = 50
# Distances that differ by no more than this share are the same.
EQUAL = 1e-9


class LearnedKernelScore(KernelScore):
    """The learned-kernel score of a Dataset.

    Args:
        data: the table; see `KernelScore` for this and for `engine`, `bandwidths`, `starts`, `tolerance`,
            `parent_bounds` and `noise_bounds`.
        engine: how to compute it.
        bandwidths: `per-parent` or `shared`.
        starts: how many starts the optimiser gets, 1 to 5.
        tolerance: how far the value may lie from the exact one.
        kernel: of the parents: `gaussian`, `columns`, `direction`, ..., or `auto`; see `KernelScore`.
        evidence: `none` or `bic`; see `KernelScore`.
        expected_degree: how many neighbours a variable has on average.
        scaling: on what scale numbers are seen.
        categories: how those without order are seen.
        response_kernel: `gaussian`, `matern32`, `matern52`, `rational-quadratic` or `linear-gaussian`.
        noise_floor: `none`, or `entropy`: the noise cannot fall below that of no parents by more than the entropy.
        response_scaling: on what scale numbers are seen as what is to be explained; None: as `scaling`.
        discrete: of which likelihood responses of few values are: the `density` of their features, or the `probability`
            of the values (`kerncause.scores.probability`). Of `response_scaling="levels"` it must be `probability`.
        noise: of levels: `even`, the same for all rows, or `local`, as rows with parents like theirs have it
            (`kerncause.regression.left_out`).
        tie_weight: whether J counts pairs of tied values by weight; the paper does not.
        response_bounds: where s_x may lie, on standardised columns.
        parent_bounds: where each s_k may lie.
        noise_bounds: where s_e may lie.
    """

    @property
    def direction_footing(self) -> str | None:
        """On which footing directions are compared, if it was measured what that is worth (`kerncause.directions`).

        Preferences depend on the scale of the responses, on their kernel and on their noise; a parent costs the same
        either way.
        """
        if (self._options["scaling"], self._options["response_kernel"]) != ("standard", "gaussian"):
            return None
        # Of numbers by their values and their ranks, which have densities, the noise is always even.
        levels = "levels" if self._options["noise"] == "local" else "even levels"
        footings = {None: "values", "standard": "values", "rank": "ranks", LEVELS: levels}
        return footings.get(self._options["response_scaling"])

    def __init__(
        self,
        data: Dataset,
        engine: str = "auto",
        bandwidths: Bandwidths = "per-parent",
        starts: int = 2,
        *,
        tolerance: float = 0.01,
        tie_weight: bool = True,
        response_bounds: Interval = (0.1, 10.0),
        parent_bounds: Interval = (0.1, 10.0),
        noise_bounds: Interval | None = None,
        memory: int | None = None,
        kernel: str = "gaussian",
        evidence: str = "none",
        expected_degree: float | None = None,
        scaling: str = "standard",
        categories: str = "codes",
        response_scaling: str | None = None,
        response_kernel: str = "gaussian",
        noise_floor: str = "none",
        discrete: str = "density",
        noise: str = "even",
        vectors: str = WHOLE,
    ) -> None:
        super().__init__(
            data,
            engine,
            bandwidths,
            starts,
            tolerance=tolerance,
            parent_bounds=parent_bounds,
            noise_bounds=noise_bounds,
            memory=memory,
            kernel=kernel,
            evidence=evidence,
            expected_degree=expected_degree,
            scaling=scaling,
            categories=categories,
            response_scaling=response_scaling,
            vectors=vectors,
        )
        if not isinstance(tie_weight, bool):
            raise OptionError(f"tie_weight cannot be {quoted(tie_weight)}: choose true or false")
        if response_kernel not in PROFILES:
            choices = ", ".join(PROFILES)
            raise OptionError(f"there is no response_kernel {quoted(response_kernel)}: the choices are {choices}")
        if noise_floor not in NOISE_FLOORS:
            choices = " or ".join(NOISE_FLOORS)
            raise OptionError(f"noise_floor cannot be {quoted(noise_floor)}: choose {choices}")
        if discrete not in DISCRETE:
            raise OptionError(f"discrete cannot be {quoted(discrete)}: choose {' or '.join(DISCRETE)}")
        if response_scaling == LEVELS and discrete != "probability":
            raise OptionError("response_scaling=levels is about the probability of levels: say discrete=probability")
        if noise not in NOISES:
            raise OptionError(f"noise cannot be {quoted(noise)}: choose {' or '.join(NOISES)}")
        if noise == "local" and response_scaling != LEVELS:
            raise OptionError("noise=local is about the probability of levels: say response_scaling=levels")
        self._options["discrete"] = discrete
        self._options["noise"] = noise
        self._options["tie_weight"] = tie_weight
        self._options["noise_floor"] = noise_floor
        self._options["response_kernel"] = response_kernel
        self._options["response_bounds"] = check_interval("response_bounds", response_bounds)

    def _model(self, points: Points, whole: Points) -> ResponseModel:
        """Return K_X with s_x free, or held if the response is binary, and J."""
        profile, fixed = PROFILES[self._options["response_kernel"]], fixed_response_bandwidth(points)
        return ResponseModel(
            response=KernelResponse(profile),
            start=median_heuristic(points),
            fixed=fixed,
            bounds=self._options["response_bounds"],
            term=self._jacobian(points, profile),
            constant=lambda: log_distance_sum(points),
            least_noise=least_noise(whole, fixed) if self._options["noise_floor"] == "entropy" else 0.0,
        )

    def _is_probability(self, target: str) -> bool:
        # By the levels of the whole table: a part of its rows is judged in the same way.
        codes = self.data.variable(target).level_codes
        if codes is None:
            return bool(self._options["response_scaling"] == LEVELS)
        return self._options["discrete"] == "probability" and len(codes) <= MOST_VALUES

    def most_memory(self, parents: int) -> float:
        """Return the bytes that one of its scores takes at its worst."""
        at_most = super().most_memory(parents)
        if self._options["discrete"] == "density":
            return at_most
        return max(at_most, nearness_bytes(self._table.n_rows, MOST_VALUES) + self._copies)

    def _jacobian(self, points: Points, profile: Profile) -> Term:
        tie_weight = self._options["tie_weight"]
        if profile is GAUSSIAN:
            return JacobianTerm.of(points, tie_weight)
        return PairwiseJacobian.of(points, profile, tie_weight)


def fixed_response_bandwidth(response: Points) -> float | None:
    """Return the s_x of a response whose values are all equally far apart, twice that distance; None for others."""
    values, columns = response.distinct.shape
    if values != 2 and not 2 < values <= columns:
        return None
    distances = squared_distances(response.distinct)[np.triu_indices(values, 1)]
    return 2.0 * float(np.sqrt(distances[0])) if np.ptp(distances) <= EQUAL * distances[0] else None
