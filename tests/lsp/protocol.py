#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The language server between an editor's pipes: protocol.py STEPTIME SOURCE_ROOT, as the Test Anything Protocol.

Files are made in a folder with the project's layout. Every prefix of a sheet and a job is opened once, and frames
that no editor sends are sent, too: the server answers or ends with a message, and never by a signal.
"""
import json
import os
import pathlib
import random
import sys
import tempfile
import time

from client import Client, place_of

LAB = """\
# a sheet of one link
sheet: lab
title: One link – α and β
enums:
  medium: [copper, glass]
inputs:
  V: {from: constants.message, unit: MB, default: 2.385 MB, doc: message of a rank, cite: lab sec. 1}
  n: {from: parallel.dp, doc: ranks in the group}
functions:
  wire:
    args: {size: B, rate: GB/s}
    unit: us
    is: size/rate + 3.5[us]
    doc: one message on a wire
cells:
  T_V:
    unit: us
    is: >-
      wire(V, 12.5[GB/s])
      + n*2[us]
    doc: time of V on the wire, 𝛼 included
    cite: lab eq. 2
  T_all:
    unit: us
    is: (n - 1)*T_V + T_V*0   # T_V twice
    doc: all messages; T_V each
roles:
  step: T_all
checks:
  - that: n >= 1
    else: T_V needs a rank, found {n} and {T_V}
report:
  - section: Time
    cells: [T_V, T_all]
"""
SITE = """\
sheet: site
include: lab
cells:
  T_two:
    unit: us
    is: 2*T_V
    doc: two of them
"""
OTHER = """\
sheet: other
cells:
  T_V:
    unit: us
    is: 4.5[us]
    doc: another one of that name
"""
JOB = """\
name: lab-job
sheet: lab
model: gpt-3b
parallel: {dp: 4}
constants:
  message: 7.25 MB
