"""`python -m benchmarks [NAME ...]`."""

import sys

from benchmarks import discrete  # noqa: F401  (registers its benchmarks)
from benchmarks.harness import run

if __name__ == "__main__":
    run(sys.argv[1:])
