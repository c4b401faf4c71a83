/* Draws the results of a suite and its history, the JSON in element #suite, into <main>. docs/regression-suites.md. */
"use strict";
(() => {
  const suite = JSON.parse(document.getElementById("suite").textContent);
  const main = document.querySelector("main");
  const {summary, cases, trends} = suite; /* a page of the history alone has no summary and no cases */
  const change = (before, now) => known(before) && known(now) && before ? now / before - 1 : null;
  const signed = share => !known(share) ? "–" : (share > 0 ? "+" : "") + percent(share);
  const says = c => c.findings.map(f => f.text).join("; ");
  const count = (n, what) => n ? [`${n} ${what}`] : [];

  /* --- the answer */
  document.title = suite.suite + " – Tegula";
  main.append(make("h1", {}, suite.suite + (suite.shard ? `, shard ${suite.shard}` : "")));
  main.append(make("p", {class: "answer"}, (summary ? [summary.failed ? `${summary.failed} of ${summary.cases} cases failed` : `All ${summary.cases} cases passed`,
    ...count(summary.moved, "moved"), ...count(summary.new, "without a baseline"), ...count(summary.expected, "failed as expected")].join(", ") : trends.runs.length ? `The history of ${trends.runs.length} run${trends.runs.length === 1 ? "" : "s"}, from ${trends.runs[0].time} to ${trends.runs.at(-1).time}` : "No run so far") + "."));
  main.append(make("dl", {class: "cards"}, ...Object.entries({...summary, seed: suite.seed ?? null, tegula: suite.tegula, runs: trends ? trends.runs.length : null})
    .filter(([, value]) => value !== null).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value))))));

  const failed = (cases || []).filter(c => c.verdict === "failed");
  if (failed.length) section("Failed", make("ul", {}, ...failed.map(c => make("li", {}, make("strong", {}, c.case), " ", says(c),
    c.log ? make("details", {}, make("summary", {}, "log"), make("pre", {class: "wide", tabindex: "0", role: "region", "aria-label": "log of " + c.case}, c.log)) : null))));

  /* --- cases */
  const error = c => c.loss ? c.loss.mean_last_20 : Math.max(...Object.values(c.error_vs_golden || c.error_vs_fp32 || {}).map(e => e.max_abs ?? Infinity));
  if (cases) section("Cases", table("Every case of this run", [
    ["case", c => c.case], ["verdict", c => c.verdict], ["cycles", c => c.cycles, plain], ["baseline", c => c.baseline_cycles, plain],
    ["change", c => change(c.baseline_cycles, c.cycles), signed], ["device bytes", c => c.peak_device_bytes, plain],
    ["largest error, or loss", c => { const e = error(c); return e === -Infinity ? null : e; }, plain], ["utilization", c => c.mac_utilization, percent],
    ["tags", c => (c.tags || []).join(" ")], ["what is to be said", says]], cases, true));

  if (!trends || !trends.runs.length) return;
  const runs = trends.runs, named = runs.map(r => r.label ?? r.time), ids = Object.keys(trends.cases);

  /* --- what changed when */
  section("What changed when", trends.events.length ? table("From run to run, latest first", [
    ["run", e => named[e.run]], ["time", e => runs[e.run].time], ["case", e => e.case], ["what", e => e.kind], ["which way", e => e.worse ? "worse" : e.kind === "outputs" ? "other" : "better"],
    ["change", e => e.text]], trends.events, true) : make("p", {}, "Nothing, in the runs of this history."));

  /* --- cycles over runs, of chosen cases */
  const spread = id => { const c = trends.cases[id].cycles.filter(known); return c.length ? Math.max(...c) / Math.min(...c) : 0; };
  const timed = ids.filter(id => trends.cases[id].cycles.some(known));
  if (runs.length > 1 && timed.length) {
    const most = [...timed].sort((a, b) => spread(b) - spread(a)).slice(0, 6);
    const choice = make("select", {}, make("option", {value: ""}, "the six that moved most"), ...timed.map(id => make("option", {value: id}, id)));
    const place = make("div"), shades = ["mx", "dram", "vx", "lane", "accent", "soft"];
    const draw = () => {
      const chosen = choice.value ? [choice.value] : most;
      const lines = chosen.map(id => { const c = trends.cases[id].cycles, first = c.find(known); return choice.value ? c : c.map(v => known(v) ? v / first : null); });
      place.replaceChildren(chart("Cycles over runs", {
        scales: {x: {time: false}}, axes: [{label: "run", values: (_, v) => v.map(i => Number.isInteger(i) && named[i] !== undefined ? named[i].slice(0, 10) : ""), space: 90},
          {label: choice.value ? "cycles" : "cycles, of the first run's", values: choice.value ? si : (_, v) => v.map(percent)}],
        series: [{label: "run", value: (_, v) => known(v) ? named[v] : "–"}, ...chosen.map((id, i) => ({label: id, stroke: ink(shades[i]), width: 2, spanGaps: true,
          dash: i % 2 ? [6, 3] : undefined, points: {show: true, size: 6}, value: (_, v) => choice.value ? plain(v) : percent(v)}))],
      }, [runs.map((_, i) => i), ...lines]));
    };
    choice.addEventListener("change", draw);
    draw();
    section("Cycles over runs", make("div", {class: "tools"}, make("label", {}, "Case ", choice)), place);
  }

  /* --- cases by run */
  const signs = {passed: "✓", failed: "✗", expected: "○", new: "+"}, shown = runs.map((_, i) => i).slice(-60);
  const cell = (one, i) => {
    const verdict = one.verdict[i], last = one.cycles.slice(0, i).findLast(known), by = change(last, one.cycles[i]);
    if (!verdict) return make("td", {}, make("span", {class: "unseen"}, "not run"));
    const moved = by ? " " + signed(by) : "";
    return make("td", {class: verdict, title: `${named[i]}: ${verdict}, ${plain(one.cycles[i])} cycles${moved}`}, signs[verdict] ?? verdict,
      make("span", {class: "unseen"}, " " + verdict), by ? make("span", {class: "by"}, by > 0 ? "▲" : "▼") : null);
  };
  section("Cases by run", make("p", {}, "✓ passed, ✗ failed, ○ failed as expected, + without a baseline; ▲ more cycles than in the run before, ▼ fewer."),
    make("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Grid of cases and runs"}, make("table", {class: "grid"}, make("caption", {}, "Verdicts, a column a run, the latest on the right"),
      make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "case"), ...shown.map(i => make("th", {scope: "col", title: runs[i].time}, make("span", {class: "slanted"}, named[i].slice(0, 16)))))),
      make("tbody", {}, ...ids.map(id => make("tr", {}, make("th", {scope: "row"}, id), ...shown.map(i => cell(trends.cases[id], i))))))));
})();
