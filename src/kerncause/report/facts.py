"""Everything the page tells, as plain lists, numbers and sentences: what `page` puts into the file.

Nodes and edges are numbered, so that a name stands in one place only, however long it is.
"""

import json
import platform
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy

from kerncause.confidence import THRESHOLD
from kerncause.explain import Explanation
from kerncause.graphs import DAG, PDAG
from kerncause.knowledge import Knowledge
from kerncause.metrics import compare
from kerncause.report.again import command, python
from kerncause.report.pictures import edge_picture, node_picture
from kerncause.result import Edge, Result
from kerncause.search import Join, Step
from kerncause.text import counted, listed, printable
from kerncause.version import __version__

UNSURE = THRESHOLD
MARKED = {
    "right": "right",
    "open": "found without its direction",
    "turned": "found the other way round",
    "missing": "missing",
    "extra": "not in the truth",
}
LONGEST_LABEL = 24
LONGEST_NAME = 300
NATS = (
    "A nat is a unit of log-likelihood. Here it comes from a composite likelihood, as many correlated outputs as rows, "
    "divided by the rows: it ranks parents of one variable on one table, it is not a Bayes factor, and it grows with "
    "the number of rows."
)
PROBABILITY = (
    "A nat is a unit of log-probability. Here it is that of what each row holds (numbers are cut into levels), told "
    "from all other rows, less what parameters are charged. Differences rank parents of one variable on one table; "
    "they are not Bayes factors, and grow with the number of rows."
)
LIKELIHOOD = (
    "A nat is a unit of log-likelihood. Differences of this score approximate logarithms of Bayes factors under its "
    "model, and grow with the number of rows."
)
ASSUMED = (
    "The arrows are causes only if no variable that matters is missing from the table, nothing feeds back, and the "
    "rows were not selected by what they contain."
)


def facts(result: Result, truth: PDAG | None = None) -> dict[str, Any]:
    """Return all that the page shows of a result, and of the true graph if there is one."""
    ids = {name: f"n{k}" for k, name in enumerate(result.graph.nodes)}
    why = {(e.source, e.target): e for e in result.explanations}
    return {
        "title": _title(result),
        "summary": _summary(result),
        "by": result.by,
        "figures": [name for name in result.way.figures if name in ("gain", "p_value", "weight")],
        "lines": result.way.lines,
        "replicates": None if result.confidence is None else result.confidence.replicates,
        "repeats": _repeats(result),
        "finished": result.finished,
        "unsure": UNSURE,
        "nodes": [_node(result, name, ids, why) for name in result.graph.nodes],
        "edges": [_edge(result, k, edge, ids, why) for k, edge in enumerate(result.strongest_first())],
        "truth": None if truth is None else _truth(result, truth, ids),
        "steps": [_step(step, ids) for step in result.trace],
        "nats": _nats(result),
        "assumed": ASSUMED,
        "warnings": _warnings(result),
        "settings": _settings(result),
        "command": command(result),
        "python": python(result),
        "hash": result.data.hash,
        "versions": _versions(),
    }


def _nats(result: Result) -> str:
    """Return what a nat means here: of a likelihood of the table, of a composite one, or of probabilities."""
    if result.by != "score":
        return ""
    if result.settings["score"] in ("bic", "bdeu"):
        return LIKELIHOOD
    fitted = [fit for fit in result.fits.values() if fit.evaluations]
    return PROBABILITY if fitted and all(fit.is_probability for fit in fitted) else NATS


def _repeats(result: Result) -> str:
    """Return what was drawn for each repetition, in words."""
    is_half = result.confidence is None or result.confidence.how == "half"
    return "halves" if is_half else "bootstrap samples"


def _title(result: Result) -> str:
    origin = result.data.origin
    name = "a table" if origin is None else printable(origin.path.replace("\\", "/").rpartition("/")[2], 80)
    return f"What causes what in {name}"


