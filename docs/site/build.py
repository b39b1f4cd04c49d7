#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of the checkout as a site: build.py STEPTIME SOURCE_ROOT FOLDER [--links]

Pandoc makes pages of the same Markdown that hosts of Git show, with formulas typeset in MathML. Sheets become pages of
their equations, a gallery is drawn by the program, the page for the browser is on the front where it was built, and a
search looks into every section. Every link of the site is followed; one that leads nowhere fails. --links is
for tests: pictures stay empty and one sheet has a page.
"""
import concurrent.futures
import csv
import html
import html.parser
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

LINK = re.compile(r'(<(?:a|img|iframe|link|script)\b[^>]*?\b(?:href|src)=")([^"]*)(")')
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.I)
MOST_COPIED = 4 << 20
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**/*.md", "plugins/**/*.md", "validation/**/*.md",
         "estimator/**/*.md", "tests/README.md", "configs/README.md", "packaging/README.md"]


class Site:
    def __init__(self, program, root, folder):
        self.program, self.root, self.folder = program, root, folder
        self.sections, self.faults, self.copied = [], [], set()

    def run(self, *words, **options):
        run = subprocess.run(words, capture_output=True, text=True, check=False, cwd=self.root, **options)
        if run.returncode != 0:
            sys.exit(f"site: {shlex.join(map(str, words))}: {run.stderr.strip()[:600]}")
        return run.stdout

    def convert(self, pages):
        """Pages, as (name, Markdown, dialect), as HTML whose links are still those of the source."""
        template = (self.root / "docs/site/page.html").read_text(encoding="utf-8")
        made = []
        with tempfile.TemporaryDirectory() as work:
            files = [(pathlib.Path(work, f"{i}.md"), pathlib.Path(work, f"{i}.html")) for i in range(len(pages))]
            for (_, text, _), (source, _) in zip(pages, files):
                source.write_text(text, encoding="utf-8")
            listed = pathlib.Path(work, "pages")
            listed.write_text("".join(f"{source}\t{target}\t{page[2]}\n" for page, (source, target) in zip(pages, files)))
            self.run("pandoc", "-f", "gfm", "-t", "html5", "--mathml", "--lua-filter", self.root / "docs/site/convert.lua",
                     input="", env=os.environ | {"PAGES": str(listed)})
            for (name, text, _), (_, target) in zip(pages, files):
                title = re.sub("[`*]", "", next(iter(re.findall(r"^# (.*)$", text, flags=re.M)), name))
                page = template.replace("$root$", "../" * name.count("/")).replace("$pagetitle$", html.escape(title))
                made.append((name, page.replace("$body$", target.read_text(encoding="utf-8"))))
        return made

    def add(self, *pages):
        for name, text in self.convert(pages):
            self.write(name, text)

    def target(self, address, name):
        """Where a link of a page leads on the site; files of the checkout come along."""
        path, mark, anchor = address.partition("#")
        if not path or ELSEWHERE.match(address) or (self.folder / pathlib.Path(name).parent / path).is_file():
            return address
        source = pathlib.Path(os.path.normpath(self.root / pathlib.Path(name).parent / path))
        if not source.is_relative_to(self.root):
            return address
        if source.is_dir():
            readme = source / "README.md"
            return os.path.join(path, "README.html") + mark + anchor if readme.is_file() else self.listing(source, path)
        if source.suffix == ".md":
            return path[:-3] + ".html" + mark + anchor
        if source.is_file() and source.stat().st_size <= MOST_COPIED:
            copy = self.folder / source.relative_to(self.root)
            if copy not in self.copied:
                self.copied.add(copy)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, copy)
        return address

    def listing(self, source, path):
        """A page of the names in a folder."""
        name = str(source.relative_to(self.root) / "index.html")
        page = self.folder / name
        if page not in self.copied:
            self.copied.add(page)
            lines = [f"# {source.relative_to(self.root)}", ""]
            lines += [f"- [{one.name}]({one.name})" for one in sorted(source.iterdir()) if not one.name.startswith(".")]
            self.add((name, "\n".join(lines), "gfm"))
        return os.path.join(path, "index.html")

    def write(self, name, text):
        text = LINK.sub(lambda found: found[1] + html.escape(self.target(html.unescape(found[2]), name)) + found[3], text)
        page = self.folder / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
        self.index(name, text)

    def index(self, name, text):
        """The sections of a page, for the search."""
        body = text.partition("<main>")[2].partition("</main>")[0]
        title = html.unescape(re.sub(r"<[^>]*>", "", next(iter(re.findall(r"<h1[^>]*>(.*?)</h1>", body, flags=re.S)), name)))
        for part in re.split(r"(?=<h[123] id=)", body):
            head = re.match(r'<h[123] id="([^"]*)"[^>]*>(.*?)</h[123]>', part, flags=re.S)
            words = html.unescape(re.sub(r"\s+", " ", re.sub(r"<annotation.*?</annotation>|<[^>]*>", " ", part, flags=re.S)))
            heading = html.unescape(re.sub(r"<[^>]*>", "", head[2])) if head else title
            if words.strip():
                self.sections.append([name + (f"#{head[1]}" if head else ""), heading, title, words.strip()[:1500]])

    # ---- what the program makes ----

    def gallery(self, draws):
        lines = ["# Gallery", "", "Pictures that the program draws; below each, the command.", ""]
        with (self.root / "docs/site/gallery.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        (self.folder / "gallery").mkdir(exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda row: self.run(self.program, *shlex.split(row["arguments"]),
                                               self.folder / "gallery" / row["picture"]), rows if draws else []))
        for row in rows:
            (self.folder / "gallery" / row["picture"]).touch()
            lines += [f"## {row['title']}", "", f"![{row['title']}](gallery/{row['picture']})", "",
                      "```sh", f"steptime {row['arguments']} {row['picture']}", "```", ""]
        self.add(("gallery.html", "\n".join(lines), "gfm"))

    def formulas(self, names):
        """The equations of every sheet; `names` None: all that no other one includes."""
        listed = json.loads(self.run(self.program, "sheet", "list", "--json", "--path", self.root))
        sheets = [one for one in listed["sheets"] if names is None or one["name"] in names]
        pages = []
        lines = ["# Formulas", "", "Every sheet as equations; [one page](../docs/formulas.md) has them as they are written.", ""]
        for sheet in sheets:
            text = self.run(self.program, "sheet", "export", sheet["name"], "--format", "md", "--path", self.root)
            pages.append((f"formulas/{sheet['name']}.html", text, "gfm+tex_math_dollars"))
            lines.append(f"- [{sheet['name']}]({sheet['name']}.html): {sheet.get('title') or ''}")
        self.add(*pages, ("formulas/index.html", "\n".join(lines), "gfm"))

    def front(self):
        live = self.root / "build-page/steptime.html"
        if live.is_file():
            self.run(self.program, "page", "-o", self.folder / "live.html")
            shown = ('<iframe src="live.html" title="a sheet that estimates in the browser"></iframe>\n\n'
                     "[The page alone](live.html), also for a machine without a network ([how](docs/page.md)).")
        else:
            print("the front has no live sheet: './dev page' builds it")
            shown = ("![a step and its memory](gallery/step.svg)\n\n"
                     "The sheet also estimates [in a browser](docs/page.md); this site was built without that page.")
        text = (self.root / "docs/site/front.txt").read_text(encoding="utf-8").replace("LIVE", shown)
        self.add(("index.html", text.replace(".md)", ".html)"), "gfm"))

    # ---- links ----

    def check(self):
        ids = {}

        def anchors(page):
            if page not in ids:
                found = re.findall(r'\b(?:id|name)="([^"]*)"', page.read_text(encoding="utf-8", errors="replace"))
                ids[page] = set(found)
            return ids[page]

        count = 0
        for page in sorted(self.folder.rglob("*.html")):
            if page.name == "live.html" or page in self.copied and page.name != "index.html":
                continue
            for _, address, _ in LINK.findall(page.read_text(encoding="utf-8")):
                path, _, anchor = html.unescape(address).partition("#")
                if ELSEWHERE.match(path):
                    continue
                count += 1
                target = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
                if not target.is_file():
                    self.faults.append(f"{page.relative_to(self.folder)}: {address}: no such file")
                elif anchor and target.suffix == ".html" and target.name != "live.html" and anchor not in anchors(target):
                    self.faults.append(f"{page.relative_to(self.folder)}: {address}: no such section")
        return count

    def build(self, whole):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        shutil.copyfile(self.root / "docs/site/style.css", self.folder / "style.css")
        pages = sorted({path for pattern in PAGES for path in self.root.glob(pattern)
                        if not any(part.startswith(("build", ".")) for part in path.relative_to(self.root).parts)
                        and "site" not in path.parts})
        self.add(*((str(page.relative_to(self.root))[:-3] + ".html", page.read_text(encoding="utf-8"), "gfm") for page in pages))
        self.formulas(None if whole else {"li2024"})
        self.gallery(whole)
        self.front()
        script = (self.root / "docs/site/search.js").read_text(encoding="utf-8")
        listed = json.dumps(self.sections, ensure_ascii=False, separators=(",", ":"))
        (self.folder / "search.js").write_text(script.replace("SECTIONS", listed, 1), encoding="utf-8")
        links = self.check()
        for fault in self.faults:
            print(fault)
        print(f"{len(list(self.folder.rglob('*.html')))} pages, {len(self.sections)} sections, {links} links, "
              f"{len(self.faults)} faults: {self.folder}/index.html")
        return bool(self.faults)


def main():
    program, root, folder, *rest = sys.argv[1:]
    if shutil.which("pandoc") is None:
        print("skipped: pandoc is not installed")
        return 77
    with tempfile.TemporaryDirectory() as empty:
        os.environ.update(XDG_CONFIG_HOME=empty, XDG_DATA_HOME=empty, STEPTIME_PATH="", LC_ALL="C.UTF-8")
        site = Site(os.path.realpath(program), pathlib.Path(root).resolve(), pathlib.Path(folder).resolve())
        return site.build(rest != ["--links"])


if __name__ == "__main__":
    sys.exit(main())
