"""DiBS (Lorch et al. 2021) as dibs-lib has it: particles from the posterior over graphs and their parameters.

A particle is (Z, theta) with Z = (U, V); in the limit its graph has i -> j where u_i'v_j > 0. Stein variational
gradient descent moves all particles at once, with the kernel

    exp(-|Z - Z'|^2 / gamma_z) + exp(-|theta - theta'|^2 / gamma_theta);

at step t edges have the inverse temperature alpha t, and cycles the penalty beta t.

Each variable is Gaussian around a network of its parents with one hidden layer. The prior over graphs is the library's
scale-free one, the product of (1 + parents of j)^-3 over j, which its example for this model uses.

The function runs in a process of its own and imports the library by its name there.
"""

from importlib import import_module
from typing import Any

from kerncause.baselines.exchange import Answer, Floats, Settings
from kerncause.baselines.pace import Pace

MODULE = "dibs.inference"
# In about so many pieces it is seen how far it is.
PIECES = 20


def dibs(table: Floats, seed: int, settings: Settings, pace: Pace) -> Answer:
    """Return u_i'v_j of every particle where it has the edge i -> j, and log p(G) + log p(theta, D | G)."""
    jax, models = import_module("jax"), import_module("dibs.models")
    x = jax.numpy.asarray(table)
    variables = table.shape[1]
    prior = models.ScaleFreeDAGDistribution(variables)
    sampler = import_module(MODULE).JointDiBS(
        x=x,
        graph_model=prior,
        likelihood_model=models.DenseNonlinearGaussian(
            n_vars=variables, hidden_layers=(settings["hidden"],), obs_noise=settings["noise"]
        ),
        kernel_param={"h_latent": settings["gamma_z"], "h_theta": settings["gamma_theta"]},
        alpha_linear=settings["alpha"],
        beta_linear=settings["beta"],
        n_grad_mc_samples=settings["graph_samples"],
    )
    latents: list[Any] = []
    steps = int(settings["steps"])

    def seen(*, t: int, zs: Any, **_: Any) -> None:
        latents[:] = [jax.block_until_ready(zs)]
        pace.done(t, steps)

    graphs, thetas = sampler.sample(
        key=jax.random.PRNGKey(seed),
        n_particles=settings["particles"],
        steps=steps,
        callback=seen,
        # The library always does this many at once: only a divisor ends where it should.
        callback_every=_piece(steps),
    )
    z = latents[-1]
    edges = jax.numpy.einsum("aik,ajk->aij", z[..., 0], z[..., 1]) * graphs

    def log_joint(graph: Any, theta: Any) -> Any:
        given_graph = sampler.log_joint_prob(graph, theta, x, sampler.interv_mask, None)
        return prior.unnormalized_log_prob_soft(soft_g=graph) + given_graph

    return Answer.of(edges, jax.vmap(log_joint)(graphs, thetas))


def _piece(steps: int) -> int:
    """Return how many steps are done at once: a divisor of about the right size, all of them where there is none."""
    least = max(steps // (4 * PIECES), 1)
    return next((every for every in range(max(steps // PIECES, 1), least - 1, -1) if steps % every == 0), steps)
