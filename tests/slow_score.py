"""Scores that take their time, or worse, in a module that workers on a cluster can import."""

import os
import signal
import time

from kerncause import Dataset, make_score


class SlowBIC:
    """BIC, after a pause."""

    def __init__(self, data: Dataset, seconds: float) -> None:
        self._bic, self._seconds = make_score("bic", data), seconds
        self.variables = data.canonical

    def local_score(self, target, parents):
        time.sleep(self._seconds)
        return self._bic.local_score(target, parents)


class Deadly(SlowBIC):
    """Ends the process that computes it."""

    def local_score(self, target, parents):
        if parents:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().local_score(target, parents)
