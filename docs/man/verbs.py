#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man page of each verb, cut from that of the program: verbs.py SOURCE_ROOT FOLDER

steptime.1 and docs/commands.md are written from the same tables of verbs, in one order. Neither the program nor its tools
run here, so that builds for other machines have these pages, too.
"""
import pathlib
import re
import sys


def main():
    root, folder = map(pathlib.Path, sys.argv[1:])
    page = (root / "docs/man/steptime.1").read_text(encoding="utf-8")
    commands = (root / "docs/commands.md").read_text(encoding="utf-8")
    verbs = re.findall(r"^## steptime (.*)\n\n(.*)\.$", commands, flags=re.M)
    parts = dict(re.findall(r"^\.SH (.*)\n((?:(?!\.SH ).*\n)*)", page, flags=re.M))
    sections = re.findall(r"^\.SS (.*)\n((?:(?!\.SS ).*\n)*)", parts["VERBS"], flags=re.M)
    examples = {name: "" for name, _ in verbs}
    for example in re.findall(r"\.TP\n\.B .*\n(?:(?!\.TP$).*\n)*", parts["EXAMPLES"], flags=re.M):
        words = example.replace("\\-", "-")
        used = [name for name in examples if re.search(rf"\bsteptime {re.escape(name)}(?![\w-])", words.split("\n")[1])]
        if used:
            examples[max(used, key=len)] += example
    if len(sections) != len(verbs):
        sys.exit(f"verbs.py: steptime.1 has {len(sections)} verbs, docs/commands.md {len(verbs)}: './dev docs' writes both anew")
    folder.mkdir(parents=True, exist_ok=True)
    for (name, summary), (usage, text) in zip(verbs, sections):
        if not usage.replace("\\-", "-").startswith(f"steptime {name}"):
            sys.exit(f"verbs.py: {name} of docs/commands.md is '{usage}' in steptime.1: './dev docs' writes both anew")
        title = "steptime-" + name.replace(" ", "-")
        shown = title.replace("-", "\\-")
        about, tagged, options = text.partition(".TP\n")
        made = [page.partition("\n")[0].replace("STEPTIME", shown.upper(), 1), ".SH NAME",
                f"{shown} \\-", summary[0].lower() + summary[1:], ".SH SYNOPSIS", f".B {usage}", ".SH DESCRIPTION", about.rstrip()]
        if options:
            made += [".SH OPTIONS", (tagged + options).rstrip()]
        if examples[name]:
            made += [".SH EXAMPLES", examples[name].rstrip()]
        for part in ("ENVIRONMENT", "EXIT STATUS"):
            made += [f".SH {part}", parts[part].rstrip()]
        made += [".SH SEE ALSO", ".BR steptime (1)", ""]
        (folder / f"{title}.1").write_text("\n".join(made), encoding="utf-8")


if __name__ == "__main__":
    main()
