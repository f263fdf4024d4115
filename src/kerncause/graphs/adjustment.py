"""Which sets of nodes a causal effect may be adjusted for: d-connection and valid adjustment, on bit masks."""

from dataclasses import dataclass

from kerncause.graphs.adjacency import Adjacency, bits
from kerncause.graphs.equivalence import topological_order


def d_connected(dag: Adjacency, start: int, given: int) -> int:
    """Return the set of nodes outside `given` that some path open given `given` joins to `start`.

    Walks are followed one edge at a time, all at once: a walk going up (to a parent) may go on either way unless its
    node is given; one that came down goes on down unless its node is given, and turns up only if it is (a collider).
    A walk may descend to a given node and climb back, so that colliders with given descendants need no rule of
    their own.
    """
    up, down = 1 << start, 0
    seen_up, seen_down = up, down
    while up or down:
        free_up, free_down, met = up & ~given, down & ~given, down & given
        up = _union(dag.into, free_up | met) & ~seen_up
        down = _union(dag.out, free_up | free_down) & ~seen_down
        seen_up |= up
        seen_down |= down
    return (seen_up | seen_down) & ~given & ~(1 << start)


@dataclass(frozen=True)
class Effects:
    """The causal effects in a DAG, and which of them a choice of parents gets right.

    Attributes:
        dag: the true graph, p nodes.
        above: for each node its ancestors, itself among them.
        below: for each node its descendants, itself among them.
    """

    dag: Adjacency
    above: tuple[int, ...]
    below: tuple[int, ...]

    @classmethod
    def of(cls, dag: Adjacency) -> "Effects":
        """Find who is above and below whom."""
        order = topological_order(dag)
        above, below = [0] * dag.size, [0] * dag.size
        for i in order:
            above[i] = 1 << i | _union(above, dag.into[i])
        for i in reversed(order):
            below[i] = 1 << i | _union(below, dag.out[i])
        return cls(dag, tuple(above), tuple(below))

    def wrong(self, cause: int, parents: int) -> int:
        """Return the set of j for which p(x_j | do(x_cause)) is wrong if `parents` are taken to be the cause's parents.

        Such a graph says p(x_j) for j among the parents, which is right unless j descends from the cause; for any other
        j it adjusts for the parents, which is right if and only if they are a valid adjustment set.
        """
        own = 1 << cause
        affected = self.below[cause] & ~own
        others = ((1 << self.dag.size) - 1) & ~parents & ~own
        # Where no directed path leads, every path is to be blocked: one look serves all these j.
        wrong = parents & affected | d_connected(self.dag, cause, parents) & others & ~affected
        for j in bits(others & affected):
            if not self.adjusts(cause, j, parents):
                wrong |= 1 << j
        return wrong

    def adjusts(self, cause: int, effect: int, given: int) -> bool:
        """Tell whether `given` is a valid adjustment set for the effect of `cause` on `effect`, neither being in it.

        It is (Shpitser et al. 2010) if no member descends from a node, other than the cause, on a directed path from
        cause to effect, and all other paths are blocked. The second is d-separation once the first edges
        of the directed paths are cut (van der Zander et al. 2014).
        """
        between = self.below[cause] & self.above[effect] & ~(1 << cause)
        if any(self.above[z] & between for z in bits(given)):
            return False
        cut = self.dag.changed(remove=[(cause, k) for k in bits(self.dag.out[cause] & between)])
        return not d_connected(cut, cause, given) >> effect & 1


def _union(sets: tuple[int, ...] | list[int], members: int) -> int:
    united = 0
    for i in bits(members):
        united |= sets[i]
    return united
