#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A copy of sheet megatron in which every cell and input has another name gives the same numbers.

  renamed.py PROGRAM SOURCE

What the program asks a sheet for are roles; where it asked for a name, a number would be missing here.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PREFIX = "rn_"
WORD = re.compile(r"\[[^\]]*\]|[A-Za-z_][A-Za-z_0-9]*(?!\w)(\s*\()?")
KEY = re.compile(r"^(\s*(?:- )?)([A-Za-z_]\w*):(.*)$")

COMMANDS = [
    "estimate gpt3-175b-64xa100 --all --json",
    "estimate mixtral-8x7b-64xh100 --all --json",
    "estimate gpt3-175b-64xa100 --set parallel.order=dp-tp-pp --json",
    "timeline gpt3-175b-64xa100 --json",
    "timeline mixtral-8x7b-64xh100 --set parallel.zero=2 --json",
    "traffic gpt3-175b-64xa100 --json",
    "search gpt3-175b-64xa100 --gpus 64 --threads 1 --json",
    "sweep gpt3-175b-64xa100 --over parallel.tp=1,2,4,8 --json",
    "scale gpt3-175b-64xa100 --gpus 64,128 --threads 1 --json",
    "trace whatif TRACE --job gpt3-175b-64xa100 --set model.ffn=65536 --json",
    "compare gpt3-175b-64xa100 --refine none|none --json",
    "validate --table TABLES/runs.csv --set cluster=dgx-a100 --set cluster.nodes=6 --json",
    "validate --table TABLES/layer-steps.csv --set attention=unfused --pairs --json",
    "fit --table TABLES/runs.csv --set cluster=dgx-a100 --set cluster.nodes=6 "
    "--vary constants.site_factor=0.2..9 --json",
    "fit kernels --table TABLES/layer-steps.csv --rows pp=1,tp=2|4 --set attention=unfused --json",
    "fit kernels TRACE --job gpt3-175b-64xa100 --json",
    "fit kernels TRACE --job mixtral-8x7b-64xh100 --json",
]


def events():
    """Two micro-batches of four layers, a kernel each for their GEMMs and for the rest."""
    made, host, device = [], 100.0, 110.0
    for layer in range(8):
        for name, lasts in (("gemm_f", 61.5), ("flash_f", 11.25), ("gelu_f", 7.5 + layer % 4)):
            args = {"correlation": len(made) + 1}
            made.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                         "ts": host, "dur": 1, "args": args})
            made.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": device,
                         "dur": lasts, "args": {"device": 0, "stream": 7, **args}})
            host, device = host + 2, device + lasts
    return made


def names_of(lines):
    """Names of inputs and cells: keys of two blanks below these two sections."""
    section = None
    for line in lines:
        if re.match(r"^[a-z]+:", line):
            section = line.split(":")[0]
        match = re.match(r"^  ([A-Za-z_]\w*):", line)
        if match and section in ("inputs", "cells"):
            yield match.group(1)


def renamed(text, names):
    def change(match):
        word = match.group(0)
        known = word in names and not match.group(1)
        return PREFIX + word if known else word

    return WORD.sub(change, text)


def in_braces(text, names):
    return re.sub(r"\{[^}]*\}", lambda match: renamed(match.group(0), names), text)


