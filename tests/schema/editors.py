#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Schemas for editors against every shipped file, and against slips in them: editors.py SOURCE_ROOT.

Skipped where Python has no PyYAML or jsonschema (Debian: python3-yaml, python3-jsonschema).
"""
import copy
import json
import pathlib
import sys

try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"1..0 # SKIP {error}")
    sys.exit(77)

FOLDERS = {"job": "configs/jobs", "model": "configs/models", "cluster": "configs/clusters", "gpu": "configs/gpus",
           "sheet": "formulas"}
# A slip in the first file of each kind that has these keys: the keys to the value, and the wrong value.
SLIPS = {
    "job": [(["parallel", "tq"], 8), (["recompute"], "ful"), (["parallel", "tp"], [8]), (["modle"], "gpt-3b"),
            (["parallel", "tp"], 0), (["parallel", "tp"], 1.5), (["parallel", "tp"], "0"), (["batch", "micro"], "x"),
            (["parallel", "zero"], 4), (["parallel", "zero"], -1), (["parallel", "pp"], {"value": 0}),
            (["cluster"], {"nic_bandwidth": 200}), (["cluster"], {"nic_bandwidth": "200"}),
            (["cluster"], {"nic_bandwidth": {"value": 25}}),
            (["parallel", "tp"], {"value": 8, "sorce": "x"}), (["cluster"], 3)],
    "model": [(["hiden"], 12288), (["gated"], "maybe"), (["layers"], {"source": "x"})],
    "cluster": [(["nodse"], 4), (["gpus_per_node"], {})],
    "gpu": [(["memroy"], "80 GB"), (["memory"], ["80 GB"]), (["memory"], 80)],
    "sheet": [(["cels"], {}), (["checks"], [{"that": "a > 1"}]), (["inputs"], {"a": {"unit": "B"}}),
              (["cells"], {"T": {"iz": "2", "is": "3"}}), (["cells"], {"2T": {"is": "3"}})],
}


class Loader(yaml.SafeLoader):
    """YAML as steptime reads it: dates and numbers with colons are texts."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":merge"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}


def changed(document, keys, value):
    document = copy.deepcopy(document)
    target = document
    for key in keys[:-1]:
        target = target.setdefault(key, {})
    if isinstance(target, dict):
        target[keys[-1]] = value
    return document


def main():
    root = pathlib.Path(sys.argv[1])
    count = failed = 0
    for kind, folder in FOLDERS.items():
        schema = json.loads((root / f"docs/schema/editors/{kind}.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        files = {path: yaml.load(path.read_text(encoding="utf-8"), Loader) for path in sorted((root / folder).glob("*.yaml"))}
        for path, document in files.items():
            faults = list(validator.iter_errors(document))
            count += 1
            failed += bool(faults)
            print(f"{'not ok' if faults else 'ok'} {count} - {path.relative_to(root)}")
            for fault in faults[:3]:
                print(f"# {'.'.join(map(str, fault.path))}: {fault.message[:200]}")
        first = next(iter(files.values()))
        for keys, value in SLIPS[kind]:
            refused = not validator.is_valid(changed(first, keys, value))
            count += 1
            failed += not refused
            print(f"{'ok' if refused else 'not ok'} {count} - a {kind} with {'.'.join(keys)}: {value} is refused")
    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
