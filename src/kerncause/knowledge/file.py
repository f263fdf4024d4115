"""Knowledge from a small TOML file.

Such as `tiers = [["age", "sex"], ["smoking"], ["cancer"]]` and `required = [["smoking", "cancer"]]`, a line each.
"""

import tomllib
from pathlib import Path

from kerncause.errors import OptionError
from kerncause.knowledge.knowledge import Knowledge
from kerncause.text import quoted


def read_knowledge(path: str | Path) -> Knowledge:
    """Read a TOML file with any of `tiers`, `required`, `forbidden`, `roots`, `leaves`."""
    path = Path(path)
    try:
        parts = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is no text in UTF-8"
        raise OptionError(f"cannot read the knowledge file {quoted(path)}: {why}; check the path") from None
    except tomllib.TOMLDecodeError as problem:
        raise OptionError(f"the knowledge file {quoted(path)} is not TOML: {problem}; see docs/knowledge.md") from None
    try:
        return Knowledge.of(parts)
    except OptionError as problem:
        raise OptionError(f"{quoted(path)}: {problem}") from None
