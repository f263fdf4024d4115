"""Stopping before the end, with the best there is so far: when the time is up, or when somebody asks."""

import math
import time
from collections.abc import Callable
from numbers import Real

from kerncause.errors import OptionError


class Stopped(Exception):  # noqa: N818 - nothing went wrong
    """Raised once in the middle of a search, which catches it and returns where it is."""


def never() -> bool:
    """Do not stop."""
    return False


class Halt:
    """Tells the same as what it is made of, until it is switched off: what is left to do then is done."""

    def __init__(self, stop: Callable[[], bool] | None) -> None:
        self._stop = stop

    def __call__(self) -> bool:
        """Tell whether it is time."""
        return self._stop is not None and self._stop()

    def off(self) -> None:
        """Go on from now on, for as long as it takes."""
        self._stop = None


class Stop:
    """Tells whether to stop; call it after every piece of work.

    Args:
        seconds: after how long; None: never by itself.
        asked: tells whether somebody wants it.
    """

    def __init__(self, seconds: float | None = None, asked: Callable[[], bool] | None = None) -> None:
        is_number = isinstance(seconds, Real) and not isinstance(seconds, bool)
        if seconds is not None and not (is_number and 0.0 < seconds < math.inf):
            raise OptionError(
                f"time_budget (--time-budget) cannot be {seconds}: give how long, a number of seconds above 0"
            )
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._asked = asked

    @property
    def seconds_left(self) -> float | None:
        """The seconds until it stops by itself; None: it does not."""
        return None if self._end == math.inf else max(self._end - time.monotonic(), 0.0)

    def __call__(self) -> bool:
        """Tell whether it is time."""
        return time.monotonic() >= self._end or (self._asked is not None and self._asked())
