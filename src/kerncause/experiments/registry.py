"""Experiments by name. A new one is one file in `specs` and one line here."""

from collections.abc import Mapping

from kerncause.errors import OptionError
from kerncause.experiments.base import Experiment
from kerncause.experiments.specs import (
    accuracy,
    appendix_1000,
    appendix_discrete,
    appendix_gradient,
    bandwidths,
    consistency,
    fig1,
    fig2_3,
    fig4_convergence,
    fig4_real,
    fig4_time,
    more_variables,
    searches,
    searches_adaptive,
    searches_networks,
    single_changes,
)
from kerncause.text import quoted

EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        fig1.EXPERIMENT,
        fig2_3.EXPERIMENT,
        fig4_real.EXPERIMENT,
        fig4_convergence.EXPERIMENT,
        fig4_time.EXPERIMENT,
        consistency.EXPERIMENT,
        bandwidths.EXPERIMENT,
        appendix_discrete.EXPERIMENT,
        appendix_1000.EXPERIMENT,
        appendix_gradient.EXPERIMENT,
        searches.EXPERIMENT,
        searches_adaptive.EXPERIMENT,
        searches_networks.EXPERIMENT,
        single_changes.EXPERIMENT,
        more_variables.EXPERIMENT,
        accuracy.DEVELOPMENT,
        accuracy.TEST,
    )
}


def find_experiment(name: str) -> Experiment:
    """Return the experiment of that name."""
    if name not in EXPERIMENTS:
        raise OptionError(f"there is no experiment {quoted(name)}: the choices are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
