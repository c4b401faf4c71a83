#!/usr/bin/env python3
"""The pages of a report, of a training and of a suite in a browser: no error, nothing wider than the window at 1280 and 400
pixels, all of their parts, tables that sort and search, two reports compared, the keyboard, and axe-core's rules of
accessibility, by light and by dark.

    tests/runtime/test_page.py TEGULA CHROMIUM AXE.js [all]

Without `all` only FEW of them, and axe-core looks at the narrow ones, by light. Skipped (status 77) without chromium."""

import http.server
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading

PARTS = {
    "report": ["What would gain most", "Roofline", "Timeline", "Floor plan", "Stalls", "Sections", "Energy", "Errors against FP32",
               "Where errors come from", "Precision decisions", "All that was measured and asked for", "Compare"],
    "training": ["Roofline", "Timeline", "Floor plan", "Stalls", "Sections", "Energy", "Training", "Precision decisions",
                 "All that was measured and asked for", "Compare"],
    "history": ["What changed when", "Cycles over runs", "Cases by run"],
    "suite": ["Failed", "Cases", "What changed when", "Cycles over runs", "Cases by run"],
}
CHARTS = {"report": 3, "training": 4, "history": 1, "suite": 1}
WIDTHS = (1280, 400)
FEW = {"report 1280", "report 400", "suite 400"}

# Runs inside each page; tells the window around it what it found.
PROBE = """
<script>window.errors = []; addEventListener("error", event => errors.push(event.message));</script>
"""
ASK = """
<script>
const until = async condition => { for (let i = 0; i < 200 && !condition(); i++) await new Promise(done => requestAnimationFrame(() => setTimeout(done, 10))); };
const part = title => [...document.querySelectorAll("section")].find(s => s.querySelector("h2").textContent === title);
const rows = table => [...table.querySelectorAll("tbody tr")].map(row => [...row.children].map(cell => cell.textContent));
const sortBy = (table, i) => { table.querySelectorAll("th button")[i].click(); return [table.querySelectorAll("th")[i].getAttribute("aria-sort"), rows(table).map(r => r[i])]; };
const ask = {
  async report(found) {
    [found.said, found.sorted] = sortBy(part("Sections"), 2);
    const search = part("Sections").querySelector("input");
    search.value = "pool1";
    search.dispatchEvent(new Event("input"));
    found.searched = rows(part("Sections")).length;
    found.lanes = rows(part("Floor plan").querySelector("table")).map(r => Number(r[3].replace(/,/g, "")));
    found.chain = [...part("Stalls").querySelectorAll(".chain li")].map(l => l.textContent);
    const nodes = [...document.querySelectorAll(".graph .node")], stops = nodes.filter(n => n.getAttribute("tabindex") === "0");
    found.nodes = nodes.length;
    found.stops = stops.length;
    stops[0].focus();
    for (const key of ["ArrowDown", "ArrowDown"]) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    found.reached = document.activeElement.getAttribute("aria-label");
    found.told = document.querySelector(".said").textContent;
    const choose = async (text, selector) => {
      const chosen = new DataTransfer(), input = document.querySelector("input[type=file]");
      chosen.items.add(new File([text], "other.json"));
      input.files = chosen.files;
      input.dispatchEvent(new Event("change"));
      await until(() => document.querySelector(".compared " + selector));
    };
    await choose("{}", "[role=alert]");
    found.refused = document.querySelector(".compared").textContent;
    await choose(OTHER, "table");
    const [figures, both, units] = [...document.querySelectorAll(".compared table")].filter(t => t.caption);
    found.figures = rows(figures);
    found.both = rows(both);
    found.units = rows(units).length;
  },
  async training(found) {
    found.curve = part("Training").querySelector("p").textContent;
  },
  async history() {},
  async suite(found) {
    [found.said, found.sorted] = sortBy(part("Cases"), 2);
    found.events = rows(part("What changed when"));
    found.grid = rows(part("Cases by run"));
    const choice = document.querySelector("select");
    choice.selectedIndex = 1;
    choice.dispatchEvent(new Event("change"));
    const legend = () => [...document.querySelectorAll(".u-legend .u-label")].map(l => l.textContent);
    await until(() => legend().length === 2);
    found.legend = legend();
  },
};
addEventListener("load", () => setTimeout(async () => {
  const root = document.documentElement;
  await until(() => document.querySelectorAll("canvas").length === CHARTS);
  const found = {width: root.scrollWidth, window: root.clientWidth,
    parts: [...document.querySelectorAll("h2")].map(h => h.textContent), charts: document.querySelectorAll("canvas").length,
    answer: document.querySelector(".answer").textContent, resources: performance.getEntriesByType("resource").length};
  try {
    await ask[PAGE](found);
  } catch (error) {
    errors.push(String(error));
  }
  found.later = root.scrollWidth;
  found.dark = matchMedia("(prefers-color-scheme: dark)").matches;
  if (AXE) found.axe = (await axe.run({resultTypes: ["violations"]})).violations.map(v => v.id + ": " + v.nodes.map(n => n.html.slice(0, 90)).join("; "));
  found.errors = window.errors;
  parent.postMessage(found, "*");
}, 500));
</script>
"""
AROUND = """<!doctype html><meta charset="utf-8"><style>iframe { position: absolute; top: 0; left: 0; }</style><script>
const all = {};
addEventListener("message", event => { const frame = [...document.querySelectorAll("iframe")].find(f => f.contentWindow === event.source);
  all[frame.id] = event.data;
  if (Object.keys(all).length === Number(location.search.slice(1))) fetch("/found", {method: "POST", body: JSON.stringify(all)}); });
</script>"""


