"""An object as bytes whose arrays need not be copied: in a file that is mapped into memory, or in a message."""

import mmap
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kerncause.errors import OptionError

ALIGNMENT = 64


class Parcel:
    """An object to be sent: the pickle, and apart from it the raw bytes of the arrays in it.

    It is unpacked once, where it arrives, and what was in it is kept for as long as the parcel is: a cluster that lets
    go of the one lets go of the other.
    """

    def __init__(self, pickled: bytes, buffers: tuple[npt.NDArray[np.uint8], ...]) -> None:
        self._pickled, self._buffers = pickled, tuple(map(_aligned, buffers))
        self._lock = threading.Lock()
        self._unpacked: list[object] = []

    @classmethod
    def of(cls, value: object) -> "Parcel":
        """Pack an object."""
        pickled, raws = _flattened(value)
        return cls(pickled, tuple(np.frombuffer(raw, np.uint8) for raw in raws))

    def unpacked(self) -> object:
        """Return the object; its arrays lie in the parcel and cannot be written to."""
        with self._lock:  # a worker may have several threads
            if not self._unpacked:
                views = [buffer.data.toreadonly() for buffer in self._buffers]
                self._unpacked.append(pickle.loads(self._pickled, buffers=views))
            return self._unpacked[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return Parcel, (self._pickled, self._buffers)

    def __sizeof__(self) -> int:
        """How much there is to send: Dask asks before it moves things about."""
        return len(self._pickled) + sum(buffer.nbytes for buffer in self._buffers)


def _aligned(buffer: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return bytes where numbers may lie: elsewhere, as in the middle of a message, sums come in another order."""
    if buffer.ctypes.data % ALIGNMENT == 0:
        return buffer
    room = np.empty(buffer.nbytes + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    found = room[start : start + buffer.nbytes]
    found[:] = buffer
    return found


def write_mapped(value: object, path: Path) -> None:
    """Write an object so that `read_mapped` need not copy its arrays.

    Pickled with its buffers out of band: one file with the pickle, one with the raw bytes of the buffers.
    """
    pickled, raws = _flattened(value)
    places = []
    with path.with_suffix(".buffers").open("wb") as file:
        for raw in raws:
            places.append((file.tell(), raw.nbytes))
            file.write(raw)
            file.write(bytes(-file.tell() % ALIGNMENT or ALIGNMENT))
    path.write_bytes(pickle.dumps((places, pickled)))


def read_mapped(path: Path) -> object:
    """Read what `write_mapped` wrote; its arrays lie in the mapped file and cannot be written to."""
    places, pickled = pickle.loads(path.read_bytes())
    buffers: list[memoryview] = []
    if places:
        with path.with_suffix(".buffers").open("rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        buffers = [mapped[start : start + size] for start, size in places]
    value: object = pickle.loads(pickled, buffers=buffers)
    return value


def _flattened(value: object) -> tuple[bytes, list[memoryview]]:
    """Return the pickle of an object and the bytes of its arrays, which are not copied."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    except (pickle.PicklingError, TypeError, AttributeError) as unfit:
        raise OptionError(
            f"the score or test cannot be sent to other processes ({unfit}): give one that can be pickled, or workers=1"
        ) from None
    return pickled, [buffer.raw() for buffer in buffers]
