"""What every method returns: the graph, how it was found, and how it is written down."""

import json
import math
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from kerncause.confidence import Confidence
from kerncause.data import Dataset
from kerncause.errors import KerncauseError, OptionError
from kerncause.explain import Explanation, explained
from kerncause.graphs import DAG, PDAG
from kerncause.graphs.files.dot import dot_name
from kerncause.knowledge import Knowledge
from kerncause.scores import Ledger, LocalFit
from kerncause.search import Step
from kerncause.text import counted, printable, quoted
from kerncause.written import replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    import networkx as nx

RESULT_FILES = ("graph.json", "graph.dot", "trace.jsonl", "report.html")
DOT_STYLE = (
    "  graph [nodesep=0.35, ranksep=0.45];",
    '  node [shape=box, style="rounded,filled", color="#35618f", fillcolor="#eaf1f9", fontname="Helvetica"];',
    '  edge [color="#35618f", fontcolor="#444444", fontname="Helvetica", fontsize=10];',
)


@dataclass(frozen=True)
class Edge:
    """One edge of the result.

    Attributes:
        source: the cause; for an undirected edge the end that is the parent in `Result.dag`.
        target: the effect, or the other end.
        directed: whether every DAG of the class has it this way round.
        gain: what the score of `Result.dag` would lose without it, in nats per output column. Undirected edges
            have another gain the other way round, where a score is not the same for all DAGs of a class.
        bandwidth: the bandwidth of the parent in the model of the child (long: smooth, weak).
        preference: of an undirected edge, by how many nats the best DAG of the class with source -> target scores above
            the best with target -> source.
        probability: of an undirected edge, how often preferences like this one are right, where that is known
            (`kerncause.directions`); 0.5 says nothing.
        p_value: of a search by tests, the largest that it met for this pair: how near it came to parting it.
        weight: what a method that learns weights gave to it.
    """

    source: str
    target: str
    directed: bool
    gain: float | None = None
    bandwidth: float | None = None
    preference: float | None = None
    probability: float | None = None
    p_value: float | None = None
    weight: float | None = None

    @property
    def leans(self) -> bool:
        """Whether the score prefers one direction of an undirected edge, unless that is known to say nothing."""
        if self.directed or self.preference is None or self.preference <= 0.0:
            return False
        return self.probability is None or self.probability > 0.5


@dataclass(frozen=True)
class Way:
    """How results of one way of discovery are shown.

    Attributes:
        figures: what an edge has; the first ranks edges.
        strength: of that figure, larger for stronger edges.
        label: that figure in a few characters.
        unit: what was computed, to be counted; empty: not worth counting.
        lines: what to know about edges without a direction.
    """

    figures: tuple[str, ...]
    strength: Callable[[float], float]
    label: Callable[[float], str]
    unit: str
    lines: str


WAYS: Mapping[str, Way] = {
    "score": Way(
        ("gain", "bandwidth", "preference", "probability"),
        lambda gain: gain,
        lambda gain: f"{gain:.1f}",
        "local score",
        "A line can go either way; its gain, preference and probability are those of left causing right.",
    ),
    "test": Way(("p_value",), lambda p: -p, lambda p: f"p {p:.2g}", "test", "A line can go either way."),
    "method": Way(
        ("weight",),
        abs,
        lambda weight: f"{weight:.2f}",
        "",
        "A line is an arrow of the method, left to right, that other directions would explain as well.",
    ),
}


