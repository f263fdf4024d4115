"""Seeing early that a run would not end in time.

A method whose steps all cost the same shows after a few of them how long it will take. What would take much longer than
it may is ended then, not when the time is up.
"""

import math
import time
from dataclasses import dataclass, field

# A run is ended once it is seen to take this much longer than it may, by at least this share of its steps.
MUCH_LONGER = 1.25
SHARE = 0.1


class TooSlowError(Exception):
    """A run that would take too long; its text says how long."""


@dataclass
class Pace:
    """How fast a run goes, by the steps it has done.

    Attributes:
        timeout: seconds it may take in all.
    """

    timeout: float = math.inf
    _begun: float = field(default_factory=lambda: time.perf_counter())
    _first: tuple[int, float] | None = None

    def done(self, steps: int, of: int) -> None:
        """Take note that so many steps of all are done; raise TooSlowError where that is too few.

        The first call only sets the mark to measure from: what came before it was setting up and compiling.
        """
        now = time.perf_counter()
        if self._first is None:
            self._first = steps, now
            return
        before, then = self._first
        if steps <= before:
            return
        expected = now - self._begun + (of - steps) * (now - then) / (steps - before)
        if steps - before >= SHARE * of and expected > MUCH_LONGER * self.timeout:
            raise TooSlowError(f"would take about {expected:.0f} seconds, by its first {steps} of {of} steps")