def _summary(result: Result) -> str:
    directed = sum(edge.directed for edge in result.edge_list)
    settings = result.settings
    with_halves = "" if result.confidence is None else f", {result.confidence.replicates} more graphs included"
    preset = f" and the preset {settings['preset']}" if settings.get("preset") else ""
    how = settings.get("method") or f"{settings['search']} with the {result.by} {settings[result.by]}{preset}"
    return ", ".join(
        [
            counted(result.data.n_rows, "row"),
            counted(len(result.graph.nodes), "variable"),
            f"{counted(len(result.edge_list), 'edge')}, {directed} of them directed",
            f"found by {printable(how)} in {result.seconds:.1f} s{with_halves}",
        ]
    )


def _shown(name: str) -> str:
    return printable(name, LONGEST_NAME)


def _node(
    result: Result, name: str, ids: Mapping[str, str], why: Mapping[tuple[str, str], Explanation]
) -> dict[str, Any]:
    variable = result.data.variable(name)
    shares = [e.explained for (_, target), e in why.items() if target == name and e.explained is not None]
    fit = result.fits.get(name)
    notes = [] if fit is None else [*_fit_notes(result, name), *_bound_notes(result, name)]
    return {
        "id": ids[name],
        "name": _shown(name),
        "label": printable(name, LONGEST_LABEL),
        "kind": variable.kind.value,
        "reason": printable(variable.reason, 200),
        "columns": [printable(column) for column in variable.columns],
        "levels": None if variable.levels is None else [printable(level, 40) for level in variable.levels[:50]],
        "level_count": 0 if variable.levels is None else len(variable.levels),
        "missing": variable.missing,
        "parents": [ids[parent] for parent in sorted(result.dag.parents(name))],
        "children": [ids[child] for child in sorted(result.dag.children(name))],
        "explained": shares[0] if shares else None,
        "noise": None if fit is None else fit.noise,
        "notes": notes,
        "picture": node_picture(result.data, name),
    }


def _fit_notes(result: Result, name: str) -> list[str]:
    """Return what is to be known about the model of a variable."""
    fit, shown = result.fits[name], printable(name, LONGEST_LABEL)
    said = []
    if fit.starts_disagree:
        said.append(f"The optimiser's starts for {shown} ended in different places; the best was kept.")
    if not fit.converged:
        said.append(f"The optimiser did not converge for {shown}.")
    if not fit.certified:
        said.append(f"The score of {shown} is known only to within {fit.error_bound:.2g} nats.")
    return said


def _bound_notes(result: Result, name: str) -> list[str]:
    bounds, shown = result.fits[name].at_bounds, printable(name, LONGEST_LABEL)
    return [f"Of the model of {shown}, these parameters ended at a bound: {listed(bounds)}."] if bounds else []


def _edge(
    result: Result, k: int, edge: Edge, ids: Mapping[str, str], why: Mapping[tuple[str, str], Explanation]
) -> dict[str, Any]:
    told = why.get((edge.source, edge.target))
    sure = result.confidence
    figure = getattr(edge, result.way.figures[0])
    joined = None if sure is None else sure.joined(edge.source, edge.target)
    picture = edge_picture(result.data, edge.source, edge.target, None if told is None else told.curve)
    return {
        "id": f"e{k}",
        "source": ids[edge.source],
        "target": ids[edge.target],
        "kind": "arrow" if edge.directed else "leaning" if edge.leans else "line",
        "figure": figure,
        "strength": None if figure is None else result.way.strength(figure),
        "label": "" if figure is None else result.way.label(figure),
        "bandwidth": edge.bandwidth,
        "preference": edge.preference,
        "probability": edge.probability,
        "joined": joined,
        "pointed": None if sure is None else sure.points(edge.source, edge.target),
        "reversed": None if told is None else told.reversed_gain,
        "why": _sentences(result, edge, told),
        "picture": picture,
        "caption": _caption(told, picture),
    }


def _caption(told: Explanation | None, picture: str) -> str:
    """Return what the model's part of a picture is, if it has one."""
    drawn = {"curve": "The line is the model's mean, the band one standard deviation", "mean": "Dots: the model's mean"}
    words = next((words for kind, words in drawn.items() if f'class="{kind}"' in picture), None)
    if told is None or words is None:
        return ""
    others = len(told.fit.bandwidths) - 1
    rest = f", averaged over the other {'parent' if others == 1 else 'parents'}" if others else ""
    return f"{words}{rest}."


