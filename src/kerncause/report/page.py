"""One HTML file that opens anywhere: styles, scripts, facts and pictures inside, and nothing loaded from elsewhere.

The page's policy lets run only the scripts whose hashes it names and lets nothing be fetched, so that a name in the
table that looks like HTML could do nothing even if it were not shown as text.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

SCRIPTS = ("vendor/cytoscape.min.js", "vendor/dagre.min.js", "assets/page.js")
PLACES = re.compile(r"@(policy|version|title|style|summary|picture|facts|scripts)@")


def page(told: Mapping[str, Any], picture: str) -> str:
    """Return the page for what `facts` tells; `picture` is shown in print and where no script may run."""
    scripts = [_asset(name) for name in SCRIPTS]
    parts = {
        "policy": _policy(scripts),
        "version": escape(told["versions"]["kerncause"], quote=True),
        "title": _text(told["title"]),
        "summary": _text(told["summary"]),
        "style": _asset("assets/page.css"),
        "picture": picture,
        "facts": _json(told),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    # In one pass, so that nothing inside a part is taken for a place.
    return PLACES.sub(lambda place: parts[place[1]], _asset("assets/page.html"))


def _policy(scripts: list[str]) -> str:
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode('ascii')}'" for s in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _text(words: str) -> str:
    """Return words for HTML; half a character, which no file can hold, becomes a question mark."""
    return escape(words.encode("utf-8", "replace").decode("utf-8"), quote=True)


def _json(told: Mapping[str, Any]) -> str:
    """Return JSON that no HTML parser takes for the end of its element."""
    text = json.dumps(told, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _asset(name: str) -> str:
    text = files("kerncause.report").joinpath(name).read_text(encoding="utf-8")
    # A map of the source would be fetched by a browser's tools.
    return re.sub(r"//# sourceMappingURL=\S+\s*$", "", text).strip()
