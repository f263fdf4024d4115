"""Random causal models and tables drawn from them, as in the experiments of Wang et al. (ICML 2024)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from kerncause.graphs import DAG
from kerncause.graphs.adjacency import bits
from kerncause.simulate.categories import draw_choice, draw_effects
from kerncause.simulate.choice import Choice
from kerncause.simulate.functions import Floats, Ints, pick, shuffled
from kerncause.simulate.graph import random_dag
from kerncause.simulate.mechanism import Draw, Mechanism, draw_mechanism
from kerncause.simulate.models import model_of
from kerncause.simulate.settings import Settings
from kerncause.simulate.simulation import Simulation


def simulate(
    kind: str = "continuous",
    variables: int = 8,
    density: float = 0.4,
    rows: int = 200,
    seed: int = 0,
    *,
    ratio: float | None = None,
    levels: int | Sequence[int] | None = None,
    noise: str = "variance",
    max_columns: int | None = None,
    isolated: int = 0,
) -> Simulation:
    """Draw a random graph, a mechanism such as X = g(f(PA) + e) for every node, and a table of independent rows.

    The graph depends on `variables`, `density`, `isolated` and `seed` alone: the same graph can be had with every kind
    of data and any number of rows.

    Args:
        kind: the paper's `continuous`; `mixed`, a part of the variables discretised; `discrete`, all of them;
            `multidimensional`, variables of several columns. Or ours: `nominal`, a part of the variables categories
            without order; `heteroscedastic`, noise whose scale follows from the parents; `heavy-tailed`, t-distributed
            noise; `linear`, with Gaussian noise; `additive`, a function of each parent, added, with Gaussian noise.
        variables: number of nodes p, 2 or more.
        density: the share of the p (p - 1)/2 possible edges that the graph has, from 0 to 1; with isolated variables,
            of those between the others.
        rows: number of rows n, 2 or more.
        seed: a whole number from which everything follows.
        ratio: the share of variables that is discretised, for mixed data, or categories, for nominal data (0.5 unless
            given).
        levels: values run from 1 to this number, for mixed and discrete data (5 unless given; the paper: 5 or 20). Of
            a list each discretised variable draws one. For nominal data the number of categories (3 to 6 unless
            given).
        noise: what 0.5 is in the paper's N(0, 0.5): its `variance`, or its standard `deviation`.
        max_columns: variables have 1 to so many columns, for multidimensional data (5 unless given).
        isolated: so many of the variables have no edge at all.
    """
    settings = Settings(kind, variables, density, rows, seed, ratio, levels, noise, max_columns, isolated)
    generator = np.random.default_rng(settings.seed)
    dag, order = random_dag(generator, settings.variables, settings.density, settings.isolated)
    draws = _draws(generator, dag, order, settings)
    table = {column: values for draw in draws.values() for column, values in draw.table.items()}
    return Simulation(
        frame=pd.DataFrame(table),
        dag=dag,
        mechanisms={name: draw.mechanism for name, draw in draws.items()},
        settings=settings,
        noise={name: _frozen(draw.noise) for name, draw in draws.items()},
        latent={name: _frozen(draw.values) for name, draw in draws.items()},
    )


def _draws(generator: np.random.Generator, dag: DAG, order: Ints, settings: Settings) -> dict[str, Draw]:
    """Draw mechanism, noise and values of every variable, causes first; return them in the order of the nodes."""
    blanks = [_blank(generator, dag, i, settings.widest) for i in range(settings.variables)]
    levels = _levels(generator, settings)
    draws: dict[str, Draw] = {}
    for i in order:
        parents = [draws[name] for name in blanks[i].parents]
        draws[dag.nodes[i]] = _drawn(generator, blanks[i], parents, levels.get(i), settings)
    return {name: draws[name] for name in dag.nodes}


def _drawn(
    generator: np.random.Generator, blank: Mechanism, parents: Sequence[Draw], levels: int | None, settings: Settings
) -> Draw:
    """Draw one variable, given those of its parents."""
    if settings.kind == "nominal" and levels is not None:
        return draw_choice(generator, blank, parents, levels, settings.rows)
    blank = replace(
        blank, effects=tuple(draw_effects(generator, d.mechanism) for d in parents if isinstance(d.mechanism, Choice))
    )
    effects = iter(blank.effects)
    # Children follow from the values before discretising: the paper discretises a finished continuous table.
    columns = [next(effects)(d.values) if isinstance(d.mechanism, Choice) else d.part for d in parents]
    inputs = np.column_stack(columns) if columns else np.zeros((settings.rows, 0))
    return draw_mechanism(generator, blank, inputs, levels=levels, model=model_of(settings.kind, settings.noise))


def _blank(generator: np.random.Generator, dag: DAG, node: int, widest: int) -> Mechanism:
    """Return a mechanism with nothing drawn but the number of columns."""
    name = dag.nodes[node]
    width = pick(generator, range(1, widest + 1))
    columns = (name,) if width == 1 else tuple(f"{name}_{k}" for k in range(1, width + 1))
    return Mechanism(name, columns, tuple(dag.nodes[i] for i in bits(dag.adjacency.parents(node))))


def _levels(generator: np.random.Generator, settings: Settings) -> dict[int, int]:
    """Return the number of bins of every node that is to be discretised."""
    chosen = shuffled(generator, settings.variables)[: settings.discretised].tolist()
    return {i: pick(generator, settings.level_choices) for i in sorted(chosen)}


def _frozen(array: Floats) -> Floats:
    array.setflags(write=False)
    return array
