"""The tables of docs/reproduction.md and docs/accuracy.md, each between its marks."""

from collections.abc import Mapping
from pathlib import Path

from kerncause.errors import DataError
from kerncause.experiments.claims import answered, as_markdown
from kerncause.experiments.comparison import compared, comparison_table
from kerncause.experiments.registry import EXPERIMENTS
from kerncause.experiments.run import results_of
from kerncause.experiments.specs import accuracy, more_variables, single_changes
from kerncause.experiments.standing import costs, standing_of
from kerncause.experiments.targets import as_table, targets

END = "<!-- end -->"
# What is shown of the variants, on the tables that all of them have been tried on, and what they are compared with.
ACCURACY = {
    "accuracy-development": accuracy.REFERENCE,
    "accuracy-test": accuracy.REFERENCE,
    "single-changes": single_changes.REFERENCE,
    "more-variables": more_variables.REFERENCE,
}
FIGURES = ("skeleton_f1", "shd_normalised", "best_dag_arrows_f1")


def tables(directory: str | Path) -> dict[str, str]:
    """Return every table that the results give, by its mark."""
    standings = [standing_of(experiment, directory) for experiment in EXPERIMENTS.values()]
    claims = {f"<!-- claim {claim.number} -->": as_markdown(claim) for claim in answered(directory)}
    return {
        **claims,
        "<!-- compute -->": costs(standings),
        "<!-- targets -->": _targets(directory),
        **_comparisons(directory),
    }


def _targets(directory: str | Path) -> str:
    try:
        return as_table(targets(directory))
    except DataError:
        return "There are no results of accuracy-test yet."


def _comparisons(directory: str | Path) -> dict[str, str]:
    """Return the variants beside each other, a table for each figure; a sentence where there are no results."""
    found = {}
    for name, against in ACCURACY.items():
        for figure in FIGURES:
            try:
                table = comparison_table(compared(results_of(name, "full", directory), figure, against), against)
            except DataError:
                table = f"There are no results of {name} yet."
            found[f"<!-- {name} {figure} -->"] = table
    return found


def written_into(page: str, found: Mapping[str, str]) -> str:
    """Return a page with each table between its mark and the next `<!-- end -->`."""
    for mark, table in found.items():
        before, there, rest = page.partition(mark)
        if there:
            page = f"{before}{mark}\n\n{table}\n\n{END}{rest.partition(END)[2]}"
    return page
