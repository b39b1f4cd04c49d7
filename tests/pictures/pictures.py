#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of every verb that draws: no text touches another or leaves the page, colours are of one palette.

    pictures.py STEPTIME SOURCE_ROOT              as the Test Anything Protocol

Widths of texts are reckoned as 6.5 pixels a letter, what sans-serif letters of 12 pixels take on average.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

LETTER, HEIGHT = 6.5, 10
SVG = "{http://www.w3.org/2000/svg}"
TONES = {"page", "panel", "map", "ink", "grid"}
PICTURES = {
    "step and memory": "estimate gpt3-175b-64xa100 --svg FILE",
    "step and memory of experts": "estimate deepseek-v3-2048xh800 --svg FILE",
    "step of another sheet": "estimate gpt-3b-32x3090 --svg FILE",
    "search": "search llama3-8b-8xh100 --svg FILE",
    "search over six powers of ten of memory": "search llama3-405b-16384xh100 --gpus 64 --set batch.global=96 "
                                               "--svg FILE",
    "search of cost": "search gpt3-175b-64xa100 --gpus 64..1024*2 --pareto step_time,cost --svg FILE",
    "traffic": "traffic gpt-3b-32x3090 --svg FILE",
    "traffic on a linear scale": "traffic gpt3-175b-64xa100 --linear --svg FILE",
    "traffic on many nodes": "traffic gpt3-175b-1024xa100 --svg FILE",
    "timeline": "timeline gpt3-175b-64xa100 --svg FILE",
    "timeline of buckets": "timeline gpt2-128xa100 --svg FILE",
    "timeline of experts": "timeline deepseek-v3-2048xh800 --set batch.global=1280 --set parallel.schedule=1f1b --svg FILE",
    "lines over quantities": "sweep gpt3-175b-64xa100 --over cluster.nic_bandwidth=23..400+20Gbit/s --over "
                             "batch.micro=1,2,4 --check none --plot x=cluster.nic_bandwidth,y=step_time -o FILE",
    "lines over powers of two": "sweep gpt3-175b-64xa100 --over batch.global=64..131072*2 --check none --plot "
                                "x=batch.global,y=step_time -o FILE",
    "lines over words": "sweep gpt3-175b-64xa100 --over recompute=none,selective,full --check none --plot "
                        "x=recompute,y=memory -o FILE",
    "map": "sweep gpt3-175b-64xa100 --over parallel.tp=1..8*2 --over parallel.pp=4..32*2 --check none --plot "
           "x=parallel.tp,y=parallel.pp,z=memory -o FILE",
    "map of one value": "sweep gpt3-175b-64xa100 --over parallel.tp=8 --over parallel.pp=8 --plot "
                        "x=parallel.tp,y=parallel.pp,z=step_time -o FILE",
    "map of nothing": "sweep gpt3-175b-64xa100 --over parallel.tp=1,2 --over parallel.pp=1 --plot "
                      "x=parallel.tp,y=parallel.pp,z=step_time -o FILE",
}


def palette(root):
    """Colours of the canvas, and the stops between which those of maps lie."""
    source = (pathlib.Path(root) / "estimator/base/svg.c").read_text(encoding="utf-8")
    fixed = set(re.findall(r'\[ST_SVG_\w+\] = "(#[0-9a-f]{6})"', source))
    stops = source[source.index("stops[][3] = {"):]
    stops = re.findall(r"\{(\d+), (\d+), (\d+)\}", stops[:stops.index(";")])
    return fixed, [tuple(map(int, stop)) for stop in stops]


def is_heat(color, stops):
    point = [int(color[i:i + 2], 16) for i in (1, 3, 5)]
    return any(all(min(a, b) - 1 <= x <= max(a, b) + 1 for a, b, x in zip(one, other, point))
               for one, other in zip(stops, stops[1:]))


def box_of(text):
    """(left, top, right, bottom) of a text."""
    style = text.get("class") or ""
    size = 4 / 3 if "large" in style else 1
    width, height = LETTER * len(text.text) * size, HEIGHT * size
    turned = re.match(r"translate\(([-\d.]+) ([-\d.]+)\)", text.get("transform", ""))
    x, y = (float(turned[1]), float(turned[2])) if turned else (float(text.get("x")), float(text.get("y")))
    shift = width / 2 if "middle" in style else width if "end" in style.split() else 0
    if turned:
        return x - height, y - width + shift, x, y + shift
    return x - shift, y - height, x - shift + width, y


def faults_of(file, colors, stops):
    root = xml.fromstring(file.read_text(encoding="utf-8"))
    page = (0, 0, float(root.get("width")), float(root.get("height")))
    boxes = [(box_of(text), text.text) for text in root.iter(f"{SVG}text") if text.text]
    for box, text in boxes:
        if box[0] < page[0] or box[1] < page[1] or box[2] > page[2] or box[3] > page[3]:
            yield f"'{text}' leaves the page: {box}"
    for i, (one, text) in enumerate(boxes):
        for other, words in boxes[:i]:
            if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]:
                yield f"'{text}' touches '{words}'"
    for part in root.iter():
        color = part.get("fill") or part.get("stroke")
        if part.tag in (f"{SVG}rect", f"{SVG}path") and color is None and part.get("class") not in TONES:
            yield f"{part.attrib} has no colour"
        elif color is not None and color not in colors and not is_heat(color, stops):
            yield f"{color} is not of the palette"
    if not boxes:
        yield "no text"


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    colors, stops = palette(sys.argv[2])
    failed = 0
    assert len(colors) >= 12 and len(stops) == 5
    print(f"1..{len(PICTURES)}")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "picture.svg"
        for number, (name, words) in enumerate(PICTURES.items(), 1):
            file.unlink(missing_ok=True)
            done = subprocess.run([program, *words.replace("FILE", str(file)).split()], capture_output=True,
                                  text=True, check=False)
            faults = list(faults_of(file, colors, stops)) if file.exists() else [done.stderr.strip()]
            failed += bool(faults)
            print(f"{'not ok' if faults else 'ok'} {number} - {name}")
            for fault in faults[:20]:
                print(f"# {fault}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
