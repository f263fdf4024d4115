"""Drawing variables whose values are categories without order."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kerncause.simulate.choice import Choice, Effects
from kerncause.simulate.functions import PLACES, Floats, Function, draw_function, shuffled
from kerncause.simulate.mechanism import MOST_DRAWS, Draw, Mechanism

# Half a standard deviation of Gumbel noise: without parents categories differ, and none is rare.
BASE_SPREAD = 0.5
JITTER = 0.2
# Of all rows, what one category may have.
LARGEST_CATEGORY = 0.9
# With so many rows for each category, every one must occur.
ENOUGH_ROWS = 20


def draw_effects(generator: np.random.Generator, of: Choice) -> Effects:
    """Draw what each category of a parent is worth.

    They are k numbers spaced evenly with mean 0 and variance 1, each moved a little, in random order: none is
    without effect, and their names tell nothing.
    """
    even = np.arange(of.levels) - (of.levels - 1) / 2
    moved = even / even.std() + JITTER * generator.standard_normal(of.levels)
    return Effects(of.name, tuple(round(number, PLACES) for number in moved[shuffled(generator, of.levels)].tolist()))


def draw_choice(
    generator: np.random.Generator,
    blank: Mechanism,
    parents: Sequence[Draw],
    levels: int,
    rows: int,
    most_draws: int = MOST_DRAWS,
) -> Draw:
    """Draw a choice among so many categories that leaves a usable column; after `most_draws` attempts, one by rank."""
    inputs = tuple(parent.values if isinstance(parent.mechanism, Choice) else parent.part for parent in parents)
    for redraws in range(most_draws + 1):
        choice = replace(_attempt(generator, blank, parents, levels), redraws=redraws, ranked=redraws == most_draws)
        noise = choice.noise.draw(generator, (rows, levels))
        codes = choice.codes(inputs, noise)
        if choice.ranked or _is_usable(codes, levels):
            break
    return Draw(choice, noise, codes)


def _attempt(generator: np.random.Generator, blank: Mechanism, parents: Sequence[Draw], levels: int) -> Choice:
    bases = tuple(round(base, PLACES) for base in (BASE_SPREAD * generator.standard_normal(levels)).tolist())
    terms = tuple(tuple(_term(generator, parent) for parent in parents) for _ in range(levels))
    return Choice(blank.name, blank.columns, blank.parents, bases, terms)


def _term(generator: np.random.Generator, parent: Draw) -> Function | Effects:
    if isinstance(parent.mechanism, Choice):
        return draw_effects(generator, parent.mechanism)
    return draw_function(generator)


def _is_usable(codes: Floats, levels: int) -> bool:
    """Tell whether several categories occur, all of them if there are rows enough, and none has nearly all rows."""
    counts = np.unique(codes, return_counts=True)[1]
    needed = levels if len(codes) >= ENOUGH_ROWS * levels else 2
    return len(counts) >= needed and bool(counts.max() <= LARGEST_CATEGORY * len(codes))
