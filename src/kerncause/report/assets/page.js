"use strict";
(() => {
  // Everything that is shown comes from this; words are put into the page as text, never as HTML.
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const nodes = new Map(facts.nodes.map((node) => [node.id, node]));
  const edges = new Map(facts.edges.map((edge) => [edge.id, edge]));
  const pairOf = (a, b) => (a < b ? `${a} ${b}` : `${b} ${a}`);
  const byPair = new Map(facts.edges.map((edge) => [pairOf(edge.source, edge.target), edge]));
  const hasConfidence = facts.replicates !== null;
  const figure = facts.figures[0];
  const figureWord = figure === "p_value" ? "p-value" : figure;
  const state = { view: "class", step: null, by: "strength", least: 0, selected: null, playing: null };

  const $ = (id) => document.getElementById(id);

  /** Make an element: make("p.soft", {title: "x"}, "words", child). */
  function make(what, attributes = {}, ...children) {
    const [tag, ...classes] = what.split(".");
    const element = document.createElement(tag);
    if (classes.length) element.className = classes.join(" ");
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "onclick" || name === "oninput" || name === "onchange") element[name] = value;
      else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== ""));
    return element;
  }

  const SVG = "http://www.w3.org/2000/svg";
  function shape(tag, attributes, words = "") {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = words;
    return element;
  }

  /** A picture that was drawn and escaped when the report was made. */
  function picture(svg) {
    const holder = document.createElement("div");
    holder.innerHTML = svg;
    return holder.firstElementChild;
  }

  const percent = (share) => `${Math.round(100 * share)} %`;
  const number = (value) => (Math.abs(value) >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toPrecision(3));
  // A search by tests begins with all pairs joined, which its steps do not tell.
  const FIRST_STEP = facts.steps.length && facts.steps[0].total === null ? 1 : 0;
  const isUncertain = (edge) => hasConfidence && edge.joined < facts.unsure;
  const sign = (edge) => (edge.kind === "arrow" ? "→" : edge.kind === "leaning" ? "⇢" : "—");
  const spoken = { arrow: "directed", leaning: "direction open, one preferred", line: "direction open" };
  const nameOf = (edge) => `${nodes.get(edge.source).label} ${sign(edge)} ${nodes.get(edge.target).label}`;
  const valueOf = (edge) => (edge.figure === null ? "" : figure === "gain" ? `${number(edge.figure)} nats` : edge.label);

  // ---------------------------------------------------------------- the graph

  const FONT = "13px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = FONT;
  const widthOf = (node) => Math.max(40, ruler.measureText(node.label).width + 24);
  const NODE_HEIGHT = 32;

  const GAP = 34;
  const within = (size, room) => Math.min(room.width / size.width, room.height / size.height);

  /** Place the nodes in layers by causal order: downwards, or to the right where names would get small otherwise. */
  function placed() {
    const room = { width: Math.max($("graph").clientWidth, 200), height: Math.max($("graph").clientHeight, 200) };
    const [down, right] = ["TB", "LR"].map((direction) => inRows(partsOf().map((part) => layered(part, direction)), room));
    return within(down, room) < 0.75 && within(right, room) > 1.2 * within(down, room) ? right : down;
  }

  /** Split the graph into its connected parts, the names of each in a list. */
  function partsOf() {
    const part = new Map(facts.nodes.map((node) => [node.id, [node.id]]));
    for (const edge of facts.edges) {
      const [a, b] = [part.get(edge.source), part.get(edge.target)];
      if (a !== b) { a.push(...b); for (const id of b) part.set(id, a); }
    }
    return [...new Set(part.values())];
  }

  /** Let dagre place one part. */
  function layered(part, direction) {
    const layers = new dagre.graphlib.Graph();
    layers.setGraph({ rankdir: direction, nodesep: direction === "TB" ? 34 : 24, ranksep: 56 });
    layers.setDefaultEdgeLabel(() => ({}));
    const own = new Set(part);
    const inside = facts.edges.filter((edge) => own.has(edge.source));
    for (const id of part) layers.setNode(id, { width: widthOf(nodes.get(id)), height: NODE_HEIGHT });
    for (const edge of inside) layers.setEdge(edge.source, edge.target, {});
    dagre.layout(layers);
    const at = new Map(part.map((id) => [id, { x: layers.node(id).x, y: layers.node(id).y }]));
    const bends = inside.map((edge) => [pairOf(edge.source, edge.target), bendsOf(edge, at, layers.edge(edge.source, edge.target).points)]);
    return { at, bends, width: layers.graph().width, height: layers.graph().height };
  }

  /** Set the parts in rows like words, the highest first, with the length of row that leaves them largest. */
  function inRows(parts, room) {
    parts.sort((a, b) => b.height - a.height);
    const widest = Math.max(...parts.map((part) => part.width));
    const whole = parts.reduce((sum, part) => sum + part.width + GAP, 0);
    let best = null;
    for (let rows = 1; rows <= 30; rows += 1) {
      const long = Math.max(widest, whole / rows);
      const corners = [];
      let [x, y, high, width] = [0, 0, 0, 0];
      for (const part of parts) {
        if (x > 0 && x + part.width > long + 1) [x, y, high] = [0, y + high + GAP, 0];
        corners.push([x, y]);
        [x, high, width] = [x + part.width + GAP, Math.max(high, part.height), Math.max(width, x + part.width)];
      }
      const found = { corners, width, height: y + high };
      if (best === null || within(found, room) > within(best, room)) best = found;
    }
    const at = new Map(parts.flatMap((part, k) => [...part.at].map(([id, p]) => [id, { x: p.x + best.corners[k][0], y: p.y + best.corners[k][1] }])));
    return { at, bends: new Map(parts.flatMap((part) => part.bends)), width: best.width, height: best.height };
  }

  /** Turn the points that dagre leads an edge through into distances from the straight line. */
  function bendsOf(edge, at, points) {
    const from = at.get(edge.source);
    const to = at.get(edge.target);
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const square = dx * dx + dy * dy;
    const inner = points.slice(1, -1).map((p) => {
      const [px, py] = [p.x - from.x, p.y - from.y];
      return { weight: (px * dx + py * dy) / square, distance: (dx * py - dy * px) / Math.sqrt(square) };
    });
    return inner.length > 1 ? inner : [];
  }

  const layout = placed();
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function style() {
    const plain = { "curve-style": "bezier", "arrow-scale": 1.15, "target-arrow-shape": "none" };
    const kinds = {
      arrow: { colour: "arrow", line: "solid", head: "triangle", fill: "filled" },
      leaning: { colour: "lean", line: "dashed", head: "triangle", fill: "hollow" },
      line: { colour: "line", line: "solid", head: "none", fill: "filled" },
      right: { colour: "good", line: "solid" }, open: { colour: "line", line: "solid" },
      turned: { colour: "lean", line: "dashed" }, missing: { colour: "bad", line: "dotted" }, extra: { colour: "ink", line: "dashed" },
    };
    // Cytoscape's own "dotted" is so fine that it looks like a paler solid line.
    const lineOf = (line) => (line === "dotted" ? { "line-style": "dashed", "line-dash-pattern": [0.5, 7], "line-cap": "round" } : { "line-style": line });
    const ofKinds = Object.entries(kinds).map(([name, kind]) => ({
      selector: `edge.${name}`,
      style: {
        "line-color": colour(kind.colour), "target-arrow-color": colour(kind.colour), ...lineOf(kind.line), color: colour(kind.colour),
        ...(kind.head ? { "target-arrow-shape": kind.head, "target-arrow-fill": kind.fill } : {}),
      },
    }));
    return [
      { selector: "node", style: {
        shape: "round-rectangle", width: "data(width)", height: NODE_HEIGHT, label: "data(label)", "text-valign": "center", "text-halign": "center",
        "font-size": 13, "font-family": "system-ui, sans-serif", color: colour("ink"), "background-color": colour("node"),
        "border-width": 1.5, "border-color": colour("node-edge") } },
      { selector: "node.vector", style: { "border-style": "double", "border-width": 4 } },
      { selector: "edge", style: { ...plain, width: "data(width)", label: "data(label)", "font-size": 11, "font-family": "system-ui, sans-serif",
        "text-margin-x": "data(dx)", "text-margin-y": "data(dy)", "text-background-color": colour("card"),
        "text-background-opacity": 0.85, "text-background-padding": 2, "line-dash-pattern": [7, 5] } },
      { selector: "edge.bent", style: { "curve-style": "unbundled-bezier", "control-point-weights": "data(weights)", "control-point-distances": "data(distances)", "edge-distances": "node-position" } },
      ...ofKinds,
      { selector: "edge.directed", style: { "target-arrow-shape": "triangle" } },
      { selector: "edge.uncertain", style: lineOf("dotted") },
      { selector: "edge.fresh", style: { "line-color": colour("fresh"), "target-arrow-color": colour("fresh"), width: 5 } },
      { selector: "node.above", style: { "background-color": colour("above"), "border-width": 3 } },
      { selector: "node.below", style: { "background-color": colour("below"), "border-width": 3, "border-style": "dashed" } },
      { selector: ".faded", style: { opacity: 0.22 } },
      { selector: "node.chosen", style: { "border-width": 4, "border-color": colour("focus") } },
      { selector: "edge.chosen", style: { width: 6, "z-index": 9 } },
    ];
  }

  const cy = cytoscape({
    container: $("graph"),
    elements: facts.nodes.map((node) => ({
      data: { id: node.id, label: node.label, width: widthOf(node) }, classes: node.kind, position: { ...layout.at.get(node.id) },
    })),
    style: style(), layout: { name: "preset" }, minZoom: 0.08, maxZoom: 4, boxSelectionEnabled: false,
  });

  const strongest = Math.max(1, ...facts.edges.map((edge) => (figure === "gain" ? edge.figure : 1)));
  const thickness = (edge) => (figure === "gain" ? 1.4 + (3 * Math.log1p(Math.max(edge.figure, 0))) / Math.log1p(strongest) : 2.2);

  function element(source, target, classes, data = {}) {
    const bends = layout.bends.get(pairOf(source, target)) ?? [];
    const known = byPair.get(pairOf(source, target));
    const flipped = known !== undefined && known.source !== source;
    const path = flipped ? bends.map((b) => ({ weight: 1 - b.weight, distance: -b.distance })).reverse() : bends;
    return {
      group: "edges",
      classes: `${classes} ${path.length ? "bent" : ""}`,
      data: { id: `${source}-${target}`, source, target, label: "", width: 2.2, dx: 0, dy: 0, weights: path.map((b) => b.weight), distances: path.map((b) => b.distance), ...data },
    };
  }

  const isShown = (edge) => edge[state.by] === null || edge[state.by] >= state.least;

  function edgesOfView() {
    const shown = facts.edges.filter(isShown);
    return shown.map((edge) => {
      const kind = state.view === "dag" && edge.kind === "line" ? "leaning" : edge.kind;
      return element(edge.source, edge.target, `${kind} ${isUncertain(edge) ? "uncertain" : ""}`, { edge: edge.id, label: edge.label, width: thickness(edge) });
    });
  }

  const SAID = { right: "✓", open: "?", turned: "↺", missing: "○", extra: "✕" };
  function edgesOfTruth() {
    const knownOf = (edge) => byPair.get(pairOf(edge.source, edge.target));
    return facts.truth.edges.filter((edge) => !knownOf(edge) || isShown(knownOf(edge))).map((edge) => {
      const known = knownOf(edge);
      return element(edge.source, edge.target, `${edge.verdict} ${edge.directed ? "directed" : ""}`, { label: SAID[edge.verdict], edge: known?.id });
    });
  }

  function edgesOfStep(step) {
    const now = new Map();
    for (const one of facts.steps.slice(0, step)) {
      for (const [a, mark, b] of one.changes) mark ? now.set(pairOf(a, b), [a, mark, b]) : now.delete(pairOf(a, b));
    }
    const fresh = new Set(step ? facts.steps[step - 1].changes.map(([a, , b]) => pairOf(a, b)) : []);
    return [...now].map(([pair, [a, mark, b]]) =>
      element(a, b, `${mark === "->" ? "arrow" : "line"} ${fresh.has(pair) ? "fresh" : ""}`, { edge: byPair.get(pair)?.id }));
  }

  function drawEdges() {
    const drawn = state.step !== null ? edgesOfStep(state.step) : state.view === "truth" ? edgesOfTruth() : edgesOfView();
    cy.batch(() => { cy.edges().remove(); cy.add(drawn); });
    spread();
    mark();
  }

  /** Move what is written at edges along them until it stands clear of the names and of each other. */
  function spread() {
    const taken = cy.nodes().map((node) => ({ ...node.position(), w: node.width(), h: node.height() }));
    const meets = (one) => taken.some((other) => Math.abs(one.x - other.x) < (one.w + other.w) / 2 && Math.abs(one.y - other.y) < (one.h + other.h) / 2);
    cy.edges().filter((edge) => edge.data("label")).forEach((edge) => {
      const [middle, [dx, dy]] = [edge.midpoint(), courseOf(edge)];
      const size = { w: (ruler.measureText(edge.data("label")).width * 11) / 13 + 6, h: 18 };
      const places = [0, 16, -16, 32, -32, 48, -48].map((far) => ({ x: middle.x + far * dx, y: middle.y + far * dy, ...size }));
      const free = places.find((place) => !meets(place)) ?? places[0];
      taken.push(free);
      edge.data({ dx: free.x - middle.x, dy: free.y - middle.y });
    });
  }

  /** The direction of an edge at its middle, as a step of length one. */
  function courseOf(edge) {
    const bends = edge.hasClass("bent") ? edge.controlPoints() : [];
    const [k, odd] = [Math.floor(bends.length / 2), bends.length % 2];
    const [a, b] = bends.length > 1 ? [bends[k - 1], bends[k + odd]] : [edge.source().position(), edge.target().position()];
    const long = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    return [(b.x - a.x) / long, (b.y - a.y) / long];
  }

  function reached(id, along) {
    const found = new Set();
    const open = [id];
    while (open.length) for (const next of nodes.get(open.pop())[along]) if (!found.has(next)) { found.add(next); open.push(next); }
    return found;
  }

  /** Mark what is selected, and around a node its ancestors and descendants. */
  function mark() {
    cy.batch(() => {
      cy.elements().removeClass("chosen faded above below");
      const chosen = state.selected;
      if (!chosen) return;
      if (edges.has(chosen)) {
        const edge = edges.get(chosen);
        cy.edges().filter((one) => one.data("edge") === chosen).addClass("chosen");
        cy.getElementById(edge.source).addClass("chosen");
        cy.getElementById(edge.target).addClass("chosen");
        return;
      }
      const above = reached(chosen, "parents");
      const below = reached(chosen, "children");
      const kin = new Set([chosen, ...above, ...below]);
      cy.nodes().forEach((node) => {
        const id = node.id();
        node.addClass(id === chosen ? "chosen" : above.has(id) ? "above" : below.has(id) ? "below" : "faded");
      });
      cy.edges().forEach((edge) => { if (!kin.has(edge.data("source")) || !kin.has(edge.data("target"))) edge.addClass("faded"); });
    });
  }

  function fit() {
    cy.resize();
    cy.fit(undefined, Math.min(24, cy.width() / 40));
    if (cy.zoom() > 1.4) { cy.zoom(1.4); cy.center(); }
  }

  /** Bring what was chosen elsewhere on the page into sight, large enough to be read. */
  function show(id) {
    const ends = edges.has(id) ? [edges.get(id).source, edges.get(id).target] : [id];
    const chosen = cy.nodes().filter((node) => ends.includes(node.id()));
    const [seen, real] = [chosen.renderedBoundingBox(), chosen.boundingBox()];
    const inside = seen.x1 >= 0 && seen.y1 >= 0 && seen.x2 <= cy.width() && seen.y2 <= cy.height();
    const close = Math.min(1, within({ width: real.w + 60, height: real.h + 60 }, { width: cy.width(), height: cy.height() }));
    if (inside && cy.zoom() >= Math.min(close, 0.7)) return;
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    cy.stop().animate({ zoom: inside || cy.zoom() < close ? Math.max(cy.zoom(), close) : close, center: { eles: chosen }, duration: still ? 0 : 250 });
  }

  // ---------------------------------------------------------------- legend

  function stroke(kind, words) {
    const dash = { dashed: "7 5", dotted: "2 4", solid: "none" }[kind.line];
    const svg = shape("svg", { viewBox: "0 0 44 12", "aria-hidden": "true" });
    svg.append(shape("path", { d: `M1 6H${kind.head ? 33 : 43}`, stroke: `var(--${kind.colour})`, "stroke-width": 2.5, "stroke-dasharray": dash }));
    if (kind.head) {
      svg.append(shape("path", { d: "M33 1.5L42 6L33 10.5Z", stroke: `var(--${kind.colour})`, "stroke-width": 1.5, fill: kind.hollow ? "var(--card)" : `var(--${kind.colour})` }));
    }
    return make("span", {}, svg, words);
  }

  function drawLegend() {
    const has = (kind) => facts.edges.some((edge) => edge.kind === kind);
    const items = [];
    if (state.step !== null) {
      items.push(stroke({ colour: "arrow", line: "solid", head: true }, "directed so far"), stroke({ colour: "line", line: "solid" }, "no direction so far"), stroke({ colour: "fresh", line: "solid", head: true }, "changed by this step"));
    } else if (state.view === "truth") {
      items.push(
        stroke({ colour: "good", line: "solid", head: true }, "right ✓"), stroke({ colour: "line", line: "solid", head: true }, "found without its direction ?"),
        stroke({ colour: "lean", line: "dashed", head: true }, "turned round ↺"), stroke({ colour: "bad", line: "dotted", head: true }, "missing ○"), stroke({ colour: "ink", line: "dashed", head: true }, "extra ✕"));
    } else {
      if (has("arrow")) items.push(stroke({ colour: "arrow", line: "solid", head: true }, "the direction is decided"));
      if (has("leaning") || (state.view === "dag" && has("line"))) items.push(stroke({ colour: "lean", line: "dashed", head: true, hollow: true }, state.view === "dag" ? "direction that scores best" : "open; this direction is preferred"));
      if (state.view === "class" && has("line")) items.push(stroke({ colour: "line", line: "solid" }, "can go either way"));
      if (facts.edges.some(isUncertain)) items.push(stroke({ colour: "line", line: "dotted", head: true }, `in fewer than ${percent(facts.unsure)} of the ${facts.repeats}`));
      if (figure) items.push(make("span", {}, figure === "gain" ? "Numbers: gain in nats" : `Numbers: ${figureWord}`));
    }
    $("legend").replaceChildren(...items);
  }

  // ---------------------------------------------------------------- details

  const button = (words, onclick, kind = "button.link", more = {}) => make(kind, { type: "button", onclick, ...more }, words);
  const nodeButton = (id) => button(nodes.get(id).label, () => select(id), "button.link", { title: nodes.get(id).name });
  const row = (word, value) => (value === null || value === undefined || value === "" ? [] : [make("dt", {}, word), make("dd", {}, value)]);

  function edgeList() {
    const head = ["edge", figureWord, ...(hasConfidence ? ["repeated"] : [])].filter(Boolean);
    const shown = facts.edges.filter(isShown);
    const body = shown.map((edge) =>
      make("tr", { "data-edge": edge.id },
        make("td", {}, button(nameOf(edge), () => select(edge.id), "button.link", { "aria-label": `${nodes.get(edge.source).label} to ${nodes.get(edge.target).label}, ${spoken[edge.kind]}` })),
        make("td.number", {}, edge.label),
        hasConfidence ? make("td.number", {}, percent(edge.joined)) : null));
    const rest = facts.edges.length - shown.length;
    return [
      make("h2", {}, "Edges, strongest first"),
      make("p.soft", {}, facts.edges.length ? "→ directed, ⇢ open with a preferred direction, — open. Choose one to see why it is there." : facts.finished ? "The search joined nothing: no variable helps to explain another." : "The search was stopped before it joined anything."),
      make("table", {}, make("thead", {}, make("tr", {}, ...head.map((word, k) => make(k ? "th.number" : "th", { scope: "col" }, word)))), make("tbody", {}, ...body)),
      rest ? make("p.soft", {}, `${rest} weaker ${rest === 1 ? "edge is" : "edges are"} filtered out.`) : null,
    ];
  }

  function edgeDetails(edge) {
    const order = facts.edges.map((one) => one.id);
    const place = order.indexOf(edge.id);
    return [
      make("nav.bar", {}, button("← All edges", () => select(null), "button"), place > 0 ? button("Stronger", () => select(order[place - 1]), "button") : null, place < order.length - 1 ? button("Weaker", () => select(order[place + 1]), "button") : null),
      make("h2", {}, nodeButton(edge.source), ` ${sign(edge)} `, nodeButton(edge.target)),
      make(`span.badge.${edge.kind}`, {}, spoken[edge.kind]), isUncertain(edge) ? make("span.badge.line", {}, "uncertain") : null,
      make("p.soft", {}, `Number ${place + 1} of ${order.length} by ${figureWord ?? "strength"}.`),
      picture(edge.picture), edge.caption ? make("p.soft", {}, edge.caption) : null,
      make("h3", {}, "Why"), make("ul.why", {}, ...edge.why.map((sentence) => make("li", {}, sentence))),
      make("dl", {},
        ...row(figureWord, valueOf(edge)),
        ...row("turned round", edge.reversed === null ? null : `${edge.reversed > 0 ? "+" : "−"}${number(Math.abs(edge.reversed))} nats`),
        ...row("bandwidth", edge.bandwidth === null ? null : `${number(edge.bandwidth)} standard deviations`),
        ...row("preference", edge.preference === null ? null : `${number(edge.preference)} nats`),
        ...row("probability of this direction", edge.probability === null ? null : percent(edge.probability)),
        ...row(`${facts.repeats} that have it`, edge.joined === null ? null : percent(edge.joined))),
    ];
  }

  const buttons = (ids) => (ids.length ? ids.flatMap((id, k) => [...(k ? [", "] : []), nodeButton(id)]) : ["none"]);

  function nodeDetails(node) {
    const above = [...reached(node.id, "parents")].filter((id) => !node.parents.includes(id));
    const below = [...reached(node.id, "children")].filter((id) => !node.children.includes(id));
    const list = (ids) => { const holder = make("dd", {}); holder.append(...buttons(ids)); return holder; };
    return [
      make("nav.bar", {}, button("← All edges", () => select(null), "button")),
      make("h2", {}, node.name),
      make("p.soft", {}, `${node.kind}: ${node.reason}${node.missing ? `; ${node.missing} values are missing` : ""}`),
      picture(node.picture),
      make("dl", {},
        make("dt", {}, "parents"), list(node.parents), make("dt", {}, "children"), list(node.children),
        make("dt", {}, "further ancestors"), list(above), make("dt", {}, "further descendants"), list(below),
        ...row("share explained", node.explained === null ? null : `${percent(node.explained)} of its variance in kernel space, by its parents`),
        ...row("noise", node.noise === null ? null : number(node.noise)),
        ...row("columns", node.columns.length > 1 ? node.columns.join(", ") : null),
        ...row("levels", node.levels === null ? null : `${node.levels.join(", ")}${node.level_count > node.levels.length ? ", …" : ""}`)),
      make("p.soft", {}, "In the graph: ancestors have a thick, descendants a dashed border. Parents and children are those of the best DAG."),
      node.notes.length ? make("ul", {}, ...node.notes.map((note) => make("li", {}, note))) : null,
    ];
  }

  function drawDetails() {
    const chosen = state.selected;
    const content = edges.has(chosen) ? edgeDetails(edges.get(chosen)) : nodes.has(chosen) ? nodeDetails(nodes.get(chosen)) : edgeList();
    $("details").replaceChildren(...content.filter((part) => part !== null));
    $("details").scrollTop = 0;
  }

  /** Show an edge or a node, or with null the list; `isSeen` says that it was clicked in the graph. */
  function select(id, isSeen = false) {
    const before = state.selected;
    state.selected = id;
    mark();
    drawDetails();
    if (id && !isSeen) show(id);
    if (!id && [document.body, $("details"), null].includes(document.activeElement)) {
      $("details").querySelector(`tr[data-edge="${before}"] button`)?.focus();
    }
    if (id && window.matchMedia("(max-width: 900px)").matches) $("details").scrollIntoView({ block: "start" });
    if (document.activeElement === document.body || document.activeElement === null) $("details").focus({ preventScroll: true });
  }

  // ---------------------------------------------------------------- controls

  function drawViews() {
    const views = [["class", "Class", "What the data decide: all graphs with the same independences"], ["dag", "Best DAG", "The graph of the class that scores highest"]];
    if (facts.truth) views.push(["truth", "Against the truth", "Every pair, compared with the true graph"]);
    $("views").replaceChildren(...views.map(([view, word, title]) =>
      button(word, () => { state.view = view; state.step = null; drawAll(); }, "button", { title, "aria-pressed": String(state.step === null && state.view === view), "data-view": view })));
  }

  function drawFilter() {
    const values = [...new Set(facts.edges.map((edge) => edge[state.by]).filter((value) => value !== null))].sort((a, b) => a - b);
    if (values.length < 2) { $("filter").hidden = true; return; }
    const output = make("output", {});
    const say = (k) => {
      const kept = facts.edges.filter(isShown).length;
      const what = state.by === "joined" ? `in at least ${percent(values[k])} of the ${facts.repeats}` : figure === "gain" ? `gain of at least ${number(values[k])} nats` : figure === "p_value" ? `p-value of at most ${number(-values[k])}` : `weight of at least ${number(values[k])}`;
      output.textContent = k ? `${what}: ${kept} of ${facts.edges.length} edges` : `all ${facts.edges.length} edges`;
    };
    const slider = make("input", { type: "range", min: 0, max: values.length - 1, value: 0, step: 1, id: "least", "aria-label": "Show only edges from here up",
      oninput: () => { const k = Number(slider.value); state.least = k ? values[k] : -Infinity; state.step = null; say(k); drawAll(); if (!state.selected) drawDetails(); } });
    const chooser = hasConfidence
      ? make("select", { id: "by", "aria-label": "Filter by", onchange: (event) => { state.by = event.target.value; state.least = -Infinity; state.step = null; drawFilter(); drawAll(); if (!state.selected) drawDetails(); } },
        ...[["strength", figureWord], ["joined", "confidence"]].map(([value, word]) => make("option", { value, selected: value === state.by }, word)))
      : make("span", {}, `Filter by ${figureWord}`);
    $("filter").replaceChildren(chooser, slider, output);
    say(0);
  }

  function go(step) {
    state.step = step >= facts.steps.length + 1 ? null : step;
    drawAll();
  }

  function play() {
    if (state.playing) { clearInterval(state.playing); state.playing = null; drawReplay(); return; }
    state.step = state.step === null ? FIRST_STEP : state.step;
    const pause = Math.max(120, Math.min(900, 12000 / facts.steps.length));
    state.playing = setInterval(() => {
      go((state.step ?? facts.steps.length) + 1);
      if (state.step === null) { clearInterval(state.playing); state.playing = null; drawReplay(); }
    }, pause);
    drawAll();
  }

  function drawReplay() {
    if (!facts.steps.length) { $("replay").hidden = true; return; }
    const count = facts.steps.length;
    const at = state.step ?? count + 1;
    const words = state.step === null ? "the result" : state.step === 0 ? "before the first step" : `step ${state.step} of ${count}, ${facts.steps[state.step - 1].phase}: ${facts.steps[state.step - 1].text}`;
    if (!$("step")) {
      $("replay").replaceChildren(
        button("Replay", play, "button", { id: "play" }),
        make("input", { type: "range", id: "step", min: FIRST_STEP, max: count + 1, value: at, "aria-label": "Step of the search", oninput: (event) => go(Number(event.target.value)) }),
        make("span.words", { id: "step-words", role: "status" }));
    }
    $("step").value = at;
    $("step").setAttribute("aria-valuetext", words);
    $("play").textContent = state.playing ? "Stop" : "Replay the search";
    $("step-words").textContent = words;
    const now = $("now");
    if (now) { now.setAttribute("x1", chartX(at)); now.setAttribute("x2", chartX(at)); }
  }

  function drawAll() { drawViews(); drawEdges(); drawLegend(); drawReplay(); }

  // ---------------------------------------------------------------- the sections below

  const CHART = { width: 1000, height: 170, left: 60, right: 10, top: 12, bottom: 24 };
  const chartX = (k) => CHART.left + (Math.min(k, facts.steps.length) / Math.max(facts.steps.length, 1)) * (CHART.width - CHART.left - CHART.right);

  function drawSearch() {
    const holder = $("search");
    if (!facts.steps.length) { holder.append(make("p.soft", {}, facts.finished ? "This search tells no steps." : "The search was stopped before its first step.")); return; }
    const byScore = facts.steps[0].total !== null;
    const joined = new Set();
    const after = facts.steps.map((step) => {
      for (const [a, mark, b] of step.changes) mark ? joined.add(pairOf(a, b)) : joined.delete(pairOf(a, b));
      return byScore ? step.total : joined.size;
    });
    const values = [byScore ? 0 : after[0], ...after];
    const [low, high] = [Math.min(...values), Math.max(...values, 1e-9)];
    const y = (value) => CHART.height - CHART.bottom - ((value - low) / (high - low || 1)) * (CHART.height - CHART.top - CHART.bottom);
    const svg = shape("svg", { class: "chart", viewBox: `0 0 ${CHART.width} ${CHART.height}`, preserveAspectRatio: "none", role: "img", "aria-label": byScore ? "The score against the steps of the search" : "The edges against the steps of the search" });
    svg.append(
      shape("path", { class: "axis", d: `M${CHART.left} ${CHART.top}V${CHART.height - CHART.bottom}H${CHART.width - CHART.right}` }),
      shape("path", { class: "run", d: "M" + values.map((value, k) => `${chartX(k).toFixed(1)} ${y(value).toFixed(1)}`).join("L") }),
      shape("line", { class: "now", id: "now", x1: chartX(values.length - 1), x2: chartX(values.length - 1), y1: CHART.top, y2: CHART.height - CHART.bottom }));
    const hit = shape("rect", { x: 0, y: 0, width: CHART.width, height: CHART.height });
    hit.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      const share = ((event.clientX - box.left) / box.width) * CHART.width;
      const along = (share - CHART.left) / (CHART.width - CHART.left - CHART.right);
      go(Math.max(FIRST_STEP, Math.round(Math.min(Math.max(along, 0), 1) * facts.steps.length)));
    });
    svg.append(hit);
    const last = facts.steps[facts.steps.length - 1];
    holder.append(
      make("p.soft", {}, byScore ? `The score above that of no edges, from ${number(low)} to ${number(high)} nats, over ${facts.steps.length} steps; ${last.scores} local scores.` : `Edges left, from ${high} to ${values[values.length - 1]}, over ${facts.steps.length} steps; ${last.scores} tests.`),
      make("p.soft.click", {}, "Click into the curve to see the graph at a step."),
      svg);
  }

  function drawData() {
    const head = ["variable", "kind", "because", "values", "missing"];
    const body = facts.nodes.map((node) =>
      make("tr", {}, make("td", {}, nodeButton(node.id)), make("td", {}, node.kind), make("td", {}, node.reason),
        make("td", {}, node.levels ? `${node.levels.slice(0, 6).join(", ")}${node.level_count > 6 ? `, … (${node.level_count})` : ""}` : node.columns.length > 1 ? `${node.columns.length} columns` : "numbers"),
        make("td.number", {}, String(node.missing))));
    $("data").append(make("div.scroll", {}, make("table", {}, make("thead", {}, make("tr", {}, ...head.map((word) => make(word === "missing" ? "th.number" : "th", { scope: "col" }, word)))), make("tbody", {}, ...body))));
  }

  function drawAgain() {
    const parts = [];
    if (facts.command) parts.push(make("h3", {}, "On the command line"), make("pre", { id: "command" }, facts.command));
    parts.push(make("h3", {}, "In Python"), make("pre", { id: "python" }, `import kerncause\n\nresult = ${facts.python}`));
    parts.push(make("h3", {}, "Settings"), make("div.scroll", {}, make("table", {}, make("tbody", {}, ...facts.settings.map(([name, value]) => make("tr", {}, make("td", {}, name), make("td", {}, value)))))));
    parts.push(make("p.soft", {}, `SHA-256 of the table as it was read: ${facts.hash}`));
    $("again").append(...parts);
  }

  function drawFindings() {
    const found = [];
    const add = (word, edge, note) => found.push(button("", () => select(edge.id), "button", { "data-finding": word }), [word, nameOf(edge), note]);
    if (facts.edges.length) {
      const first = facts.edges[0];
      add("Strongest edge", first, valueOf(first));
      const unsure = [...facts.edges].sort((a, b) => (hasConfidence && a.joined - b.joined) || (a.strength ?? 0) - (b.strength ?? 0))[0];
      add("Least certain edge", unsure, hasConfidence ? `in ${percent(unsure.joined)} of the ${facts.repeats}` : valueOf(unsure));
    }
    for (let k = 0; k < found.length; k += 2) {
      const [word, name, note] = found[k + 1];
      found[k].append(make("span", {}, word), make("b", {}, name), make("span", {}, note));
    }
    const count = facts.warnings.length + (facts.nats ? 2 : 1);
    const warned = make("button", { type: "button", onclick: () => $("warnings").scrollIntoView({ block: "start" }) }, make("span", {}, "Before you believe it"), make("b", {}, `${count} ${count === 1 ? "note" : "notes"}`), make("span", {}, "what this rests on, and where it is shaky"));
    $("findings").replaceChildren(...found.filter((_, k) => k % 2 === 0), warned);
  }

  function drawWarnings() {
    $("warnings").append(make("ul", {}, ...facts.warnings.map((words) => make("li", {}, words)), make("li", {}, facts.assumed), ...(facts.nats ? [make("li", { id: "nats" }, facts.nats)] : [])));
    if (facts.truth) {
      $("warnings").append(make("h3", {}, "Against the true graph"), make("dl", { id: "truth-figures" }, ...Object.entries(facts.truth.figures).flatMap(([word, value]) => row(word, value))),
        make("ul", { id: "truth-said" }, ...facts.truth.said.map((words) => make("li", {}, words))),
        make("p.soft", {}, "A pair is judged by the direction in the true graph; the SHD is that of the two classes, in which directions that no data could tell are open."));
    }
  }

  // ---------------------------------------------------------------- what a person does

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  function paint(theme) { document.documentElement.dataset.theme = theme; cy.style(style()); drawLegend(); }
  $("theme").onclick = () => paint(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  dark.addEventListener("change", () => paint(dark.matches ? "dark" : "light"));

  $("in").onclick = () => cy.zoom({ level: cy.zoom() * 1.3, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  $("out").onclick = () => cy.zoom({ level: cy.zoom() / 1.3, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  $("fit").onclick = fit;
  $("names").replaceChildren(...facts.nodes.map((node) => make("option", { value: node.name })));
  $("find").addEventListener("change", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    const found = wanted && (facts.nodes.find((node) => node.name.toLowerCase() === wanted) ?? facts.nodes.find((node) => node.name.toLowerCase().includes(wanted)));
    event.target.setCustomValidity(wanted && !found ? "There is no variable of that name." : "");
    if (!found) { event.target.reportValidity(); return; }
    select(found.id);
  });
  cy.on("tap", "node", (event) => select(event.target.id(), true));
  cy.on("tap", "edge", (event) => { if (event.target.data("edge")) select(event.target.data("edge"), true); });
  cy.on("tap", (event) => { if (event.target === cy) select(null); });
  $("graph").addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (moves[event.key]) { cy.panBy({ x: moves[event.key][0], y: moves[event.key][1] }); event.preventDefault(); }
    if (event.key === "+" || event.key === "=") $("in").click();
    if (event.key === "-") $("out").click();
    if (event.key === "0") fit();
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && state.selected) select(null); });
  // A phone hides its address bar while scrolling: that alone must not undo the reader's zoom.
  let width = window.innerWidth;
  window.addEventListener("resize", () => { if (window.innerWidth === width) cy.resize(); else { width = window.innerWidth; fit(); } });

  state.least = -Infinity;
  drawFindings();
  drawWarnings();
  drawSearch();
  drawData();
  drawAgain();
  $("versions").textContent = `Made by ${Object.entries(facts.versions).map(([name, version]) => `${name} ${version}`).join(", ")}. Drawn with Cytoscape.js and dagre (MIT licences).`;
  drawFilter();
  paint(dark.matches ? "dark" : "light");
  drawAll();
  drawDetails();
  fit();
  document.body.dataset.ready = "yes";
  window.kerncause = { cy, facts, state };
})();
