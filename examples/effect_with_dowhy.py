"""From a table to the size of an effect: the graph by kerncause, the effect by DoWhy.

Age lowers exercise and raises blood pressure, so that people who exercise have a lower pressure than exercise alone
accounts for. The graph says that age must be adjusted for, and DoWhy does so.

    pip install 'kerncause[effects]'
    python examples/effect_with_dowhy.py
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from dowhy import CausalModel

import kerncause
from kerncause.graphs import write_graph

TRUTH = -3.0  # one hour of exercise a week more, in mmHg


def people(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Draw a table from a model in which the effect is known."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, rows)
    salt = rng.normal(9, 2, rows)
    exercise = 8 - 0.08 * age + rng.normal(0, 1, rows)
    pressure = 95 + 0.5 * age + 1.5 * salt + TRUTH * exercise + rng.normal(0, 4, rows)
    return pd.DataFrame({"age": age, "salt": salt, "exercise": exercise, "pressure": pressure})


def learned(table: pd.DataFrame) -> kerncause.Result:
    """Learn the graph; nobody's age or salt was caused by what was measured later."""
    known = kerncause.Knowledge(tiers=[["age", "salt"], ["exercise"], ["pressure"]])
    return kerncause.discover(table, knowledge=known)


def effect(table: pd.DataFrame, graph: kerncause.DAG, cause: str, outcome: str) -> float:
    """Let DoWhy identify the effect in the graph and estimate it by a linear regression."""
    with tempfile.TemporaryDirectory() as place:
        path = write_graph(graph, Path(place) / "graph.gml")
        model = CausalModel(data=table, treatment=cause, outcome=outcome, graph=str(path))
    estimand = model.identify_effect()
    return float(model.estimate_effect(estimand, method_name="backdoor.linear_regression").value)


def main() -> None:
    """Print the graph, and the effect beside the truth."""
    table = people()
    result = learned(table)
    print(result)
    slope = np.polyfit(table["exercise"], table["pressure"], 1)[0]
    print(f"\nWhat an hour of exercise does to the pressure: {TRUTH:.2f}")
    print(f"without a graph, by the slope alone:           {slope:.2f}")
    print(f"with the graph, by DoWhy:                      {effect(table, result.dag, 'exercise', 'pressure'):.2f}")


if __name__ == "__main__":
    main()
