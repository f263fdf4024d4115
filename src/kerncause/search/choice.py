"""Choosing the best of several moves when scores may be provisional, one batch of scores at a time.

A choice is a generator: it yields what it needs to have computed and goes on when that is there, so that many choices
can be made side by side with all their scores in one batch (`together`). Provisional values decide nothing that they
could decide wrongly: those are settled on which the choice depends, of the best move and of every other that comes
close to it, or to gaining.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kerncause.scores import Comparison, Ledger

# Nats: gains this close are equal, and a gain no larger is none. Far below what decides an edge, far above
# the rounding of a sum of scores. What adds or turns an edge must gain more than the score's resolution as well.
TIE = 1e-7

Move = TypeVar("Move")
Made = TypeVar("Made")
# What a move changes, in each way of reading it; the least gain of all readings is the gain of the move.
Readings = Sequence[Sequence[Comparison]]
# Takes the gain of every move, gives the one to make, or None.
Pick = Callable[[Mapping[Move, float]], Move | None]


@dataclass(frozen=True)
class Need:
    """Comparisons that must be computed before a choice can go on."""

    comparisons: Sequence[Comparison]
    settled: bool = False


Asking = Generator[Need, None, Made]


def choosing(ledger: Ledger, moves: Mapping[Move, Readings], pick: Pick[Move]) -> Asking[tuple[Move, float] | None]:
    """Return the move that `pick` takes once every gain it depends on is settled, and its gain."""
    yield Need([c for readings in moves.values() for reading in readings for c in reading])
    while True:
        gains = {move: min(sum(map(ledger.gain, reading)) for reading in readings) for move, readings in moves.items()}
        best = pick(gains)
        doubts = {move: max(sum(map(ledger.doubt, r)) for r in readings) for move, readings in moves.items()}
        close = 0.0 if best is None else gains[best] - doubts[best]
        contenders = [move for move, gain in gains.items() if gain + doubts[move] >= close]
        decisive = [c for move in contenders for reading in moves[move] for c in reading]
        if all(map(ledger.is_settled, decisive)):
            return None if best is None else (best, gains[best])
        yield Need(decisive, settled=True)


def together(ledger: Ledger, askings: Sequence[Asking[Made]]) -> list[Made]:
    """Run several side by side, with one batch for all that they need next; return what each gives."""
    made: dict[int, Made] = {}
    going = dict(enumerate(askings))
    while going:
        needs: list[Need] = []
        for k, asking in list(going.items()):
            try:
                needs.append(next(asking))
            except StopIteration as end:
                made[k] = end.value
                del going[k]
        for settled in (False, True):
            ledger.prepare((c for need in needs if need.settled is settled for c in need.comparisons), settled=settled)
    return [made[k] for k in range(len(askings))]
