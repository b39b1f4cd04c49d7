#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads Chakra execution traces by the published schema (mlcommons/chakra, et_def.proto), and
replays them: a reader that shares nothing with the program that wrote them.

Each file is a list of messages, each behind its length: GlobalMetadata, then Node.
"""
import json
import struct
import sys
from pathlib import Path

METADATA = {1: ("version", "text"), 2: ("attr", "attribute")}
NODE = {
    1: ("id", "varint"),
    2: ("name", "text"),
    3: ("type", "varint"),
    4: ("ctrl_deps", "list"),
    5: ("data_deps", "list"),
    6: ("start_time_micros", "varint"),
    7: ("duration_micros", "varint"),
    8: ("inputs", "bytes"),
    9: ("outputs", "bytes"),
    10: ("attr", "attribute"),
}
ATTRIBUTE = {
    1: ("name", "text"),
    2: ("doc_string", "text"),
    3: ("double_val", "double"),
    7: ("int32_val", "varint"),
    9: ("int64_val", "varint"),
    11: ("uint32_val", "varint"),
    13: ("uint64_val", "varint"),
    27: ("bool_val", "varint"),
    29: ("string_val", "text"),
}
# Which arm of AttributeProto's value ASTRA-sim's feeder asks for.
ARMS = {
    "is_cpu_op": "bool_val",
    "comm_type": "int64_val",
    "comm_size": "int64_val",
    "comm_src": "int32_val",
    "comm_dst": "int32_val",
    "comm_tag": "int32_val",
    "pg_name": "string_val",
}
COMP, SEND, RECV, COLL = 4, 5, 6, 7
ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER = 0, 2, 6, 7
WIRE = {"varint": 0, "double": 1, "text": 2, "bytes": 2, "list": 2, "attribute": 2}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def message(data, schema):
    """The fields of a message by name, attributes as {name: (arm, value)}."""
    found = {"attr": {}}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        name, kind = schema[key >> 3]
        assert key & 7 == WIRE[kind], f"{name} has wire type {key & 7}"
        if kind == "varint":
            value, at = varint(data, at)
        elif kind == "double":
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        else:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
            assert len(value) == length
        if kind == "text":
            value = value.decode()
        if kind == "list":
            listed, inner = [], 0
            while inner < len(value):
                number, inner = varint(value, inner)
                listed.append(number)
            value = listed
        if kind == "attribute":
            inner = message(value, ATTRIBUTE)
            arm = next(a for a in inner if a.endswith("_val"))
            assert inner["name"] not in found["attr"]
            found["attr"][inner["name"]] = (arm, inner[arm])
            continue
        assert name not in found, f"{name} is given twice"
        found[name] = value
    return found


def read(path):
    data = path.read_bytes()
    at = 0
    parts = []
    while at < len(data):
        length, at = varint(data, at)
        parts.append(data[at : at + length])
        at += length
    assert at == len(data)
    return message(parts[0], METADATA), [message(part, NODE) for part in parts[1:]]


def attribute(node, name):
    arm, value = node["attr"][name]
    assert arm == ARMS[name], f"{name} is a {arm}"
    return value


class Job:
    def __init__(self, folder):
        self.groups = json.loads((folder / "comm_group.json").read_text())
        self.ranks = {}
        for path in folder.glob("*.et"):
            metadata, nodes = read(path)
            rank = int(path.name.split(".")[-2])
            assert metadata["version"] == "0.0.4"
            assert metadata["attr"]["rank"] == ("string_val", str(rank))
            self.ranks[rank] = nodes
        self.check_nodes()

    def check_nodes(self):
        """Every node after those it waits for, each of a known kind with what that kind needs."""
        for rank, nodes in self.ranks.items():
            for place, node in enumerate(nodes):
                assert node["id"] == place
                assert all(dep < place for dep in node.get("data_deps", []))
                attribute(node, "is_cpu_op")
                if node["type"] in (SEND, RECV):
                    ends = attribute(node, "comm_src"), attribute(node, "comm_dst")
                    assert ends[0 if node["type"] == SEND else 1] == rank
                    assert attribute(node, "comm_size") > 0
                elif node["type"] == COLL:
                    assert rank in self.groups[attribute(node, "pg_name")]
                    assert attribute(node, "comm_size") > 0
                else:
                    assert node["type"] == COMP

    def check_partners(self):
        """What one rank sends another one receives; members of a group call the same collectives."""
        sent, received = {}, {}
        for nodes in self.ranks.values():
            for node in nodes:
                if node["type"] in (SEND, RECV):
                    key = tuple(attribute(node, n) for n in ("comm_src", "comm_dst", "comm_tag"))
                    where = sent if node["type"] == SEND else received
                    assert key not in where
                    where[key] = attribute(node, "comm_size")
        assert sent == received
        for name, members in self.groups.items():
            calls = [
                [
                    (attribute(n, "comm_type"), attribute(n, "comm_size"))
                    for n in self.ranks[rank]
                    if n["type"] == COLL and attribute(n, "pg_name") == name
                ]
                for rank in members
            ]
            assert calls[0] and all(call == calls[0] for call in calls), f"group {name}"

    def sent_bytes(self, rank, group_of):
        """Bytes that the rank sends by kind: on rings, in exchanges without what stays, in transfers."""
        total = {}
        for node in self.ranks[rank]:
            if node["type"] == SEND:
                total["pp"] = total.get("pp", 0) + attribute(node, "comm_size")
            if node["type"] == COLL:
                name = attribute(node, "pg_name")
                ranks = len(self.groups[name])
                factor = {
                    ALL_REDUCE: 2 * (ranks - 1) / ranks,
                    ALL_GATHER: ranks - 1,
                    REDUCE_SCATTER: (ranks - 1) / ranks,
                    ALL_TO_ALL: (ranks - 1) / ranks,
                }[attribute(node, "comm_type")]
                kind = group_of(int(name))
                total[kind] = total.get(kind, 0) + factor * attribute(node, "comm_size")
        return total

    def computed_us(self, rank):
        """Of the GPU, without what waits for the host."""
        return sum(
            node["duration_micros"]
            for node in self.ranks[rank]
            if node["type"] == COMP and not attribute(node, "is_cpu_op")
        )

    def step_us(self):
        """Replays all ranks: a collective begins with its last member, a transfer ends with its
        sender; each message takes as long as it says."""
        end, waiting = {}, {}
        turn = {rank: 0 for rank in self.ranks}
        calls = {}
        moved = True
        while moved:
            moved = False
            for rank, nodes in self.ranks.items():
                while turn[rank] < len(nodes):
                    node = nodes[turn[rank]]
                    ready = max((end[rank, d] for d in node.get("data_deps", [])), default=0)
                    if node["type"] == RECV:
                        key = tuple(attribute(node, n) for n in ("comm_src", "comm_dst", "comm_tag"))
                        if key not in waiting:
                            break
                        end[rank, node["id"]] = max(ready, waiting[key])
                    elif node["type"] == COLL:
                        name = attribute(node, "pg_name")
                        key = name, calls.get((rank, name), 0)
                        arrived = waiting.setdefault(key, {})
                        arrived[rank] = ready
                        if len(arrived) < len(self.groups[name]):
                            break
                        calls[rank, name] = key[1] + 1
                        end[rank, node["id"]] = max(arrived.values()) + node["duration_micros"]
                    else:
                        end[rank, node["id"]] = ready + node["duration_micros"]
                    if node["type"] == SEND:
                        key = tuple(attribute(node, n) for n in ("comm_src", "comm_dst", "comm_tag"))
                        waiting[key] = end[rank, node["id"]]
                    turn[rank] += 1
                    moved = True
        assert all(turn[rank] == len(nodes) for rank, nodes in self.ranks.items()), "ranks wait"
        return max(end.values())


if __name__ == "__main__":
    for name in sys.argv[1:]:
        job = Job(Path(name))
        job.check_partners()
        first = job.ranks[0]
        print(name, len(job.ranks), "ranks", len(first), "nodes", job.step_us() / 1e6, "s")
