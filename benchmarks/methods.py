"""Every method on one table of every kind, and every score on an independent parent: writes METHODS.md.

`python -m benchmarks.methods [WORD ...]` runs those whose name contains a word. One table each says how the methods are
run and what they cost, not which is better: that takes many tables.
"""

import datetime
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness import machine
from kerncause import DAG, Dataset, DataWarning, discover, make_score, networks
from kerncause.baselines import BASELINES
from kerncause.errors import ComputationError, DataError
from kerncause.independence import TESTS
from kerncause.metrics import compare
from kerncause.scores import SCORES
from kerncause.simulate import KINDS, simulate

PAGE = Path(__file__).with_name("METHODS.md")
SEED = 9201
SINE_SEEDS = range(9300, 9320)
# Seconds; methods of others are stopped after this long.
TIMEOUT = 1200.0
Local = Callable[[Sequence[str]], float]
METHODS: Mapping[str, Mapping[str, Any]] = {
    **{f"`--score {name}`": {"score": name} for name in SCORES},
    **{f"`--search pc --test {name}`": {"search": "pc", "test": name} for name in TESTS},
    **{f"`--method {name}`": {"method": name, "timeout": TIMEOUT} for name in BASELINES if name != "dibs"},
    # Its default of 128 graphs for each gradient takes an hour for SACHS; the paper does not say how many it drew.
    "`--method dibs --set graph_samples=16`": {
        "method": "dibs",
        "method_options": {"graph_samples": 16},
        "timeout": TIMEOUT,
    },
}


def tables() -> dict[str, tuple[Dataset, DAG]]:
    """Return the tables with their true graphs, by what they are called in the page."""
    sachs = networks.load("sachs")
    found = {"SACHS, n=500": (Dataset.from_frame(sachs.sample(500, seed=SEED)), sachs.dag)}
    for kind in KINDS:
        drawn = simulate(kind, variables=8, density=0.4, rows=200, seed=SEED)
        found[f"{kind}, n=200"] = drawn.dataset, drawn.dag
    return found


def measured(data: Dataset, truth: DAG, options: Mapping[str, Any]) -> str:
    """Return F1 of the skeleton, SHD and seconds of one method on one table, on one core."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            result = discover(data, workers=1, **options)
    except DataError:
        return "—"
    except ComputationError as stopped:
        if "timeout" not in str(stopped):
            raise
        return f"stopped after {TIMEOUT:.0f}"
    found = compare(truth, result.graph)
    return f"{found.skeleton.f1:.2f} / {found.shd} / {result.seconds:.1f}"


def sine(seed: int) -> pd.DataFrame:
    """Draw y = sin(2x) + noise and an independent z, 100 rows."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, 100))
    return pd.DataFrame({"x": x, "y": np.sin(2 * x) + 0.3 * rng.normal(size=100), "z": z})


def local_of(name: str, frame: pd.DataFrame) -> Local:
    """Return the score of y as a function of its parents; `causal-learn ...` is that library's."""
    if not name.startswith("causal-learn"):
        score = make_score(name, Dataset.from_frame(frame))
        return lambda parents: score.local_score("y", parents)
    from causallearn.score.LocalScoreFunction import local_score_cv_general, local_score_marginal_general

    theirs, options = {
        "causal-learn cv": (local_score_cv_general, {"kfold": 10, "lambda": 0.01}),
        "causal-learn marginal": (local_score_marginal_general, {}),
    }[name]
    columns, values = list(frame.columns), frame.to_numpy()
    return lambda parents: float(theirs(values, 1, [columns.index(p) for p in parents], options))


def independent_parents(names: Sequence[str]) -> list[list[str]]:
    """Count, over 20 tables, how often a score prefers the true parent, and how often it adds an independent one."""
    lines = []
    for name in names:
        preferred = added = alone = 0
        for seed in SINE_SEEDS:
            local = local_of(name, sine(seed))
            preferred += local(["x"]) > max(local(["z"]), local([]))
            added += local(["x", "z"]) > local(["x"])
            alone += local(["z"]) > local([])
        lines.append([name, *(f"{count} of {len(SINE_SEEDS)}" for count in (preferred, added, alone))])
        print("{:<40} prefers x {}, adds z to x {}, to nothing {}".format(*lines[-1]), flush=True)
    return lines


def page(rows: pd.DataFrame, sines: list[list[str]]) -> str:
    """Return the page for what was measured."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    methods = [[name, *row] for name, row in zip(rows.index, rows.to_numpy(), strict=True)]
    return "\n".join(
        [
            "# Every method on one table of every kind",
            "",
            f"Written by `make methods` on {today}. {machine()}. One core.",
            "",
            "Skeleton F1 / SHD of the classes / seconds; — where the method cannot take such a table.",
            "",
            *_grid(["method", *rows.columns], methods),
            "",
            "y = sin(2x) + noise, z independent, n=100: how often a score prefers x to z and to nothing as the parent",
            "of y, and how often it adds z to x, or to nothing. causal-learn's own scores, beside ours, gain by an",
            "independent parent every time.",
            "",
            *_grid(["score", "prefers x", "adds z to x", "adds z to nothing"], sines),
            "",
        ]
    )


def _grid(head: list[str], lines: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines)]


def main(wanted: list[str]) -> None:
    """Run the methods whose name contains one of the words given, or all, and write the page if all were run."""
    names = [name for name in METHODS if not wanted or any(word in name for word in wanted)]
    scores = [*(name for name in SCORES if name != "bdeu"), "causal-learn cv", "causal-learn marginal"]
    sines = independent_parents([name for name in scores if not wanted or name in wanted])
    rows: dict[str, dict[str, str]] = {}
    for name in names:
        rows[name] = {}
        for title, (data, truth) in tables().items():
            rows[name][title] = measured(data, truth, METHODS[name])
            print(f"{name:<40} {title:<26} {rows[name][title]}", flush=True)
        if not wanted:
            PAGE.write_text(page(pd.DataFrame(rows).T, sines))


if __name__ == "__main__":
    main(sys.argv[1:])
