"""What a parent set must pay for its parameters and for being one of many.

The maximum of a likelihood grows with every parent, whether it says something or not. The paper leaves that to the
upper bound of the bandwidths, which a parent that says nothing runs into: a penalty that depends on the bound, not on
the data, and that `direction` does not have, because a weight can be 0. Evidence is what theory puts in its place:

    S/q - d/2 log n + log P(PA)

* d/2 log n for the d parameters of the parents' kernel (Schwarz 1978): Laplace's approximation of the integral over
  them, without the terms that do not grow with n. S/q is the likelihood of one output on n rows, so n is the number of
  rows.
* log P(PA) is what being one of many costs. All numbers of parents are equally likely, and all sets of one number
  (Friedman and Koller 2003): -log C(m, k) for k of m possible parents. Nothing is then said about how dense a graph is:
  a first parent must pay for the choice among m, a fourth of seven pays nothing. With an expected degree D every
  possible edge is there with probability D/m, in either direction alike: k log(w / (1 - w)) with w = D/(2m).
"""

import math
from dataclasses import dataclass

from kerncause.errors import OptionError
from kerncause.text import quoted

EVIDENCES = ("none", "bic")


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

    def cost(self, parameters: int, rows: int, parents: int, possible: int) -> float:
        """Return the nats to take off.

        Args:
            parameters: d, of the parents' kernel.
            rows: n.
            parents: k.
            possible: m, how many variables could be parents.
        """
        if self.kind == "none":
            return 0.0
        return 0.5 * parameters * math.log(max(rows, 1)) - self._log_prior(parents, possible)

    def _log_prior(self, parents: int, possible: int) -> float:
        if self.expected_degree is None:
            return -math.log(math.comb(possible, parents))
        # A degree of all others would make every edge certain.
        share = min(self.expected_degree / (2.0 * max(possible, 1)), 0.5)
        return parents * math.log(share / (1.0 - share))
