"""How a table is to be read."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from kerncause.errors import OptionError
from kerncause.text import quoted

Missing = Literal["error", "drop", "testwise"]


@dataclass(frozen=True)
class Origin:
    """The file that a table was read from, as it was named, and how."""

    path: str
    separator: str | None = None
    decimal: str = "."


@dataclass(frozen=True)
class TableOptions:
    """How a table is to be read; every field has the meaning of the argument of `Dataset.from_frame`."""

    kinds: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: Missing = "error"
    na_values: Collection[object] | Mapping[str, Collection[object]] = ()
    drop: Collection[str] = ()

    def __post_init__(self) -> None:
        if self.missing not in get_args(Missing):
            raise OptionError(
                f"missing (--missing) cannot be {quoted(self.missing)}: the choices are {', '.join(get_args(Missing))}"
            )
        marks = self.na_values if isinstance(self.na_values, Mapping) else {"": self.na_values}
        for option, lists in {"groups": self.groups, "levels": self.levels, "na_values": marks}.items():
            for name, values in lists.items():
                if isinstance(values, str):
                    where = f" for {quoted(name)}" if name else ""
                    raise OptionError(f"{option} has the text {quoted(values)}{where}: give a list, [{values!r}]")
        if isinstance(self.drop, str):
            raise OptionError(f"drop is the text {quoted(self.drop)}: give a list, [{self.drop!r}]")
        for field_name in ("kinds", "groups", "levels"):
            object.__setattr__(self, field_name, {str(k): v for k, v in getattr(self, field_name).items()})
        object.__setattr__(self, "groups", {k: [str(v) for v in vs] for k, vs in self.groups.items()})
        object.__setattr__(self, "drop", [str(name) for name in self.drop])

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "TableOptions":
        """Return the options that `as_json` wrote."""
        return cls(**written)

    def na_values_of(self, column: str) -> frozenset[str]:
        """Return the texts that mean a missing value in one column."""
        if isinstance(self.na_values, Mapping):
            return frozenset(map(str, self.na_values.get(column, ())))
        return frozenset(map(str, self.na_values))

    def as_json(self) -> dict[str, Any]:
        """Return the options as they are written down with a result."""
        marks: Any = self.na_values
        marks = (
            {k: sorted(map(str, v)) for k, v in marks.items()}
            if isinstance(marks, Mapping)
            else sorted(map(str, marks))
        )
        return {
            "kinds": {k: str(v) for k, v in self.kinds.items()},
            "groups": {k: list(v) for k, v in self.groups.items()},
            "levels": {k: [str(level) for level in v] for k, v in self.levels.items()},
            "missing": self.missing,
            "na_values": marks,
            "drop": list(self.drop),
        }

    def columns_named(self) -> dict[str, Iterable[str]]:
        """Return every column an option speaks of, by option, so that a misspelt one can be refused."""
        per_column = self.na_values if isinstance(self.na_values, Mapping) else ()
        members = [column for columns in self.groups.values() for column in columns]
        return {
            "drop (--drop)": self.drop,
            "kinds (--kind)": self.kinds,
            "levels (--levels)": self.levels,
            "groups (--group)": members,
            "na_values (--na)": per_column,
        }
