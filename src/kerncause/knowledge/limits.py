"""Knowledge as the searches see it: bit masks over the variables in their order.

* `allowed[j]` are the nodes that may be parents of j, `required[j]` those that must be. Every set between the two may
  be the parents of j, and a DAG obeys if all its parent sets do.
* A class obeys if one of its DAGs does. To know: direct every edge that may go only one way round, and look for a DAG
  with the skeleton, v-structures and arrows that are then there (Dor and Tarsi 1992). Meek's rules (1995) close that
  graph, and what they leave undirected can go either way.
"""

from dataclasses import dataclass
from functools import cached_property

from kerncause.graphs import Adjacency, bits, completed, consistent_extension, meek_closure


@dataclass(frozen=True)
class Limits:
    """What a search may do.

    Attributes:
        allowed: for each node the set of nodes that may be its parents.
        required: for each node the set of nodes that must be.
    """

    allowed: tuple[int, ...]
    required: tuple[int, ...]

    @classmethod
    def none(cls, size: int) -> "Limits":
        """Return the limits of somebody who knows nothing."""
        everybody = (1 << size) - 1
        return cls(tuple(everybody & ~(1 << j) for j in range(size)), (0,) * size)

    @cached_property
    def say_nothing(self) -> bool:
        """Whether everything is allowed and nothing required."""
        return self == Limits.none(len(self.allowed))

    def permit(self, node: int, parents: int) -> bool:
        """Tell whether a set may be the parents of a node."""
        return not (parents & ~self.allowed[node] or self.required[node] & ~parents)

    def obeyed_by(self, dag: Adjacency) -> bool:
        """Tell whether every parent set of a DAG is permitted."""
        return all(self.permit(j, dag.parents(j)) for j in range(dag.size))

    def least(self) -> Adjacency:
        """Return the graph of the required edges."""
        size = len(self.required)
        return Adjacency.of(size, [(i, j) for j in range(size) for i in bits(self.required[j])])

    def directed(self, graph: Adjacency) -> Adjacency | None:
        """Return a class with the directions that knowledge implies; None if no DAG of it obeys."""
        if self.say_nothing:
            return graph
        one_way = self._one_way(graph)
        extension = consistent_extension(one_way)
        # Two edges directed at one node may be a v-structure that the class does not have.
        if extension is None or completed(extension) != graph or not self.obeyed_by(extension):
            return None
        return meek_closure(one_way)

    def _one_way(self, graph: Adjacency) -> Adjacency:
        """Return the graph with every undirected edge directed that may go only one way round."""
        against = [(i, j) for a, b in graph.links() for i, j in ((a, b), (b, a)) if not self.allowed[j] >> i & 1]
        return graph.changed(remove=against)
