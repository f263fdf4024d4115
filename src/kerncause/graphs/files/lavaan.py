"""The model syntax of lavaan, an R package for structural equations: a regression for every variable with causes.

    y ~ a + b
    x ~~ x

The second form states a variance, here of a variable that no edge reaches, which a model would otherwise not mention.
lavaan fits these lines as linear equations; the graph says nothing about their form.
"""

import re
from collections.abc import Iterable
from itertools import product
from string import digits
from typing import NamedTuple

from kerncause.errors import GraphError
from kerncause.graphs.named import PDAG
from kerncause.graphs.stated import Stated, assembled
from kerncause.text import quoted

# R's own words; and two by which lavaan means something else when they stand to the right of ~.
KEPT = re.compile(
    "if|else|repeat|while|function|for|next|break|in|TRUE|FALSE|NULL|Inf|NaN|"
    "NA(_(integer|real|character|complex)_)?|intercept|efa"
)
FORMULA = re.compile(r"(?P<left>[^~=<>:|%]+)(?P<sign>~~?)(?P<right>[^~=<>:|%]+)")
INTERCEPT = "1"


class Line(NamedTuple):
    """One formula, and the line on which it begins."""

    text: str
    number: int


def parse(text: str) -> PDAG:
    """Read regressions `y ~ a + b`, variances and intercepts; refuse covariances, latent variables and constraints.

    Labels of coefficients (`y ~ c1*a`) are passed over; a coefficient that is fixed or given a start is refused.
    """
    nodes: dict[str, None] = {}
    edges: list[Stated] = []
    for line in _lines(text):
        match = FORMULA.fullmatch(line.text)
        if match is None:
            raise GraphError(
                f"line {line.number}: {quoted(line.text)} is no regression: write each as y ~ a + b "
                "(latent variables, covariances and constraints are not read)"
            )
        left = [_variable(term, line.number) for term in match["left"].split("+")]
        right = [_variable(term, line.number) for term in match["right"].split("+") if term.strip() != INTERCEPT]
        nodes |= dict.fromkeys([*left, *right])
        if match["sign"] == "~":
            edges += [Stated(b, a, directed=True, line=line.number) for a, b in product(left, right)]
        elif left != right or len(left) > 1:
            raise GraphError(
                f"line {line.number}: {quoted(line.text)} is a covariance: only directed edges can be taken, "
                "so remove it or write a regression"
            )
    if not nodes:
        raise GraphError("it is empty: write a regression, such as y ~ a + b, for each variable with causes")
    return assembled(nodes, edges)


def render(graph: PDAG) -> str:
    """Write a regression for every node with parents, and a variance for every node without any edge."""
    if not graph.nodes:
        raise GraphError("lavaan cannot carry a graph without nodes: write it as JSON")
    bad = [name for name in graph.nodes if not _is_name(name)]
    if bad:
        raise GraphError(
            f"lavaan cannot carry the name {quoted(bad[0])}: rename the variable, in the table as well "
            "(letters, digits, dots and underscores, a letter first; no word that R or lavaan keeps for itself)"
        )
    lines = []
    for node in graph.nodes:
        parents = [name for name in graph.nodes if name in graph.parents(node)]
        if parents:
            lines.append(f"{node} ~ {' + '.join(parents)}")
        elif not graph.adjacent(node):
            lines.append(f"{node} ~~ {node}")
    return "\n".join([*lines, ""])


def _is_name(word: str) -> bool:
    """Tell whether a word is a name to R, with a letter after any dots that it begins with."""
    stem = word.lstrip(".")
    spelled = stem[:1].isalpha() and all(sign.isalpha() or sign in f"{digits}._" for sign in stem)
    return spelled and not KEPT.fullmatch(word)


def _lines(text: str) -> Iterable[Line]:
    """Return the formulas without comments; one that ends or goes on with a sign is taken together."""
    found: list[Line] = []
    for number, line in enumerate(text.split("\n"), start=1):
        for piece in re.sub("[#!].*", "", line).split(";"):
            words = piece.strip()
            if found and words and (words[0] == "+" or found[-1].text[-1] in "+~"):
                found[-1] = Line(f"{found[-1].text} {words}", found[-1].number)
            elif words:
                found.append(Line(words, number))
    return found


def _variable(term: str, line: int) -> str:
    label, star, name = (part.strip() for part in term.rpartition("*"))
    if not _is_name(name) or (star and not _is_name(label)):
        raise GraphError(
            f"line {line}: {quoted(term.strip())} is no variable: give names alone, without fixed or starting values"
        )
    return name
