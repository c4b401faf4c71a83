#!/usr/bin/env python3
"""The documentation as a site: mkdocs builds it, each page of docs is in its menu, and links between them lead somewhere.

    tests/docs/test_site.py [MKDOCS]

Skipped (status 77) without Debian's mkdocs."""

import glob
import html.parser
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.targets, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "a" and attributes.get("href"):
            self.targets.append(attributes["href"])
        if attributes.get("id"):
            self.ids.add(attributes["id"])


def main():
    mkdocs = sys.argv[1] if len(sys.argv) > 1 else ""
    if not mkdocs or mkdocs.endswith("NOTFOUND"):
        print("skipped: there is no mkdocs here (Debian's package of that name)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([mkdocs, "build", "-q", "-f", "cmake/site/mkdocs.yml", "-d", folder], capture_output=True,
                              encoding="utf-8", check=False)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        start = os.path.join(folder, "index.html")
        pages = {}
        for path in glob.glob(folder + "/**/*.html", recursive=True):
            with open(path, encoding="utf-8") as file:
                pages[path] = Links(file.read())
        menu = {os.path.normpath(os.path.join(folder, target)) for target in pages[start].targets if "://" not in target}
        wrong = [f"{name} is not in the menu" for name in sorted(os.listdir("docs"))
                 if name.endswith(".md") and name != "README.md" and os.path.join(folder, name[:-3] + ".html") not in menu]
        followed = 0
        for path, page in pages.items():
            for target in page.targets:
                url = urllib.parse.urlparse(target)
                there = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(url.path))) if url.path else path
                if url.scheme or path.endswith("404.html") or not there.startswith(folder) or not there.endswith(".html"):
                    continue  # of the tree, or elsewhere
                followed += 1
                if there not in pages:
                    wrong.append(f"{os.path.relpath(path, folder)}: {target} leads nowhere")
                elif url.fragment and re.match(r"[a-z0-9]", url.fragment) and url.fragment not in pages[there].ids:
                    wrong.append(f"{os.path.relpath(path, folder)}: {target} is no place of that page")
        if wrong:
            sys.exit("\n".join(wrong))
        print(f"{len(pages)} pages, {followed} links between them")


main()
