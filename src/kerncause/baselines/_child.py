"""The process that learns: reads a request from a folder, answers into it.

Run as `python -m kerncause.baselines._child FOLDER`.
"""

import logging
import os
import shutil
import sys
import threading
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from kerncause.baselines.exchange import Request
from kerncause.baselines.pace import Pace, TooSlowError
from kerncause.baselines.process import TOO_SLOW
from kerncause.baselines.registry import BASELINES

NOBODY_WAITS = 3


def main(folder: Path) -> None:
    """Answer the request in a folder."""
    threading.Thread(target=_end_with_the_parent, args=(folder,), daemon=True).start()
    # The last line of standard error is shown to the user: progress does not belong there.
    logging.disable(logging.INFO)
    request = Request.read(folder)
    baseline = BASELINES[request.method]
    import_module(baseline.module)
    start = time.perf_counter()
    try:
        answer = baseline.learn(request.table, request.seed, request.settings, Pace(request.timeout))
    except TooSlowError as slow:
        print(slow, file=sys.stderr)
        sys.exit(TOO_SLOW)
    replace(answer, seconds=time.perf_counter() - start).write(folder)


def _end_with_the_parent(folder: Path) -> None:
    """Wait until standard input closes, which it does when the parent is gone; then leave nothing behind."""
    # Not through sys.stdin, whose lock would be held when the interpreter shuts down.
    while os.read(0, 1024):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(NOBODY_WAITS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
