#!/usr/bin/env python3
"""Pictures of the pages, drawn of the data in tests/runtime/pages, against those that lie there.

    tests/runtime/test_page_pictures.py TEGULA CHROMIUM [--update]

A screenshot is reduced to an eighth, so that what is compared is where things are and in which colour, not how letters are
smoothed. Skipped (status 77) without chromium, and where texts are as wide as they are not in the pictures: other fonts break
lines elsewhere."""

import base64
import html
import json
import os
import re
import subprocess
import sys
import tempfile

FOLDER = "tests/runtime/pages"
PICTURES = {"report-1280": ("report", 1280, 4600, 1), "report-400": ("report", 400, 6400, 1), "report-dark": ("report", 1280, 4600, 0),
            "suite-1280": ("suite", 1280, 2100, 1), "suite-400": ("suite", 400, 3200, 1)}
MOST = {"mean": 2.5, "worst": 60}  # of 255: all pixels, and the worst of 4 x 4 blocks of them

COMPARE = """<!doctype html><meta charset="utf-8"><pre id="found"></pre><script>
const load = source => new Promise((done, failed) => { const image = new Image(); image.onload = () => done(image); image.onerror = failed; image.src = source; });
const pixels = (image, width, height) => { const canvas = document.createElement("canvas"); canvas.width = width; canvas.height = height;
  const context = canvas.getContext("2d"); context.imageSmoothingQuality = "high"; context.drawImage(image, 0, 0, width, height);
  return [context.getImageData(0, 0, width, height).data, canvas]; };
(async () => {
  const found = {};
  for (const [name, shot, kept] of PAIRS) {
    const image = await load(shot), width = Math.round(image.width / 8), height = Math.round(image.height / 8);
    const [now, canvas] = pixels(image, width, height), one = found[name] = {small: canvas.toDataURL("image/png")};
    if (!kept) continue;
    const old = await load(kept);
    one.size = [width, height, old.width, old.height];
    const before = pixels(old, width, height)[0];
    let sum = 0;
    const blocks = {};
    for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) for (let c = 0; c < 3; c++) {
      const i = 4 * (y * width + x) + c, off = Math.abs(now[i] - before[i]), block = (y >> 2) + "," + (x >> 2);
      sum += off;
      blocks[block] = (blocks[block] || 0) + off / 48;
    }
    one.mean = sum / (3 * width * height);
    one.worst = Math.max(...Object.values(blocks));
  }
  const context = document.createElement("canvas").getContext("2d");
  const wide = ["16px system-ui, sans-serif", "600 16px system-ui, sans-serif", "12px monospace"].map(font => { context.font = font; return context.measureText("Sphinx of black quartz 0123456789").width; });
  document.getElementById("found").textContent = JSON.stringify({found, wide});
})();
</script>"""


def browse(chromium, folder, *words):
    return subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile",
                           "--force-device-scale-factor=1", "--virtual-time-budget=4000", *words], capture_output=True, text=True, timeout=200, check=True).stdout


def page_of(command, folder, kind):
    """A page of this tegula with the data of the folder."""
    if not os.path.exists(folder + "/s.yaml"):
        subprocess.run([command, "zoo", "gemm", "--m", "4", "--n", "4", "--k", "4", "-q", "-o", folder + "/g.onnx"], check=True)
        with open(folder + "/s.yaml", "w", encoding="utf-8") as file:
            file.write("models: [g.onnx]\nflags: {tiny: --arch tiny}\n")
        subprocess.run([command, "regress", folder + "/s.yaml", "-q", "--results", folder + "/r", "--html", folder + "/suite.html"], check=True)
        subprocess.run([command, "run", folder + "/g.onnx", "--arch", "tiny", "-q", "--no-cpu-reference", "--report", folder + "/report.html"], check=True)
    with open(f"{folder}/{kind}.html", encoding="utf-8") as file:
        text = file.read()
    with open(f"{FOLDER}/{kind}.json", encoding="utf-8") as file:
        data = file.read().replace("<", "\\u003c")
    with open(f"{folder}/fixed-{kind}.html", "w", encoding="utf-8") as file:
        file.write(re.sub(r'(<script type="application/json"[^>]*>).*?(</script>)', lambda m: m[1] + data + m[2], text, count=1, flags=re.S))
    return f"file://{folder}/fixed-{kind}.html"


def as_url(path):
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return "data:image/png;base64," + base64.b64encode(file.read()).decode()


def main():
    command, chromium, update = os.path.abspath(sys.argv[1]), sys.argv[2], "--update" in sys.argv
    if not chromium or chromium.endswith("NOTFOUND"):
        print("skipped: there is no chromium here (Debian's package of that name)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        pairs = []
        for name, (kind, width, height, light) in PICTURES.items():
            browse(chromium, folder, f"--window-size={width},{height}", f"--blink-settings=preferredColorScheme={light}", f"--screenshot={folder}/{name}.png",
                   page_of(command, folder, kind))
            pairs.append([name, as_url(f"{folder}/{name}.png"), None if update else as_url(f"{FOLDER}/{name}.png")])
        with open(folder + "/compare.html", "w", encoding="utf-8") as file:
            file.write(COMPARE.replace("PAIRS", json.dumps(pairs)))
        said = re.search(r'<pre id="found">(.+?)</pre>', browse(chromium, folder, "--dump-dom", f"file://{folder}/compare.html"), re.S)
    if not said:
        sys.exit("the pictures could not be compared")
    answer = json.loads(html.unescape(said[1]))
    if update:
        for name, one in answer["found"].items():
            with open(f"{FOLDER}/{name}.png", "wb") as file:
                file.write(base64.b64decode(one["small"].split(",")[1]))
        with open(FOLDER + "/fonts.json", "w", encoding="utf-8") as file:
            file.write(json.dumps(answer["wide"]) + "\n")
        return
    with open(FOLDER + "/fonts.json", encoding="utf-8") as file:
        if any(abs(a - b) > 0.01 for a, b in zip(json.load(file), answer["wide"])):
            print(f"skipped: texts are {answer['wide']} pixels wide here, by other fonts than those of the pictures")
            sys.exit(77)
    wrong = []
    for name, one in answer["found"].items():
        if "mean" not in one:
            wrong.append(f"{name}: there is no picture")
            continue
        print(f"{name}: off by {one['mean']:.2f}, worst {one['worst']:.0f}")
        if one["size"][:2] != one["size"][2:] or any(one[key] > most for key, most in MOST.items()):
            wrong.append(f"{name}: is not as it was (size {one['size']}); see it, then accept it by --update")
    if wrong:
        sys.exit("\n".join(wrong))


main()
