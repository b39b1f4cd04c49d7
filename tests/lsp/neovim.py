#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The language server in Neovim: neovim.py STEPTIME. Skipped where there is none."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import protocol


def main():
    editor = shutil.which("nvim")
    if editor is None:
        print("1..0 # SKIP no Neovim (nvim)")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve() / "project"
        for path, text in (("formulas/lab.yaml", protocol.LAB), ("formulas/site.yaml", protocol.SITE),
                           ("configs/jobs/lab-job.yaml", protocol.JOB)):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        environment = dict(os.environ, XDG_CONFIG_HOME=name, XDG_DATA_HOME=name, XDG_STATE_HOME=name, XDG_CACHE_HOME=name,
                           STEPTIME_PATH="", PROGRAM=os.path.realpath(sys.argv[1]), FOLDER=str(folder))
        script = pathlib.Path(__file__).with_suffix(".lua")
        run = subprocess.run([editor, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {script}"],
                             env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100,
                             check=False)
        print(run.stdout or f"not ok 1 - Neovim ran\n1..1\n# {run.stderr[-600:]}", end="")
        return run.returncode


if __name__ == "__main__":
    sys.exit(main())
