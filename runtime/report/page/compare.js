/* Another report beside this one: read in the browser, it goes nowhere. */
"use strict";
function readReport(text) {
  if (text.trimStart().startsWith("<")) text = new DOMParser().parseFromString(text, "text/html").getElementById("report").textContent;
  const report = JSON.parse(text);
  if (!report || !report.model || !Array.isArray(report.sections)) throw new Error("no report");
  return report;
}

/* Sections of both by name, the k-th of a name with the k-th; then those that one has alone. */
function pairSections(ours, theirs) {
  const left = [...theirs], pairs = ours.map(s => {
    const at = left.findIndex(o => o.name === s.name);
    return {name: s.name, ours: s, theirs: at < 0 ? null : left.splice(at, 1)[0]};
  });
  return [...pairs, ...left.map(s => ({name: s.name, ours: null, theirs: s}))];
}

const changed = (a, b) => known(a) && known(b) && a ? b / a - 1 : null;
const signedPercent = share => !known(share) ? "–" : (share > 0 ? "+" : "") + percent(share);

/* cards: report => [name, number, text] of each figure on top. */
function compareReports(report, other, name, cards) {
  const theirs = cards(other), parts = [];
  const head = r => `${r.model.name}, ${(r.arch || {}).name}, ${(r.precision || {}).policy || (r.precision || {}).preset || "?"}, engine ${r.engine}`;
  parts.push(make("p", {}, `This: ${head(report)}. ${name}: ${head(other)}.`),
    table("This report and " + name, [["figure", r => r[0]], ["this", r => r[1]], ["other", r => r[2]], ["change", r => r[3]]],
      cards(report).map(([label, value, said], i) => [label, said, theirs[i][2], signedPercent(changed(value, theirs[i][1]))]), false));
  const pairs = pairSections(report.sections, other.sections), cycles = s => s ? s.cycles : null;
  if (pairs.some(p => p.ours && p.theirs)) {
    const both = pairs.filter(p => p.ours && p.theirs), xs = both.map((_, i) => i);
    parts.push(chart("Cycles of the sections that both have, this and the other", {
      scales: {x: {time: false}}, axes: [{label: "section", values: (_, v) => v.map(i => Number.isInteger(i) && both[i] ? String(i) : "")}, {label: "cycles", values: si}],
      series: [{label: "section", value: (_, v) => known(v) ? both[v].name : "–"}, {label: "this", stroke: ink("mx"), width: 2, points: {show: true, size: 6}, value: (_, v) => plain(v)},
        {label: "other", stroke: ink("dram"), width: 2, dash: [6, 3], points: {show: true, size: 6}, value: (_, v) => plain(v)}],
    }, [xs, both.map(p => p.ours.cycles), both.map(p => p.theirs.cycles)]));
  }
  parts.push(table("Sections of both", [["section", p => p.name], ["this", p => cycles(p.ours), plain], ["other", p => cycles(p.theirs), plain],
    ["moved", p => p.ours && p.theirs ? p.theirs.cycles - p.ours.cycles : null, v => known(v) && v > 0 ? "+" + plain(v) : plain(v)], ["change", p => changed(cycles(p.ours), cycles(p.theirs)), signedPercent],
    ["bound by", p => p.ours ? p.ours.bound_by : "–"], ["bound there", p => p.theirs ? p.theirs.bound_by : "–"]], pairs, true));
  const ways = r => Object.entries(r.units || {}).flatMap(([unit, u]) => [[unit + " busy", u.busy], ...Object.entries(u.stalled).map(([cause, n]) => [`${unit} waits for ${cause}`, n])]);
  const stalls = new Map(ways(report).map(([what, n]) => [what, [n, null]]));
  for (const [what, n] of ways(other)) stalls.set(what, [(stalls.get(what) || [null])[0], n]);
  if (report.units && other.units) parts.push(table("Units of both, cycles summed over the units of a kind", [["unit and cause", e => e[0]], ["this", e => e[1][0], plain], ["other", e => e[1][1], plain],
    ["change", e => changed(e[1][0], e[1][1]), signedPercent]], [...stalls], false));
  const outputs = [...new Set([...Object.keys(report.error_vs_fp32 || {}), ...Object.keys(other.error_vs_fp32 || {})])];
  if (outputs.length) parts.push(table("Largest errors against FP32", [["output", o => o], ["this", o => ((report.error_vs_fp32 || {})[o] || {}).max_abs, plain], ["other", o => ((other.error_vs_fp32 || {})[o] || {}).max_abs, plain]], outputs, false));
  return parts;
}

function compareSection(report, cards) {
  const file = make("input", {type: "file", accept: ".json,.html"}), result = make("div", {"aria-live": "polite", class: "compared"});
  file.addEventListener("change", async () => {
    if (!file.files.length) return;
    try {
      result.replaceChildren(...compareReports(report, readReport(await file.files[0].text()), file.files[0].name, cards));
    } catch (error) {
      result.replaceChildren(make("p", {role: "alert"}, "That file is no report of Tegula."));
    }
  });
  document.querySelector("main").append(make("section", {class: "compare", "aria-labelledby": "compare"}, make("h2", {id: "compare"}, "Compare"),
    make("label", {}, "Another report, .json or .html, of which nothing leaves this page: ", file), result));
}
