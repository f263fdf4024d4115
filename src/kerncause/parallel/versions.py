"""Whether a worker would compute what this program would: the versions that must be the same."""

import os
import platform
import sys
from collections.abc import Mapping

import numpy
import scipy

from kerncause import version
from kerncause.errors import OptionError
from kerncause.scores import cache

# What must be the same; of the others the last digits of a score may depend.
IN_WORDS = {"kerncause": "kerncause", "scores": "version of the scores", "python": "Python"}
Versions = Mapping[str, str]


def versions_here() -> dict[str, str]:
    """Return the versions of this process."""
    return {
        "kerncause": version.__version__,
        "scores": str(cache.SCORE_VERSION),
        "python": ".".join(map(str, sys.version_info[:2])),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
    }


def refuse_others(worker: str, theirs: Versions, ours: Versions) -> None:
    """Refuse a worker that might compute something else."""
    for name, words in IN_WORDS.items():
        if theirs.get(name) != ours[name]:
            raise OptionError(
                f"the worker {worker} has {words} {theirs.get(name, 'unknown')}, this program has {ours[name]}: "
                "install the same versions of Python and kerncause on both, and start the worker again"
            )


def refuse_absent(worker: str, why: object) -> OptionError:
    """Return what to say of a worker that does not have kerncause, or not one like this."""
    return OptionError(
        f"the worker {worker} cannot load this version of kerncause ({why}): install kerncause {version.__version__} "
        "there, in the environment that the worker runs in, and start it again"
    )


def noted_differences(worker: str, theirs: Versions, ours: Versions) -> str:
    """Return what a person should know about a worker, or nothing."""
    others = [
        f"{name} {theirs.get(name, 'unknown')}, not {ours[name]}"
        for name in ("numpy", "scipy")
        if theirs.get(name) != ours[name]
    ]
    return f"the worker {worker} has {' and '.join(others)}: the last digits of scores may differ" if others else ""


def this_worker() -> str:
    """Return how a worker calls itself."""
    return f"{platform.node()} (process {os.getpid()})"
