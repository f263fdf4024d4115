"""How near a found graph is to a true one."""

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from functools import cache

from kerncause.errors import GraphError
from kerncause.graphs import CPDAG, DAG, PDAG, Adjacency, Effects, bits, class_of, extensions, narrowest
from kerncause.graphs.members import MOST_MEMBERS
from kerncause.text import listed


@dataclass(frozen=True)
class Accuracy:
    """Precision, recall and their harmonic mean; 1 where both graphs are empty."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class GraphComparison:
    """All that `compare` measures, p being the number of nodes.

    Attributes:
        skeleton: which pairs are joined, whatever the direction.
        class_arrows: the arrows of the two classes: both graphs are taken as their CPDAGs, so that only directions that
            follow from independences count.
        dag_arrows: the arrows of the true DAG against those that the found graph states, as it stands; an undirected
            edge is no arrow. None unless the truth is a DAG.
        shd: number of pairs of nodes on which the two CPDAGs differ in any way.
        shd_normalised: `shd` / (p (p - 1) / 2).
        shd_okcd: the sum over ordered pairs of |A - B|, with A and B the CPDAGs' adjacency matrices, / (p (p - 1)).
        sid_lower: structural intervention distance from the true DAG to the nearest DAG that the found graph stands
            for.
        sid_upper: the same for the farthest; equal to `sid_lower` if the found graph is a DAG. Both are None if the
            truth is no DAG, if no DAG extends the found graph, or if it stands for too many (see `sid_bounds`).
    """

    skeleton: Accuracy
    class_arrows: Accuracy
    dag_arrows: Accuracy | None
    shd: int
    shd_normalised: float
    shd_okcd: float
    sid_lower: int | None
    sid_upper: int | None


def compare(truth: PDAG, found: PDAG) -> GraphComparison:
    """Measure how near `found` is to `truth`; only their nodes and edges count, not their types."""
    truth, found = _aligned(truth, found)
    classes = class_of(truth), class_of(found)
    A, B = (graph.adjacency for graph in classes)
    is_dag = isinstance(truth, DAG)
    lower, upper = (sid_bounds(truth, found) if is_dag else None) or (None, None)
    return GraphComparison(
        skeleton=skeleton_accuracy(truth, found),
        class_arrows=arrow_accuracy(*classes),
        dag_arrows=arrow_accuracy(truth, found) if is_dag else None,
        shd=_differing_pairs(A, B),
        shd_normalised=_differing_pairs(A, B) / max(A.size * (A.size - 1) / 2, 1),
        shd_okcd=_differing_cells(A, B) / max(A.size * (A.size - 1), 1),
        sid_lower=lower,
        sid_upper=upper,
    )


def skeleton_accuracy(truth: PDAG, found: PDAG) -> Accuracy:
    """Compare which pairs are joined, whatever the direction."""
    _refuse_different_nodes(truth, found)
    return _accuracy(truth.skeleton, found.skeleton)


def arrow_accuracy(truth: PDAG, found: PDAG) -> Accuracy:
    """Compare the arrows that the two graphs state, as they stand; an undirected edge is no arrow."""
    _refuse_different_nodes(truth, found)
    return _accuracy({*truth.directed_edges}, {*found.directed_edges})


def shd(truth: PDAG, found: PDAG) -> int:
    """Count the pairs {i, j} on which the two CPDAGs differ: joined or not, directed or not, or the other way round.

    This is the structural Hamming distance of Tsamardinos et al. (2006). DAGs are completed first; a graph that no DAG
    extends has no CPDAG and is taken as it stands.
    """
    return _differing_pairs(*_classes(truth, found))


def shd_normalised(truth: PDAG, found: PDAG) -> float:
    """Return `shd` / (p (p - 1) / 2): the share of pairs on which the CPDAGs differ; 0 for a single node."""
    p = len(truth.nodes)
    return shd(truth, found) / max(p * (p - 1) / 2, 1)


def shd_okcd(truth: PDAG, found: PDAG) -> float:
    """Return sum over i, j of |A_ij - B_ij|, divided by p (p - 1); A_ij = 1 where i -> j or i - j in the CPDAG.

    This is the variant in the program of Wang et al. (2024), which calls `cdt.metrics.SHD` with its default
    `double_for_anticausal=True`: the plain sum of absolute differences of the two 0/1 matrices. So a reversed arrow
    counts 2, a missing or superfluous arrow 1, a missing or superfluous undirected edge 2 (it is two ones), and an
    arrow in place of an undirected edge 1. Graphs are completed as for `shd`.
    """
    p = len(truth.nodes)
    return _differing_cells(*_classes(truth, found)) / max(p * (p - 1), 1)


def sid(truth: PDAG, found: PDAG) -> int:
    """Count the ordered pairs (i, j) whose effect p(x_j | do(x_i)) the found DAG gets wrong, both graphs being DAGs.

    The structural intervention distance of Peters and Buehlmann (2015): adjust for the parents of i in the found
    graph. If j is among them the found graph says that i has no effect on j, which is wrong if j descends from i in the
    truth; else it is wrong if they are no valid adjustment set for (i, j) in the truth. It is not symmetric: edges
    too many cost nothing if they keep the order.
    """
    truth, found = _aligned(truth, found)
    if not isinstance(found, DAG):
        raise GraphError("the found graph is no DAG: ask for the bounds of its SID (sid_bounds)")
    _need_dag(truth)
    effects = Effects.of(truth.adjacency)
    return sum(effects.wrong(i, found.adjacency.parents(i)).bit_count() for i in range(len(truth.nodes)))


def sid_bounds(truth: PDAG, found: PDAG, limit: int = MOST_MEMBERS) -> tuple[int, int] | None:
    """Return the least and the greatest SID from the true DAG to a DAG that the found graph stands for.

    The SID is a sum over causes i of terms that depend only on the parents of i. In a CPDAG the nodes joined by
    undirected edges (a chain component) are directed independently of other components, so that the bounds are sums
    over components, each found by listing the component's directed graphs. Any other graph is one component.

    None where no DAG extends the found graph, or where a component has more than `limit` directed graphs.
    """
    truth, found = _aligned(truth, found)
    _need_dag(truth)
    effects = Effects.of(truth.adjacency)

    @cache
    def wrong(cause: int, parents: int) -> int:
        return effects.wrong(cause, parents).bit_count()

    lower = upper = 0
    for component, undirected in _components(found):
        extremes = _extremes(component, undirected, found.adjacency, wrong, limit)
        if extremes is None:
            return None
        lower, upper = lower + extremes[0], upper + extremes[1]
    return lower, upper


def _extremes(
    component: int, undirected: Adjacency, graph: Adjacency, wrong: Callable[[int, int], int], limit: int
) -> tuple[int, int] | None:
    """Return the least and greatest number of wrong effects of the component's nodes, if there are few enough ways."""
    totals: set[int] = set()
    for ways, directed in enumerate(extensions(undirected), start=1):
        if ways > limit:
            return None
        totals.add(sum(wrong(i, graph.parents(i) | directed.into[i]) for i in bits(component)))
    return (min(totals), max(totals)) if totals else None


