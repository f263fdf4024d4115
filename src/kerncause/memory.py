"""How many workers fit into the memory there is, and what each score may take.

What is held at once is what this process holds, the table among it, and for every worker what one score takes at its
worst (`SizedScore.most_memory`) and a little for the worker itself. That is estimated with up to `PLANNED_PARENTS`
parents, unless the search is held to fewer.

* With a limit, every score is held to its part: `auto` then leaves out engines that would take more, and as many
  workers are started as fit. What a part is follows from the table and the limit, not from the number of workers: that
  does not change the result.
* Without one, what the system has to give is looked at, and fewer workers are started if it is too little for all. Only
  if it is too little for one is it taken for a limit.
"""

import os
import re
import sys
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

from kerncause.errors import ComputationError, OptionError
from kerncause.parallel import START_METHOD, worker_count
from kerncause.regression import MOST_MEMORY
from kerncause.scores.base import LocalScore, SizedScore
from kerncause.text import counted, quoted, said_bytes

UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
# Larger sets are rarely scored; if one is, it is held to what was planned.
PLANNED_PARENTS = 4
# Within a limit, a score may take this much however little is planned, or this part of what is free if that is less.
FAIR_SHARE = 512 * 2**20
FAIR_PART = 0.25
# The most that a score can ever take is planned for if it is no more than this above what is planned anyway.
CLOSE = 1.5
# What a worker takes beside its score: forked it shares the rest with this process.
WORKER_BYTES = (32 if START_METHOD == "fork" else 200) * 2**20
# What a process holds is never twice the same; it is counted in steps of this.
STEP = 64 * 2**20
# What the system gives may be asked for by others as well.
USABLE = 0.9
# In steps of this share, fewer rows are tried to see how many would do.
FEWER = 0.95


def memory_bytes(given: int | str | None) -> int | None:
    """Read how much: a number of bytes, or 500M, 4G, 1.5G."""
    if given is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?) *([KMGT])(?:i?B)?", str(given).strip(), re.IGNORECASE)
    if found is not None:
        given = int(float(found[1]) * UNITS[found[2].upper()])
    if isinstance(given, bool) or not isinstance(given, Integral) or given < 1:
        raise OptionError(
            f"memory_limit (--memory-limit) cannot be {quoted(given)}: write a number and M or G, such as 500M or 1.5G"
        )
    return int(given)


@dataclass(frozen=True, eq=False)
class Staffing:
    """The workers that fit, and the score they compute.

    Attributes:
        score: held to its part of the memory, if it has to be.
        workers: how many; None: as many as were asked for.
        settings: what is written down about it; nothing if there is nothing to say.
    """

    score: LocalScore
    workers: int | None
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        score: LocalScore,
        workers: int | None,
        has_executor: bool = False,
        limit: int | None = None,
        parents: int | None = None,
    ) -> "Staffing":
        """Look how many workers fit.

        Args:
            score: to be computed.
            workers: how many are wanted; None means one per core.
            has_executor: whether others compute it, on machines that are not known; then only scores are limited.
            limit: bytes for all processes together; None: what the system has to give.
            parents: of one variable, at most.
        """
        if not isinstance(score, SizedScore):
            if limit is not None:
                raise OptionError(
                    f"memory_limit (--memory-limit) cannot be kept by the score {type(score).__name__}, which does not "
                    "say what it needs: give one of this package, or leave out the limit"
                )
            return cls(score, workers)
        planned = min(PLANNED_PARENTS, len(score.variables) - 1 if parents is None else parents)
        if has_executor:
            return cls(score, workers) if limit is None else _on_others(score, workers, limit, planned)
        return _of_the_system(score, workers, planned) if limit is None else _limited(score, workers, limit, planned)


