"""The figure of an experiment, from the rows it has."""

from pathlib import Path

from kerncause.errors import OptionError
from kerncause.experiments.base import Scale
from kerncause.experiments.draw import looks
from kerncause.experiments.registry import find_experiment
from kerncause.experiments.run import DIRECTORY, results_of
from kerncause.text import quoted

FORMATS = ("svg", "png")


def plot(
    name: str, scale: Scale = "small", directory: str | Path = DIRECTORY, out: str | Path | None = None
) -> list[Path]:
    """Draw the figure of an experiment; return the files, `NAME.svg` and `NAME.png`, in `out` or beside the rows."""
    experiment = find_experiment(name)
    frame = results_of(name, scale, directory)
    folder = Path(out or directory)
    paths = [folder / f"{name}.{kind}" for kind in FORMATS]
    with looks():
        figure = experiment.draw(frame)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in paths:
                # Without a date and with fixed ids, so that the same rows give the same file.
                figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
        except OSError as problem:
            raise OptionError(f"cannot write the figure to {quoted(folder)}: {problem.strerror}") from None
    return paths
