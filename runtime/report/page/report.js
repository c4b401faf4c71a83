/* Draws a report of Tegula, the JSON in element #report, into <main>. docs/report.md has its keys. */
"use strict";
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const main = document.querySelector("main");
  const units = ["mx", "vx", "dram", "lane"];

  /* --- the answer */
  const sections = report.sections || [];
  const model = report.model || {}, arch = report.arch || {};
  const time = {};
  for (const s of sections) time[s.bound_by] = (time[s.bound_by] || 0) + s.cycles;
  const [bound] = Object.entries(time).sort((a, b) => b[1] - a[1])[0] || [];
  const boundNames = {mx: "its matrix units", vx: "its vector units", dram: "DRAM", lane: "its lanes"};
  const policy = (report.precision || {}).policy || (report.precision || {}).preset || "";
  const short = value => Number(value.toPrecision(3));
  const spread = cpu => known(cpu.seconds_low) && known(cpu.seconds_high) ? ` (${short(cpu.seconds_low / report.seconds)} to ${short(cpu.seconds_high / report.seconds)} over its runs)` : "";
  document.title = (model.name || "report") + " – Tegula";
  main.append(make("h1", {}, model.name || "Report"));
  main.append(make("p", {class: "answer"}, [
    known(report.cycles) ? `${scaled(report.samples_per_second, "samples/s")} on the array “${arch.name}” in ${policy}` : `Values of the engine ${report.engine} in ${policy}, without times`,
    known(report.speedup_vs_cpu) ? `, ${short(report.speedup_vs_cpu)} times this computer’s CPU${spread(report.cpu_reference)}` : "",
    known(report.sol) ? `: ${percent(report.sol)} of the speed of light` : "",
    bound ? `, bound by ${boundNames[bound] || bound} for ${percent(time[bound] / sections.reduce((sum, s) => sum + s.cycles, 0))} of the sections’ time` : "", ".",
    report.first_cause ? ` Stalls: ${report.first_cause.text}.` : ""].join("")));

  const rate = report.dram_bytes_per_cycle || {}, clock = report.clock_hz;
  const cards = (r, other) => [
    ["cycles", r.cycles, plain(r.cycles)], ["time", r.seconds, scaled(r.seconds, "s")],
    ["throughput", r.samples_per_second, scaled(r.samples_per_second, "samples/s")],
    ["speed of light", r.sol, percent(r.sol)], ["matrix units", r.mac_utilization, percent(r.mac_utilization)],
    ["DRAM", (r.dram_bytes_per_cycle || {}).achieved, `${scaled((r.dram_bytes_per_cycle || {}).achieved * r.clock_hz, "B/s")} of ${scaled((r.dram_bytes_per_cycle || {}).peak * r.clock_hz, "B/s")}`],
    ["bytes moved", ((r.dram_bytes || {}).read + (r.dram_bytes || {}).write), scaled((r.dram_bytes || {}).read + (r.dram_bytes || {}).write, "B")],
    ["energy a sample", (r.energy || {}).joules_per_sample, r.energy ? `${scaled(r.energy.joules_per_sample, "J")}, ${scaled(r.energy.watts, "W")} on average` : "–"],
    ["device memory", r.peak_device_bytes, scaled(r.peak_device_bytes, "B")],
    ["this CPU", (r.cpu_reference || {}).samples_per_second, r.cpu_reference ? `${scaled(r.cpu_reference.samples_per_second, "samples/s")}, ${r.cpu_reference.dtype}` : "–"],
    ["engine", null, r.engine || "–"]];
  main.append(make("dl", {class: "cards"}, ...cards(report).map(([name, , text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text)))));

  if (report.advice) section("What would gain most",
    report.advice.length ? make("ul", {}, ...report.advice.map(a => make("li", {}, a.text + "."))) : make("p", {}, "Nothing that was tried gains 1 %."),
    make("p", {}, "Each of these was simulated."));

  /* --- roofline */
  const timed = sections.filter(s => s.cycles > 0 && s.macs > 0 && s.compulsory_bytes > 0);
  if (timed.length && rate.peak && report.peak_macs_per_cycle) {
    const points = timed.map(s => ({x: s.macs / s.compulsory_bytes, y: s.macs / s.cycles, name: s.name}));
    const peak = report.peak_macs_per_cycle, top = peak.bf16;
    const ridge = top / rate.peak, xs = points.map(p => p.x);
    const low = Math.min(ridge, ...xs) / 2, high = Math.max(ridge, ...xs) * 2;
    const all = [...new Set([low, ridge, high, ...xs])].sort((a, b) => a - b);
    const at = all.map(x => { const p = points.filter(q => q.x === x); return p.length ? Math.max(...p.map(q => q.y)) : null; });
    section("Roofline", chart("Multiply-adds a cycle over multiply-adds a byte, a point a section, below what BF16 units and DRAM allow", {
      scales: {x: {time: false, distr: 3}, y: {distr: 3}},
      axes: [{label: "multiply-adds a compulsory byte", values: si}, {label: "multiply-adds a cycle", values: si}],
      series: [{label: "intensity", value: (_, v) => plain(v)},
        {label: "roof in BF16", stroke: ink("soft"), points: {show: false}, value: (_, v) => plain(v)},
        {label: "in FP32", stroke: ink("dram"), points: {show: false}, value: (_, v) => plain(v)},
        {label: "sections", stroke: ink("mx"), paths: () => null, points: {show: true, size: 9, fill: ink("mx")},
          value: (u, v, s, i) => v === null || i === null ? "–" : plain(v) + " " + points.filter(p => p.x === all[i]).map(p => p.name).join(", ")}],
    }, [all, all.map(x => Math.min(top, x * rate.peak)), all.map(x => Math.min(peak.fp32, x * rate.peak)), at]),
    make("p", {}, "The roofs are the matrix units’ peaks and DRAM’s; the table of sections has the same numbers."));
  }

  /* --- timeline */
  if (sections.length && known(report.cycles)) {
    const xs = [], series = units.map(() => []), memory = [], dram = [];
    for (const s of sections) {
      for (const x of [s.begin, s.begin + s.cycles]) {
        if (xs.length && x <= xs[xs.length - 1]) continue;
        xs.push(x);
        units.forEach((u, i) => series[i].push(x === s.begin ? s.busy[u] / s.cycles : 0));
        dram.push(x === s.begin && known(s.dram_bytes) ? s.dram_bytes / s.cycles : 0);
        memory.push(s.memory_bytes ?? null);
      }
    }
    const step = uPlot.paths.stepped({align: 1});
    const overTime = {x: {time: false}};
    section("Timeline", chart("Share of each section’s time that the busiest unit of each kind works, over cycles", {
      scales: {...overTime, y: {range: [0, 1.05]}}, axes: [{label: "cycles", values: si}, {label: "busy", values: (_, v) => v.map(percent)}],
      series: [{label: "cycle", value: (_, v) => plain(v)}, ...units.map(u => ({label: u, stroke: ink(u), width: 2, paths: step, value: (_, v) => percent(v)}))],
    }, [xs, ...series]),
    memory.some(known) ? make("h3", {}, "DRAM and memory over time") : null,
    memory.some(known) ? chart("Bytes a cycle to and from DRAM, and device memory in use, over cycles", {
      scales: {...overTime, bytes: {}}, axes: [{label: "cycles", values: si}, {label: "B a cycle", values: si}, {scale: "bytes", side: 1, label: "memory, B", values: si, grid: {show: false}}],
      series: [{label: "cycle", value: (_, v) => plain(v)}, {label: "DRAM, B a cycle", stroke: ink("dram"), width: 2, paths: step},
        {label: "memory", scale: "bytes", stroke: ink("lane"), width: 2, paths: step, value: (_, v) => scaled(v, "B")}],
    }, [xs, dram, memory]) : null);
  }

  /* --- floor plan */
  floorSection(report);

  /* --- stalls */
  if (report.first_cause) {
    const chain = ({chain}) => make("ol", {class: "chain"}, ...chain.map(link => make("li", {}, link)));
    const waits = Object.entries(report.units).flatMap(([unit, u]) => Object.entries(u.stalled).map(([cause, n]) => ({unit, cause, n, all: Object.values(u.stalled).reduce((a, b) => a + b, 0), busy: u.busy})));
    section("Stalls", make("p", {}, `Who waits for whom, to the end: ${report.first_cause.text}. ${percent(report.first_cause.share)} of the first one’s waiting is for the second.`), chain(report.first_cause),
      table("What units wait for, cycles summed over the units of a kind", [["unit", w => w.unit], ["waits for", w => w.cause], ["cycles", w => w.n, plain], ["of its waiting", w => w.n / w.all, percent],
        ["over its busy time", w => w.busy ? w.n / w.busy : null, percent]], waits, false));
  }

  /* --- tables */
  if (sections.length) section("Sections", table("What each section computes, how long it takes and what bounds it", [
    ["section", s => s.name], ["begin", s => s.begin, plain], ["cycles", s => s.cycles, plain], ["estimated", s => s.estimated_cycles, plain], ["speed of light", s => s.sol, percent], ["bound by", s => s.bound_by],
    ...units.map(u => [u, s => s.busy[u] / s.cycles, percent]), ["multiply-adds", s => s.macs, plain],
    ...(sections.some(s => s.first_cause) ? [["stalls, first cause", s => s.first_cause ? s.first_cause.text : "–"]] : [])], sections, true));
  if (report.energy) {
    const {by_kind, actions, joules, prices} = report.energy, kinds = Object.keys(by_kind);
    section("Energy", table("What it is for", [["kind", e => e[0]], ["energy", e => e[1], v => scaled(v, "J")], ["share", e => joules ? e[1] / joules : 0, percent]], Object.entries(by_kind), false),
      table("Sections by kind", [["section", s => s.name], ["energy", s => s.energy.joules, v => scaled(v, "J")],
        ...kinds.map(k => [k, s => s.energy.joules ? s.energy.by_kind[k] / s.energy.joules : 0, percent])], sections.filter(s => s.energy), true),
      table("Actions", [["action", e => e[0].replace("_", " ")], ["count", e => e[1], plain]], Object.entries(actions), false),
      make("p", {}, `Prices: ${prices}. They are those of published circuits, not of this one: shares and ratios say more than joules.`));
  }
  for (const [key, title] of [["error_vs_fp32", "Errors against FP32"], ["error_vs_golden", "Errors against golden files"]])
    if (report[key]) section(title, table("By output", [["output", e => e[0]], ...["max_abs", "max_rel", "rms", "cosine"].map(k => [k.replace("_", " "), e => e[1][k], v => known(v) ? v.toPrecision(k === "cosine" ? 7 : 3) : "–"])], Object.entries(report[key]), false));
  if (report.numerics) {
    const {bound, policies, results} = report.numerics;
    const says = ({policy, first_broken: first}) => (policy ? policy + ": " : "") + (first ? `the first result beyond a relative error of ${bound}: ${first.node || first.tensor}.` : `no result is beyond a relative error of ${bound}.`);
    section("Where errors come from", ...(policies || [report.numerics]).map(one => make("p", {}, says(one))),
      table("Operators, what the policy decided and by which rule, and their errors", [
        ["operator", r => r.node || r.tensor], ["kind", r => r.op], ...(policies ? [["policy", r => r.policy]] : []), ["format", r => r.format], ["rule", r => r.rule], ["largest", r => r.most, plain],
        ["overflows", r => r.overflows + r.nans, plain], ["subnormal", r => r.subnormals, plain], ["adds", r => r.added_rms, plain], ["passes on", r => r.passed_rms, plain], ["relative", r => r.relative, plain],
        ["right bits", r => r.right_bits, plain], ["hint", r => r.hint]], results, true));
  }

  /* --- training */
  if (report.curve) {
    const {step, loss, scale, skipped} = report.curve;
    section("Training", chart("Loss before each step", {
      scales: {x: {time: false}, scale: {distr: 3}}, axes: [{label: "step", values: si}, {label: "loss"}, {scale: "scale", side: 1, label: "loss scale", values: si, grid: {show: false}}],
      series: [{label: "step", value: (_, v) => plain(v)}, {label: "loss", stroke: ink("mx"), width: 2}, {label: "loss scale", scale: "scale", stroke: ink("dram"), paths: uPlot.paths.stepped({align: 1})},
        {label: "skipped", stroke: ink("lane"), paths: () => null, points: {show: true, size: 8}}],
    }, [step, loss, scale, loss.map((l, i) => skipped[i] ? l : null)]),
    make("p", {}, `${plain(report.steps)} steps, ${plain(report.skipped_steps)} skipped.`));
  }
  graphSection(report.graph);
  const rest = Object.entries(report).filter(([key, value]) => value !== null && typeof value === "object" && !Array.isArray(value) &&
    ["model", "arch", "precision", "host", "cpu_reference", "dram", "reduction", "loss", "evaluation"].includes(key));
  section("All that was measured and asked for", table("Keys of the report", [["key", e => e[0]], ["value", e => e[1]]],
    [...Object.entries(report).filter(([, v]) => v === null || typeof v !== "object"), ...rest.flatMap(([key, value]) => Object.entries(value).map(([k, v]) => [key + "." + k, typeof v === "object" ? JSON.stringify(v) : v]))]
      .map(([k, v]) => [k, v === null ? "–" : String(v)]), true));

  compareSection(report, cards);
})();