def _limited(score: SizedScore, workers: int | None, limit: int, parents: int) -> Staffing:
    """Keep everything within a limit."""
    held = _rounded_up(resident_bytes())
    free = limit - held
    planned, most = score.most_memory(parents), score.most_memory(len(score.variables))
    fair = max(planned, min(FAIR_SHARE, FAIR_PART * free))
    part = min(most if most <= CLOSE * planned else min(most, fair), MOST_MEMORY)
    count, asked = int(free // (part + WORKER_BYTES)), worker_count(workers)
    if count < 2:  # one works in this process
        count, part = 1, min(part, free)
        _refuse_too_little(score, part, parents, f"the limit of {said_bytes(limit)} (--memory-limit)", held)
    count = min(count, asked)
    words = f"the limit is {said_bytes(limit)} (--memory-limit), this process holds {said_bytes(held)}"
    settings = _said(count, asked, int(part), limit, words)
    return Staffing(_held_to(score, part), count, settings)


def _of_the_system(score: SizedScore, workers: int | None, parents: int) -> Staffing:
    """Start no more workers than the system has memory for."""
    available = _rounded_down(available_bytes())
    need, asked = score.most_memory(parents), worker_count(workers)
    if available is None or asked * (need + WORKER_BYTES) <= USABLE * available:
        return Staffing(score, workers)
    free = int(USABLE * available)
    count = int(free // (need + WORKER_BYTES))
    if count < 1 and need > free:
        _refuse_too_little(score, free, parents, f"the {said_bytes(available)} that the system has left", 0)
    count, part = min(max(count, 1), asked), int(min(need, free))
    held_score = score if need <= free else _held_to(score, part)
    return Staffing(
        held_score, count, _said(count, asked, part, available, f"the system has {said_bytes(available)} left")
    )


def _on_others(score: SizedScore, workers: int | None, limit: int, parents: int) -> Staffing:
    """Hold every score to the limit, wherever it is computed."""
    _refuse_too_little(score, limit, parents, f"the limit of {said_bytes(limit)} (--memory-limit)", 0)
    return Staffing(_held_to(score, limit), workers, {"memory": {"limit": limit, "of": "each score", "score": limit}})


def _held_to(score: SizedScore, part: float) -> LocalScore:
    """Return the score with no more memory than that, or as it is if it never takes more."""
    return score.within(int(part)) if score.most_memory(len(score.variables)) > part else score


def _said(count: int, asked: int, part: int, limit: int, why: str) -> dict[str, Any]:
    """Return what is written down: the workers there are, and why not all."""
    memory: dict[str, Any] = {"limit": limit, "of": "all processes", "score": part}
    if count < asked:
        words = f"{why}, and one score may take {said_bytes(part)}"
        memory["note"] = f"{count} of {counted(asked, 'worker')} used: {words}"
    return {"workers": count, "memory": memory}


def _refuse_too_little(score: SizedScore, part: float, parents: int, limit: str, held: int) -> None:
    """Refuse what cannot be done even by one worker, with what would do."""
    need = score.least_memory(parents)
    if need <= part:
        return
    share = 1.0
    while share > 0.01 and score.least_memory(parents, share) > part:
        share *= FEWER
    rows = getattr(getattr(score, "data", None), "n_rows", 0)
    fewer = f", or draw a sample of at most {int(share * rows):,} rows" if share > 0.01 else ""
    taken = f"the program and the table hold {said_bytes(held)} already, and " if held else ""
    raise ComputationError(
        f"{limit} is too little, because {taken}one score on {rows:,} rows may take {said_bytes(need)}: "
        f"allow {said_bytes(need + held)}{fewer}"
    )


def _rounded_up(held: int) -> int:
    """Return whole steps: the same command must come to the same part of the memory, or it finds no score again."""
    return -(-held // STEP) * STEP


def _rounded_down(available: int | None) -> int | None:
    return None if available is None else available // STEP * STEP


def resident_bytes() -> int:
    """Return what this process holds now, or held at its peak where that is not known."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        try:
            import resource
        except ImportError:  # pragma: no cover - there is none on Windows
            return 0
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


def available_bytes(root: Path = Path("/")) -> int | None:
    """Return what the system, or the container, can still give; None: it does not say.

    Args:
        root: where `proc` and `sys` are.
    """
    said = [_of_the_machine(root), _of_the_group(root)]
    known = [number for number in said if number is not None]
    return min(known) if known else None


def _of_the_machine(root: Path) -> int | None:
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def _of_the_group(root: Path) -> int | None:
    """Return what the control groups of this process leave it, of version 2 or 1, those above it included."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    found: list[int] = []
    for line in lines:
        _, controllers, place = (*line.split(":", 2), "", "")[:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        files = ("memory.limit_in_bytes", "memory.usage_in_bytes") if controllers else ("memory.max", "memory.current")
        top = root / ("sys/fs/cgroup/memory" if controllers else "sys/fs/cgroup")
        here = top / place.strip("/")
        for group in (here, *here.parents):
            if group == top.parent:
                break
            left = _left_in(group, *files)
            found += [] if left is None else [left]
    return min(found) if found else None


def _left_in(group: Path, limit: str, usage: str) -> int | None:
    """Return what a control group leaves; files that are only kept in memory because there is room do not count."""
    try:
        most, used = int((group / limit).read_text()), int((group / usage).read_text())
        stat = dict(line.split(" ", 1) for line in (group / "memory.stat").read_text().splitlines() if " " in line)
    except (OSError, ValueError):  # "max" is no number: no limit
        return None
    kept = int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
    return max(most - max(used - kept, 0), 0)
