#!/usr/bin/env python3
"""The pictures of sweeps and of losses in a browser, 1280 and 400 pixels wide, to which they shrink as an image does: no text lies on
another or leaves the window, and none is smaller than can be read.

    tests/runtime/test_sweep_plots.py TEGULA CHROMIUM

Skipped (status 77) without chromium."""

import html
import json
import os
import re
import subprocess
import sys
import tempfile

WIDTHS = (1280, 400)
LEAST = 9  # pixels of a line of text
PLOTS = {
    "pareto": ["sweep", "mlp.onnx", "--batch", "2", "--arch", "tiny", "--plot"],
    "energy": ["sweep", "mlp.onnx", "--arch", "tiny", "--arch", "edge", "--set", "port_bytes=16,32", "--policy", "mp0", "--policy", "mp1", "--policy", "high", "--plot-energy"],
    "batches": ["sweep", "mlp.onnx", "--arch", "tiny", "--batch-sweep", "--max-batch", "8", "--memory", "1.2M", "--plot"],
    "losses": ["train", "DEMO/digits.onnx", "--data", "DEMO/digits.npy", "--labels", "DEMO/labels.npy", "--arch", "tiny", "--batch", "32", "--steps", "8", "--lr",
               "0.1", "--plot"],
}
ASK = """<!doctype html><meta charset="utf-8"><style>body { margin: 0 }</style>%s<script>
const texts = [...document.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
const faults = [];
texts.forEach(([text, a], i) => {
  if (a.left < 0 || a.right > innerWidth || a.height < LEAST) faults.push(`${text}: from ${a.left} to ${a.right}, ${a.height} high`);
  for (const [other, b] of texts.slice(i + 1))
    if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3) faults.push(`${text} lies on ${other}`);
});
parent.postMessage({faults, texts: texts.map(t => t[0]), width: innerWidth, name: location.hash}, "*");
</script>"""
AROUND = """<!doctype html><meta charset="utf-8"><pre id="found"></pre><script>
const all = [];
addEventListener("message", event => { all.push(event.data); if (all.length === COUNT) document.getElementById("found").textContent = JSON.stringify(all); });
</script>"""


def main():
    command, chromium = os.path.abspath(sys.argv[1]), sys.argv[2]
    if not chromium or chromium.endswith("NOTFOUND"):
        print("skipped: there is no chromium here (Debian's package of that name)")
        sys.exit(77)
    wrong, demo = [], os.path.abspath("runtime/demo")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([command, "zoo", "mlp", "-q", "-o", "mlp.onnx"], check=True, cwd=folder)
        for name, words in PLOTS.items():
            subprocess.run([command, *(word.replace("DEMO", demo) for word in words), name + ".svg", "-q"], check=True, cwd=folder)
            with open(f"{folder}/{name}.svg", encoding="utf-8") as file:
                page = ASK.replace("LEAST", str(LEAST)) % file.read()
            with open(f"{folder}/{name}.html", "w", encoding="utf-8") as file:
                file.write(page)
        frames = [f'<iframe width="{width}" height="900" style="border: 0" src="{name}.html#{name}"></iframe>' for name in PLOTS for width in WIDTHS]
        with open(folder + "/all.html", "w", encoding="utf-8") as file:
            file.write(AROUND.replace("COUNT", str(len(frames))) + "".join(frames))
        said = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile",
                               "--virtual-time-budget=4000", "--dump-dom", f"file://{folder}/all.html"], capture_output=True, text=True, timeout=120, check=True).stdout
    answer = re.search(r'<pre id="found">(.+?)</pre>', said, re.S)
    if not answer:
        sys.exit("not all pictures answered")
    for found in json.loads(html.unescape(answer[1])):
        wrong += [f"{found['name']}, {found['width']} pixels: {fault}" for fault in found["faults"]]
        if found["width"] not in WIDTHS or sum("mp" in text or "step" in text for text in found["texts"]) < 2:
            wrong.append(f"not as it was asked for: {found}")
    if wrong:
        sys.exit("\n".join(wrong))


main()
