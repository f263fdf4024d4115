"""What a score is: a number for each variable with a set of parents; higher is better.

A search needs no more than `LocalScore`. What a score knows beyond the number it puts into a `LocalFit`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from kerncause.data import EARLIER


@runtime_checkable
class LocalScore(Protocol):
    """A decomposable score: the score of a graph is the sum over its nodes."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables' names, in the order by which a search breaks ties."""
        ...

    def local_score(self, target: str, parents: Collection[str]) -> float:
        """Return the score of one variable with a set of parents."""
        ...


@runtime_checkable
class FittedScore(LocalScore, Protocol):
    """A score that can show how it came to its number."""

    def fit(self, target: str, parents: Collection[str]) -> "LocalFit":
        """Return the score of one variable with a set of parents, and the model behind it."""
        ...


@runtime_checkable
class StagedScore(LocalScore, Protocol):
    """A score that begins a fit from that of a smaller parent set of the same target.

    Which one follows from the data alone, never from what happened to be computed before: so the order in
    which a search visits parent sets cannot change a score.
    """

    def precursor(self, target: str, parents: Collection[str], lookup: "Lookup") -> "LocalFit | list[frozenset[str]]":
        """Return the fit to begin from, or the parent sets that must be fitted first (none: begin afresh)."""
        ...

    def fit(
        self, target: str, parents: Collection[str], begin: "LocalFit | None" = None, *, settle: bool = True
    ) -> "LocalFit":
        """Fit, beginning from a precursor; without one, compute what it takes.

        With `settle=False` the value may be left provisional.
        """
        ...

    def settled(self, target: str, parents: Collection[str], fit: "LocalFit") -> "LocalFit":
        """Return a provisional fit with its final value."""
        ...


@runtime_checkable
class RowwiseScore(LocalScore, Protocol):
    """A score on a table with gaps: two parent sets can be compared only on rows complete for both."""

    @property
    def incomplete(self) -> frozenset[str]:
        """The variables that lack a value in some row."""
        ...

    def restricted_to(self, variables: Collection[str]) -> LocalScore:
        """Return the score on the rows where all of `variables` have a value."""
        ...


@runtime_checkable
class PreparedScore(LocalScore, Protocol):
    """A score that can compute beforehand what every worker would need."""

    def prepare(self) -> None:
        """Compute it, before the score is handed out."""
        ...


@runtime_checkable
class SizedScore(LocalScore, Protocol):
    """A score that says what memory it takes, and can make do with less."""

    def most_memory(self, parents: int) -> float:
        """Return the bytes that one of its scores takes at its worst, with at most so many parents."""
        ...

    def least_memory(self, parents: int, share: float = 1.0) -> float:
        """Return the bytes with which all can still be computed, on a share of the rows."""
        ...

    def within(self, memory: int) -> LocalScore:
        """Return the same score with no more memory than that for one."""
        ...


