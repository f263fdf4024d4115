"""Learning in a process of its own.

The libraries set the number type of torch and the seeds of global generators: in a child process that touches nobody.
A folder of its own carries the request there and the answer back. However this ends (an answer, a failure, the time
limit, Ctrl-C), the child is ended and waited for, and the folder removed. If this process is killed outright, the
child sees its standard input close, and goes as well.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from kerncause.baselines.exchange import Answer, Request
from kerncause.errors import ComputationError
from kerncause.text import printable

CHILD = "kerncause.baselines._child"
STDERR = "stderr.txt"
# The exit code of a child that sees that it will not be done in time.
TOO_SLOW = 4
LONGEST_LINE = 200
THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NPROC")


def computed(request: Request, threads: int = 1) -> Answer:
    """Return what a child process learns within the seconds that it has, on so many threads."""
    timeout = request.timeout
    with tempfile.TemporaryDirectory(prefix="kerncause-") as name:
        folder = Path(name)
        request.write(folder)
        try:
            code = _ended(command(folder), folder, environment(folder, threads), timeout)
        except subprocess.TimeoutExpired:
            raise _too_slow(request.method, "took", timeout) from None
        if code == TOO_SLOW:
            raise _too_slow(request.method, f"{printable(_last_line(folder / STDERR), LONGEST_LINE)},", timeout)
        answer = Answer.read(folder) if code == 0 else None
        if answer is None:
            raise ComputationError(_obituary(request.method, code, _last_line(folder / STDERR)))
        return answer


def command(folder: Path) -> list[str]:
    """Return the words that start the child; -P keeps modules in the current directory from being imported."""
    return [sys.executable, "-P", "-m", CHILD, str(folder)]


def environment(folder: Path, threads: int) -> dict[str, str]:
    """Return this process's environment, what is importable here importable there, with a number of threads."""
    counts = dict.fromkeys(THREAD_COUNTS, str(threads))
    # jax takes the size of its pool from NPROC; Eigen, which it uses, has threads of its own.
    flags = {"JAX_PLATFORMS": "cpu", "CASTLE_BACKEND": "pytorch", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if threads == 1:
        flags["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    # torch leaves a cache among the temporary files: let it go with the folder.
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    # Warnings turned into errors here would stop the libraries, which do warn.
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONWARNINGS"}
    return kept | counts | flags | temporary


def _ended(words: list[str], folder: Path, variables: dict[str, str], timeout: float) -> int:
    """Run a child to its end and return its exit code, negative for a signal; it is gone however this is left."""
    # What it says goes to a file: a pipe would have to be emptied while waiting.
    with (
        (folder / STDERR).open("wb") as said,
        # A session of its own: a signal to everyone in this process's group is for this process to pass on.
        subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env=variables,
            start_new_session=True,
        ) as child,
    ):
        try:
            return child.wait(timeout)
        finally:
            child.kill()
            child.wait()


def _last_line(path: Path) -> str:
    lines = [line.strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")


def _too_slow(method: str, what: str, timeout: float) -> ComputationError:
    return ComputationError(
        f"{printable(method)} {what} longer than the {timeout:g} seconds it had: give it more with "
        "timeout (--timeout), or fewer rows"
    )


def _obituary(method: str, code: int, last_line: str) -> str:
    """Return one sentence on how a child ended without an answer."""
    saying = f", saying '{printable(last_line, LONGEST_LINE)}'" if last_line else ""
    if code < 0:
        ended, cure = f"was ended by {_signal_name(-code)}", "if memory ran out, give it fewer rows or columns"
    else:
        ended, cure = f"ended with exit code {code} and no answer", "change its settings, or choose another method"
    return f"the process of {printable(method)} {ended}{saying}: {cure}"


def _signal_name(number: int) -> str:
    try:
        return f"the signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
