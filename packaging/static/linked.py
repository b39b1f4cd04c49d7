#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins as parts of a program: linked.py LD OBJCOPY NAME OUT OBJECT..., or linked.py --list OUT NAME...

Joins the objects of a plugin into one, in which only its function of description is seen, under a name of its
own; plugins share no other name. --list writes the table that the host looks them up in.
"""
import pathlib
import subprocess
import sys

SYMBOL = "st_plugin_describe"


def symbol_of(name):
    return f"{SYMBOL}_{name.replace('-', '_')}"


def main():
    if sys.argv[1] == "--list":
        out, *names = sys.argv[2:]
        lines = ['/* Written by linked.py. */', '#include "plugin/linked.h"', '']
        lines += [f"const st_plugin *{symbol_of(name)}(void);" for name in names]
        lines += ['', 'const st_linked_plugin st_linked_plugins[] = {']
        lines += [f'    {{"{name}", {symbol_of(name)}}},' for name in sorted(names)]
        lines += ['};', f'const size_t st_linked_plugin_count = {len(names)};', '']
        pathlib.Path(out).write_text("\n".join(lines), encoding="utf-8")
        return
    linker, objcopy, name, out, *objects = sys.argv[1:]
    subprocess.run([linker, "-r", "-o", out, *objects], check=True)
    subprocess.run([objcopy, f"--redefine-sym={SYMBOL}={symbol_of(name)}",
                    f"--keep-global-symbol={symbol_of(name)}", out], check=True)


main()