def rename_file(text, names):
    section, key, depth = None, None, 0
    listed = False  # in a list of names of the summary
    result = []
    for line in text.split("\n"):
        bare = line.lstrip()
        indent = len(line) - len(bare)
        if bare.startswith("#") or not bare:
            result.append(line)
            continue
        match = KEY.match(line)
        if section == "summary" and indent > 0:
            listed = bool(re.match(r" +(on|sizes): \[", line)) or (listed and not match)
            result.append((rename_list if listed else rename_values)(line, names))
            continue
        if match and indent == 0:
            section, key = match.group(2), None
        elif match and not (key is not None and indent > depth):
            head, key, rest = match.groups()
            depth = len(head)
            if section in ("inputs", "cells") and indent == 2:
                line = f"{head}{PREFIX if key in names else ''}{key}:{rest}"
                depth = 99 if not rest.strip() else depth
            elif key in ("is", "that", "where") and section in ("cells", "checks"):
                line = f"{head}{key}:{renamed(rest, names)}"
            elif key == "else":
                line = f"{head}{key}:{in_braces(rest, names)}"
            elif section == "report" and key == "cells":
                line = f"{head}{key}:{rename_list(rest, names)}"
            elif section == "roles":
                line = f"{head}{key}:{rename_role(rest, names)}"
                depth = 99 if not rest.strip() else depth
        elif section in ("cells", "checks") and key in ("is", "that", "where"):
            line = renamed(line, names)
        elif section == "checks" and key == "else":
            line = in_braces(line, names)
        elif section == "report" and key == "cells":
            line = rename_list(line, names)
        result.append(line)
    return "\n".join(result)


def rename_list(text, names):
    return re.sub(r"[A-Za-z_]\w*", lambda m: PREFIX + m.group(0) if m.group(0) in names else m.group(0),
                  text)


def rename_values(text, names):
    """ "GEMMs and attention: time_gemm", "of: 'step_time_of[uneven]'", "at {price}: cost", or a map of
    such; titles of several words stay."""
    text = re.sub(r"\{\w+\}", lambda match: rename_list(match.group(0), names), text)
    return re.sub(r"(:\s+'?)([A-Za-z_]\w*)(?=\s*[,}\]]|\[[^\]]*\]'|\s*$)",
                  lambda m: m.group(1) + (PREFIX if m.group(2) in names else "") + m.group(2), text)


def rename_role(text, names):
    """ "T_iter", or "{exposed: T_comm, hidden: T_hidden}", of which the keys stay."""
    return re.sub(r"[A-Za-z_]\w*(?!\w)(?!:)", lambda m: PREFIX + m.group(0)
                  if m.group(0) in names else m.group(0), text)


def numbers(text, root):
    text = re.sub(re.escape(root) + r"/formulas/([\w-]+)\.yaml", r"sheet \1", text)
    return text.replace(PREFIX, "").split("\n")


def run(program, command, *more):
    done = subprocess.run([program, *command.split(), *more], capture_output=True, text=True)
    if "steptime was built without steptime-" in done.stderr:
        return ""
    if done.returncode != 0:
        sys.exit(f"{command} {' '.join(more)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def main():
    program, source = sys.argv[1], pathlib.Path(sys.argv[2])
    sheets = sorted(source.glob("formulas/megatron*.yaml"))
    texts = {sheet.name: sheet.read_text(encoding="utf-8") for sheet in sheets}
    names = {name for text in texts.values() for name in names_of(text.split("\n"))}
    failed = False
    tables = source / "tests/golden/tree/tables"
    with tempfile.TemporaryDirectory() as root:
        folder = pathlib.Path(root) / "formulas"
        folder.mkdir()
        for name, text in texts.items():
            (folder / name).write_text(rename_file(text, names), encoding="utf-8")
        shown = run(program, "sheet show megatron --json", "--path", root)
        kept = [n for n in re.findall(r'\{"name": "(\w+)", "(?:key"|unit": [^,]*, "formula")', shown)
                if not n.startswith(PREFIX) and n in names]
        if kept:
            sys.exit(f"not renamed: {', '.join(kept)}")
        trace = pathlib.Path(root) / "trace.json"
        trace.write_text(json.dumps({"traceEvents": events()}), encoding="utf-8")
        for command in COMMANDS:
            command = command.replace("TRACE", str(trace)).replace("TABLES", str(tables))
            before = numbers(run(program, command), root)
            after = numbers(run(program, command, "--path", root), root)
            if before != after:
                failed = True
                pairs = [(a, b) for a, b in zip(before, after) if a != b]
                print(f"differs: {command}: {len(pairs)} lines", *pairs[:3], sep="\n  ")
    print(f"{len(names)} names, {len(COMMANDS)} commands")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