"""


class Suite:
    def __init__(self):
        self.count = self.failed = 0

    def check(self, ok, name, *found):
        self.count += 1
        self.failed += not ok
        print(f"{'ok' if ok else 'not ok'} {self.count} - {name}")
        for value in [] if ok else found:
            print(f"# found {json.dumps(value)[:600]}")


def labels(answer):
    return [item["label"] for item in answer["result"]["items"]]


def text_of_hover(answer):
    return (answer["result"] or {"contents": {"value": ""}})["contents"]["value"]


def apply(text, edits):
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda one: (one["range"]["start"]["line"], one["range"]["start"]["character"]),
                       reverse=True):
        line, start, end = (edit["range"]["start"]["line"], edit["range"]["start"]["character"],
                            edit["range"]["end"]["character"])
        wide = lines[line].encode("utf-16-le")
        lines[line] = (wide[:2 * start].decode("utf-16-le") + edit["newText"] + wide[2 * end:].decode("utf-16-le"))
    return "\n".join(lines)


def sheets(suite, client, folder):
    lab = (folder / "formulas/lab.yaml").as_uri()
    client.open(lab, LAB)
    suite.check(client.diagnostics(lab) == [], "a right sheet has no diagnostics")
    client.change(lab, LAB.replace("+ 3.5[us]", "+ 3.5[ms] + V_x"))
    found = client.diagnostics(lab)
    line = LAB.split("\n").index("    is: size/rate + 3.5[us]")
    suite.check([one["range"]["start"] for one in found] == [{"line": line, "character": 30}]
                and "'V_x'" in found[0]["message"] and found[0]["severity"] == 1, "an unknown name is where it is", found)
    client.change(lab, LAB.replace("unit: MB, default", "unit: MQ, default"))
    found = client.diagnostics(lab)
    suite.check(len(found) >= 1 and "MQ" in found[0]["message"], "an unknown unit is reported", found)
    hover = text_of_hover(client.at("hover", lab, place_of(LAB, "T_V*0", 1)))
    suite.check("time of V on the wire" in hover and "lab eq. 2" in hover and "unit: us" in hover,
                "the last right sheet answers while there are errors", hover)
    client.change(lab, LAB)
    client.diagnostics(lab)
    hover = text_of_hover(client.at("hover", lab, place_of(LAB, "T_V*0", 1)))
    # 2.385 MB at 12.5 GB/s, 3.5 us, and 2 us for each of the ranks of lab-job; its message has 7.25 MB
    suite.check("**T_V** = 591.5 us (lab-job)" in hover, "a cell has the value of a job", hover)
    hover = text_of_hover(client.at("hover", lab, place_of(LAB, "wire(V", 1)))
    suite.check("wire**(size: B, rate: GB/s)" in hover and "one message on a wire" in hover,
                "a function has its arguments", hover)
    hover = text_of_hover(client.at("hover", lab, place_of(LAB, "(V, 12", 1)))
    suite.check("constants.message" in hover and "default: 2.385 MB" in hover and "lab sec. 1" in hover,
                "an input has its key and default", hover)
    suite.check(text_of_hover(client.at("hover", lab, place_of(LAB, "a sheet of", 3))) == "", "a comment has nothing")
    where = client.at("definition", lab, place_of(LAB, "(V, 12", 1))["result"]
    suite.check(where["uri"] == lab and where["range"]["start"] == {"line": 6, "character": 2},
                "the definition of an input", where)
    where = client.at("definition", lab, place_of(LAB, "wire(V", 2))["result"]
    suite.check(where["range"]["start"]["line"] == LAB.split("\n").index("  wire:"), "the definition of a function")
    offered = labels(client.at("completion", lab, place_of(LAB, "T_V*0", 2)))
    suite.check(offered == ["T_V", "T_all"], "names that begin so", offered)
    offered = labels(client.at("completion", lab, place_of(LAB, "wire(V", 0)))
    suite.check({"T_V", "n", "V", "wire", "min", "copper"} <= set(offered), "all that a formula can name", offered)
    offered = labels(client.at("completion", lab, place_of(LAB, "parallel.dp", 11)))
    suite.check(offered[:2] == ["parallel.dp"], "keys of jobs behind 'from'", offered) if len(offered) == 2 else \
        suite.check("parallel.dp" in offered and all(one.startswith("parallel.dp") for one in offered),
                    "keys of jobs behind 'from'", offered)
    half = LAB + "  - section: More\n    ce"
    client.change(lab, half)
    offered = labels(client.at("completion", lab, place_of(half, "    ce", 6, half.count("    ce") - 1)))
    suite.check(offered == ["cells"], "fields in half a file", offered)
    client.change(lab, LAB)
    return lab


def renames(suite, client, folder, lab):
    answer = client.at("rename", lab, place_of(LAB, "T_V*0", 1), newName="T_wire")
    changes = answer.get("result", {}).get("changes", {})
    site = (folder / "formulas/site.yaml").as_uri()
    suite.check(set(changes) == {lab, site}, "a cell is renamed where it is the same, not another of its name", answer)
    renamed = apply(LAB, changes.get(lab, []))
    expected = LAB
    for old in ("  T_V:", "(n - 1)*T_V + T_V*0", "{T_V}", "[T_V, T_all]"):
        expected = expected.replace(old, old.replace("T_V", "T_wire"))
    suite.check(renamed == expected, "words in texts and comments stay as they are", renamed)
    suite.check("2*T_wire" in apply(SITE, changes.get(site, [])), "sheets that include it follow")
    answer = client.at("rename", lab, place_of(LAB, "(V, 12", 1), newName="message")
    renamed = apply(LAB, answer.get("result", {}).get("changes", {}).get(lab, []))
    suite.check("  message: {from: constants.message," in renamed and "wire(message, 12.5[GB/s])" in renamed
                and "time of V on the wire" in renamed, "an input of one letter", renamed)
    answer = client.at("rename", lab, place_of(LAB, "wire(V", 1), newName="link")
    renamed = apply(LAB, answer.get("result", {}).get("changes", {}).get(lab, []))
    suite.check("  link:" in renamed and "link(V" in renamed and "on a wire" in renamed, "a function", renamed)
    for name, words in [("T_all", "T_all"), ("2x", "begins with a letter"), ("a b", "letters, digits"),
                        ("min", "reserved"), ("x" * 61, "60 characters"), ("", "begins with")]:
        answer = client.at("rename", lab, place_of(LAB, "T_V*0", 1), newName=name)
        suite.check("result" not in answer and words in answer["error"]["message"], f"the name '{name}' is refused", answer)
    answer = client.at("rename", lab, place_of(LAB, "copper", 1), newName="brass")
    suite.check("error" in answer and "is not a cell" in answer["error"]["message"], "values are not renamed", answer)


def jobs(suite, client, folder):
    job = (folder / "configs/jobs/lab-job.yaml").as_uri()
    client.open(job, JOB)
    suite.check(client.diagnostics(job) == [], "a right job has no diagnostics")
    hover = text_of_hover(client.at("hover", job, place_of(JOB, "dp: 4", 1)))
    suite.check("**parallel.dp** = 4" in hover and "`n` in the sheet lab" in hover, "a key has value and reader", hover)
    hover = text_of_hover(client.at("hover", job, place_of(JOB, "message", 1)))
    suite.check("= 7.25 MB" in hover and "message of a rank" in hover and "lab sec. 1" in hover, "a constant", hover)
    where = client.at("definition", job, place_of(JOB, "lab\n", 1))["result"]
    suite.check(where is not None and where["uri"].endswith("/formulas/lab.yaml"), "the sheet of a job", where)
    where = client.at("definition", job, place_of(JOB, "dp: 4", 1))["result"]
    suite.check(where is not None and where["range"]["start"]["line"] == 7, "the input that reads a key", where)
    offered = labels(client.at("completion", job, place_of(JOB, "dp: 4", 0)))
    suite.check({"tp", "pp", "dp", "schedule"} <= set(offered), "keys of a section", offered)
    offered = labels(client.at("completion", job, place_of(JOB, "message", 0)))
    suite.check(offered == ["message"], "constants are those of the sheet", offered)
    half = JOB + "recompute: "
    client.change(job, half)
    client.diagnostics(job)
    offered = labels(client.at("completion", job, place_of(half, "recompute: ", 11)))
    suite.check(offered == ["none", "selective", "full"], "values of a key", offered)
    client.change(job, JOB.replace("dp: 4", "dq: 4"))
    found = client.diagnostics(job)
    suite.check(len(found) == 1 and "did you mean 'dp'" in found[0]["message"]
                and found[0]["range"]["start"] == {"line": 3, "character": 11}, "an unknown key has its place", found)
    client.change(job, JOB.replace("dp: 4", "dp: 0"))
    found = client.diagnostics(job)
    suite.check(len(found) >= 1, "a value out of its range is reported", found)
    client.change(job, JOB)
    client.diagnostics(job)
    gpu = (folder / "configs/gpus/lab-gpu.yaml").as_uri()
    client.open(gpu, "name: Lab\nmemroy: 80 GB\n")
    found = client.diagnostics(gpu)
    suite.check(len(found) >= 1 and "'memory'" in found[0]["message"] and found[0]["range"]["start"]["line"] == 1,
                "a GPU's file", found)
    offered = labels(client.at("completion", gpu, (1, 3)))
    suite.check("memory" in offered, "keys of a GPU", offered)
    client.note("textDocument/didClose", textDocument={"uri": gpu})
    suite.check(client.diagnostics(gpu) == [], "a closed file has no diagnostics")
    client.at("hover", job, (0, 0))
    client.notes.clear()
    for code in ("\0", "\1"):
        client.change(job, JOB.replace("dp: 4", "dp: 4" + code))
        found = client.diagnostics(job)
        suite.check(len(found) == 1 and f"U+000{ord(code)}" in found[0]["message"]
                    and found[0]["range"]["start"] == {"line": 3, "character": 16}, "a control character", found)
    client.change(job, JOB)
    client.diagnostics(job)
    named = {"clusters/lab-c": "gpus_per_node: 8\n", "gpus/lab-g": "name: Lab\n", "models/lab-m": "layers: 24\n",
             "stacks/lab-s": "doc: lab\n"}
    for path, text in named.items():
        (folder / f"configs/{path}.yaml").parent.mkdir(exist_ok=True)
        (folder / f"configs/{path}.yaml").write_text(text, encoding="utf-8")
    based = (folder / "configs/jobs/based.yaml").as_uri()
    text = "cluster: {base: lab-c, gpu: {base: lab-g}}\nmodel:\n  base: lab-m\nstack: {base: lab-s}\n"
    client.open(based, text)
    client.diagnostics(based)
    for path in named:
        where = client.at("definition", based, place_of(text, path.split("/")[1], 2))["result"]
        suite.check(where is not None and where["uri"].endswith(f"/{path}.yaml"), f"the base {path}", where)
    checked = (folder / "formulas/checked.yaml").as_uri()
    (folder / "formulas/checked.yaml").write_text(LAB.replace("sheet: lab", "sheet: checked").replace(
        "n >= 1", "n <= 3").replace("T_V needs a rank", "dp is above 3"), encoding="utf-8")
    text = "name: x\nsheet: checked\nparallel:\n  tp: 2\n  dp: 16\nbatch: {micro: 2}\n"
    client.change(based, text)
    client.at("hover", based, (0, 0))
    client.notes.clear()
    client.change(based, text + "#\n")
    found = client.diagnostics(based)
    suite.check(any(one["range"]["start"] == {"line": 4, "character": 2} and one["message"].startswith("dp is above 3")
                    and one["relatedInformation"][0]["location"]["uri"] == checked for one in found),
                "a check is at the key that it names", found)
    client.change(based, "name: x\nsheet: megatron\ncluster: lab-c\n")
    found = [one["message"] for one in client.diagnostics(based)]
    suite.check(sum("'model:'" in one for one in found) == 1 and not any("model.h" in one or "--set" in one for one in found),
                "a job without a model says that once", found)
    client.note("textDocument/didClose", textDocument={"uri": based})
    client.diagnostics(based)
    cited = JOB.replace("dp: 4", "dp: {value: 4, source: 'a [b](http://c) ![e](f) <d>'}")
    client.change(job, cited)
    client.diagnostics(job)
    hover = text_of_hover(client.at("hover", job, place_of(cited, "dp: {", 1)))
    suite.check(r"source: a \[b\](http://c) \!\[e\](f) \<d\>" in hover, "a source is no Markdown", hover)
    client.change(job, JOB)
    client.diagnostics(job)


def halves(suite, client, folder):
    """All beginnings of files, and files with a line taken out; requests in the middle of each."""
    dice = random.Random(2385)
    for name, text in (("formulas/half.yaml", LAB), ("configs/jobs/half.yaml", JOB)):
        uri = (folder / name).as_uri()
        client.open(uri, text)
        for cut in range(0, len(text), 3):
            client.change(uri, text[:cut])
            place = place_of(text[:cut] + "|", "|", 0, text[:cut].count("|"))
            for method in dice.sample(["hover", "completion", "definition"], 2):
                client.at(method, uri, place)
        lines = text.splitlines(keepends=True)
        for index in range(len(lines)):
            client.change(uri, "".join(lines[:index] + lines[index + 1:]))
            client.at("hover", uri, (index, 4))
            client.at("rename", uri, (index, 4), newName="other")
        client.note("textDocument/didClose", textDocument={"uri": uri})
    suite.check(client.process.poll() is None, "half files end nothing")


def oddities(suite, client):
    """Messages that are whole and wrong are answered; the server goes on."""
    answer = client.ask("textDocument/hover", textDocument={"uri": "file:///nowhere"}, position={"line": 0, "character": 0})
    suite.check(answer["error"]["code"] == -32602, "a file that is not open", answer)
    answer = client.ask("workspace/symbol", query="x")
    suite.check(answer["error"]["code"] == -32601, "a method that there is not", answer)
    answer = client.ask("textDocument/hover")
    suite.check(answer["error"]["code"] == -32602, "no parameters", answer)
    for uri in ("http://x/y", "file://host/x", "file:///a%00b", "file:///a%zz", "", "untitled:1"):
        client.open(uri, "sheet: x\n")
    client.send({"id": [1], "method": "shutdownx"})
    suite.check(client.receive()["id"] is None, "an id that is none")
    for body in (b"{", b"[]", b"null", b"[" * 5000, b"\xff\xfe", b'{"method": 3}', b'{"id": 1}', b""):
        client.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        suite.check("error" in client.receive(), f"{body[:12]!r} is answered with an error")
    client.note("textDocument/didChange", textDocument={"uri": "file:///x"}, contentChanges=[])
    client.note("textDocument/didChange", textDocument={"uri": "file:///x"}, contentChanges={"a": 1})
    client.note("$/cancelRequest", id=3)
    answer = client.ask("initialize")
    suite.check("error" in answer, "initialize twice", answer)


def ends(suite, program, environment):
    """Bytes without frames end the server with 1; so does an end without shutdown."""
    for data in (b"GET / HTTP/1.1\r\n\r\n", b"Content-Length: -4\r\n\r\n", b"Content-Length: 99999999999\r\n\r\n",
                 b"x" * 5000, b"Content-Length: 5x\r\n\r\n12345", b"Content-Length: 20\r\n\r\n{"):
        client = Client(program, env=environment, quiet=True)
        client.raw(data)
        client.process.stdin.close()
        client.process.stdout.read()
        said = client.process.stderr.read().decode()
        status = client.process.wait(20)
        suite.check(status == 1, f"{data[:24]!r} ends with 1", status)
        if not data.endswith(b"{"):
            suite.check("steptime lsp: " in said and "expected" in said, f"{data[:24]!r}: the reason is on stderr", said)
    client = Client(program, "--job", "nope", env=environment, quiet=True)
    client.start()
    shown = client.receive()
    client.stop()
    said = client.process.stderr.read().decode()
    suite.check(shown["method"] == "window/showMessage" and "nope" in shown["params"]["message"] and "nope" in said,
                "a job that is not there is said", shown, said)
    client = Client(program, env=environment)
    answer = client.ask("textDocument/hover")
    suite.check(answer["error"]["code"] == -32002, "initialize comes first", answer)
    client.note("exit")
    suite.check(client.process.wait(20) == 1, "exit without shutdown")


def speed(suite, client, root):
    """From a keystroke in the largest sheet to its diagnostics; a loaded machine is given ten times the goal."""
    uri = (root / "formulas/megatron.yaml").as_uri()
    text = (root / "formulas/megatron.yaml").read_text(encoding="utf-8")
    client.open(uri, text)
    first = client.diagnostics(uri)
    times = []
    for number in range(5):
        begun = time.monotonic()
        client.change(uri, text + "# " + "x" * number + "\n")
        client.diagnostics(uri)
        times.append(time.monotonic() - begun)
    suite.check(first == [] and min(times) < 0.5, f"diagnostics of megatron, {1000 * min(times):.0f} ms after a keystroke", times)


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    suite = Suite()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve() / "a b"
        for path, text in (("formulas/lab.yaml", LAB), ("formulas/site.yaml", SITE), ("formulas/other.yaml", OTHER),
                           ("configs/jobs/lab-job.yaml", JOB)):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        environment = dict(os.environ, XDG_CONFIG_HOME=name, XDG_DATA_HOME=name, STEPTIME_PATH="")
        client = Client(program, "--job", "lab-job", env=environment)
        client.start(folder.as_uri())
        lab = sheets(suite, client, folder)
        renames(suite, client, folder, lab)
        jobs(suite, client, folder)
        halves(suite, client, folder)
        oddities(suite, client)
        suite.check(client.stop() == 0, "shutdown and exit end with 0")
        ends(suite, program, environment)
        client = Client(program, env=environment)
        client.start(root.as_uri())
        speed(suite, client, root)
        client.stop()
    print(f"1..{suite.count}")
    return suite.failed > 0


if __name__ == "__main__":
    sys.exit(main())
