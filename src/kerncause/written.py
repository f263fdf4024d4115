"""Files that are there as a whole or not at all."""

import shutil
import tempfile
from pathlib import Path

from kerncause.errors import KerncauseError, OptionError
from kerncause.text import printable


def replaced(path: str | Path, content: bytes) -> Path:
    """Put a file in its place in one step: written beside it, on the same disk, and then renamed; return its path."""
    path = Path(path)
    scratch: Path | None = None
    try:
        # Through a link to the file it leads to; a ring of links is a RuntimeError before Python 3.13.
        place = path.resolve()
        if place.is_dir():
            raise OptionError(f"{shown_path(path)} is a directory: give the name of a file")
        if place.exists() and not place.is_file():
            raise OptionError(f"{shown_path(path)} is no ordinary file: give another name")
        scratch = Path(tempfile.mkdtemp(prefix=".kerncause-", dir=place.parent))
        (scratch / place.name).write_bytes(content)
        (scratch / place.name).replace(place)
    except (OSError, RuntimeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise KerncauseError(f"cannot write {shown_path(path)}: {reason}; choose another place") from problem
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
    return path


def shown_path(path: Path) -> str:
    """Return a path for a sentence; what matters most is at its end, so it is hardly ever cut."""
    return f"'{printable(path, 500)}'"
