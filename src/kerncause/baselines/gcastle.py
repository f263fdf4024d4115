"""NOTEARS, NOTEARS-MLP and DAG-GNN as gCastle has them (Zhang et al. 2021), which follows the authors' programs.

All three minimise a loss over weighted graphs W, entry (i, j) the weight of i -> j, subject to h(W) = 0, where h
counts weighted cycles and is zero for a DAG; an augmented Lagrangian, rho/2 h^2 + alpha h, enforces it.

The functions run in a process of their own and import the library by its name there, so that neither the core nor its
type checking needs it. Their result is not thresholded.
"""

from importlib import import_module
from typing import Any

import numpy as np

from kerncause.baselines.exchange import Answer, Floats, Settings
from kerncause.baselines.pace import Pace

MODULE = "castle.algorithms"


def notears(table: Floats, seed: int, settings: Settings, pace: Pace) -> Answer:
    """Minimise 1/(2n) |X - X W|_F^2 + lambda1 |W|_1 subject to h(W) = 0 (Zheng et al. 2018).

    It starts at W = 0 and uses no random numbers: the seed changes nothing.
    """
    learner = import_module(MODULE).Notears(
        lambda1=settings["lambda1"],
        loss_type=settings["loss"],
        max_iter=settings["max_iter"],
        h_tol=settings["h_tol"],
        rho_max=settings["rho_max"],
    )
    learner.learn(table)
    return Answer.of([learner.weight_causal_matrix])


def notears_mlp(table: Floats, seed: int, settings: Settings, pace: Pace) -> Answer:
    """Fit each column by a network with one hidden layer, l1 on its first layer and l2 on all (Zheng et al. 2020).

    W_ij is the norm of the first-layer weights that lead from column i into the network of column j.
    """
    algorithms = import_module(MODULE)
    import_module("torch").manual_seed(seed)
    learner = algorithms.NotearsNonlinear(
        lambda1=settings["lambda1"],
        lambda2=settings["lambda2"],
        max_iter=settings["max_iter"],
        h_tol=settings["h_tol"],
        rho_max=settings["rho_max"],
        hidden_layers=(settings["hidden"], 1),
        model_type="mlp",
    )
    learner.learn(table)
    return Answer.of([learner.weight_causal_matrix])


def dag_gnn(table: Floats, seed: int, settings: Settings, pace: Pace) -> Answer:
    """Maximise the evidence bound of an autoencoder with Z = (I - W') f(X), X = g((I - W')^-1 Z) (Yu et al. 2019)."""
    learner = import_module(MODULE).DAG_GNN(
        encoder_type=settings["encoder"],
        decoder_type=settings["decoder"],
        encoder_hidden=settings["hidden"],
        decoder_hidden=settings["hidden"],
        init_c_a=settings["c"],
        init_lambda_a=settings["lambda_a"],
        tau_a=settings["tau_a"],
        h_tolerance=settings["h_tol"],
        k_max_iter=settings["max_iter"],
        epochs=settings["epochs"],
        batch_size=settings["batch_size"],
        lr=settings["learning_rate"],
        seed=seed,
    )
    latest = _remember_weights(learner)
    # Batches are taken in the order of the rows. In canonical order equal rows stand together, and every batch would
    # see a few of them only.
    learner.learn(np.random.default_rng(seed).permutation(table))
    return Answer.of(latest)


def _remember_weights(learner: Any) -> list[Floats]:
    """Return a list that will hold the weights of the last epoch, of which the learner itself keeps zeros and ones."""
    latest: list[Floats] = []
    train = learner._train

    def remembered(**arguments: Any) -> Any:
        loss, weights = train(**arguments)
        # A copy: the learner overwrites its own with zeros and ones.
        latest[:] = [weights.detach().cpu().numpy().copy()]
        return loss, weights

    learner._train = remembered
    return latest
