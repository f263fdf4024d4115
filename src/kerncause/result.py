"""What every method returns: the graph, how it was found, and how it is written down."""

import json
import math
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from kerncause.data import Dataset
from kerncause.errors import KerncauseError, OptionError
from kerncause.graphs import CPDAG, DAG
from kerncause.scores import LocalFit
from kerncause.search import Step
from kerncause.text import counted, printable, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import networkx as nx

RESULT_FILES = ("graph.json", "graph.dot", "trace.jsonl")
DOT_STYLE = (
    "  graph [nodesep=0.35, ranksep=0.45];",
    '  node [shape=box, style="rounded,filled", color="#35618f", fillcolor="#eaf1f9", fontname="Helvetica"];',
    '  edge [color="#35618f", fontcolor="#444444", fontname="Helvetica", fontsize=10];',
)


@dataclass(frozen=True)
class Edge:
    """One edge of the result.

    Attributes:
        source: the cause; for an undirected edge the end that is the parent in `Result.member`.
        target: the effect, or the other end.
        directed: whether every DAG of the class has it this way round.
        gain: what the score of `Result.member` would lose without it, in nats per output column. Undirected edges
            have another gain the other way round, because this score is not the same for all DAGs of a class.
        bandwidth: the learned bandwidth of the parent in the model of the child (long: smooth, weak).
    """

    source: str
    target: str
    directed: bool
    gain: float
    bandwidth: float | None


@dataclass(frozen=True, eq=False)
class Result:
    """A learned causal graph.

    The graph is a CPDAG: an undirected edge can go either way without changing any independence. Gains and
    bandwidths are those of `member`, one DAG of the class that is chosen by content alone.

    Attributes:
        graph: the equivalence class.
        member: the DAG of the class on which the gains, the bandwidths and `score` were computed.
        fits: the local model of every variable in `member`.
        edge_list: every edge, in the order of the table.
        trace: every step of the search.
        settings: what was asked for, enough to do it again.
        data: the table it was learned from.
        seconds: how long the search took.
        scores_computed: how many local scores it needed.
    """

    graph: CPDAG
    member: DAG
    fits: Mapping[str, LocalFit] = field(repr=False)
    edge_list: tuple[Edge, ...] = field(repr=False)
    trace: tuple[Step, ...] = field(repr=False)
    settings: Mapping[str, Any]
    data: Dataset
    seconds: float
    scores_computed: int

    @cached_property
    def edges(self) -> pd.DataFrame:
        """One row per edge: source, target, directed, gain, bandwidth."""
        columns = list(Edge.__dataclass_fields__)
        return pd.DataFrame([asdict(edge) for edge in self.edge_list], columns=columns)

    @property
    def score(self) -> float:
        """The total score of `member`: the sum of its local scores."""
        return sum(fit.value for fit in self.fits.values())

    def to_networkx(self) -> "nx.DiGraph[str]":
        """Return a DiGraph with `directed`, `gain` and `bandwidth` on the edges; undirected edges go both ways."""
        graph = self.graph.to_networkx()
        for edge in self.edge_list:
            ends = [(edge.source, edge.target)] + ([] if edge.directed else [(edge.target, edge.source)])
            for a, b in ends:
                graph.edges[a, b].update(gain=edge.gain, bandwidth=edge.bandwidth)
        return graph

    def to_json(self) -> dict[str, Any]:
        """Return what `graph.json` holds."""
        return {
            "nodes": list(self.graph.nodes),
            "edges": [asdict(edge) for edge in self.edge_list],
            "settings": dict(self.settings),
            "data": {
                "rows": self.data.n_rows,
                "hash": self.data.hash,
                "variables": [asdict(variable) for variable in self.data.variables],
            },
            "score": self.score,
            "member": [list(edge) for edge in self.member.edges],
        }

    def to_dot(self) -> str:
        """Return the graph in the language of Graphviz, every name quoted.

        Undirected edges run as in `member`, so that a layered drawing follows a causal order; the stronger the
        gain, the thicker the line.
        """
        lines = ["digraph kerncause {", *DOT_STYLE, *(f"  {_dot_name(node)};" for node in self.graph.nodes)]
        rows = {frozenset((edge.source, edge.target)): edge for edge in self.edge_list}
        for parent, child in self.member.edges:
            edge = rows[frozenset((parent, child))]
            width = 1.0 + math.log10(1.0 + max(edge.gain, 0.0))
            arrow = "" if edge.directed else ", dir=none"
            ends = f"{_dot_name(parent)} -> {_dot_name(child)}"
            lines.append(f'  {ends} [label=" {edge.gain:.1f}", penwidth={width:.2f}{arrow}];')
        return "\n".join([*lines, "}", ""])

    def save(self, directory: str | Path) -> Path:
        """Write `graph.json`, `graph.dot` and `trace.jsonl`, all or none; return the directory."""
        directory = Path(directory)
        texts = (
            json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
            self.to_dot(),
            "".join(json.dumps(asdict(step), ensure_ascii=False) + "\n" for step in self.trace),
        )
        contents = dict(zip(RESULT_FILES, texts, strict=True))
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
            f"({directed} directed), learned from {counted(self.data.n_rows, 'row')} "
            f"in {self.seconds:.1f} s with {counted(self.scores_computed, 'local score')}"
        ]
        for edge in sorted(self.edge_list, key=lambda e: -e.gain):
            arrow = "→" if edge.directed else "—"
            lines.append(f"  {printable(edge.source)} {arrow} {printable(edge.target)}   gain {edge.gain:.1f}")
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


def _dot_name(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
