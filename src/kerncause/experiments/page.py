"""The tables of docs/reproduction.md, each between its marks: the claims, and what the experiments cost."""

from collections.abc import Mapping
from pathlib import Path

from kerncause.experiments.claims import answered, as_markdown
from kerncause.experiments.registry import EXPERIMENTS
from kerncause.experiments.standing import costs, standing_of

END = "<!-- end -->"


def tables(directory: str | Path) -> dict[str, str]:
    """Return every table that the results give, by its mark."""
    standings = [standing_of(experiment, directory) for experiment in EXPERIMENTS.values()]
    claims = {f"<!-- claim {claim.number} -->": as_markdown(claim) for claim in answered(directory)}
    return {**claims, "<!-- compute -->": costs(standings)}


def written_into(page: str, found: Mapping[str, str]) -> str:
    """Return a page with each table between its mark and the next `<!-- end -->`."""
    for mark, table in found.items():
        before, there, rest = page.partition(mark)
        if there:
            page = f"{before}{mark}\n\n{table}\n\n{END}{rest.partition(END)[2]}"
    return page