def check(condition, what):
    if not condition:
        sys.exit(what)


def run(*words, status=0, **more):
    done = subprocess.run(words, check=False, capture_output=True, text=True, **more)
    check(done.returncode == status, f"{words}: {done.returncode} {done.stderr}")


def make_pages(command, folder):
    """report.html and .json, other.json, training.html, s.results/report.html."""
    run(command, "zoo", "lenet", "-q", "-o", "lenet.onnx", cwd=folder)
    run(command, "run", "lenet.onnx", "--batch", "4", "--graphamp-preset", "mp1", "--advise", "--numerics", "-q", "--report", "report.html",
        "--report", "report.json", cwd=folder)
    run(command, "run", "lenet.onnx", "--batch", "4", "--profile", "--no-cpu-reference", "-q", "--report", "other.json", cwd=folder)
    demo = os.path.abspath("runtime/demo")
    run(command, "train", demo + "/digits.onnx", "--data", demo + "/digits.npy", "--labels", demo + "/labels.npy", "--arch", "tiny", "--batch", "32",
        "--amp", "autocast", "--amp-dtype", "fp16", "--init-scale", "1e7", "--steps", "10", "--lr", "1e-5", "--profile", "-q", "--report", "training.html",
        "--report", "training.json", cwd=folder)
    suite = "models: [{zoo: gemm, sizes: {m: [8, 12], n: 8, k: 8}}]\nflags: {tiny: --arch tiny%s}\nbounds: {min_utilization: %s}\n"
    for label, flags, floor in (("one", "", 0), ("two", " --set dram_latency=300", 0), ("three", "", 0.99)):
        with open(folder + "/s.yaml", "w", encoding="utf-8") as file:
            file.write(suite % (flags, floor))
        run(command, "regress", "s.yaml", "-q", "-j", "1", "--label", label, cwd=folder, status=1 if floor else 0)
    run(command, "regress", "s.yaml", "--trends", "--html", "history.html", "-q", cwd=folder)
    os.rename(folder + "/s.results/report.html", folder + "/suite.html")


