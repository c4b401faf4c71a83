/* The array from above: tiles by what they do, lanes by what goes over them, AGCUs at the edges. Keys `tiles` and `lanes` of the
 * report. */
"use strict";
const svg = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
};

/* Every segment: direction, lane, the places that it lies between, flits. Place 0 of a lane is its AGCU. */
function laneSegments(lanes) {
  const all = [];
  for (const way of ["east", "west", "north", "south"])
    (lanes[way] || []).forEach((segments, lane) => segments.forEach((flits, at) => {
      const row = way === "east" || way === "west";
      const place = p => p === 0 ? `AGCU ${row ? "of row" : "of column"} ${lane}` : row ? `tile ${lane},${p - 1}` : `tile ${p - 1},${lane}`;
      const ahead = way === "east" || way === "south";
      all.push({way, lane, at, flits, from: place(ahead ? at : at + 1), to: place(ahead ? at + 1 : at)});
    }));
  return all;
}

function floorPlan(report) {
  const {rows, cols} = report.arch, tiles = report.tiles, cycles = report.cycles;
  const size = 62, gap = 46, pitch = size + gap, edge = 34, x = c => edge + gap + c * pitch, y = r => edge + gap + r * pitch;
  const width = x(cols - 1) + size + 6, height = y(rows - 1) + size + 6;
  const share = v => known(v) && cycles ? v / cycles : 0;
  const plan = svg("svg", {viewBox: `0 0 ${width} ${height}`, class: "plan", role: "img", width, height,
    "aria-label": "Tiles by busy time of their matrix and vector units, lanes by the flits that go over them; the tables below have the numbers"});
  const marks = [];
  for (const s of laneSegments(report.lanes || {})) {
    const row = s.way === "east" || s.way === "west", off = s.way === "east" || s.way === "south" ? -9 : 9;
    const begin = (s.at === 0 ? edge : (row ? x(s.at - 1) : y(s.at - 1)) + size) + 2, end = (row ? x(s.at) : y(s.at)) - 2;
    const across = (row ? y(s.lane) : x(s.lane)) + size / 2 + off, part = share(s.flits);
    const [a, b] = s.way === "east" || s.way === "south" ? [begin, end] : [end, begin], head = Math.sign(b - a) * 7;
    const at = (u, v) => row ? `${u},${v}` : `${v},${u}`;
    marks.push(svg("path", {class: s.flits ? "lane" : "lane idle", "stroke-width": (1 + 8 * Math.min(1, part)).toFixed(2), d: `M${at(a, across)} L${at(b, across)}`},
      svg("title", {}, `${s.way}, ${s.from} to ${s.to}: ${plain(s.flits)} flits, ${percent(part)} of the cycles`)));
    if (s.flits) marks.push(svg("path", {class: "head", d: `M${at(b, across)} L${at(b - head, across - 5)} L${at(b - head, across + 5)} Z`}));
  }
  for (let r = 0; r < rows; r++) marks.push(svg("rect", {class: "agcu", x: 2, y: y(r) + size / 4, width: edge - 4, height: size / 2, rx: 3}, svg("title", {}, `AGCU of row ${r}`)));
  for (let c = 0; c < cols; c++) marks.push(svg("rect", {class: "agcu", x: x(c) + size / 4, y: 2, width: size / 2, height: edge - 4, rx: 3}, svg("title", {}, `AGCU of column ${c}`)));
  for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c++) {
    const t = r * cols + c, busy = tiles ? share(Math.max(tiles.mx[t], tiles.vx[t])) : 0, waits = tiles ? share(tiles.stalled[t]) : 0;
    marks.push(svg("g", {}, svg("title", {}, tiles ? `tile ${r},${c}: mx ${percent(share(tiles.mx[t]))}, vx ${percent(share(tiles.vx[t]))}, mx waits ${percent(waits)}` : `tile ${r},${c}`),
      svg("rect", {class: "tile", x: x(c), y: y(r), width: size, height: size, rx: 4, style: `fill: color-mix(in srgb, var(--mx) ${Math.round(55 * busy)}%, var(--back))`}),
      tiles ? svg("rect", {class: "waits", x: x(c), y: y(r) + size - 6, width: (size * waits).toFixed(1), height: 6}) : null,
      svg("text", {x: x(c) + size / 2, y: y(r) + 26}, tiles ? percent(busy) : `${r},${c}`), tiles ? svg("text", {class: "small", x: x(c) + size / 2, y: y(r) + 44}, "waits " + percent(waits)) : null));
  }
  plan.append(...marks);
  return make("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Plan of tiles and lanes"}, plan);
}

function floorSection(report) {
  if (!report.lanes || !report.cycles) return;
  const cycles = report.cycles, used = laneSegments(report.lanes).filter(s => s.flits);
  section("Floor plan", floorPlan(report), make("p", {}, (report.tiles ? "Tiles: of the run’s cycles, the busier of matrix and vector unit, and, as the bar below, how long the matrix unit’s instructions waited. " : "With --profile tiles show how busy they are. ") +
    "Lanes: as thick as the share of cycles in which a flit goes over the segment."),
    make("details", {}, make("summary", {}, "Lanes’ traffic"), table("Segments that flits go over", [["direction", s => s.way], ["from", s => s.from], ["to", s => s.to], ["flits", s => s.flits, plain],
      ["of the cycles", s => s.flits / cycles, percent]], used, true)));
}