@dataclass(frozen=True, eq=False)
class Result:
    """A learned causal graph.

    The graph is a CPDAG: an undirected edge can go either way without changing any independence. Kernel scores tell the
    DAGs of such a class apart all the same: `dag` is the one that they find best.

    Attributes:
        graph: the equivalence class; with knowledge, a PDAG that has the directions which follow from it as well.
        dag: the DAG of the class with the highest score, on which gains and bandwidths were computed; any DAG of it, if
            no score was used.
        fits: the local model of every variable in `dag`; empty where no score was used.
        edge_list: every edge, in the order of the table.
        trace: every step of the search.
        settings: what was asked for, enough to do it again.
        data: the table it was learned from.
        seconds: how long the search took.
        scores_computed: how many local scores (or tests) it needed.
        by: `score`, `test` or `method`: what the edges rest on.
        ledger: the local scores of a search by a score, to ask further questions of.
        confidence: how often halves of the rows gave each edge, if that was asked for.
        finished: whether the search came to its end; if not, this is the best it had when it was stopped.
        kept_explanations: of a result that was read back, what was written of `explanations`.
    """

    graph: PDAG
    dag: DAG
    fits: Mapping[str, LocalFit] = field(repr=False)
    edge_list: tuple[Edge, ...] = field(repr=False)
    trace: tuple[Step, ...] = field(repr=False)
    settings: Mapping[str, Any]
    data: Dataset
    seconds: float
    scores_computed: int
    by: Literal["score", "test", "method"] = "score"
    ledger: Ledger | None = field(default=None, repr=False)
    confidence: Confidence | None = field(default=None, repr=False)
    finished: bool = True
    kept_explanations: tuple[Explanation, ...] | None = field(default=None, repr=False)

    @property
    def way(self) -> Way:
        """How this result is shown."""
        return WAYS[self.by]

    @cached_property
    def edges(self) -> pd.DataFrame:
        """One row per edge: source, target, directed, and the figures of a score, or p_value, or weight.

        With confidence also `joined`, the share of the halves that have the edge, and `pointed`, the share of these
        whose best DAG has it in this direction.
        """
        rows = [*map(self._row, self.edge_list)]
        table = pd.DataFrame(rows, columns=["source", "target", "directed", *self.way.figures])
        if self.confidence is not None:
            table["joined"] = [self.confidence.joined(e.source, e.target) for e in self.edge_list]
            table["pointed"] = [self.confidence.points(e.source, e.target) for e in self.edge_list]
        return table

    def _row(self, edge: Edge) -> dict[str, Any]:
        return {name: getattr(edge, name) for name in ("source", "target", "directed", *self.way.figures)}

    def strongest_first(self) -> list[Edge]:
        """Return the edges in the order of their evidence."""
        return sorted(
            self.edge_list, key=lambda edge: (not self._has_figure(edge), -self.way.strength(self._figure(edge)))
        )

    def _has_figure(self, edge: Edge) -> bool:
        """Tell whether there is evidence to rank an edge by; a required one may have none."""
        return getattr(edge, self.way.figures[0]) is not None

    def _figure(self, edge: Edge) -> float:
        """Return the figure that edges are ranked by."""
        value: float | None = getattr(edge, self.way.figures[0])
        return 0.0 if value is None else value

    @property
    def score(self) -> float | None:
        """The total score of `dag`, the sum of its local scores; None where no score was used."""
        return sum(fit.value for fit in self.fits.values()) if self.by == "score" else None

    def explain(self, source: str, target: str) -> Explanation:
        """Say what speaks for the edge from source to target, or against it: see `Explanation`."""
        if self.ledger is None:
            raise OptionError(
                f"this result rests on {'a score without a name' if self.by == 'score' else f'a {self.by}'}, which has "
                "nothing to explain an edge by: learn it with a score, such as learned"
            )
        return explained(self.ledger, self.data, self.dag, source, target, self._may_be)

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """Why each edge of `dag` is there, with the runner-ups among the parent sets that the search looked at.

        In the order of `edge_list`; nothing where there is no score to explain it by.
        """
        if self.kept_explanations is not None or self.ledger is None:
            return self.kept_explanations or ()
        ends = [(edge.source, edge.target) for edge in self.edge_list]
        return tuple(explained(self.ledger, self.data, self.dag, a, b, self._may_be, thorough=False) for a, b in ends)

    def _may_be(self, target: str, parents: frozenset[str]) -> bool:
        """Tell whether the search might have given a variable these parents."""
        known = Knowledge.of(self.settings.get("knowledge") or None)
        required = {cause for cause, effect in known.required if effect == target}
        most = self.settings.get("search_options", {}).get("max_parents")
        allowed = not any(known.refuses(parent, target) for parent in parents)
        return allowed and required <= parents and (most is None or len(parents) <= most)

    def to_networkx(self) -> "nx.DiGraph[str]":
        """Return a DiGraph with `directed` and the figures on the edges; undirected edges go both ways."""
        graph = self.graph.to_networkx()
        for edge in self.edge_list:
            ends = [(edge.source, edge.target)] + ([] if edge.directed else [(edge.target, edge.source)])
            for a, b in ends:
                graph.edges[a, b].update({name: getattr(edge, name) for name in self.way.figures})
        return graph

    def to_json(self) -> dict[str, Any]:
        """Return what `graph.json` holds."""
        return {
            "nodes": list(self.graph.nodes),
            "edges": [*map(self._row, self.edge_list)],
            "settings": dict(self.settings),
            "data": {
                "rows": self.data.n_rows,
                "hash": self.data.hash,
                "file": None if self.data.origin is None else asdict(self.data.origin),
                "variables": [asdict(variable) for variable in self.data.variables],
            },
            "score": self.score,
            "fits": {name: _written_fit(fit) for name, fit in self.fits.items()},
            "confidence": None if self.confidence is None else self.confidence.as_json(),
            "finished": self.finished,
            "seconds": self.seconds,
            "scores_computed": self.scores_computed,
            "dag": [list(edge) for edge in self.dag.edges],
            "explanations": [why.as_json() for why in self.explanations],
        }

    def to_dot(self) -> str:
        """Return the graph in the language of Graphviz, every name quoted.

        Undirected edges run as in `dag`, so that a layered drawing follows a causal order; the larger the
        gain, the thicker the line.
        """
        lines = ["digraph kerncause {", *DOT_STYLE, *(f"  {dot_name(node)};" for node in self.graph.nodes)]
        rows = {frozenset((edge.source, edge.target)): edge for edge in self.edge_list}
        for parent, child in self.dag.edges:
            edge = rows[frozenset((parent, child))]
            width = 1.0 + math.log10(1.0 + max(edge.gain or 0.0, 0.0))
            arrow = "" if edge.directed else ", dir=none"
            ends = f"{dot_name(parent)} -> {dot_name(child)}"
            lines.append(f'  {ends} [label=" {self.way.label(self._figure(edge))}", penwidth={width:.2f}{arrow}];')
        return "\n".join([*lines, "}", ""])

    def report(self, path: str | Path, truth: PDAG | None = None) -> Path:
        """Write the report, one HTML file that opens anywhere; return its path.

        Args:
            path: the file; one that is there is replaced.
            truth: the true graph, to be compared with.
        """
        from kerncause.report import report_of

        return replaced(path, report_of(self, truth).encode("utf-8"))

    def _repr_html_(self) -> str:
        """Show the graph where a notebook shows the result."""
        from kerncause.report import as_svg, drawn

        return as_svg(drawn(self))

    def save(self, directory: str | Path, report: bool = True) -> Path:
        """Write `graph.json`, `graph.dot`, `trace.jsonl` and `report.html`, all or none; return the directory.

        Args:
            directory: where to; it is made if it is not there.
            report: whether to write the report as well.
        """
        from kerncause.report import report_of

        directory = Path(directory)
        texts = (
            json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False, default=_plain) + "\n",
            self.to_dot(),
            "".join(json.dumps(asdict(step), ensure_ascii=False) + "\n" for step in self.trace),
            *([report_of(self)] if report else []),
        )
        contents = dict(zip(RESULT_FILES, texts, strict=False))
        with writable(directory) as scratch:
            for name, text in contents.items():
                (scratch / name).write_text(text, encoding="utf-8")
            directory.mkdir(parents=True, exist_ok=True)
            for name in contents:
                (scratch / name).replace(directory / name)
        return directory

    @staticmethod
    def check_writable(directory: str | Path) -> None:
        """Refuse, before any work is done, a directory that `save` could not write to."""
        with writable(Path(directory)):
            pass

    def __repr__(self) -> str:
        directed = sum(edge.directed for edge in self.edge_list)
        lines = [
            f"{counted(len(self.graph.nodes), 'variable')}, {counted(len(self.edge_list), 'edge')} "
            f"({directed} directed), learned from {counted(self.data.n_rows, 'row')} in {self.seconds:.1f} s"
            + (f" with {counted(self.scores_computed, self.way.unit)}" if self.way.unit else "")
            + ("" if self.finished else "; stopped before the end")
        ]
        if because := self.settings.get("search_because"):
            preset = f"preset {self.settings['preset']}, " if self.settings["preset"] else ""
            lines.append(f"{preset}search {self.settings['search']}, because of {because}")
        word = self.way.figures[0].replace("_", "-")
        for edge in self.strongest_first():
            arrow = "→" if edge.directed else "—"
            figure = f"{word} {self._figure(edge):.3g}" if word != "gain" else f"gain {edge.gain:.1f}"
            lines.append(f"  {printable(edge.source)} {arrow} {printable(edge.target)}   {figure}")
        return "\n".join(lines)


