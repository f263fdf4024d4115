"""Variables: what a Dataset's names stand for."""

from dataclasses import dataclass
from enum import StrEnum

from kerncause.errors import OptionError
from kerncause.text import quoted


class Kind(StrEnum):
    """How the values of a variable are to be read."""

    CONTINUOUS = "continuous"
    ORDINAL = "ordinal"
    CATEGORICAL = "categorical"
    VECTOR = "vector"

    @classmethod
    def parse(cls, column: str, word: str) -> "Kind":
        """Return the kind a user gave for one column; `vector` is not given but follows from a group."""
        choices = [kind.value for kind in cls if kind is not cls.VECTOR]
        if str(word) not in choices:
            raise OptionError(
                f"column {quoted(column)} cannot be of kind {quoted(word)}: the kinds are {', '.join(choices)}"
                " (a vector is made with a group of columns)"
            )
        return cls(str(word))


@dataclass(frozen=True)
class Variable:
    """One node of the graph: a column, or a group of columns taken together.

    Attributes:
        name: the node's name.
        kind: how its values are read.
        columns: the table's columns it is made of (several for a vector).
        levels: the values of an ordinal or categorical variable, in the order of their codes.
        reason: how the kind was decided, in words for the user.
        missing: number of the table's rows in which it has no value.
        level_codes: the numbers that stand for the levels.
    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    levels: tuple[str, ...] | None
    reason: str
    missing: int
    level_codes: tuple[float, ...] | None = None

    def level(self, code: float) -> str:
        """Return the level that a number stands for, or the number."""
        if self.levels is None or self.level_codes is None:
            return f"{code:.6g}"
        return self.levels[self.level_codes.index(code)]
