#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies static libraries into one archive in which no symbol is hidden: open_symbols.py AR OUT LIBRARY...

The shipped objects hide what the library does not export, but tests call it. A shared library of the copies
lets all test programs share one link of the very code that is shipped.
"""
import pathlib
import struct
import subprocess
import sys

SYMBOL_TABLE = 2
SYMBOL_BYTES = 24
OTHER_AT = 5  # of a symbol: its visibility in the two low bits
DEFAULT_FOR_HIDDEN = bytes(byte & ~3 if byte & 3 == 2 else byte for byte in range(256))


def opened(name, data):
    """An object whose hidden symbols have the default visibility."""
    if data[:6] != b"\x7fELF\x02\x01":
        sys.exit(f"open_symbols: {name} is not a 64-bit little-endian ELF object")
    table, = struct.unpack_from("<Q", data, 0x28)
    entry_bytes, entries = struct.unpack_from("<HH", data, 0x3A)
    if entries == 0:
        entries, = struct.unpack_from("<Q", data, table + 0x20)
    for at in range(table, table + entries * entry_bytes, entry_bytes):
        kind, = struct.unpack_from("<I", data, at + 4)
        if kind == SYMBOL_TABLE:
            start, size = struct.unpack_from("<QQ", data, at + 0x18)
            others = slice(start + OTHER_AT, start + size, SYMBOL_BYTES)
            data[others] = data[others].translate(DEFAULT_FOR_HIDDEN)
    return data


def member(name, data):
    header = f"{name:16}{0:<12}{0:<6}{0:<6}{'644':8}{len(data):<10}`\n"
    return header.encode() + data + b"\n" * (len(data) % 2)


def main():
    ar, out, *libraries = sys.argv[1:]
    with open(out, "wb") as archive:
        archive.write(b"!<arch>\n")
        for library in libraries:
            with open(library, "rb") as file:
                if file.read(8) != b"!<thin>\n":
                    sys.exit(f"open_symbols: {library} is not a thin archive")
            listing = subprocess.run([ar, "t", library], capture_output=True, text=True, check=True)
            for number, name in enumerate(listing.stdout.splitlines()):
                archive.write(member(f"{number}.o/", opened(name, bytearray(pathlib.Path(name).read_bytes()))))


main()
