#!/usr/bin/env python3
"""The report's page in a browser: no error, nothing wider than the window at 1280 and 400 pixels, all of its parts, and tables
that sort and search.

    tests/runtime/test_page.py TEGULA CHROMIUM

Skipped (status 77) without chromium. TEGULA_AXE may name axe.min.js of axe-core, whose accessibility rules are then checked."""

import html
import json
import os
import re
import subprocess
import sys
import tempfile

PARTS = ["What would gain most", "Roofline", "Timeline", "Floor plan", "Sections", "Energy", "Errors against FP32",
         "Where errors come from", "All that was measured and asked for", "Compare"]

# Runs inside the page; tells the window around it what it found.
PROBE = """
<script>window.errors = []; addEventListener("error", event => errors.push(event.message));</script>
"""
ASK = """
<script>
addEventListener("load", () => setTimeout(async () => {
  const root = document.documentElement;
  const found = {width: root.scrollWidth, window: root.clientWidth, errors: window.errors,
    parts: [...document.querySelectorAll("h2")].map(h => h.textContent), charts: document.querySelectorAll("canvas").length,
    answer: document.querySelector(".answer").textContent, resources: performance.getEntriesByType("resource").length};
  const table = [...document.querySelectorAll("section")].find(s => s.querySelector("h2").textContent === "Sections");
  const column = () => [...table.querySelectorAll("tbody tr")].map(row => row.children[2].textContent);
  table.querySelectorAll("th button")[2].click();
  found.sorted = column();
  found.said = table.querySelectorAll("th")[2].getAttribute("aria-sort");
  const search = table.querySelector("input");
  search.value = "pool1";
  search.dispatchEvent(new Event("input"));
  found.searched = column().length;
  if (window.axe) found.axe = (await axe.run()).violations.map(v => v.id + ": " + v.nodes.map(n => n.html.slice(0, 80)).join("; "));
  parent.postMessage(found, "*");
}, 500));
</script>
"""
AROUND = """<!doctype html><meta charset="utf-8"><pre id="found"></pre><script>
const all = {};
addEventListener("message", event => { const frame = [...document.querySelectorAll("iframe")].find(f => f.contentWindow === event.source);
  all[frame.width] = event.data; document.getElementById("found").textContent = JSON.stringify(all); });
</script><iframe width="1280" height="900" src="probed.html"></iframe><iframe width="400" height="900" src="probed.html"></iframe>"""


def check(condition, what):
    if not condition:
        sys.exit(what)


def main():
    command, chromium = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    if not chromium or chromium.endswith("NOTFOUND"):
        print("skipped: there is no chromium here (Debian's package of that name)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([command, "zoo", "lenet", "-q", "-o", folder + "/lenet.onnx"], check=True)
        subprocess.run([command, "run", folder + "/lenet.onnx", "--batch", "4", "--graphamp-preset", "mp1", "--advise", "--numerics",
                        "-q", "--report", folder + "/page.html", "--report", folder + "/page.json"], check=True)
        with open(folder + "/page.html", encoding="utf-8") as file:
            page = file.read()
        with open(folder + "/page.json", encoding="utf-8") as file:
            report = json.load(file)
        check(not re.search(r'(src|href)=["\']?(https?:)?//', page), "the page asks the network for something")
        axe = ""
        if os.environ.get("TEGULA_AXE"):
            with open(os.environ["TEGULA_AXE"], encoding="utf-8") as file:
                axe = "<script>" + file.read() + "</script>"
        with open(folder + "/probed.html", "w", encoding="utf-8") as file:
            file.write(page.replace("<title>", PROBE + "<title>", 1).replace("</html>", axe + ASK + "</html>"))
        with open(folder + "/around.html", "w", encoding="utf-8") as file:
            file.write(AROUND)
        done = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + folder + "/profile",
                               "--window-size=1800,1000", "--virtual-time-budget=20000", "--dump-dom",
                               "file://" + folder + "/around.html"], capture_output=True, text=True, timeout=200, check=True)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.S)
    check(found and found.group(1), "the page says nothing: " + done.stderr[-2000:])
    seen = json.loads(html.unescape(found.group(1)))
    check(set(seen) == {"1280", "400"}, f"only {list(seen)} answered")
    cycles = sorted((section["cycles"] for section in report["sections"]), reverse=True)
    for width, one in seen.items():
        check(one["errors"] == [], f"{width}: {one['errors']}")
        check(one["width"] <= one["window"], f"{width}: the page is {one['width']} pixels wide")
        check(one["parts"] == PARTS, f"{width}: its parts are {one['parts']}")
        check(one["charts"] == 3, f"{width}: {one['charts']} charts")
        check(one["resources"] == 0, f"{width}: loads something")
        check("edge" in one["answer"] and "speed of light" in one["answer"], one["answer"])
        check([int(text.replace(",", "")) for text in one["sorted"]] == cycles, f"{width}: sorted as {one['sorted']}")
        check(one["said"] == "descending", f"aria-sort is {one['said']}")
        check(one["searched"] == 1, f"{width}: {one['searched']} rows have pool1")
        check(not one.get("axe"), f"{width}: {one.get('axe')}")
    print("1280 and 400 pixels, no errors" + (", no violations of axe-core's rules" if axe else "; axe-core is not here: its rules unchecked"))


main()
