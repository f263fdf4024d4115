"""What speaks for an edge, in the DAG that the score finds best: with it, without it, and the other way round."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from kerncause.data import Dataset, OfTable
from kerncause.errors import OptionError
from kerncause.explain.model import Curve, FittedModel
from kerncause.graphs import DAG
from kerncause.scores import Comparison, Ledger, LocalFit
from kerncause.text import counted, listed, printable, quoted

MOST_RUNNER_UPS = 3
# Standard deviations.
LONG, SHORT = 5.0, 1.5


@dataclass(frozen=True)
class RunnerUp:
    """Another parent set for the target, and by how many nats it is worse (negative: better)."""

    parents: tuple[str, ...]
    behind: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why there is an edge from `source` to `target`, or why there is none.

    All differences are in nats per output column, of the best DAG. They come from a composite likelihood: they rank,
    and are no Bayes factors.

    Attributes:
        source: the cause.
        target: the effect.
        is_edge: whether the DAG has the edge.
        gain: what the edge gains; where there is none, what it would.
        reversed_gain: what the DAG gains by turning the edge round (usually a loss); None if there is no edge, or if
            that would close a cycle.
        cycle: the path that turning the edge round, or adding it, would close to a circle.
        fit: the model of the target with the source among its parents.
        bandwidth: of the source in the model of the target (long: weak, near-linear); None for scores without.
        bandwidth_reversed: of the target in the model of the source, if the edge went the other way.
        explained: share of the target's variance in kernel space that its parents predict, each row left out.
        explained_without: the same without the source.
        runner_ups: the next best parent sets of the target.
        starts_disagree: whether the optimiser's starts ended in different places for the target.
        curve: how the target follows the source, the other parents as they come.
    """

    source: str
    target: str
    is_edge: bool
    gain: float
    reversed_gain: float | None
    cycle: tuple[str, ...]
    fit: LocalFit = field(repr=False)
    bandwidth: float | None
    bandwidth_reversed: float | None
    explained: float | None
    explained_without: float | None
    runner_ups: tuple[RunnerUp, ...]
    starts_disagree: bool
    curve: Curve | None = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain lists and numbers, but for the fit, which a result has anyway."""
        written = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("fit", "curve")}
        runner_ups = [asdict(other) for other in self.runner_ups]
        return {**written, "runner_ups": runner_ups, "curve": None if self.curve is None else self.curve.as_json()}

    @classmethod
    def from_json(cls, written: Mapping[str, Any], fit: LocalFit) -> "Explanation":
        """Return what `as_json` wrote, with the fit of the target."""
        others = tuple(RunnerUp(tuple(other["parents"]), other["behind"]) for other in written["runner_ups"])
        curve = None if written["curve"] is None else Curve.from_json(written["curve"])
        read = {**written, "cycle": tuple(written["cycle"]), "runner_ups": others, "curve": curve}
        return cls(**read, fit=fit)

    def sentences(self) -> list[str]:
        """Return the explanation in words, one fact each."""
        a, b = printable(self.source), printable(self.target)
        said = [
            f"{a} → {b} gains {self.gain:.1f} nats: that much the score of {b} would lose without {a}."
            if self.is_edge and self.gain >= 0
            else f"{a} → {b} costs {-self.gain:.1f} nats: without {a}, the score of {b} would be higher. The edge was "
            "kept because it gained when it was added, or gains the other way round."
            if self.is_edge
            else f"There is no edge {a} → {b}: as one more parent of {b}, {a} would change its score by "
            f"{self.gain:+.1f} nats."
        ]
        if self.reversed_gain is not None:
            verb = "lose" if self.reversed_gain < 0 else "gain"
            said.append(
                f"Turned round by itself, {b} → {a}, the graph would {verb} {abs(self.reversed_gain):.1f} nats."
            )
        elif self.cycle:
            what = "It cannot be turned round by itself" if self.is_edge else "It would close a circle"
            said.append(f"{what}: {' → '.join(map(printable, self.cycle))} is there.")
        if self.bandwidth is not None:
            said.append(f"The bandwidth of {a} is {self.bandwidth:.2f} standard deviations{_shape(self.bandwidth)}.")
        if self.bandwidth_reversed is not None:
            said.append(f"That of {b} as a cause of {a} would be {self.bandwidth_reversed:.2f}.")
        if self.explained is not None and self.explained_without is not None:
            said.append(
                f"{self._parents()} {self.explained:.0%} of the variance of {b} in kernel space, "
                f"without {a} {self.explained_without:.0%}."
            )
        for other in self.runner_ups:
            names = listed(other.parents) if other.parents else "no parents"
            than = "lower" if other.behind >= 0 else "higher"
            said.append(f"With {names} instead, its score is {abs(other.behind):.1f} nats {than}.")
        if self.starts_disagree:
            said.append(f"The optimiser's starts ended in different places for {b}; the best was kept.")
        return said

    def _parents(self) -> str:
        count = len(self.fit.bandwidths)
        if not self.is_edge:
            return f"With it, the {counted(count, 'parent')} would explain"
        return "Its one parent explains" if count == 1 else f"Its {counted(count, 'parent')} explain"

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def _shape(bandwidth: float) -> str:
    if bandwidth >= LONG:
        return ": long, so the effect is weak or near-linear"
    return ": short, so the effect bends" if bandwidth <= SHORT else ""


def explained(
    ledger: Ledger,
    data: Dataset,
    dag: DAG,
    source: str,
    target: str,
    may_be: Callable[[str, frozenset[str]], bool] = lambda target, parents: True,
    thorough: bool = True,
) -> Explanation:
    """Explain the edge between source and target as it is in a DAG, or why it is not there.

    Args:
        ledger: the scores.
        data: the table.
        dag: the graph.
        source: where the edge begins.
        target: where it ends.
        may_be: tells whether a variable may have these parents, by what the search had to obey.
        thorough: whether runner-ups are looked for among all parent sets next to that of the target, or among those
            that have been scored already.
    """
    for name in (source, target):
        data.variable(name)
    if source == target:
        raise OptionError(f"{quoted(source)} cannot cause itself: give two variables")
    if target in dag.parents(source):
        source, target = target, source
    others = dag.parents(target) - {source}
    whole = others | {source}
    is_edge = source in dag.parents(target)
    cycle = _path(dag, source, target) if is_edge else _path(dag, target, source)
    turned = Comparison(source, dag.parents(source), dag.parents(source) | {target})
    sets = [s for s in _alternatives(dag, source, target) if may_be(target, s)] if is_edge else []
    compared = _ranked(ledger, {s: Comparison(target, whole, s) for s in sets}, thorough)
    without = Comparison(target, others, whole)
    ledger.prepare([without, *compared.values(), *([turned] if is_edge and not cycle else [])], settled=True)
    fit, lone = ledger.fit(target, whole), ledger.fit(target, others)
    seen = ledger.score.data if isinstance(ledger.score, OfTable) else data
    rows = data.seen(*seen.view).complete_for({target, *whole})
    model, rest = FittedModel.of(rows, target, fit), FittedModel.of(rows, target, lone)
    back = ledger.fit(source, dag.parents(source) | {target}) if is_edge and not cycle else None
    gain = ledger.gain(without)
    return Explanation(
        source=source,
        target=target,
        is_edge=is_edge,
        gain=gain,
        reversed_gain=None if back is None else ledger.gain(turned) - gain,
        cycle=cycle,
        fit=fit,
        bandwidth=fit.bandwidths.get(source),
        bandwidth_reversed=None if back is None else back.bandwidths.get(target),
        explained=None if model is None else model.share_explained(),
        explained_without=None if rest is None else rest.share_explained(),
        runner_ups=_best(ledger, compared),
        starts_disagree=fit.starts_disagree,
        curve=None if model is None else model.curve(source),
    )


def _ranked(
    ledger: Ledger, compared: Mapping[frozenset[str], Comparison], thorough: bool
) -> Mapping[frozenset[str], Comparison]:
    """Return all parent sets; if not thorough, the best of those that are known, as far as is known."""
    if thorough:
        return compared
    gains = {parents: ledger.gain(comparison) for parents, comparison in compared.items() if ledger.knows(comparison)}
    first = sorted(gains, key=lambda parents: (-gains[parents], sorted(parents)))[:MOST_RUNNER_UPS]
    return {parents: compared[parents] for parents in first}


def _best(ledger: Ledger, compared: Mapping[frozenset[str], Comparison]) -> tuple[RunnerUp, ...]:
    behind = {parents: -ledger.gain(comparison) for parents, comparison in compared.items()}
    ranked = sorted(behind, key=lambda parents: (behind[parents], sorted(parents)))
    return tuple(RunnerUp(tuple(sorted(parents)), behind[parents]) for parents in ranked[:MOST_RUNNER_UPS])


def _alternatives(dag: DAG, source: str, target: str) -> Iterable[frozenset[str]]:
    """Return the parent sets of the target next to its own that leave the graph acyclic.

    Those without one parent, with one more, and with another in place of the source.
    """
    parents = dag.parents(target)
    free = set(dag.nodes) - parents - _descendants(dag, target) - {target}
    return [
        *(parents - {name} for name in parents),
        *(parents | {name} for name in free),
        *((parents - {source}) | {name} for name in free),
    ]


def _descendants(dag: DAG, name: str) -> set[str]:
    found, open_ = set[str](), [name]
    while open_:
        new = dag.children(open_.pop()) - found
        found |= new
        open_ += new
    return found


def _path(dag: DAG, source: str, target: str) -> tuple[str, ...]:
    """Return a directed path from source to target by way of others, or nothing."""
    paths: list[tuple[str, ...]] = [(source, child) for child in sorted(dag.children(source) - {target})]
    seen = {source}
    while paths:
        path = paths.pop(0)
        if path[-1] == target:
            return path
        if path[-1] not in seen:
            seen.add(path[-1])
            paths += [(*path, child) for child in sorted(dag.children(path[-1]))]
    return ()
