"""The figure of an experiment, from the rows it has."""

from pathlib import Path

from kerncause.errors import DataError, OptionError
from kerncause.experiments.base import Scale, frame_of
from kerncause.experiments.draw import looks
from kerncause.experiments.registry import find_experiment
from kerncause.experiments.run import DIRECTORY, rows_of
from kerncause.text import quoted

FORMATS = ("svg", "png")


def plot(
    name: str, scale: Scale = "small", directory: str | Path = DIRECTORY, out: str | Path | None = None
) -> list[Path]:
    """Draw the figure of an experiment; return the files, `NAME.svg` and `NAME.png`, in `out` or beside the rows."""
    experiment = find_experiment(name)
    rows = [row for row in rows_of(experiment, scale, directory) if row.error is None]
    if not rows:
        raise DataError(
            f"there are no results of {name} at scale {scale} in {quoted(directory)}: "
            f"run kerncause experiment run {name} --scale {scale} first"
        )
    folder = Path(out or directory)
    paths = [folder / f"{name}.{kind}" for kind in FORMATS]
    with looks():
        figure = experiment.draw(frame_of(rows))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in paths:
                # Without a date and with fixed ids, so that the same rows give the same file.
                figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
        except OSError as problem:
            raise OptionError(f"cannot write the figure to {quoted(folder)}: {problem.strerror}") from None
    return paths
