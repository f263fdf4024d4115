// What the tests ask of a page. Each function returns what is wrong, in words; an empty list is good.
window.checks = (() => {
  const isSilent = (element) => /^(script|style|title|option|noscript)$/i.test(element.tagName);
  const told = (element, why) =>
    `${element.tagName}#${element.id}.${element.getAttribute("class")}: ${why}: ${element.textContent.slice(0, 60)}`;

  /** Every piece of text that is shown, with the element it is in. */
  function* shown() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      const isThere = element.checkVisibility({ visibilityProperty: true });
      if (walker.currentNode.textContent.trim() && !isSilent(element) && isThere && !element.matches(".skip")) {
        yield [walker.currentNode, element];
      }
    }
  }

  const flows = (element, how) => how.test(getComputedStyle(element).overflowX);

  /** Where text in an element may be: in the window and in whatever cuts it off; not limited where it can be scrolled to. */
  function roomOf(element) {
    const room = { left: 0, right: innerWidth, top: -Infinity, bottom: Infinity };
    for (let one = element; one && one !== document.body; one = one.parentElement) {
      if (flows(one, /auto|scroll/)) return { ...room, left: -Infinity, right: Infinity };
      if (flows(one, /hidden|clip/) || one.tagName.toLowerCase() === "svg") {
        const box = one.getBoundingClientRect();
        room.left = Math.max(room.left, box.left);
        room.right = Math.min(room.right, box.right);
        room.top = Math.max(room.top, box.top);
        room.bottom = Math.min(room.bottom, box.bottom);
      }
    }
    return room;
  }

  function cut() {
    const found = [];
    for (const [text, element] of shown()) {
      const range = document.createRange();
      range.selectNodeContents(text);
      const box = range.getBoundingClientRect();
      const room = roomOf(element);
      if (!box.width) continue;
      if (box.top < room.top - 1 || box.bottom > room.bottom + 1) found.push(told(element, "cut above or below"));
      if (box.left < room.left - 1 || box.right > room.right + 1) found.push(told(element, "cut at a side"));
      const isFree = room.right === Infinity;
      if (!isFree && element.clientWidth && element.scrollWidth > element.clientWidth + 1) found.push(told(element, "too wide"));
    }
    for (const control of document.querySelectorAll("input[type=search], select, button")) {
      const isWide = control.scrollWidth > control.clientWidth + 1;
      if (control.checkVisibility() && control.clientWidth && isWide) found.push(told(control, "too wide a control"));
    }
    const whole = document.documentElement.scrollWidth;
    return whole > innerWidth ? [...found, `the page is ${whole} pixels wide`] : found;
  }

  /** Names in the graph that do not fit into their boxes. */
  function unfitting() {
    return kerncause.cy.nodes().filter((node) => {
      const box = node.boundingBox(words);
      return box.w > node.width() + 1 || box.h > node.height() + 1;
    }).map((node) => node.data("label"));
  }

  // Contrast after WCAG 2: (lighter + 0.05) / (darker + 0.05).
  const parse = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return { rgb: [r, g, b], a };
  };
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const over = (top, below, a) => top.map((value, k) => a * value + (1 - a) * below[k]);
  const contrast = (ink, paper) => {
    const [high, low] = [light(over(ink.rgb, paper, ink.a)), light(paper)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  function behind(element) {
    for (let one = element; one; one = one.parentElement) {
      const colour = parse(getComputedStyle(one).backgroundColor);
      if (colour.a > 0.99) return colour.rgb;
    }
    return [255, 255, 255];
  }

  function faintWords() {
    const found = [];
    for (const [, element] of shown()) {
      const style = getComputedStyle(element);
      const ratio = contrast(parse(element instanceof SVGElement ? style.fill : style.color), behind(element));
      if (ratio < 4.5) found.push(told(element, ratio.toFixed(2)));
    }
    const box = document.getElementById("find");
    const hint = contrast(parse(getComputedStyle(box, "::placeholder").color), behind(box));
    return hint < 4.5 ? [...found, `the hint in the search box: ${hint.toFixed(2)}`] : found;
  }

  function faintGraph() {
    const paper = behind(document.getElementById("graph"));
    const found = [];
    for (const one of kerncause.cy.elements()) {
      const a = Number(one.style("opacity"));
      const of = (name) => ({ rgb: parse(one.style(name)).rgb, a });
      const line = contrast(of(one.isEdge() ? "line-color" : "border-color"), paper);
      const below = one.isEdge() ? paper : over(of("background-color").rgb, paper, a);
      const words = contrast(of("color"), below);
      if (line < 3 || words < 4.5) found.push(`${one.classes()}: line ${line.toFixed(2)}, words ${words.toFixed(2)}`);
    }
    return found;
  }

  /** Where on the screen the middle of an edge is, and of a node by its name. */
  function onScreen(place) {
    const box = document.getElementById("graph").getBoundingClientRect();
    const border = document.getElementById("graph").clientLeft;
    return [box.left + border + place.x, box.top + border + place.y];
  }
  const edgeOf = (id) => kerncause.cy.edges().filter((edge) => edge.data("edge") === id);
  const middleOf = (id) => onScreen(edgeOf(id).renderedMidpoint());
  const nodeAt = (label) => onScreen(kerncause.cy.nodes().filter((node) => node.data("label") === label).renderedPosition());

  /** Show the middle of an edge from so near that no other edge passes within reach of the pointer. */
  function near(id) {
    kerncause.cy.zoom(3.5);
    const place = edgeOf(id).renderedMidpoint();
    kerncause.cy.panBy({ x: kerncause.cy.width() / 2 - place.x, y: kerncause.cy.height() / 2 - place.y });
  }

  /** The boxes of what is written at edges. */
  const words = { includeNodes: false, includeEdges: false, includeLabels: true, includeOverlays: false };
  const numbers = () => kerncause.cy.edges().map((edge) => ({ ...edge.boundingBox(words), text: edge.data("label") }));

  const handlers = () =>
    [...document.querySelectorAll("*")].filter((one) => [...one.attributes].some((a) => a.name.startsWith("on")));

  return { cut, unfitting, faintWords, faintGraph, onScreen, middleOf, nodeAt, near, numbers, handlers };
})();
