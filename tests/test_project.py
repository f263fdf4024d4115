"""The house rules that a machine can check."""

import ast
import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kerncause
from kerncause.baselines import BASELINES
from kerncause.independence import TESTS
from kerncause.scores import SCORES

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "kerncause"

# Data flows down this list; a module imports only from those above it.
LAYERS = [
    "version",
    "errors",
    "text",
    "written",
    "stop",
    "journal",
    "options",
    "data",
    "linalg",
    "kernels",
    "regression",
    "graphs",
    "knowledge",
    "scores",
    "independence",
    "screening",
    "parallel",
    "memory",
    "search",
    "watch",
    "directions",
    "explain",
    "confidence",
    "baselines",
    "result",
    "saved",
    "presets",
    "plan",
    "learn",
    "repeat",
    "discover",
    "metrics",
    "networks",
    "simulate",
    "report",
    "experiments",
    "__init__",
    "cli",
]


def layer(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_layers(path):
    """Layers imported when the module is loaded; imports inside functions are not."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "kerncause":
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [a.name for a in node.names]
        elif isinstance(node, ast.Import):
            yield from ("__init__" for a in node.names if a.name.split(".")[0] == "kerncause")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    own = LAYERS.index(layer(path))
    for other in imported_layers(path):
        assert LAYERS.index(other) <= own, f"{path.name} imports {other}, which lies below it"


def test_the_core_needs_no_extra():
    code = "import sys, kerncause, kerncause.cli; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "jax", "matplotlib", "dask", "distributed", "sklearn", "ges"} & set(loaded)
    # pandas itself loads pyarrow where it is installed, so look at our own imports.
    ours = (
        {
            name.split(".")[0]
            for path in SOURCE.rglob("*.py")
            for node in ast.walk(ast.parse(path.read_text()))
            for name in (
                [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", "") or ""]
            )
        }
        - {""}
        - set(sys.stdlib_module_names)
    )
    # matplotlib is named for the type checker alone, distributed inside functions: neither was loaded above.
    core = {"kerncause", "numpy", "scipy", "pandas", "networkx", "threadpoolctl", "typer", "rich"}
    assert ours <= core | {"matplotlib", "distributed"}


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.S)


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [(path, block) for path in DOCUMENTS for block in python_blocks(path)]


@pytest.mark.parametrize(("path", "block"), BLOCKS, ids=[f"{p.name}-{i}" for i, (p, _) in enumerate(BLOCKS)])
def test_examples_in_the_documents_run(path, block, monkeypatch, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, str(path), "exec"), {})


def test_the_documents_have_examples():
    assert {path.name for path, _ in BLOCKS} >= {"README.md", "CONTRIBUTING.md"}


def test_the_package_docstring_runs():
    outcome = doctest.testmod(kerncause)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_links_in_the_documents_lead_somewhere():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_table_of_methods_is_the_measured_one():
    measured = (ROOT / "benchmarks" / "METHODS.md").read_text().splitlines()
    shown = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| `--")]
    assert len(shown) == len(SCORES) + len(TESTS) + len(BASELINES)
    assert shown == [line for line in measured if line.startswith("| `--")]


def test_the_seconds_of_the_networks_are_the_measured_ones():
    page = (ROOT / "benchmarks" / "RESULTS.md").read_text()
    lines = [line for line in (ROOT / "README.md").read_text().splitlines() if re.match(r"\| (SACHS|CHILD), \d", line)]
    assert len(lines) == 2
    for line in lines:
        name, f1, seconds = (cell.strip() for cell in line.strip("|").split("|"))
        network = name.split(",")[0]
        assert f"| {network} n=2000, whole graph, 5 seeds: skeleton F1 | {f1} |" in page
        assert f"| {network} n=2000, whole graph, 5 seeds: one core | {seconds} s mean" in page
