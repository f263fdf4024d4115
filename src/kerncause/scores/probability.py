"""The probability of a discrete response, in place of its density in kernel space.

The likelihood of the features is that of a density. Of a response with few values it is not one: it grows without end
where values can be met exactly, and a nat of it is worth less the more unequal the values are. So scores of discrete
and of continuous responses are on different footings, and so are those of an even and of an uneven discrete one. What
is wanted is the probability of the values. The regression predicts every row from all others
(`kerncause.regression.left_out`); the nearer a prediction lies to a value, the more probable that is:

    P(l | row i left out)  ~  exp(b_l + tau_1 log c_il + tau_2 log p_il - (tau_3 + tau_4 w_i) a_i/2 |phi_l - mu_i|^2)
    S                      =  max over b and tau >= 0 of sum_i log P(x_i)

c_il is how often l occurs in rows with the same parents, p_il in rows with parents like these, and |phi_l - mu_i| how
far it lies from what is predicted. Few rows tell most by the last, because values that lie near each other help out;
many rows of few values tell most by the first, which takes relations and noise of any shape. w_i is how much steadier
rows with parents like these are than others: where noise depends on the parents, the right ones would else be charged
for it. It has no part with `noise="even"`, nor of responses whose values are few to begin with: p_il can tell those one
by one. And because noise looks uneven by chance, too, evidence charges for tau_4 as for any parameter, and w_i is taken
only where it gains more than that.

Of rows left out, a table of counts gains from a further parent that says nothing as often with many rows as with few.
So evidence charges for it what it is overrated by (`Nearness.overrated`), times tau_1, the part that it has.

b and the temperatures tau calibrate and combine them (Platt 1999; Guo et al. 2017). The maximum is unique, as log P is
concave in all of them, and found by Newton's method, damped where it must be (Marquardt 1963); temperatures that would
fall below 0 are held there.

* S is never above 0, and without parents it is -n H, with H the entropy: no parents are worth more than n H.
* A parent that says nothing gains next to nothing: rows left out are predicted wrongly, and the temperatures are 0.
* Its nats are those of any probability, so parents of a discrete and of a continuous variable can be compared.

The parameters of the kernels remain those that maximise the likelihood of the features.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from kerncause.regression import Nearness

Floats = npt.NDArray[np.float64]

# How near to the maximum, in nats; and a ridge on b, for values that no prediction is near to.
ENOUGH = 1e-7
RIDGE = 1e-6
# Of Newton's method; steps that lead nowhere are shortened by adding to the diagonal of the curvature.
MOST_STEPS = 100
SUFFICIENT = 1e-4
LEAST_DAMPING, LITTLE_DAMPING, MOST_DAMPING = 1e-9, 1e-3, 1e9


@dataclass(frozen=True)
class Probability:
    """What the probability of a response is.

    Attributes:
        log: S, less the price.
        price: what was paid for a noise of its own for each place: nothing where that does not gain as much.
    """

    log: float
    price: float


def probability_of(rows: Nearness, price: float = 0.0, of_counting: float = 0.0) -> Probability:
    """Return S less what it costs, with a noise of its own for each place if that gains more than its price.

    Args:
        rows: how near predictions lie.
        price: of a noise of its own for each place.
        of_counting: the price of tau_1 at 1.
    """
    v = rows.near.shape[1]
    evidence = np.stack([np.log(rows.counted), np.log(rows.shares), _below_zero(rows.near)])
    at = np.zeros(v + len(evidence))
    at[v + 1] = 1.0
    at, loss = _least_loss(rows, evidence, at, of_counting)
    paid = 0.0
    if rows.local is not None:
        evidence = np.concatenate([evidence, _below_zero(rows.local)[None]])
        locally_at, locally = _least_loss(rows, evidence, np.append(at, 0.0), of_counting)
        if locally + price < loss:
            at, loss, paid = locally_at, locally + price, price
    paid += of_counting * float(at[v])
    alone = _entropy_of(rows, v)
    return Probability(-loss, paid) if loss < alone else Probability(-alone, 0.0)


def _below_zero(evidence: Floats) -> Floats:
    """Subtract the largest of each row, which changes nothing and keeps tau times it within bounds."""
    return np.asarray(evidence - evidence.max(axis=1, keepdims=True))


def _least_loss(rows: Nearness, evidence: Floats, at: Floats, of_counting: float) -> tuple[Floats, float]:
    """Minimise the loss over b and the temperatures, from a place on; return where it is least, and the loss there."""
    temperatures, _, v = evidence.shape
    least = np.concatenate([np.full(v, -np.inf), np.zeros(temperatures)])
    value, gradient = _loss(at, rows, evidence, of_counting)
    H, damping = _curvature(at, rows, evidence), LEAST_DAMPING
    for _ in range(MOST_STEPS):
        free = (at > least) | (gradient < 0.0)
        damped = H + np.diag(damping * np.diagonal(H))
        step = np.zeros_like(at)
        step[free] = -np.linalg.solve(damped[np.ix_(free, free)], gradient[free])
        there = np.maximum(at + step, least)
        # Of the whole step: what is left of it within the bounds may promise little far from the end.
        if -float(gradient @ step) <= 2.0 * ENOUGH and damping <= LITTLE_DAMPING:
            break
        promised = -float(gradient @ (there - at))
        value_there, gradient_there = _loss(there, rows, evidence, of_counting)
        if promised > 0.0 and value_there <= value - SUFFICIENT * promised:
            at, value, gradient = there, value_there, gradient_there
            H, damping = _curvature(at, rows, evidence), max(damping / 10.0, LEAST_DAMPING)
        elif damping > MOST_DAMPING:
            break
        else:
            damping = max(10.0 * damping, LITTLE_DAMPING)
    return at, value


def _predicted(parameters: Floats, evidence: Floats) -> tuple[Floats, Floats]:
    """Return log P, (r, v), and P."""
    b, tau = np.split(parameters, [evidence.shape[2]])
    logits = np.tensordot(tau, evidence, axes=1) + b
    logits -= logits.max(axis=1, keepdims=True)
    P = np.exp(logits)
    total = P.sum(axis=1, keepdims=True)
    P /= total
    return logits - np.log(total), P


def _loss(parameters: Floats, rows: Nearness, evidence: Floats, of_counting: float = 0.0) -> tuple[float, Floats]:
    """Return minus the sum of log P, and its gradient by b and the temperatures."""
    b = parameters[: evidence.shape[2]]
    log_P, away = _predicted(parameters, evidence)
    of_value = np.arange(len(log_P)), rows.values
    away[of_value] -= 1.0
    away *= rows.counts[:, None]
    value = -float(rows.counts @ log_P[of_value]) + RIDGE * float(b @ b)
    by_tau = evidence.reshape(len(evidence), -1) @ away.ravel()
    by_tau[0] += of_counting
    value += of_counting * float(parameters[len(b)])
    return value, np.concatenate([away.sum(axis=0) + 2.0 * RIDGE * b, by_tau])


def _curvature(parameters: Floats, rows: Nearness, evidence: Floats) -> Floats:
    """Return the second derivatives of the loss: the covariances of indicators and evidence under P, over all rows."""
    _, P = _predicted(parameters, evidence)
    weighted = P * rows.counts[:, None]
    centred = evidence - (evidence * P).sum(axis=2, keepdims=True)
    temperatures, _, v = evidence.shape
    H = np.empty((v + temperatures, v + temperatures))
    H[:v, :v] = np.diag(weighted.sum(axis=0) + 2.0 * RIDGE) - P.T @ weighted
    H[v:, :v] = (centred * weighted).sum(axis=1)
    H[:v, v:] = H[v:, :v].T
    flat = centred.reshape(temperatures, -1)
    # Evidence that is the same for all values says nothing: a ridge keeps its temperature where it is.
    H[v:, v:] = (flat * weighted.ravel()) @ flat.T + 2.0 * RIDGE * np.eye(temperatures)
    return H


def _entropy_of(rows: Nearness, v: int) -> float:
    """Return n H, what is lost if the parents are left aside."""
    counts = np.bincount(rows.values, weights=rows.counts, minlength=v)
    return float(-xlogy(counts, counts / counts.sum()).sum())