def _sentences(result: Result, edge: Edge, told: Explanation | None) -> list[str]:
    a, b = printable(edge.source, LONGEST_LABEL), printable(edge.target, LONGEST_LABEL)
    said = [] if told is None else told.sentences()
    if edge.p_value is not None:
        said.append(
            f"The largest p-value that was met for {a} and {b} is {edge.p_value:.3g}: above alpha they would be parted."
        )
    if edge.weight is not None:
        said.append(f"The method gave {a} → {b} the weight {edge.weight:.3g}.")
    if result.by == "test" and edge.p_value is None:
        said.append("This edge was required beforehand; it was not tested.")
    said.append(_direction(result, edge, a, b))
    if result.confidence is not None:
        sure = result.confidence
        joined, pointed = sure.joined(edge.source, edge.target), sure.points(edge.source, edge.target)
        rows = "halves of the rows" if sure.how == "half" else _repeats(result)
        said.append(
            f"Of {sure.replicates} {rows}, {joined:.0%} join the two; of these, {pointed:.0%} have {a} → {b} in their "
            "best graph."
        )
    return said


def _direction(result: Result, edge: Edge, a: str, b: str) -> str:
    known = Knowledge.of(result.settings.get("knowledge") or None)
    if edge.directed and not known:
        return f"Every graph that explains the data as well has {a} → {b} this way round."
    if edge.directed:
        is_said = (edge.source, edge.target) in known.required or known.refuses(edge.target, edge.source)
        if is_said or edge.source not in result.dag.to_cpdag().parents(edge.target):
            return f"That {a} → {b} has this direction follows from what was known beforehand."
        return f"Every graph that explains the data as well, and obeys what was known, has {a} → {b} this way round."
    open_ = f"The independences in the data leave the direction between {a} and {b} open."
    if edge.preference is None:
        return open_
    prefers = (
        f" The score prefers {a} → {b}: the best graph of the class with it scores {edge.preference:.1f} nats above "
        f"the best with {b} → {a}, in which other edges may turn too"
    )
    if edge.probability is None:
        return f"{open_}{prefers}; how often such preferences are right was not measured for it."
    if edge.leans:
        return f"{open_}{prefers}; preferences like this one were right in {edge.probability:.0%} of simulated cases."
    return f"{open_}{prefers}, but preferences like this one were right no more often than a coin."


def _step(step: Step, ids: Mapping[str, str]) -> dict[str, Any]:
    return {
        "text": _told(step),
        "phase": step.phase,
        "total": step.total,
        "scores": step.scores,
        "changes": [[ids[a], sign, ids[b]] for a, sign, b in step.changes],
    }


def _told(step: Step) -> str:
    a, b = printable(step.source, LONGEST_LABEL), printable(step.target, LONGEST_LABEL)
    if step.operator == "move":
        return f"move {b} " + (f"behind {a}" if step.source else "to the front") + f", {step.gain:+.1f} nats"
    if step.total is not None:
        sign = {"insert": "join {} → {}", "delete": "part {} and {}", "turn": "turn to {} → {}"}[step.operator]
        return f"{sign.format(a, b)}, {step.gain:+.1f} nats"
    given = f" given {listed(step.given)}" if step.given else ""
    if step.operator == "remove":
        return f"part {a} and {b}{given}, p-value {step.gain:.3g}"
    c = printable(step.given[0], LONGEST_LABEL) if step.given else ""
    verb = {"collider": "judged and kept", "drop": "judged and dropped", "force": "follows from the others"}
    return f"collider {a} → {b} ← {c}: {verb.get(step.operator, step.operator)}"


