"""The documentation says what is so: worked scripts, the five-minute page, quoted numbers, the pages of the site.

The site itself is built by `make docs`; the examples in the pages are run by test_project.py.
"""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import kerncause
from kerncause.cli import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

# What each worked script concludes.
CONCLUSIONS = {
    "worked_sachs": [
        "Dataset(2,000 rows, 11 variables: 11 ordinal)",
        "Of 17 true edges 17 were found.",
        "Of 17 edges found 17 are true.",
        "PKA → Akt gains 261.",
        "Saved: True.",
    ],
    "worked_business": [
        "without knowledge: 8 of 21 pairs differ from the truth",
        "with tiers: 0 of 21 pairs differ from the truth",
        "Found causes of churn: calls, price, tenure",
        "calls → churn gains",
        "Saved: True.",
    ],
    "worked_sensors": [
        "Nine columns: 12 edges.",
        "Six things: 5 edges.",
        "Pairs that differ from the class of the truth: 0.",
        "Left open: 3 directions.",
        "With roots: 0 directions left open.",
        "The true graph: True.",
        "Saved: True.",
    ],
}


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A directory with examples/ in it, to run things in."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_worked_script_is_tested():
    assert {path.stem for path in (ROOT / "examples").glob("worked_*.py")} == set(CONCLUSIONS)


@pytest.mark.long
@pytest.mark.parametrize("name", CONCLUSIONS)
def test_worked_scripts_conclude_what_they_say(name, clone, capsys):
    runpy.run_path(str(clone / "examples" / f"{name}.py"))
    printed = capsys.readouterr().out
    for conclusion in CONCLUSIONS[name]:
        assert conclusion in printed
    saved = clone / "demo-result" / name.replace("_", "-")
    assert {"graph.json", "graph.dot", "trace.jsonl"} <= {path.name for path in saved.iterdir()}


@pytest.mark.parametrize("name", CONCLUSIONS)
def test_worked_scripts_read_as_notebooks(name):
    script = (ROOT / "examples" / f"{name}.py").read_text()
    cells = re.split(r"^# %% ", script, flags=re.M)[1:]
    assert len(cells) >= 6
    for cell in cells:
        assert re.match(r"[A-Z].*\n(# .*\n)*[^#\n]", cell), f"a cell of {name} has no title, or no code: {cell[:60]}"


@pytest.mark.long
def test_the_seeds_that_the_business_example_speaks_of_were_run():
    """Seed 0 is the script's own."""
    script = (ROOT / "examples" / "worked_business.py").read_text()
    scope: dict[str, object] = {}
    exec(script[script.index("\n# %%") : script.index("table = customers(")], scope)
    known = kerncause.Knowledge(tiers=[["region", "plan", "tenure"], ["price", "usage"], ["calls"], ["churn"]])
    said = " ".join(script.replace("#", " ").split())
    assert "with tiers, seeds 0 to 3 come out as the truth has it; without, they differ from it on 7 or 8 pairs" in said
    for seed in (1, 2, 3):
        data = kerncause.Dataset.from_frame(scope["customers"](600, seed), levels={"plan": scope["PLANS"]})
        blind, learned = (kerncause.discover(data, knowledge=k, max_parents=3, workers=1) for k in (None, known))
        assert learned.graph == scope["truth"]
        assert kerncause.metrics.shd(scope["truth"], blind.graph) in (7, 8)


def console_lines(page):
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(), re.S)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


@pytest.mark.long
def test_the_five_minutes_work(clone):
    commands = [shlex.split(line, comments=True) for line in console_lines(DOCS / "start.md")]
    ours = [words[1:] for words in commands if words[0] == "kerncause"]
    assert {words[0] for words in ours} >= {"discover", "explain", "simulate", "compare", "plot", "report"}
    for words in ours:
        run = subprocess.run(
            [sys.executable, "-m", "kerncause.cli", *words], capture_output=True, text=True, encoding="utf-8"
        )
        assert run.returncode == 0, f"kerncause {shlex.join(words)}: {run.stderr}"
        if words[:2] == ["discover", "examples/sachs.csv"] and words[-1] == "result":
            shown = re.search(r"(\d+ edges, \d+ with a direction; [\d,]+ local scores)", run.stdout)[1]
            assert shown in (DOCS / "start.md").read_text()
            for edge in re.findall(r"^ {6}(\w+ — \w+ +[\d.]+)", (DOCS / "start.md").read_text(), re.M):
                assert " ".join(edge.split()) in " ".join(run.stdout.split())
    assert {path.name for path in (clone / "result").iterdir()} >= {"graph.json", "graph.dot", "report.html"}
    assert (clone / "graph.svg").read_text().lstrip().startswith("<")


