"""Experiments by name. A new one is one file in `specs` and one line here."""

from collections.abc import Mapping

from kerncause.errors import OptionError
from kerncause.experiments.base import Experiment
from kerncause.experiments.specs import (
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
    searches,
    searches_networks,
)
from kerncause.text import quoted

EXPERIMENTS: Mapping[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        fig1,
        fig2_3,
        fig4_real,
        fig4_convergence,
        fig4_time,
        consistency,
        bandwidths,
        appendix_discrete,
        appendix_1000,
        appendix_gradient,
        searches,
        searches_networks,
    )
}


def find_experiment(name: str) -> Experiment:
    """Return the experiment of that name."""
    if name not in EXPERIMENTS:
        raise OptionError(f"there is no experiment {quoted(name)}: the choices are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
