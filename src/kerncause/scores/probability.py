"""The probability of a discrete response, in place of its density in kernel space.

The likelihood of the features is that of a density. Of a response with few values it is not one: it grows without end
where values can be met exactly, and a nat of it is worth less the more unequal the values are. So scores of discrete
and of continuous responses are on different footings, and so are those of an even and of an uneven discrete one. What
is wanted is the probability of the values. The regression predicts every row from all others
(`kerncause.regression.left_out`); the nearer a prediction lies to a value, the more probable that is:

    P(l | row i left out)  ~  exp(b_l + tau_1 log c_il + tau_2 log p_il - tau_3 a_i/2 |phi_l - mu_i|^2)
    S                      =  max over b and tau >= 0 of sum_i log P(x_i)

c_il is how often l occurs in rows with the same parents, p_il in rows with parents like these, and |phi_l - mu_i| how
far it lies from what is predicted. Few rows tell most by the last, because values that lie near each other help out;
many rows of few values tell most by the first, which takes relations and noise of any shape. b and the temperatures tau
calibrate and combine them (Platt 1999; Guo et al. 2017). The maximum is unique, as log P is concave in all of them.

* S is never above 0, and without parents it is -n H, with H the entropy: no parents are worth more than n H.
* A parent that says nothing gains next to nothing: rows left out are predicted wrongly, and the temperatures are 0.
* Its nats are those of any probability, so parents of a discrete and of a continuous variable can be compared.

The parameters of the kernels remain those that maximise the likelihood of the features.
"""

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import logsumexp, xlogy

from kerncause.regression import Nearness

Floats = npt.NDArray[np.float64]

# How near to the maximum, in nats; and a ridge on b, for values that no prediction is near to.
ENOUGH = 1e-7
RIDGE = 1e-6


def log_probability(rows: Nearness) -> float:
    """Return S."""
    v = rows.near.shape[1]
    # Subtracting the largest changes nothing and keeps tau times it within bounds.
    near = rows.near - rows.near.max(axis=1, keepdims=True)
    evidence = np.stack([np.log(rows.counted), np.log(rows.shares), near])
    found = minimize(
        _loss,
        np.concatenate([np.zeros(v), [0.0, 1.0, 0.0]]),
        args=(rows, evidence),
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] * v + [(0.0, None)] * 3,
        options={"maxiter": 500, "ftol": ENOUGH / max(float(rows.counts.sum()), 1.0), "gtol": 1e-6},
    )
    return -min(float(found.fun), _entropy_of(rows, v))


def _loss(parameters: Floats, rows: Nearness, evidence: Floats) -> tuple[float, Floats]:
    """Return minus the sum of log P, and its gradient by b and the temperatures."""
    b, tau = parameters[:-3], parameters[-3:]
    logits = b + np.tensordot(tau, evidence, 1)
    total = logsumexp(logits, axis=1)
    of_value = np.arange(len(logits)), rows.values
    away = np.exp(logits - total[:, None])
    away[of_value] -= 1.0
    away *= rows.counts[:, None]
    value = float(rows.counts @ (total - logits[of_value])) + RIDGE * float(b @ b)
    by_tau = np.tensordot(evidence, away, 2)
    return value, np.concatenate([away.sum(axis=0) + 2.0 * RIDGE * b, by_tau])


def _entropy_of(rows: Nearness, v: int) -> float:
    """Return n H, what is lost if the parents are left aside."""
    counts = np.bincount(rows.values, weights=rows.counts, minlength=v)
    return float(-xlogy(counts, counts / counts.sum()).sum())
