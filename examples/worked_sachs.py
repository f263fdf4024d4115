"""SACHS, a network whose true graph is known: learn it, ask how sure, compare, explain, save.

Run it from the root of a clone, `python examples/worked_sachs.py`, or open it as a notebook: every `# %%` begins a
cell.
"""

# %% The table
# 2,000 simulated cells with the levels (1 low, 2 average, 3 high) of eleven proteins. Whole numbers with few different
# values are read as ordinal; `describe` says so for every column, and why.
import kerncause

data = kerncause.read_table("examples/sachs.csv")
print(data)
print(data.describe()[["variable", "kind", "why"]].to_string(index=False))

# %% Learn a graph, and four more from halves of the rows
# One worker keeps this script on one core; leave `workers` out to use all. The result is the same.
result = kerncause.discover(data, confidence=4, workers=1)
print(result)

# %% How often do other halves of the rows agree?
# `joined` is the share of the four halves (take a hundred for real) that have the edge, `pointed` the share of these
# whose best DAG has it this way round. It says how stable the edge is, not how likely it is to be causal.
edges = result.edges.sort_values("gain", ascending=False)
print(edges[["source", "target", "directed", "gain", "joined", "pointed"]].round(2).to_string(index=False))

# %% Compare with the truth
# Usually there is none at hand. Here the cells were drawn from a published network. A search can at best find its
# equivalence class: the directions that independences decide.
truth = kerncause.networks.load("sachs").dag
found = kerncause.compare(truth, result.graph)
print(f"Of {len(truth.edges)} true edges {round(found.skeleton.recall * len(truth.edges))} were found.")
print(f"Of {len(result.edges)} edges found {round(found.skeleton.precision * len(result.edges))} are true.")
missed = sorted(" - ".join(sorted(pair)) for pair in truth.skeleton - result.graph.skeleton)
wrong = sorted(" - ".join(sorted(pair)) for pair in result.graph.skeleton - truth.skeleton)
print(f"Missed: {', '.join(missed) or 'none'}. Not in the truth: {', '.join(wrong) or 'none'}.")

# %% Why an edge is there
# The gain, what turning it round would cost, how much it explains, and the next best parents.
print(result.explain("PKA", "Akt"))

# %% Keep it
# graph.json, graph.dot and trace.jsonl; `load_result` reads them back and checks that the table is still the same.
folder = result.save("demo-result/worked-sachs")
again = kerncause.load_result(folder, data)
print(f"Saved: {again.graph == result.graph}.")
