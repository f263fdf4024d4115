"""Graphs over 0..p-1 as bit masks: the algorithms' view, without names.

A set of nodes is an integer whose bit j says whether node j is in it: unions, intersections and
emptiness are single operations, which is what a search does millions of times.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Arc = tuple[int, int]


def bits(mask: int) -> Iterator[int]:
    """Iterate over the members of a set, in increasing order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(members: Iterable[int]) -> int:
    """Return the set of some nodes."""
    mask = 0
    for member in members:
        mask |= 1 << member
    return mask


@dataclass(frozen=True)
class Adjacency:
    """Directed and undirected edges; i - j is held as both i -> j and j -> i.

    Attributes:
        out: for each node i the set of j with i -> j or i - j.
        into: for each node j the set of i with i -> j or i - j.
    """

    out: tuple[int, ...]
    into: tuple[int, ...]

    @classmethod
    def of(cls, size: int, directed: Iterable[Arc] = (), undirected: Iterable[Arc] = ()) -> "Adjacency":
        """Build from arcs; a pair given in both directions is undirected."""
        out, into = [0] * size, [0] * size
        arcs = list(directed)
        for i, j in undirected:
            arcs += [(i, j), (j, i)]
        for i, j in arcs:
            out[i] |= 1 << j
            into[j] |= 1 << i
        return cls(tuple(out), tuple(into))

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.out)

    def parents(self, i: int) -> int:
        """Return the j with j -> i."""
        return self.into[i] & ~self.out[i]

    def children(self, i: int) -> int:
        """Return the j with i -> j."""
        return self.out[i] & ~self.into[i]

    def neighbours(self, i: int) -> int:
        """Return the j with i - j."""
        return self.out[i] & self.into[i]

    def adjacent(self, i: int) -> int:
        """Return the j joined to i by any edge."""
        return self.out[i] | self.into[i]

    def arcs(self) -> Iterator[Arc]:
        """Iterate over the directed edges."""
        for i in range(self.size):
            for j in bits(self.children(i)):
                yield i, j

    def links(self) -> Iterator[Arc]:
        """Iterate over the undirected edges, each once with i < j."""
        for i in range(self.size):
            for j in bits(self.neighbours(i) >> (i + 1) << (i + 1)):
                yield i, j

    def edge_count(self) -> int:
        """Number of edges of either sort."""
        return sum(self.adjacent(i).bit_count() for i in range(self.size)) // 2

    def link_count(self) -> int:
        """Number of undirected edges."""
        return sum(self.neighbours(i).bit_count() for i in range(self.size)) // 2

    def is_clique(self, members: int) -> bool:
        """Tell whether every two members are joined."""
        return all(not (members & ~self.adjacent(i) & ~(1 << i)) for i in bits(members))

    def changed(self, add: Iterable[Arc] = (), remove: Iterable[Arc] = ()) -> "Adjacency":
        """Return a copy without the arcs in `remove` and with those in `add`."""
        out, into = list(self.out), list(self.into)
        for i, j in remove:
            out[i] &= ~(1 << j)
            into[j] &= ~(1 << i)
        for i, j in add:
            out[i] |= 1 << j
            into[j] |= 1 << i
        return Adjacency(tuple(out), tuple(into))

    def reachable(self, start: int, avoiding: int = 0) -> int:
        """Return every node at the end of a semi-directed path (no edge against its arrow) from `start`."""
        seen, frontier = 1 << start, 1 << start
        while frontier:
            onward = 0
            for i in bits(frontier):
                onward |= self.out[i]
            frontier = onward & ~seen & ~avoiding
            seen |= frontier
        return seen
