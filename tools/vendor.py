"""Fetch the libraries that the report carries from npm, at the versions named here, with their licences.

    python tools/vendor.py

What is fetched is committed, so that an installation needs no npm. `src/kerncause/report/vendor/versions.json` records
where each file is from and its SHA-256; a test holds the files to it.
"""

import hashlib
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

PLACE = Path(__file__).parent.parent / "src" / "kerncause" / "report" / "vendor"
PACKAGES = {
    "cytoscape@3.34.4": {"dist/cytoscape.min.js": "cytoscape.min.js", "LICENSE": "cytoscape.LICENSE.txt"},
    "@dagrejs/dagre@3.1.1": {
        "dist/dagre.min.js": "dagre.min.js",
        "LICENSE": "dagre.LICENSE.txt",
        "dist/dagre.min.js.LEGAL.txt": "dagre.LEGAL.txt",
    },
}


def fetched(package: str, names: dict[str, str]) -> dict[str, bytes]:
    """Return the files of a package by the names they get here."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["npm", "pack", package, "--silent"], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        [archive] = Path(scratch).glob("*.tgz")
        with tarfile.open(archive) as packed:
            members = {name: packed.extractfile(f"package/{inside}") for inside, name in names.items()}
            return {name: member.read() for name, member in members.items() if member is not None}


def main() -> None:
    """Fetch all and write them down."""
    PLACE.mkdir(exist_ok=True)
    written = []
    for package, names in PACKAGES.items():
        for name, content in fetched(package, names).items():
            (PLACE / name).write_bytes(content)
            written.append({"file": name, "package": package, "sha256": hashlib.sha256(content).hexdigest()})
    (PLACE / "versions.json").write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
