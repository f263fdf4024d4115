"""A test that knows the graph: d-separation in a DAG, for trying searches apart from any statistics."""

from collections.abc import Collection

from kerncause.errors import OptionError
from kerncause.graphs import DAG, bits, mask_of
from kerncause.independence.base import TestResult
from kerncause.text import listed, quoted


class SeparationOracle:
    """The test of an infinite sample from a DAG to which it is faithful.

    The p-value is 1 where `given` d-separates x and y, and 0 where it does not; the statistic is 1 minus that.

    Args:
        dag: the graph. Its order of nodes breaks ties.
    """

    def __init__(self, dag: DAG) -> None:
        self.dag = dag
        self._number = {name: i for i, name in enumerate(dag.nodes)}

    @property
    def variables(self) -> tuple[str, ...]:
        """The nodes' names, in the order by which a search breaks ties."""
        return self.dag.nodes

    def test(self, x: str, y: str, given: Collection[str] = ()) -> TestResult:
        """Tell whether `given` blocks every path between x and y."""
        for name in (x, y, *given):
            if name not in self._number:
                raise OptionError(f"there is no node {quoted(name)}: the graph has {listed(self.dag.nodes, 20)}")
        if x == y or {x, y} & set(given):
            raise OptionError(f"{quoted(x)}, {quoted(y)} and the given nodes must all be different")
        separated = (
            not self._reached(self._number[x], mask_of(map(self._number.__getitem__, given))) >> self._number[y] & 1
        )
        return TestResult(float(separated), float(not separated), "d-separation", 0)

    def _reached(self, start: int, given: int) -> int:
        """Return the nodes at the end of an active path from `start` (the Bayes ball of Shachter 1998).

        A node can be visited from a child, and lets the ball on to everyone unless it is given; or from a
        parent, and lets it on to its children unless it is given, and back to its parents if it is given: then
        it is a collider that is looked at. A collider with a looked-at descendant is opened by the ball that
        bounces off that descendant and comes back.
        """
        graph = self.dag.adjacency
        from_child, from_parent = 1 << start, 0
        seen_from_child, seen_from_parent = from_child, 0
        while from_child or from_parent:
            up = down = 0
            for i in bits(from_child & ~given):
                up |= graph.parents(i)
                down |= graph.children(i)
            for i in bits(from_parent & ~given):
                down |= graph.children(i)
            for i in bits(from_parent & given):
                up |= graph.parents(i)
            from_child, from_parent = up & ~seen_from_child, down & ~seen_from_parent
            seen_from_child |= from_child
            seen_from_parent |= from_parent
        return (seen_from_child | seen_from_parent) & ~given
