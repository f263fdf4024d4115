"""Learn a graph on the hosts of an MPI job, by mpi4py.futures.

    mpiexec -n 3 python -m mpi4py.futures examples/discover_with_mpi.py

One process runs the search, the others compute its local scores. They need kerncause and mpi4py in the same versions;
the table is sent to them, unless they see the temporary files of the first (a TMPDIR that all hosts share).
"""

from pathlib import Path

from mpi4py.futures import MPIPoolExecutor

import kerncause

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        result = kerncause.discover(Path(__file__).parent / "sachs.csv", executor=executor, max_parents=1, score="bic")
    print(result)
    print("computed by", result.settings["workers"])
