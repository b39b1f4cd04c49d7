#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A confined plugin must not reach the user's terminal: terminal.py STEPTIME ROOT MODULES

Runs each verb that loads a plugin in a process of its own on a new pseudo-terminal, as a shell would.
The plugin opens the terminal, types a command into it (TIOCSTI) and reads what the user has typed. Prints TAP.
"""
import fcntl
import os
import pathlib
import pty
import select
import shutil
import sys
import tempfile
import termios
import time

LIMIT_S = 60
TYPED = b'true 2385'
BY_USER = b'echo 23.85'


def on_terminal(words):
    """Runs a command as a session of its own on a pseudo-terminal: its status, and what the terminal showed."""
    child, master = pty.fork()
    if child == 0:
        os.execve(words[0], words, {**os.environ, 'TERMINAL': os.ttyname(0)})
    os.write(master, BY_USER + b'\n')
    shown = b''
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        if not select.select([master], [], [], 0.2)[0]:
            continue
        try:
            block = os.read(master, 65536)
        except OSError:  # the last process closed its end
            break
        if not block:
            break
        shown += block
    os.close(master)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown


def can_type():
    """Whether a process with a controlling terminal can type into it on this kernel."""
    child, master = pty.fork()
    if child == 0:
        try:
            fcntl.ioctl(os.open('/dev/tty', os.O_RDONLY), termios.TIOCSTI, b'x')
        except OSError:
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(master)
    return status == 0


def main():
    program = os.path.abspath(sys.argv[1])
    os.chdir(sys.argv[2])
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        plugin = pathlib.Path(folder) / 'plugins/bad-terminal'
        plugin.mkdir(parents=True)
        shutil.copy(pathlib.Path(sys.argv[3]) / 'bad-terminal.so', plugin)
        path = ['--path', folder]
        cases = [
            (['plugin', 'info', 'bad-terminal', *path], b'reached no terminal'),
            (['plugin', 'list', '--look', *path], b'reached no terminal'),
            (['plugin', 'check', str(plugin / 'bad-terminal.so'), *path], b''),
            (['estimate', 'llama3-8b-8xh100', '--refine', 'bad-terminal', '--isolate', *path], b''),
        ]
        print('# the kernel lets a process type into its terminal' if can_type() else
              '# the kernel lets nobody type into a terminal: what the plugin could open is checked')
        for number, (words, wanted) in enumerate(cases, 1):
            status, shown = on_terminal([program, *words])
            good = status in (0, 1, 3) and wanted in shown and b'reached a terminal' not in shown and TYPED not in shown
            failed += not good
            print(f'{"ok" if good else "not ok"} {number} - {" ".join(words[:2])} on a terminal')
            if not good:
                print('# ' + f'status {status}: {shown.decode(errors="replace")}'.replace('\n', '\n# '))
    print(f'1..{len(cases)}')
    return 1 if failed else 0


sys.exit(main())
