"""What every score and every test of a table has in common: the table, the variables' order, the settings."""

from collections.abc import Mapping
from typing import Any

from kerncause.data.dataset import Dataset
from kerncause.errors import OptionError


class OfTable:
    """Something made of a Dataset and of settings.

    Args:
        data: the table.
        options: the settings, as keyword arguments of the class.
    """

    def __init__(self, data: Dataset, **options: Any) -> None:
        if not isinstance(data, Dataset):
            raise OptionError(f"data is a {type(data).__name__}: make a Dataset of it, with Dataset.from_frame")
        self.data = data
        self._options: dict[str, Any] = options

    @property
    def options(self) -> Mapping[str, Any]:
        """The settings, as keyword arguments."""
        return dict(self._options)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables' names, in the order by which a search breaks ties."""
        return self.data.canonical

    @property
    def _table(self) -> Dataset:
        """The table with equal rows counted once where that is much shorter."""
        return self.data.compact
