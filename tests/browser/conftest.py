"""Reports made once for all tests, and a Chromium that opens them and hears every complaint.

The browser is the one of the system (`apt-get install chromium`), or the one that CHROMIUM names.
"""

import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import kerncause
from kerncause.data import Dataset
from kerncause.graphs import DAG
from kerncause.networks import load
from kerncause.result import Edge, Result
from kerncause.scores import Ledger, make_score
from kerncause.search import Step

CHECKS = (Path(__file__).parent / "checks.js").read_text(encoding="utf-8")
SACHS = Path(__file__).parent.parent.parent / "examples" / "sachs.csv"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

BAD_NAMES = [
    "<script>window.pwned = 1; alert(1)</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "</script><script>window.pwned = 1</script><!--",
    'it\'s "quoted" & `ticked` ${window.pwned = 1}',
    "🧬 gène 基因",
    "two\nlines\tand a tab",
    "back\\slash \\u003c",
    "__proto__",
    "constructor",
    "right\u200fto\u202eleft שלום",
    "long " + "x" * 9_995,
]


@dataclass(frozen=True)
class Made:
    """A report, and what it was made of."""

    path: Path
    result: Result
    truth: DAG | None


def sachs(place: Path) -> tuple[Result, DAG | None]:
    """Every kind of edge, halves of the rows, and a truth."""
    table = place / "sachs.csv"
    pd.read_csv(SACHS).head(300).to_csv(table, index=False)
    return kerncause.discover(table, score="bdeu", confidence=10, workers=1), load("sachs").dag


def learned(_: Path) -> tuple[Result, DAG | None]:
    """Numbers, an order and words, with the score that has bandwidths and curves."""
    draw = np.random.default_rng(0)
    n = 100
    dose = draw.normal(size=n)
    uptake = np.sin(2 * dose) + 0.3 * draw.normal(size=n)
    group = draw.choice(["x", "y"], n)
    effect = uptake**2 + 1.5 * (group == "x") + 0.3 * draw.normal(size=n)
    stage = np.digitize(dose + 0.5 * draw.normal(size=n), [-1, 0, 1])
    frame = pd.DataFrame({"dose": dose, "uptake": uptake, "group": group, "effect": effect, "stage": stage})
    return kerncause.discover(frame.assign(other=draw.normal(size=n)), score="learned", workers=1), None


def vector(_: Path) -> tuple[Result, DAG | None]:
    """Variables of several columns."""
    drawn = kerncause.simulate(kind="multidimensional", variables=4, rows=60, seed=1)
    return kerncause.discover(drawn.dataset, score="learned", workers=1), drawn.dag


def tested(place: Path) -> tuple[Result, DAG | None]:
    """A search by tests, which has p-values and no score."""
    table = place / "sachs.csv"
    pd.read_csv(SACHS).head(300).to_csv(table, index=False)
    return kerncause.discover(table, search="pc", test="chi-squared", workers=1), None


def empty(_: Path) -> tuple[Result, DAG | None]:
    """Nothing found."""
    noise = np.random.default_rng(0).normal(size=(60, 4))
    result = kerncause.discover(pd.DataFrame(noise, columns=[*"abcd"]), score="bic", workers=1)
    assert not result.edge_list
    return result, None


def twenty(_: Path) -> tuple[Result, DAG | None]:
    """Twenty variables."""
    child = load("child")
    return kerncause.discover(child.sample(300, seed=1), score="bdeu", workers=1), child.dag


def hundred(_: Path) -> tuple[Result, DAG | None]:
    """A sparse graph over a hundred variables, put together without a search, which would take minutes."""
    draw = np.random.default_rng(5)
    names = [f"measurement {k + 1}" for k in range(100)]
    links = [(names[int(draw.integers(max(0, k - 12), k))], names[k]) for k in range(1, 100) if k % 5]
    links += [(names[k], names[k + 15]) for k in range(0, 80, 8) if (names[k], names[k + 15]) not in links]
    table = pd.DataFrame(draw.normal(size=(100, 100)), columns=names)
    for cause, effect in links:
        table[effect] += 0.9 * table[cause] / table[cause].std()
    return _put_together(table, DAG(names, links)), None


def _put_together(table: pd.DataFrame, dag: DAG) -> Result:
    data = Dataset.from_frame(table)
    score = make_score("bic", data)
    graph = dag.to_cpdag()
    edges, steps, total = [], [], 0.0
    for a, b in dag.edges:
        parents = sorted(dag.parents(b))
        gain = score.local_score(b, parents) - score.local_score(b, [p for p in parents if p != a])
        edges.append(Edge(a, b, (a, b) in set(graph.directed_edges), gain, preference=None))
        total += gain
        number = len(edges)
        steps.append(Step(number, "forward", "insert", a, b, (), gain, number, number, total, changes=((a, "->", b),)))
    usual = kerncause.discover(table.iloc[:, :2], score="bic", workers=1).settings
    return Result(graph, dag, {}, tuple(edges), tuple(steps), usual, data, 1.0, len(edges), ledger=Ledger.of(score))


def bad(place: Path) -> tuple[Result, DAG | None]:
    """Names, labels and a file name that try to be more than text."""
    draw = np.random.default_rng(3)
    n = 120
    numbers = draw.normal(size=(n, len(BAD_NAMES)))
    for k in range(1, len(BAD_NAMES)):
        numbers[:, k] += 1.5 * numbers[:, k - 1] / numbers[:, k - 1].std()
    frame = pd.DataFrame(numbers, columns=BAD_NAMES)
    levels = {"labels <b>": BAD_NAMES[:6], "labels &amp;": BAD_NAMES[6:]}
    for name, words in levels.items():
        frame[name] = np.array(words)[np.digitize(numbers[:, 0], np.linspace(-1, 1, len(words) - 1))]
    table = place / "<img src=x onerror='window.pwned=1'>.csv"
    frame.to_csv(table, index=False)
    result = kerncause.discover(table, score="bic", workers=1, levels=levels)
    return result, DAG(result.graph.nodes, [(BAD_NAMES[0], BAD_NAMES[1]), (BAD_NAMES[3], "labels <b>")])


MAKERS: dict[str, Callable[[Path], tuple[Result, DAG | None]]] = {
    maker.__name__: maker for maker in (sachs, learned, vector, tested, empty, twenty, hundred, bad)
}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """Return a report by its name; each is made once."""
    kept: dict[str, Made] = {}

    def report(name: str) -> Made:
        if name not in kept:
            place = tmp_path_factory.mktemp(name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", kerncause.errors.DataWarning)
                result, truth = MAKERS[name](place)
            kept[name] = Made(result.report(place / "report.html", truth), result, truth)
        return kept[name]

    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.fail("These tests need Chromium: apt-get install chromium, or name one in CHROMIUM.", pytrace=False)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Browser, made: Callable[[str], Made]) -> Iterator[Callable[..., Page]]:
    """Open reports; at the end of the test none may have complained, asked, or fetched anything but its file."""
    heard: list[str] = []
    contexts = []

    def listen(page: Page, address: str) -> None:
        page.on("console", lambda message: heard.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (heard.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url == address or heard.append(f"request: {request.url}"))

    def report(name: str, width: int = 1280, height: int = 900, **how: Any) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height}, offline=True, reduced_motion="reduce", **how
        )
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        address = made(name).path.as_uri()
        listen(page, address)
        page.goto(address)
        if how.get("java_script_enabled", True):
            page.wait_for_selector("body[data-ready]")
            page.evaluate(CHECKS)
        return page

    yield report
    for context in contexts:
        context.close()
    assert heard == []
