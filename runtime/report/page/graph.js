/* The graph with the formats that the precision policy chose, and the rule behind each: key `graph` of the report. Laid out by
 * dagre. */
"use strict";
function graphPicture(graph, said) {
  const layout = new dagre.graphlib.Graph({multigraph: true}).setGraph({rankdir: "TB", nodesep: 16, ranksep: 34, marginx: 8, marginy: 8}).setDefaultEdgeLabel(() => ({}));
  const byId = new Map(graph.nodes.map(n => [String(n.id), n])), short = text => text.length > 24 ? text.slice(0, 23) + "…" : text;
  for (const n of graph.nodes) layout.setNode(String(n.id), {width: n.kind === "cast" ? 92 : 172, height: n.kind === "cast" ? 24 : 40});
  graph.edges.forEach(([from, to], i) => layout.setEdge(String(from), String(to), {}, String(i)));
  dagre.layout(layout);
  const {width, height} = layout.graph();
  const picture = svg("svg", {viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`, width: Math.ceil(width), height: Math.ceil(height), class: "graph", role: "group",
    "aria-label": "The graph; arrow keys go along its edges, the table below has the same"});
  for (const e of layout.edges()) {
    const format = graph.edges[Number(e.name)][2], points = layout.edge(e).points.map(p => `${p.x.toFixed(1)},${p.y.toFixed(1)}`);
    picture.append(svg("polyline", {points: points.join(" "), class: "edge " + format}, svg("title", {}, format)));
  }
  const drawn = new Map();
  const go = id => {
    if (!drawn.has(id)) return;
    for (const [other, element] of drawn) element.setAttribute("tabindex", other === id ? "0" : "-1");
    drawn.get(id).focus();
  };
  const next = (id, key) => {
    const first = list => list && list.length ? list[0] : id;
    if (key === "ArrowDown") return first(layout.successors(id));
    if (key === "ArrowUp") return first(layout.predecessors(id));
    const peers = [...(layout.predecessors(id) || [])].flatMap(p => layout.successors(p)), at = peers.indexOf(id);
    return peers[at + (key === "ArrowRight" ? 1 : -1)] ?? id;
  };
  for (const id of layout.nodes()) {
    const n = byId.get(id), at = layout.node(id), top = at.y - at.height / 2;
    const describe = `${n.kind === "operator" ? n.op : n.kind} ${n.name}, ${n.format}` + (n.rule ? `, ${n.rule}` : "");
    const element = svg("g", {class: "node " + n.kind + " " + n.format, tabindex: drawn.size ? "-1" : "0", role: "img", "aria-label": describe}, svg("title", {}, describe),
      svg("rect", {x: at.x - at.width / 2, y: top, width: at.width, height: at.height, rx: n.kind === "operator" ? 3 : 11}),
      n.kind === "cast" ? svg("text", {x: at.x, y: at.y + 4}, "→ " + n.format)
        : svg("text", {x: at.x, y: top + 16}, `${n.kind === "operator" ? n.op : n.kind} · ${n.format}`),
      n.kind === "cast" ? null : svg("text", {class: "small", x: at.x, y: top + 32}, short(n.name)));
    element.addEventListener("focus", () => { said.textContent = describe + (n.operands ? "; operands: " + n.operands.map(o => `${o.name} ${o.format}`).join(", ") : ""); });
    element.addEventListener("click", () => go(id));
    element.addEventListener("keydown", event => {
      if (!event.key.startsWith("Arrow")) return;
      event.preventDefault();
      go(next(id, event.key));
    });
    drawn.set(id, element);
    picture.append(element);
  }
  return picture;
}

function graphSection(graph) {
  const most = 1500, atOnce = 120;
  if (!graph || !graph.nodes.length) return;
  const place = make("div", {class: "wide tall", tabindex: "0", role: "region", "aria-label": "Picture of the graph"}), said = make("p", {"aria-live": "polite", class: "said"}, "Choose an operator to see its rule.");
  const picture = make("details", {}, make("summary", {}, `Picture of ${plain(graph.nodes.length)} nodes`), place, said);
  let done = false;
  picture.addEventListener("toggle", () => {
    if (done || !picture.open) return;
    done = true;
    place.append(graphPicture(graph, said));
  });
  const operators = graph.nodes.filter(n => n.kind === "operator" || n.kind === "cast"), formats = {};
  for (const n of graph.nodes) if (n.kind === "operator") formats[n.format] = (formats[n.format] || 0) + 1;
  section("Precision decisions",
    make("p", {}, Object.entries(formats).map(([format, count]) => `${plain(count)} operators give ${format}`).join(", ") + `; ${plain(graph.nodes.filter(n => n.kind === "cast").length)} casts.`),
    graph.nodes.length <= most ? picture : make("p", {}, `The graph has ${plain(graph.nodes.length)} nodes, too many for a picture that one can read.`),
    table("Each operator, its formats and the rule that decided", [["operator", n => n.name], ["kind", n => n.op], ["operands", n => (n.operands || []).map(o => o.format).join(", ")],
      ["result", n => n.format], ["type", n => n.type], ["rule", n => n.rule]], operators, true));
  picture.open = graph.nodes.length <= atOnce;
}