def _truth(result: Result, truth: PDAG, ids: Mapping[str, str]) -> dict[str, Any]:
    """Return every pair that either graph joins, with how it came out."""
    measured = compare(truth, result.graph)
    wanted = truth.to_cpdag() if isinstance(truth, DAG) else truth
    found, true, true_class = _joins(result.graph), _joins(truth), _joins(wanted)
    pairs = sorted(found.keys() | true.keys(), key=sorted)
    edges: list[dict[str, Any]] = []
    for pair in pairs:
        verdict = _verdict(found.get(pair), true.get(pair), true_class.get(pair))
        a, sign, b = true[pair] if pair in true else found[pair]
        edges.append({"source": ids[a], "target": ids[b], "directed": sign == "->", "verdict": verdict})
    names = {number: printable(name, LONGEST_LABEL) for name, number in ids.items()}
    said = [
        f"{MARKED[e['verdict']]}: {names[e['source']]} {'→' if e['directed'] else '—'} {names[e['target']]}"
        for e in edges
    ]
    figures = {
        "skeleton F1": f"{measured.skeleton.f1:.3f}",
        "skeleton precision": f"{measured.skeleton.precision:.3f}",
        "skeleton recall": f"{measured.skeleton.recall:.3f}",
        "SHD of the classes": str(measured.shd),
    }
    right = sum(e["verdict"] == "right" for e in edges)
    said = [
        f"{right} of {len(edges)} pairs are right.",
        *(s for s, e in zip(said, edges, strict=True) if e["verdict"] != "right"),
    ]
    return {"edges": edges, "figures": figures, "said": said}


def _joins(graph: PDAG) -> dict[frozenset[str], Join]:
    arrows = [(a, "->", b) for a, b in graph.directed_edges]
    joins: Iterable[Join] = [*arrows, *((a, "-", b) for a, b in graph.undirected_edges)]
    return {frozenset((a, b)): (a, sign, b) for a, sign, b in joins}


def _verdict(found: Join | None, true: Join | None, true_class: Join | None) -> str:
    if found is None:
        return "missing"
    if true is None:
        return "extra"
    if found[1] == "-":
        return "right" if true_class is not None and true_class[1] == "-" else "open"
    return "right" if found[0] == true[0] or true[1] == "-" else "turned"


def _warnings(result: Result) -> list[str]:
    """Return what a reader should know before believing the graph."""
    options = result.settings.get("score_options", {})
    said = [printable(notice, 400) for notice in result.data.notices_for(options)]
    if not result.finished:
        said.insert(
            0, "The search was stopped before its end: this is the best graph it had, and edges may be missing."
        )
    said += [note for name in result.fits for note in _fit_notes(result, name)]
    losing = [f"{e.source} – {e.target}" for e in result.edge_list if e.gain is not None and e.gain < 0]
    if losing:
        said.append(
            f"{listed(losing)}: in the best graph these edges cost a little. They gained when they were added, or gain "
            "the other way round; do not build on them."
        )
    bounded = [name for name, fit in result.fits.items() if fit.at_bounds]
    if bounded:
        said.append(
            f"Parameters of the models of {listed(bounded)} ended at a bound: usual where a parent has no effect or a "
            "variable has no noise."
        )
    sure, asked = result.confidence, result.settings.get("confidence") or {}
    if asked and (sure is None or sure.replicates < asked["repetitions"]):
        done = 0 if sure is None else sure.replicates
        said.append(
            f"{done:,} of the {asked['repetitions']:,} repetitions that were asked for were done before the run was "
            "stopped: the same command with --resume does the others."
        )
    if sure is None and not asked:
        said.append(
            "How stable the edges are was not asked for: --confidence 100 learns them again on halves of the rows."
        )
    if sure is not None:
        shaky = [e for e in result.edge_list if sure.joined(e.source, e.target) < UNSURE]
        if shaky:
            names = listed([f"{e.source} – {e.target}" for e in shaky])
            said.append(f"Fewer than {UNSURE:.0%} of the {_repeats(result)} have {names}.")
    return said


def _settings(result: Result) -> list[list[str]]:
    """Return what was asked for, one line each."""
    rows: list[list[str]] = []
    for name, value in result.settings.items():
        parts = value.items() if isinstance(value, Mapping) and value else [("", value)]
        for part, inner in parts:
            if not _says_nothing(inner):
                rows.append([f"{name} {part}".strip().replace("_", " "), _in_words(inner)])
    return rows


def _says_nothing(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_says_nothing, value.values()))
    return value is None or (isinstance(value, Collection) and not isinstance(value, str) and len(value) == 0)


def _in_words(value: Any) -> str:
    """Return a setting as it is written in a file: a result that was read back shows the same."""
    plain = isinstance(value, str | int | float)
    return printable(value if plain else json.dumps(value, ensure_ascii=False, default=str), 200)


def _versions() -> dict[str, str]:
    return {
        "kerncause": __version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "pandas": pd.__version__,
    }
