"""How a kernel falls with distance: its profile k(t), t the squared distance in units of the bandwidth.

| profile | k(t), r = sqrt(t) | -2 k'(t) |
|---|---|---|
| `gaussian` | exp(-t/2) | exp(-t/2) |
| `matern32` | (1 + sqrt(3) r) exp(-sqrt(3) r) | 3 exp(-sqrt(3) r) |
| `matern52` | (1 + sqrt(5) r + 5 t/3) exp(-sqrt(5) r) | 5/3 (1 + sqrt(5) r) exp(-sqrt(5) r) |
| `rational-quadratic` | 1 / (1 + t/2) | 1 / (1 + t/2)^2 |
| `linear-gaussian` | (exp(-t/2) + exp(-t/(2 L^2))) / 2, L = 10 | (exp(-t/2) + exp(-t/(2 L^2)) / L^2) / 2 |

All are 1 at 0. A Gaussian's functions have all derivatives, those of a Matern kernel one or two (Rasmussen and Williams
2006, 4.2); the rational quadratic (with alpha = 1) is a mixture of Gaussians of many bandwidths.

Linear plus Gaussian is a Gaussian beside one ten times as long. Over standardised columns the functions of the long one
are straight lines: exp(-|p - q|^2 / (2 L^2 s^2)) is 1 + p q / (L s)^2, up to a factor for each of p and q, and terms
(L s)^2 times smaller. A linear kernel itself is not 1 on its diagonal, which all engines and certificates count on.

Whatever the parameters are, dk/dtheta = k'(t) dt/dtheta: all that gradients need of a profile is `slope` = -2 k'(t).
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# How much longer the part of `linear-gaussian` is whose functions are straight lines.
LONGER = 10.0


class Profile(Protocol):
    """How a kernel falls with distance. Methods may write over the array they are given."""

    @property
    def name(self) -> str:
        """The name a user gives."""
        ...

    def value(self, t: Floats) -> Floats:
        """Return k(t)."""
        ...

    def both(self, t: Floats) -> tuple[Floats, Floats]:
        """Return k(t) and -2 k'(t), which may be the same array."""
        ...

    def log_slope(self, t: Floats) -> tuple[Floats, Floats]:
        """Return log(-2 k'(t)) and its derivative by log t."""
        ...


class Gaussian:
    """exp(-t/2)."""

    name = "gaussian"

    def value(self, t: Floats) -> Floats:
        """Return k(t)."""
        t *= -0.5
        return np.exp(t, out=t)

    def both(self, t: Floats) -> tuple[Floats, Floats]:
        """Return k(t), twice."""
        k = self.value(t)
        return k, k

    def log_slope(self, t: Floats) -> tuple[Floats, Floats]:
        """Return -t/2, twice."""
        half: Floats = -0.5 * t
        return half, half


class Matern32:
    """(1 + sqrt(3) r) exp(-sqrt(3) r)."""

    name = "matern32"

    def value(self, t: Floats) -> Floats:
        """Return k(t)."""
        return self.both(t)[0]

    def both(self, t: Floats) -> tuple[Floats, Floats]:
        """Return k(t) and its slope."""
        root = np.sqrt(3.0 * t)
        decay = np.exp(-root)
        return (1.0 + root) * decay, 3.0 * decay

    def log_slope(self, t: Floats) -> tuple[Floats, Floats]:
        """Return log 3 - sqrt(3 t) and its derivative."""
        root = np.sqrt(3.0 * t)
        return np.log(3.0) - root, -0.5 * root


class Matern52:
    """(1 + sqrt(5) r + 5 t/3) exp(-sqrt(5) r)."""

    name = "matern52"

    def value(self, t: Floats) -> Floats:
        """Return k(t)."""
        return self.both(t)[0]

    def both(self, t: Floats) -> tuple[Floats, Floats]:
        """Return k(t) and its slope."""
        root = np.sqrt(5.0 * t)
        decay = np.exp(-root)
        return (1.0 + root + root**2 / 3.0) * decay, (5.0 / 3.0) * (1.0 + root) * decay

    def log_slope(self, t: Floats) -> tuple[Floats, Floats]:
        """Return log 5/3 + log(1 + sqrt(5 t)) - sqrt(5 t) and its derivative."""
        root = np.sqrt(5.0 * t)
        return np.log(5.0 / 3.0) + np.log1p(root) - root, -0.5 * root**2 / (1.0 + root)


class RationalQuadratic:
    """1 / (1 + t/2)."""

    name = "rational-quadratic"

    def value(self, t: Floats) -> Floats:
        """Return k(t)."""
        return 1.0 / (1.0 + 0.5 * t)

    def both(self, t: Floats) -> tuple[Floats, Floats]:
        """Return k(t) and its square."""
        k = self.value(t)
        return k, k**2

    def log_slope(self, t: Floats) -> tuple[Floats, Floats]:
        """Return -2 log(1 + t/2) and its derivative."""
        return -2.0 * np.log1p(0.5 * t), -t / (1.0 + 0.5 * t)


class LinearGaussian:
    """(exp(-t/2) + exp(-t/(2 L^2))) / 2."""

    name = "linear-gaussian"

    def value(self, t: Floats) -> Floats:
        """Return k(t)."""
        return self.both(t)[0]

    def both(self, t: Floats) -> tuple[Floats, Floats]:
        """Return k(t) and its slope."""
        short, long = 0.5 * np.exp(-0.5 * t), 0.5 * np.exp(-0.5 * t / LONGER**2)
        return short + long, short + long / LONGER**2

    def log_slope(self, t: Floats) -> tuple[Floats, Floats]:
        """Return the logarithm of the slope and its derivative."""
        # Where the short part has vanished its logarithm is what is left of the sum.
        short, long = -0.5 * t, -0.5 * t / LONGER**2 - 2.0 * np.log(LONGER)
        log = np.logaddexp(short, long)
        share = np.exp(short - log)
        return log - np.log(2.0), -0.5 * t * (share + (1.0 - share) / LONGER**2)


GAUSSIAN = Gaussian()
PROFILES: Mapping[str, Profile] = {
    profile.name: profile for profile in (GAUSSIAN, Matern32(), Matern52(), RationalQuadratic(), LinearGaussian())
}
