"""Pairs of a cause and its effect, by several mechanisms, and pairs without a direction to find.

`x` is the cause. Everything is drawn from the generator that is given: sources, functions, noises and their sizes.
"""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
Pair = tuple[Floats, Floats]


def standardised(values: Floats) -> Floats:
    scaled: Floats = (values - values.mean()) / values.std()
    return scaled


def source(rng: Rng, n: int) -> Floats:
    """Return a Gaussian, a uniform, a mixture of Gaussians or a gamma variable."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.normal(size=n)
    if kind == 1:
        return standardised(rng.uniform(size=n))
    if kind == 2:
        centres = rng.normal(scale=1.5, size=rng.integers(2, 5))
        return standardised(centres[rng.integers(len(centres), size=n)] + rng.uniform(0.3, 0.8) * rng.normal(size=n))
    return standardised(rng.gamma(rng.uniform(1, 4), size=n))


def noise(rng: Rng, n: int) -> Floats:
    """Return Gaussian, uniform or Laplace noise of variance 1."""
    return [rng.normal(size=n), standardised(rng.uniform(size=n)), standardised(rng.laplace(size=n))][rng.integers(3)]


def smooth(rng: Rng) -> Callable[[Floats], Floats]:
    """Return a line plus six sine waves, the shorter the smaller."""
    size, length, phase = rng.normal(size=6) / np.arange(1, 7), rng.uniform(0.5, 2.5, 6), rng.uniform(0, 2 * np.pi, 6)
    slope = rng.normal() / 2
    return lambda x: slope * x + np.sin(np.outer(x, length) + phase) @ size


def additive(rng: Rng, n: int) -> Pair:
    """y = f(x) + e."""
    x = source(rng, n)
    return x, standardised(smooth(rng)(x)) + rng.uniform(0.2, 0.8) * noise(rng, n)


def heteroscedastic(rng: Rng, n: int) -> Pair:
    """y = f(x) + g(x) e."""
    x = source(rng, n)
    size = 0.2 + np.abs(standardised(smooth(rng)(x)))
    return x, standardised(smooth(rng)(x)) + rng.uniform(0.2, 0.8) * size * noise(rng, n)


def multiplicative(rng: Rng, n: int) -> Pair:
    """y = f(x) exp(e)."""
    x = source(rng, n)
    return x, standardised(smooth(rng)(x)) * np.exp(rng.uniform(0.2, 0.8) * noise(rng, n))


def post_nonlinear(rng: Rng, n: int) -> Pair:
    """y = g(f(x) + e)."""
    x, z = additive(rng, n)
    return x, [np.tanh(z), z + z**3 / 3, np.exp(z / 1.5)][rng.integers(3)]


def noise_inside(rng: Rng, n: int) -> Pair:
    """y = f(x, e), a random function of both."""
    x = source(rng, n)
    lengths = rng.normal(size=(40, 2)) * rng.uniform(0.5, 1.5, size=2)
    waves = np.cos(np.column_stack([x, noise(rng, n)]) @ lengths.T + rng.uniform(0, 2 * np.pi, 40))
    return x, waves @ rng.normal(size=40)


def linear(rng: Rng, n: int) -> Pair:
    """y = a x + e, neither of them Gaussian; weak and strong."""
    draws = (rng.uniform, rng.exponential, rng.laplace)
    x, e = (standardised(draws[rng.integers(3)](size=n)) for _ in range(2))
    return x, rng.uniform(0.3, 2.0) * x + e


def linear_gaussian(rng: Rng, n: int) -> Pair:
    """y = a x + e, both Gaussian: there is no direction to find."""
    x = rng.normal(size=n)
    return x, rng.uniform(0.3, 1.5) * x + rng.normal(size=n)


def discretised_copy(rng: Rng, n: int) -> Pair:
    """A variable and its own values cut into 2 to 6 classes: there is no direction to find."""
    x = source(rng, n)
    return x, classes(rng, x, 7)


def discrete_effect(rng: Rng, n: int) -> Pair:
    """f(x) + e, cut into classes."""
    x, z = additive(rng, n)
    return x, classes(rng, z, 6)


def discrete_cause(rng: Rng, n: int) -> Pair:
    """A mean for each class of the cause, and noise."""
    means = rng.normal(size=rng.integers(2, 6))
    x = rng.integers(len(means), size=n)
    return x.astype(np.float64), standardised(means[x]) + rng.uniform(0.2, 0.8) * noise(rng, n)


def discrete_both(rng: Rng, n: int) -> Pair:
    """A distribution of the effect's classes for each class of the cause."""
    of_cause, of_effect = rng.integers(2, 6, size=2)
    x = rng.integers(of_cause, size=n)
    shares = rng.dirichlet(np.ones(of_effect), size=of_cause).cumsum(axis=1)
    return x.astype(np.float64), (rng.uniform(size=n)[:, None] > shares[x]).sum(axis=1).astype(np.float64)


def classes(rng: Rng, values: Floats, most: int) -> Floats:
    """Return the values cut at quantiles, into 2 to most - 1 classes."""
    cuts = np.quantile(values, np.linspace(0, 1, rng.integers(2, most) + 1)[1:-1])
    return np.digitize(values, cuts).astype(np.float64)


# Between continuous variables: those with a direction, and those without.
DIRECTED: Mapping[str, Callable[[Rng, int], Pair]] = {
    "additive": additive,
    "heteroscedastic": heteroscedastic,
    "multiplicative": multiplicative,
    "post-nonlinear": post_nonlinear,
    "noise inside": noise_inside,
    "linear, not Gaussian": linear,
}
NULL = {"linear, Gaussian": linear_gaussian}
# With a discrete variable.
DISCRETE = {
    "discrete effect": discrete_effect,
    "discrete cause": discrete_cause,
    "both discrete": discrete_both,
    "discretised copy": discretised_copy,
}
EVERY: Mapping[str, Callable[[Rng, int], Pair]] = {**DIRECTED, **NULL, **DISCRETE}
