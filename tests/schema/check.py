#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds JSON results against the schemas of docs/schema.

    check.py SCHEMAS FOLDER

FOLDER has results N, each with the command that wrote it in N.command, as tests/cli/run.py leaves
them. The words behind 'steptime' in the command name the schema. Knows what the schemas here use of
JSON Schema 2020-12, and refuses a schema that uses anything else.
"""
import json
import pathlib
import re
import sys

KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "properties", "required",
         "additionalProperties", "items", "enum", "const", "anyOf"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name in ("number", "integer"):
        return (isinstance(value, (int, float)) and not isinstance(value, bool)
                and (name == "number" or float(value).is_integer()))
    return isinstance(value, TYPES[name])


class Schemas:
    def __init__(self, folder):
        self.folder = folder
        self.loaded = {}

    def load(self, name):
        if name not in self.loaded:
            self.loaded[name] = json.loads((self.folder / name).read_text())
        return self.loaded[name]

    def resolve(self, reference, file):
        name, _, path = reference.partition("#")
        file = name or file
        schema = self.load(file)
        for part in path.strip("/").split("/") if path.strip("/") else []:
            schema = schema[part]
        return schema, file

    def faults(self, value, schema, file, place="$"):
        unknown = set(schema) - KNOWN
        if unknown:
            raise SystemExit(f"{file}: {place}: this check does not know {sorted(unknown)}")
        if "$ref" in schema:
            target, where = self.resolve(schema["$ref"], file)
            yield from self.faults(value, target, where, place)
        if "anyOf" in schema:
            tries = [list(self.faults(value, one, file, place)) for one in schema["anyOf"]]
            if all(tries):
                yield from min(tries, key=len)
        if "const" in schema and value != schema["const"]:
            yield f"{place}: {value!r} is not {schema['const']!r}"
        if "enum" in schema and value not in schema["enum"]:
            yield f"{place}: {value!r} is none of {schema['enum']}"
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        if types and not any(is_type(value, name) for name in types):
            yield f"{place}: {json.dumps(value)[:60]} is no {' or '.join(types)}"
        elif isinstance(value, dict):
            yield from self.members(value, schema, file, place)
        elif isinstance(value, list) and "items" in schema:
            for index, item in enumerate(value):
                yield from self.faults(item, schema["items"], file, f"{place}[{index}]")

    def members(self, value, schema, file, place):
        for name in schema.get("required", []):
            if name not in value:
                yield f"{place}: '{name}' is missing"
        for name, item in value.items():
            own = schema.get("properties", {}).get(name)
            others = schema.get("additionalProperties", True)
            if own is None and others is False:
                yield f"{place}: '{name}' is not in the schema"
            elif own is not None or isinstance(others, dict):
                yield from self.faults(item, own if own is not None else others, file,
                                       f"{place}.{name}")


def unique(pairs):
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"'{name}' stands twice in one object")
    return dict(pairs)


def read(text):
    """One document, or a document a line."""
    try:
        return [json.loads(text, object_pairs_hook=unique)]
    except json.JSONDecodeError:
        return [json.loads(line, object_pairs_hook=unique) for line in text.splitlines()]


def schema_of(command, names):
    """'trace whatif' of '... steptime trace whatif FILE --json | ...': what is written as JSON."""
    calls = re.findall(r"steptime\s+([^;&|]*)", command)
    calls = [call for call in calls if "--json" in call] or calls
    for call in reversed(calls):
        words = [word for word in call.split() if word not in ("--json",)]
        for length in (2, 1):
            name = "-".join(words[:length])
            if name in names:
                return name
    return None


def main():
    folder = pathlib.Path(sys.argv[2])
    schemas = Schemas(pathlib.Path(sys.argv[1]))
    names = {path.stem for path in schemas.folder.glob("*.json")}
    failed = 0
    for command in sorted(folder.glob("*.command"), key=lambda path: int(path.stem)):
        call = command.read_text().strip()
        name = schema_of(call, names)
        try:
            faults = ([f"no schema for: {call}"] if name is None else
                      [fault for value in read(command.with_suffix("").read_text())
                       for fault in schemas.faults(value, schemas.load(name + ".json"),
                                                   name + ".json")])
        except ValueError as error:
            faults = [str(error)]
        for fault in faults[:5]:
            print(f"# docs/schema/{name}.json: {fault}\n#   {call}")
        failed += bool(faults)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
