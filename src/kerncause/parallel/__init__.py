"""Computing many local scores or tests: here, in several processes, on a cluster, with the same result.

* The score (or test), table and all, is handed over once. Workers forked from this process share its memory. Those of
  an executor map one file into memory, where they see this machine's files, so that it lies there once however many
  workers there are; others get the bytes with a task and keep them. On a Dask cluster each gets it at the start.
* A task is a few queries: as many as take a tenth of a second, by what others like them took.
* Every worker runs its linear algebra on one thread: on matrices this small two threads are slower than one,
  and a fixed number makes the last bit of every result independent of how many workers there are.
* On an error or Ctrl-C nobody waits for what is still being computed. Worker processes that died are replaced
  once; if that happens again the search ends with an error. A cluster gives the tasks of a lost worker to the others.
"""

from kerncause.parallel.batches import Spread, batches, batches_of_tests, spread_over, worker_count
from kerncause.parallel.cluster import connected
from kerncause.parallel.parcel import read_mapped, write_mapped
from kerncause.parallel.processes import START_METHOD, end_pool, started_pool, uninterrupted
from kerncause.parallel.trades import Trade

__all__ = [
    "START_METHOD",
    "Spread",
    "Trade",
    "batches",
    "batches_of_tests",
    "connected",
    "end_pool",
    "read_mapped",
    "spread_over",
    "started_pool",
    "uninterrupted",
    "worker_count",
    "write_mapped",
]