def probe(folder, axe, expected, everywhere):
    """Each page with questions in it, in frames of each width around one window."""
    with open(folder + "/other.json", encoding="utf-8") as file:
        other = json.dumps(file.read()).replace("<", "\\u003c")
    frames = ""
    for page in PARTS:
        with open(f"{folder}/{page}.html", encoding="utf-8") as file:
            text = file.read()
        check(not re.search(r'(src|href)=["\']?(https?:)?//', text), f"{page} asks the network for something")
        head = f"<script>const PAGE = {json.dumps(page)}, CHARTS = {CHARTS[page]}, AXE = {everywhere} || innerWidth < 500, OTHER = {other};</script>"
        with open(f"{folder}/probed-{page}.html", "w", encoding="utf-8") as file:
            file.write(text.replace("<title>", PROBE + "<title>", 1).replace("</html>", head + f"<script>{axe}</script>" + ASK + "</html>"))
        for width in (w for w in WIDTHS if f"{page} {w}" in expected):
            frames += f'<iframe id="{page} {width}" width="{width}" height="900" src="probed-{page}.html"></iframe>'
    with open(folder + "/around.html", "w", encoding="utf-8") as file:
        file.write(AROUND + frames)


# On paper: what is not for paper is gone, nothing is cut off or scrolls, and it is dark on white whatever the screen is.
PRINTED = """
<script>
matchMedia("print").addEventListener("change", event => {
  if (!event.matches) return;
  const style = selector => [...document.querySelectorAll(selector)].map(e => getComputedStyle(e));
  navigator.sendBeacon("/found", JSON.stringify({
    hidden: style(".tools, .compare").map(s => s.display), shown: style("section:not(.compare), table, canvas").map(s => s.display),
    overflow: style(".wide, .tall").map(s => s.overflowX + " " + s.overflowY + " " + s.maxHeight), text: style("body")[0].color, back: style("body")[0].backgroundColor}));
});
</script>
"""


def check_print(chromium, folder):
    with open(f"{folder}/report.html", encoding="utf-8") as file:
        text = file.read()
    with open(f"{folder}/printed.html", "w", encoding="utf-8") as file:
        file.write(text.replace("</html>", PRINTED + "</html>"))
    for dark in (False, True):
        seen = ask_browser(chromium, folder, "printed.html", dark, "--print-to-pdf=" + folder + "/printed.pdf")
        check(seen, "nothing is said of the printed page")
        check(set(seen["hidden"]) == {"none"} and "none" not in seen["shown"], f"printed: {seen['hidden']}, {seen['shown']}")
        check(set(seen["overflow"]) == {"visible visible none"}, f"printed: {set(seen['overflow'])}")
        check((seen["text"], seen["back"]) == ("rgb(29, 33, 39)", "rgb(255, 255, 255)"), f"printed: {seen['text']} on {seen['back']}")


