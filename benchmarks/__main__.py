"""`python -m benchmarks [NAME ...]`."""

import sys

from benchmarks import cluster, continuous, defaults, directions, discrete, evidence, independence, many, searches
from benchmarks.harness import run

if __name__ == "__main__":
    run(
        sys.argv[1:],
        [
            *discrete.BENCHMARKS,
            *defaults.BENCHMARKS,
            *independence.BENCHMARKS,
            *continuous.BENCHMARKS,
            *directions.BENCHMARKS,
            *searches.BENCHMARKS,
            *evidence.BENCHMARKS,
            *many.BENCHMARKS,
            *cluster.BENCHMARKS,
        ],
    )