def _components(graph: PDAG) -> Iterator[tuple[int, Adjacency]]:
    """Iterate over sets of nodes that can be directed independently, each with what is to be directed."""
    adjacency = graph.adjacency
    if not isinstance(graph, DAG | CPDAG):
        yield (1 << adjacency.size) - 1, adjacency
        return
    undirected = Adjacency.of(adjacency.size, undirected=adjacency.links())
    left = (1 << adjacency.size) - 1
    for i in range(adjacency.size):
        if left >> i & 1:
            component = undirected.reachable(i)
            left &= ~component
            links = [(a, b) for a, b in undirected.links() if component >> a & 1]
            yield component, Adjacency.of(adjacency.size, undirected=links)


def _accuracy(truth: Set[object], found: Set[object]) -> Accuracy:
    hits = len(truth & found)
    precision = hits / len(found) if found else 1.0
    recall = hits / len(truth) if truth else 1.0
    total = len(truth) + len(found)
    return Accuracy(precision, recall, 2 * hits / total if total else 1.0)


def _differing_pairs(A: Adjacency, B: Adjacency) -> int:
    into = [a ^ b for a, b in zip(A.into, B.into, strict=True)]
    out = [a ^ b for a, b in zip(A.out, B.out, strict=True)]
    return sum((i | o).bit_count() for i, o in zip(into, out, strict=True)) // 2


def _differing_cells(A: Adjacency, B: Adjacency) -> int:
    return sum((a ^ b).bit_count() for a, b in zip(A.out, B.out, strict=True))


def _classes(truth: PDAG, found: PDAG) -> tuple[Adjacency, Adjacency]:
    _refuse_different_nodes(truth, found)
    return class_of(truth).adjacency, class_of(found.reordered(truth.nodes)).adjacency


def _aligned(truth: PDAG, found: PDAG) -> tuple[PDAG, PDAG]:
    """Return both as the narrowest kind of graph and with nodes in the same order."""
    _refuse_different_nodes(truth, found)
    return narrowest(truth), narrowest(found.reordered(truth.nodes))


def _refuse_different_nodes(truth: PDAG, found: PDAG) -> None:
    whose = {"the truth": {*truth.nodes} - {*found.nodes}, "the found graph": {*found.nodes} - {*truth.nodes}}
    told = [f"only {graph} has {listed(sorted(names))}" for graph, names in whose.items() if names]
    if told:
        raise GraphError(f"the graphs are over different nodes ({'; '.join(told)}): give both the same names")


def _need_dag(truth: PDAG) -> None:
    if not isinstance(truth, DAG):
        raise GraphError("the truth is no DAG, and the SID is defined for one only: give the true DAG")