@contextmanager
def writable(directory: Path) -> "Iterator[Path]":
    """Give a scratch directory on the same disk as `directory`, or say in one sentence why it cannot be written.

    Nothing remains of the scratch directory, and `directory` itself is not touched.
    """
    scratch: Path | None = None
    try:
        if directory.is_symlink() and not directory.exists():
            raise OptionError(f"{quoted(directory)} is a link that leads nowhere: give a directory for the results")
        if directory.exists() and not directory.is_dir():
            raise OptionError(f"{quoted(directory)} is a file: give a directory for the results")
        for name in RESULT_FILES:
            if (directory / name).is_dir():
                raise OptionError(f"{quoted(directory / name)} is a directory: choose another place for the results")
        place = directory.absolute()
        while not place.exists():
            place = place.parent
        scratch = Path(tempfile.mkdtemp(prefix=".kerncause-", dir=place))
        yield scratch
    except OSError as problem:
        raise KerncauseError(
            f"cannot write results to {quoted(directory)}: {problem.strerror or problem}; choose another directory"
        ) from problem
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _written_fit(fit: LocalFit) -> dict[str, Any]:
    """Return what of a fit is written down: not where an ascent could go on."""
    whole = asdict(replace(fit, provisional=None, curvature=None, turns=()))
    kept = {name: value for name, value in whole.items() if name not in ("provisional", "curvature", "turns")}
    return {**kept, **({"turns": [_written_fit(turn) for turn in fit.turns]} if fit.turns else {})}


def _plain(value: object) -> object:
    """Return a number of numpy's, or an array, as JSON knows it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a result cannot hold a {type(value).__name__}")
