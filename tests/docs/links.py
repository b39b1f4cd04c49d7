#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every link and citation of a page leads somewhere: links.py SOURCE_ROOT

In Markdown, links to files of the checkout and to sections of pages, and sources named in code spans;
in sheets, configurations and plugins, citations such as "docs/megatron.md#memory". Every page
of docs/ can be reached from the README in one step, the index of decisions names every decision
by its title, and the page of stacks compares all of them.
"""
import re
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^()\s]+)\)")
CITATION = re.compile(r"(?<![\w./])(docs/[a-z-]+\.md(?:#[a-z0-9-]+)?)")
SOURCE = re.compile(r"`([a-z0-9_./-]+/[a-z0-9_-]+\.[ch])`")
CITING = {".yaml", ".c", ".h"}
SKIPPED = {".git", ".dev", "tests"}


def files(root, suffixes):
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        generated = any(part in SKIPPED or part.startswith("build") for part in parts[:-1])
        if path.suffix in suffixes and path.is_file() and not generated:
            yield path


def anchors(page):
    """The names that a page's headings have as link targets on common hosts of Git."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for heading in re.findall(r"^#+ (.*)$", text, flags=re.M):
        plain = re.sub(r"[^\w\- ]", "", heading.lower())
        yield plain.replace(" ", "-")


def fault_of(target, folder):
    """Why a target leads nowhere, or None."""
    name, _, section = target.partition("#")
    path = (folder / name).resolve()
    if not path.exists():
        return f"no file {name}"
    if section and section not in anchors(path):
        return f"no section {section} in {name}"
    return None


def missing_source(name, page, root):
    """Sources are named from the root, from estimator/ or from the page's own folder."""
    bases = (root, *(root / "estimator" / name for name in ("", "core", "plan", "tools", "include")), root / "plugins",
             page.parent)
    return None if any((base / name).exists() for base in bases) else f"no source {name}"


def targets(page, root):
    """Every target of a page with the fault that it has, if any, and its offset in the text."""
    text = page.read_text(encoding="utf-8", errors="replace")
    if page.suffix != ".md":
        for found in CITATION.finditer(text):
            yield text, found, fault_of(found[1], root)
        return
    for found in LINK.finditer(text):
        target = page.name + found[1] if found[1].startswith("#") else found[1]
        if not re.match(r"[a-z]+:", target):
            yield text, found, fault_of(target, page.parent)
    for found in SOURCE.finditer(text):
        yield text, found, missing_source(found[1], page, root)


def unlinked(root, index, folder):
    """Pages of a folder to which its index has no link."""
    linked = {(index.parent / link).resolve() for link in LINK.findall(index.read_text("utf-8"))}
    for page in sorted(folder.glob("*.md")):
        if page.name != "README.md" and page.resolve() not in linked:
            yield f"{index.relative_to(root)}: no link to {page.relative_to(root)}"


def untitled(root):
    """Decisions that their index does not call by their headings."""
    index = (root / "docs/decisions/README.md").read_text("utf-8")
    for page in sorted((root / "docs/decisions").glob("0*.md")):
        title = page.read_text("utf-8").splitlines()[0].removeprefix(f"# {page.name[:4]}: ")
        if f"]({page.name}) | {title} |" not in index:
            yield f"docs/decisions/README.md: {page.name} is called '{title}'"


def uncompared(root):
    """Stacks that are no column of the table on their page."""
    page = (root / "docs/stacks.md").read_text("utf-8")
    columns = re.search(r"^\| \| plain \|.*$", page, flags=re.M)
    names = columns[0].split(" | ") if columns else []
    for stack in sorted((root / "configs/stacks").glob("*.yaml")):
        if stack.stem not in [name.strip(" |") for name in names]:
            yield f"docs/stacks.md: no column for {stack.name}"


def check(root):
    checked = 0
    faults = []
    for page in files(root, {".md"} | CITING):
        for text, found, fault in targets(page, root):
            checked += 1
            if fault:
                line = text.count("\n", 0, found.start()) + 1
                faults.append(f"{page.relative_to(root)}:{line}: {fault}")
    for index, folder in (("README.md", "docs"), ("docs/decisions/README.md", "docs/decisions")):
        faults.extend(unlinked(root, root / index, root / folder))
    faults.extend(untitled(root))
    faults.extend(uncompared(root))
    return checked, faults


def main():
    checked, faults = check(Path(sys.argv[1]).resolve())
    for fault in faults:
        print(fault)
    print(f"{checked} links and citations, {len(faults)} faults")
    return 1 if faults or checked < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