def ask_browser(chromium, folder, page, dark, *options):
    """What pages found, as they tell a server of our own: by no clock, however busy the host is."""
    answer = queue.Queue()

    class Server(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *parts):
            super().__init__(*parts, directory=folder)

        def do_POST(self):
            answer.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with tempfile.TemporaryDirectory() as profile:
            browser = subprocess.Popen([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={profile}",
                                        "--window-size=1800,1000", f"--blink-settings=preferredColorScheme={0 if dark else 1}", *options,
                                        f"http://127.0.0.1:{server.server_port}/{page}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                return answer.get(timeout=200)
            except queue.Empty:
                return {}
            finally:
                browser.terminate()
                browser.wait()
                server.shutdown()


def browse(chromium, folder, expected, dark=False):
    seen = ask_browser(chromium, folder, f"around.html?{len(expected)}", dark)
    check(set(seen) == expected, f"only {list(seen)} answered")
    for name, one in seen.items():
        page = name.split()[0]
        check(one["errors"] == [], f"{name}: {one['errors']}")
        check(max(one["width"], one["later"]) <= one["window"], f"{name}: the page is {one['width']}, later {one['later']} pixels wide")
        check(one["parts"] == PARTS[page], f"{name}: its parts are {one['parts']}")
        check(one["charts"] == CHARTS[page], f"{name}: {one['charts']} charts")
        check(one["resources"] == 0, f"{name}: loads something")
        check(one["dark"] == dark, f"{name}: dark is {one['dark']}")
        check(not one.get("axe"), f"{name}, {'dark' if dark else 'light'}: {one.get('axe')}")
    return seen


def number(text):
    return int(text.replace(",", ""))


def check_report(one, report, other):
    cycles = sorted((section["cycles"] for section in report["sections"]), reverse=True)
    check("edge" in one["answer"] and "speed of light" in one["answer"], one["answer"])
    check([number(text) for text in one["sorted"]] == cycles, f"sorted as {one['sorted']}")
    check(one["said"] == "descending", f"aria-sort is {one['said']}")
    check(one["searched"] == 1, f"{one['searched']} rows have pool1")
    check(sum(one["lanes"]) == report["energy"]["actions"]["flit_hop"], "lanes carry other flits than the engine moved")
    check(one["chain"] == report["first_cause"]["chain"], f"the chain is {one['chain']}")
    check(one["nodes"] == len(report["graph"]["nodes"]) and one["stops"] == 1, f"{one['nodes']} nodes, {one['stops']} of them tab stops")
    check("Conv" in one["reached"] and "mp1: gemm-like" in one["reached"] and one["reached"] in one["told"], f"the keyboard came to {one['reached']}: {one['told']}")
    check("no report" in one["refused"], one["refused"])
    total = next(row for row in one["figures"] if row[0] == "cycles")
    check([number(text) for text in total[1:3]] == [report["cycles"], other["cycles"]], f"compared as {total}")
    both = {row[0]: row for row in one["both"]}
    for ours, theirs in zip(report["sections"], other["sections"]):
        row = both[ours["name"]]
        check([number(text) for text in row[1:3]] == [ours["cycles"], theirs["cycles"]], f"compared as {row}")
    check(one["units"] > 5, f"{one['units']} rows of units")


def check_training(one, report):
    check(report["skipped_steps"] > 0, "no step was skipped")
    check(one["curve"] == f"{report['steps']} steps, {report['skipped_steps']} skipped.", one["curve"])


def check_suite(one):
    check(one["answer"] == "2 of 2 cases failed, 2 without a baseline." or one["answer"].startswith("2 of 2 cases failed"), one["answer"])
    check(one["said"] == "descending" and len(one["sorted"]) == 2, f"sorted as {one['sorted']}")
    slower = [e for e in one["events"] if e[0] == "two"]
    check(len(slower) == 2 and all(e[3:5] == ["cycles", "worse"] and e[5].startswith("+") for e in slower), f"events: {one['events']}")
    check(len([e for e in one["events"] if e[0] == "three" and e[5].startswith("fails: utilization")]) == 2, f"events: {one['events']}")
    check([len(row) for row in one["grid"]] == [4, 4] and all("failed" in row[3] and "▲" in row[2] and "▼" in row[3] for row in one["grid"]), f"{one['grid']}")
    check(one["legend"] == ["run", "gemm-m8-n8-k8/tiny/systemc"], f"legend {one['legend']}")


def main():
    command, chromium = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    if not chromium or chromium.endswith("NOTFOUND"):
        print("skipped: there is no chromium here (Debian's package of that name)")
        sys.exit(77)
    with open(sys.argv[3], encoding="utf-8") as file:
        axe = file.read()
    everything = "all" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        make_pages(command, folder)
        reports = {}
        for name in ("report", "other", "training"):
            with open(f"{folder}/{name}.json", encoding="utf-8") as file:
                reports[name] = json.load(file)
        expected = {f"{page} {width}" for page in PARTS for width in WIDTHS} if everything else FEW
        probe(folder, axe, expected, "true" if everything else "false")
        for dark in (False, True) if everything else (False,):
            for name, one in browse(chromium, folder, expected, dark).items():
                if name.startswith("report"):
                    check_report(one, reports["report"], reports["other"])
                elif name.startswith("training"):
                    check_training(one, reports["training"])
                elif name.startswith("history"):
                    check(one["answer"].startswith("The history of 3 runs, from "), one["answer"])
                else:
                    check_suite(one)
        if everything:
            check_print(chromium, folder)
    print(f"{len(expected)} pages: no errors, no violations of axe-core's rules")


main()
