"""What the documentation site needs beyond docs/: files from elsewhere in the repository, and links that lead to them.

Pages link to each other as files of the repository, so that the links work on a code host. On the site docs/ is the
root, and what lies outside it keeps its path: docs/score.md is score.md, CONTRIBUTING.md is CONTRIBUTING.md, and the
script examples/worked_sachs.py is the page examples/worked_sachs.md.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/RESULTS.md", "benchmarks/METHODS.md", "experiments/protocol.md")
PICTURES = "experiments/*.svg"
SCRIPTS = "examples/*.py"
# Where a page of the site has another place in the repository than its path says.
MOVED = {"README.md": "index.md"}

LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")


def on_files(files: Files, config: Any) -> Files:
    """Add what lies outside docs/."""
    for path in (*PAGES, *(p.relative_to(ROOT).as_posix() for p in sorted(ROOT.glob(PICTURES)))):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    for script in sorted(ROOT.glob(SCRIPTS)):
        path = script.relative_to(ROOT).as_posix()
        files.append(File.generated(config, _on_site(path), content=script_as_page(script.read_text(encoding="utf-8"))))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Turn links between files of the repository into links between pages of the site."""
    uri = page.file.src_uri
    here = posixpath.dirname(uri if _is_outside(uri) else f"docs/{uri}")
    there = posixpath.dirname(uri)

    def led(link: re.Match[str]) -> str:
        target = _on_site(posixpath.normpath(posixpath.join(here, link[2])))
        return f"{link[1]}{posixpath.relpath(target, there or '.')}{link[3]}"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.S | re.M)  # what is between fences stays as it is
    return "".join(part if part.startswith("```") else LINK.sub(led, part) for part in parts)


def script_as_page(script: str) -> str:
    """Return a script as Markdown: its docstring, then for each `# %%` cell its title, opening comment and code."""
    _, said, code = script.split('"""', 2)
    title, _, about = said.strip().partition("\n\n")
    head, *cells = re.split(r"^# %% ?", code, flags=re.M)
    return "\n\n".join([f"# {title.rstrip('.')}", about.strip(), *_fenced(head), *map(_cell, cells)]) + "\n"


def _cell(cell: str) -> str:
    title, *lines = cell.rstrip().split("\n")
    prose = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    said = "\n".join(line.removeprefix("#").strip() for line in lines[:prose])
    return "\n\n".join([f"## {title}", said, *_fenced("\n".join(lines[prose:]))])


def _fenced(code: str) -> list[str]:
    """Return code as a block, nothing for nothing."""
    code = code.strip("\n")
    return [f"```python\n{code}\n```"] if code else []


def _is_outside(uri: str) -> bool:
    return uri in PAGES or uri.startswith("examples/")


def _on_site(path: str) -> str:
    """Return where a file of the repository is on the site."""
    if path in MOVED:
        return MOVED[path]
    if path.startswith("examples/") and path.endswith(".py"):
        return path.removesuffix(".py") + ".md"
    return path.removeprefix("docs/")
