"""What a graph with undirected edges stands for: its kind, its equivalence class, its directed members."""

from collections.abc import Iterator
from itertools import islice

from kerncause.errors import GraphError, OptionError
from kerncause.graphs.adjacency import Adjacency
from kerncause.graphs.equivalence import completed, consistent_extension, meek_closure
from kerncause.graphs.named import CPDAG, DAG, PDAG

MOST_MEMBERS = 10_000


def narrowest(graph: PDAG) -> PDAG:
    """Return the same graph as a DAG if all its edges are directed without a cycle, else as a CPDAG if it is one.

    Only the edges decide, not the type of `graph`; what is neither is a PDAG.
    """
    extension = consistent_extension(graph.adjacency)
    kind: type[PDAG] = PDAG
    if extension == graph.adjacency:
        kind = DAG
    elif extension is not None and completed(extension) == graph.adjacency:
        kind = CPDAG
    return kind.of(graph.nodes, graph.adjacency)


def class_of(graph: PDAG) -> PDAG:
    """Return the completed graph of the class that the graph's skeleton and v-structures describe.

    All DAGs with the graph's skeleton, v-structures and arrows are equivalent, so this CPDAG is unique. A graph
    that no DAG extends (a cycle, say, or arrows that contradict each other) describes no class, and is returned as it
    is.
    """
    extension = consistent_extension(graph.adjacency)
    return graph if extension is None else CPDAG.of(graph.nodes, completed(extension))


def extensions(graph: Adjacency) -> Iterator[Adjacency]:
    """Iterate over every DAG with the skeleton, v-structures and arrows of `graph`, each once.

    Take the first undirected edge, direct it one way and then the other, and let Meek's rules draw the
    consequences each time. The rules are complete (Meek 1995): what they leave undirected can still go either way, so
    no branch is a dead end, and k DAGs cost 2k - 1 closures.
    """
    if consistent_extension(graph) is None:
        return
    open_branches = [meek_closure(graph)]
    while open_branches:
        branch = open_branches.pop()
        link = next(branch.links(), None)
        if link is None:
            yield branch
        else:
            i, j = link
            # The last is looked at first: i -> j before j -> i.
            open_branches += [meek_closure(branch.changed(remove=[arc])) for arc in ((i, j), (j, i))]


def members(graph: PDAG, limit: int = MOST_MEMBERS) -> tuple[DAG, ...]:
    """Return every DAG with the skeleton, v-structures and arrows of `graph`; for a CPDAG, all DAGs of its class.

    A graph that no DAG extends has no members. The number of members can grow like the factorial of the number
    of nodes, so more than `limit` of them are refused.
    """
    if limit < 1:
        raise OptionError(f"limit cannot be {limit}: ask for at least one member")
    found = list(islice(extensions(graph.adjacency), limit + 1))
    if len(found) > limit:
        raise GraphError(f"the graph stands for more than {limit:,} DAGs: raise the limit to list them all")
    return tuple(DAG.of(graph.nodes, dag) for dag in found)
