"""Settings of score and search under one name, and which are taken if nobody asks for any.

Presets are what `--preset` gives. `RECOMMENDED` says, for the size and the kinds of a table, what `discover` without
any name of a score, a search or a preset takes; what is there was measured (docs/accuracy.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kerncause.data import Dataset, Kind, Variable

# What variables can be, as far as it decides what is recommended.
NUMBERS, DISCRETE, VECTORS = "numbers", "discrete ones", "vectors"


@dataclass(frozen=True)
class Extent:
    """What of a table decides what is recommended for it.

    Attributes:
        variables: how many there are.
        rows: how many there are.
        kinds: which of `NUMBERS`, `DISCRETE` (ordinal and categorical) and `VECTORS` there are.
    """

    variables: int
    rows: int
    kinds: frozenset[str] = frozenset({NUMBERS})

    @classmethod
    def of(cls, table: Dataset) -> "Extent":
        """Measure a table."""
        return cls(len(table.variables), table.n_rows, frozenset(map(_kind, table.variables)))

    def __str__(self) -> str:
        discrete = "discrete " if self.kinds == {DISCRETE} else ""
        some = [kind for kind in (DISCRETE, VECTORS) if kind in self.kinds and self.kinds != {kind}]
        among = f", {' and '.join(some)} among them," if some else ""
        return f"{self.variables:,} {discrete}variables{among} and {self.rows:,} rows"


def _kind(variable: Variable) -> str:
    if variable.level_codes is not None:
        return DISCRETE
    return VECTORS if variable.kind is Kind.VECTOR else NUMBERS


@dataclass(frozen=True)
class Size:
    """Which search suits up to so many variables (None: any number), with its options, and why."""

    most: int | None
    search: str
    options: Mapping[str, Any]
    why: str


@dataclass(frozen=True)
class OfKind:
    """Which options of the score a table takes instead if it has variables of one kind."""

    kind: str
    score: Mapping[str, Any]


@dataclass(frozen=True)
class Preset:
    """Options of score and search under one name.

    Attributes:
        score: options of the score.
        search: options of the search.
        search_name: the only search that will do, if there is one.
        score_name: the only score that will do, if there is one.
        sizes: which search to take if none is asked for, the fewest variables first.
        of_kinds: options of the score for tables with variables of some kind, the first that the table has.
    """

    score: Mapping[str, Any]
    search: Mapping[str, Any]
    search_name: str | None = None
    score_name: str | None = None
    sizes: tuple[Size, ...] = ()
    of_kinds: tuple[OfKind, ...] = ()

    def score_for(self, table: Extent) -> Mapping[str, Any]:
        """Return the options of the score for a table."""
        instead = next((row.score for row in self.of_kinds if row.kind in table.kinds), {})
        return {**self.score, **instead}

    def size_for(self, variables: int) -> Size:
        """Return which search suits so many variables."""
        return next(size for size in self.sizes if size.most is None or variables <= size.most)

    def every_score(self) -> list[Mapping[str, Any]]:
        """Return the options of the score for all tables that there may be."""
        return [self.score, *({**self.score, **row.score} for row in self.of_kinds)]


@dataclass(frozen=True)
class Recommendation:
    """What is taken for a table of up to so many variables and rows (None: any number) if nothing is asked for.

    Attributes:
        variables: the most it suits.
        rows: the most it suits.
        preset: its name; None: the default score and search.
        why: what a user is told.
        kinds: those that it suits; None: all.
    """

    variables: int | None
    rows: int | None
    preset: str | None
    why: str
    kinds: frozenset[str] | None = None

    def suits(self, table: Extent) -> bool:
        """Tell whether a table is small enough, and has no variables of other kinds."""
        limits = ((table.variables, self.variables), (table.rows, self.rows))
        is_small = all(most is None or number <= most for number, most in limits)
        return is_small and (self.kinds is None or table.kinds <= self.kinds)


PRESETS: Mapping[str, Preset] = {
    # The setting of Wang et al. (ICML 2024): one bandwidth for all parents, one start from the heuristic,
    # GES as published, with its two phases and no limit on parents.
    "paper": Preset(
        score={"bandwidths": "shared", "starts": 1},
        search={"turning": False, "careful": False, "max_parents": None, "candidates": "all"},
        search_name="ges",
    ),
    # What did best on simulated tables of every kind (docs/accuracy.md). Causes may show only together, so that greedy
    # steps miss them; what can be afforded instead depends on the number of variables.
    "adaptive": Preset(
        score={
            "kernel": "auto",
            "evidence": "bic",
            "response_scaling": "levels",
            "categories": "delta",
            "discrete": "probability",
            "noise_floor": "entropy",
            "noise": "local",
            "vectors": "in-turn",
            # A tenth of what one parameter costs at a few hundred rows, and a quarter faster than 0.01.
            "tolerance": 0.3,
        },
        search={},
        score_name="learned",
        sizes=(
            Size(8, "exact", {}, "every parent set can be looked at"),
            Size(12, "boss", {"lookahead": 2}, "every parent set would be too many, pairs of causes are not"),
            Size(None, "ges", {}, "pairs of causes would be too many"),
        ),
        of_kinds=(
            # Discrete variables have no noise of their own for every place, so numbers beside them have none either;
            # and noise that is uneven by chance adds up over the columns of a vector.
            OfKind(DISCRETE, {"noise": "even"}),
            OfKind(VECTORS, {"noise": "even"}),
        ),
    ),
}

RIGHT_MOST_OFTEN = "it was right most often on simulated tables of such kinds"
NOT_MEASURED = "--preset adaptive is right more often on smaller tables, takes longer, and was not measured on such"
# The first that suits a table is taken; the last suits every table. What was measured are 8 variables with 100 to 1,000
# rows (with vectors, 100 to 500), and samples of two networks of 11 and 20 discrete variables with 200 to 2,000; gains
# did not shrink with rows.
RECOMMENDED: tuple[Recommendation, ...] = (
    Recommendation(20, 2000, "adaptive", RIGHT_MOST_OFTEN, frozenset({DISCRETE})),
    Recommendation(8, 2000, "adaptive", RIGHT_MOST_OFTEN, frozenset({NUMBERS, DISCRETE})),
    Recommendation(8, 500, "adaptive", RIGHT_MOST_OFTEN, frozenset({NUMBERS, VECTORS})),
    Recommendation(None, None, None, NOT_MEASURED),
)


def recommended(table: Extent) -> Recommendation:
    """Return what is taken for a table if nothing is asked for."""
    return next(row for row in RECOMMENDED if row.suits(table))