def nav():
    """The pages in the navigation of the site, without those that are commented out."""
    text = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    return re.findall(r"^ *- [^#\n]*: (\S+\.md)$", text, re.M)


def test_every_page_is_in_the_navigation_once():
    pages = nav()
    assert sorted(pages) == sorted(set(pages))
    assert {path.name for path in DOCS.glob("*.md")} <= set(pages)
    for page in pages:
        script = (ROOT / page).with_suffix(".py")
        assert (DOCS / page).exists() or (ROOT / page).exists() or script.exists(), f"{page} is in mkdocs.yml"


def quoted_numbers():
    """Every number in a table whose last column links to where it was measured: page, row, number, source."""
    for page in (DOCS / "choosing.md", DOCS / "speed.md"):
        header = ""
        for line in page.read_text().splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            header = cells[-1] if not header else header if line else ""
            source = re.fullmatch(r"\[[^]]+\]\(([^)#]+)\)", cells[-1])
            if header == "source" and source:
                for cell in cells[1:-1]:
                    if re.search(r"\d", cell):
                        yield page, cells[0], cell, (page.parent / source[1]).resolve()


QUOTED = [*quoted_numbers()]


def test_numbers_are_quoted():
    assert len(QUOTED) >= 35


@pytest.mark.parametrize(
    ("page", "row", "cell", "source"), QUOTED, ids=[f"{page.stem}-{i}" for i, (page, *_) in enumerate(QUOTED)]
)
def test_quoted_numbers_stand_in_their_sources(page, row, cell, source):
    measured = re.match(r"(.*?)(?: from [\d,]+ to [\d,]+ rows| low-rank, [\d,]+ rows)?$", cell)[1]
    lines = source.read_text().splitlines()
    if source.name == "METHODS.md":  # rows have the same names there
        lines = [line for line in lines if line.startswith(f"| {row} |")]
    found = [line for line in lines if f" {measured}" in line]
    assert found, f"{page.name} quotes {measured} ({row}), which {source.name} does not have: look again"


@pytest.mark.parametrize(
    "measured", ["rank 393", "rank 418", "1.39 times", "1.26 times", "5 of 10 final scores certified"]
)
def test_numbers_in_the_text_about_speed_were_measured(measured):
    assert measured in " ".join((DOCS / "speed.md").read_text().split())
    assert measured in (ROOT / "benchmarks" / "RESULTS.md").read_text()


def test_confidence_says_what_it_does_not_mean():
    page = " ".join((DOCS / "confidence.md").read_text().split())
    assert "**What it does not mean.**" in page
    assert "not the probability that one variable causes the other" in page


def test_no_page_loads_anything_from_another_host():
    settings = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in settings
    assert not re.search(r"https?://", settings)
    for path in (*DOCS.glob("*.md"), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        text = path.read_text()
        assert not re.search(r"!\[[^]]*\]\(https?://|<(script|img|link|iframe)\b|```mermaid", text), path.name


def commands():
    """Every command that a page shows, with the page."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.S):
            whole = block.replace("\\\n", " ")
            for line in re.findall(r"^\$ (?:\S*/)?kerncause (.*)$", whole, re.M):
                yield page.name, line


COMMANDS = list(commands())


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=[f"{page}-{line[:40]}" for page, line in COMMANDS])
def test_commands_that_pages_show_can_be_given(page, line):
    """Most would run for long; here they are read as the shell would, down to every option."""
    command, words = typer.main.get_command(app), shlex.split(line, comments=True)
    while hasattr(command, "commands"):  # a group; its class is typer's or click's, by the version of typer
        command = command.commands[words.pop(0)]
    command.make_context("kerncause", words)


def test_pages_show_commands():
    assert len(COMMANDS) > 40