@dataclass(frozen=True)
class LocalFit:
    """A local score and the model behind it.

    Attributes:
        value: the local score. For kernel scores S/n: nats per output column, or the logarithm of a probability. It
            ranks parent sets of one variable; S/n is a composite likelihood, so its differences are not log Bayes
            factors.
        bandwidths: learned bandwidth of each parent, on standardised columns.
        response_bandwidth: bandwidth of the response kernel.
        amplitude: the learned standard deviation of the regression, where that is not 1; `noise` is in units of it.
        noise: s_e, the standard deviation of the noise (not its square).
        engine: the engine that computed it.
        rank: how many rows the parents' kernel was projected on during the ascent; None: it was not.
        evaluations: how often the likelihood was evaluated on all rows.
        converged: whether the optimiser said so for the best start.
        error_bound: how far `value` may lie from the exact one at these parameters (0: exact).
        certified: whether `error_bound` is within the tolerance asked for.
        starts_disagree: whether the starts that were followed ended more than 0.01 apart on the rows where they were.
        at_bounds: the parameters that ended at a bound (`response`, `noise`, or a parent's name).
        rows: number of rows the score was computed on.
        is_settled: whether `value` is final; a provisional one is off by about `error_bound`, which is then a guess.
        provisional: the fit before it was settled. Others begin from this one, so that where they begin does not
            depend on what else was settled.
        curvature: of a provisional fit, the Hessian of the loss where its ascent stopped, to go on with.
        kernel: the kernel of the parents, such as `gaussian`, or `direction`, along one weighted sum of them.
        weights: of `direction` and `columns`, the weights of each parent's columns; `bandwidths` then has one over
            their length.
        complexity: the nats that were taken off for evidence (`kerncause.scores.evidence`): the maximum of S/n is
            `value + complexity`, unless that is a probability.
        rival: the fit with the other kernel, where both were tried and this one was better.
        is_probability: whether `value` is of the probability of a discrete variable (`kerncause.scores.probability`).
        turns: of a vector whose columns are explained one after the other, the fit of each; `value` is their sum, and
            `bandwidths` has the shortest of each parent.
    """

    value: float
    bandwidths: Mapping[str, float] = field(default_factory=dict)
    response_bandwidth: float | None = None
    noise: float | None = None
    amplitude: float | None = None
    engine: str = ""
    rank: int | None = None
    evaluations: int = 1
    converged: bool = True
    error_bound: float = 0.0
    certified: bool = True
    starts_disagree: bool = False
    at_bounds: tuple[str, ...] = ()
    rows: int | None = None
    is_settled: bool = True
    provisional: "LocalFit | None" = field(default=None, repr=False, compare=False)
    curvature: tuple[tuple[float, ...], ...] | None = field(default=None, repr=False, compare=False)
    kernel: str = "gaussian"
    weights: Mapping[str, tuple[float, ...]] | None = None
    complexity: float = 0.0
    rival: "LocalFit | None" = field(default=None, repr=False, compare=False)
    is_probability: bool = False
    turns: "tuple[LocalFit, ...]" = field(default=(), repr=False)

    @classmethod
    def of_turns(cls, turns: "Sequence[LocalFit]", parents: Collection[str]) -> "LocalFit":
        """Return the fit of a vector whose columns are explained one after the other."""
        widths = {name: [fit.bandwidths[name] for fit in turns if name in fit.bandwidths] for name in parents}
        # A column may have one value on the rows at hand.
        explained = [fit for fit in turns if fit.evaluations] or turns
        return cls(
            value=sum(fit.value for fit in turns),
            bandwidths={name: min(of_name) for name, of_name in widths.items() if of_name},
            engine=max(turns, key=lambda fit: fit.evaluations).engine,
            evaluations=sum(fit.evaluations for fit in turns),
            converged=all(fit.converged for fit in turns),
            error_bound=sum(fit.error_bound for fit in turns),
            certified=all(fit.certified for fit in turns),
            # Directions have many starts, and where a rival was tried as well one that ended elsewhere says little.
            starts_disagree=any(fit.starts_disagree and not (fit.rival or fit.weights) for fit in turns),
            at_bounds=tuple(dict.fromkeys(name for fit in turns for name in fit.at_bounds if name != EARLIER)),
            rows=turns[0].rows,
            is_settled=all(fit.is_settled for fit in turns),
            kernel=explained[0].kernel,
            complexity=sum(fit.complexity for fit in turns),
            is_probability=all(fit.is_probability for fit in explained),
            turns=tuple(turns),
        )

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "LocalFit":
        """Return the fit that was written as a mapping of its attributes; those left out have their defaults."""
        curvature, weights, rival = (written.get(name) for name in ("curvature", "weights", "rival"))
        nested = {
            "at_bounds": tuple(written.get("at_bounds", ())),
            "curvature": None if curvature is None else tuple(map(tuple, curvature)),
            "weights": None if weights is None else {name: tuple(part) for name, part in weights.items()},
            "rival": None if rival is None else cls.from_json(rival),
            "turns": tuple(map(cls.from_json, written.get("turns", ()))),
        }
        return cls(**{**written, **nested})

    @property
    def before_settling(self) -> "LocalFit":
        """The fit as it was first computed."""
        return self if self.provisional is None else self.provisional

    def with_kernel(self, kernel: str) -> "LocalFit | None":
        """Return the fit with that kernel, if it was tried."""
        return next((fit for fit in (self, self.rival) if fit is not None and fit.kernel == kernel), None)


# Gives the fit of one target with some parents, or None if it has not been computed.
Lookup = Callable[[frozenset[str]], LocalFit | None]


def fit_local(score: LocalScore, target: str, parents: Collection[str], begin: LocalFit | None = None) -> LocalFit:
    """Return a fit from any score, provisional where the score has such; one that has only the number gives that."""
    if isinstance(score, StagedScore):
        return score.fit(target, parents, begin, settle=False)
    if isinstance(score, FittedScore):
        return score.fit(target, parents)
    return LocalFit(float(score.local_score(target, parents)))
