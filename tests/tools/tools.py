#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How `steptime` finds, checks and starts its tools: tools.py STEPTIME TOOL

Builds installations out of copies and spoils one thing in each. Prints TAP.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

FOREIGN = '#!/bin/sh\necho foreign code ran\n'
WORDS = ['trace', 'summary', '/dev/null']


class Installation:
    """A tree with bin/steptime and libexec/steptime/steptime-trace."""

    def __init__(self, folder, program, tool):
        self.root = pathlib.Path(folder)
        self.tools = self.root / 'libexec/steptime'
        self.program = self.root / 'bin/steptime'
        self.tool = self.tools / 'steptime-trace'
        self.program.parent.mkdir()
        self.tools.mkdir(parents=True)
        shutil.copy(program, self.program)
        shutil.copy(tool, self.tool)

    def script(self, path, text):
        path.unlink(missing_ok=True)
        path.write_text(text, encoding='utf-8')
        path.chmod(0o755)

    def run(self, *words):
        environment = dict(os.environ, PATH=f'{self.root}/path:{os.environ["PATH"]}')
        done = subprocess.run([self.program, *words], capture_output=True, text=True, env=environment, check=False)
        return done.returncode, done.stdout, done.stderr


def missing(at):
    at.tool.unlink()
    (at.root / 'path').mkdir()
    at.script(at.root / 'path/steptime-trace', FOREIGN)
    return 1, "'steptime trace summary' requires steptime-trace, which is not installed; install it in "


def foreign(at):
    at.script(at.tool, FOREIGN)
    return 1, 'not a tool of steptime'


def broken(at):
    data = at.tool.read_bytes()
    at.tool.write_bytes(data[:2385])
    return 1, 'not a tool of steptime'


def empty(at):
    at.tool.write_bytes(b'')
    return 1, 'not a tool of steptime'


def other_release(at):
    data = at.tool.read_bytes()
    mark = b'@(#)steptime-tool:trace:'
    place = data.index(mark) + len(mark)
    at.tool.write_bytes(data[:place] + b'9' + data[place + 1:])
    return 1, 'a tool of another release: found 9'


def other_tool(at):
    data = at.tool.read_bytes()
    at.tool.write_bytes(data.replace(b'steptime-tool:trace:', b'steptime-tool:brace:'))
    return 1, 'not a tool of steptime'


def writable_tool(at):
    at.tool.chmod(0o757)
    return 1, 'the tool is writable by other users'


def writable_folder(at):
    at.tools.chmod(0o777)
    return 1, 'the tool folder is writable by other users'


def foreign_tool(at):
    os.chown(at.tool, 65534, 65534)
    return 1, 'the tool is owned by neither root nor you'


def foreign_folder(at):
    os.chown(at.tools, 65534, 65534)
    return 1, 'the tool folder is owned by neither root nor you'


def move_behind_link(at, mode, target=None):
    """The tool is a link to one of the same name in another folder of that mode."""
    other = at.root / 'elsewhere'
    other.mkdir()
    shutil.move(at.tool, other / 'steptime-trace')
    at.tool.symlink_to(target or other / 'steptime-trace')
    other.chmod(mode)
    return other


def link_into_writable_folder(at):
    move_behind_link(at, 0o777)
    return 1, 'elsewhere/: error: the tool folder is writable by other users'


def relative_link_into_writable_folder(at):
    move_behind_link(at, 0o777, '../../elsewhere/steptime-trace')
    return 1, 'elsewhere/: error: the tool folder is writable by other users'


def second_link_into_writable_folder(at):
    other = move_behind_link(at, 0o777)
    (at.root / 'between').mkdir()
    (at.root / 'between/tool').symlink_to(other / 'steptime-trace')
    at.tool.unlink()
    at.tool.symlink_to(at.root / 'between/tool')
    return 1, 'elsewhere/: error: the tool folder is writable by other users'


def link_into_foreign_folder(at):
    os.chown(move_behind_link(at, 0o755), 65534, 65534)
    return 1, 'elsewhere/: error: the tool folder is owned by neither root nor you'


def link_to_itself(at):
    at.tool.unlink()
    at.tool.symlink_to('steptime-trace')
    return 1, 'too many links'


def no_program(at):
    at.tool.chmod(0o644)
    return 1, 'not a program'


def a_folder(at):
    at.tool.unlink()
    at.tool.mkdir()
    return 1, 'not a program'


SPOILED = [missing, foreign, broken, empty, other_release, other_tool, writable_tool, writable_folder, foreign_tool,
           foreign_folder, link_into_writable_folder, relative_link_into_writable_folder,
           second_link_into_writable_folder, link_into_foreign_folder, link_to_itself, no_program, a_folder]


def spoiled(at, spoil):
    if spoil in (foreign_tool, foreign_folder, link_into_foreign_folder) and os.geteuid() != 0:
        return None
    code, text = spoil(at)
    found = at.run(*WORDS)
    return None if found[0] == code and text in found[2] and found[1] == '' else f'{found}, and not {code}: {text}'


def sound(at, _):
    found = at.run('trace', 'summary', '--help')
    if found[0] != 0 or not found[1].startswith('steptime trace summary:'):
        return f'the tool does not start: {found}'
    found = at.run('help', 'trace', 'summary')
    return None if found[0] == 0 and found[1].startswith('steptime trace summary:') else f'no help: {found}'


def linked(at, _):
    move_behind_link(at, 0o755)
    found = at.run('trace', 'summary', '--help')
    return None if found[0] == 0 and found[1].startswith('steptime trace summary:') else f'a link: {found}'


def of_a_user(at, _):
    at.script(at.tools / 'steptime-hello', '#!/bin/sh\necho hello "$@"\nexit 7\n')
    found = at.run('hello', 'you', '--json')
    if found != (7, 'hello hello you --json\n', ''):
        return f'the verb of a user: {found}'
    found = at.run('help')
    if 'Your own:' not in found[1] or 'hello' not in found[1].split('Your own:')[1].split('\n')[0]:
        return f'help does not list it: {found[1]}'
    (at.tools / 'steptime-hello').chmod(0o777)
    found = at.run('hello')
    return None if found[0] == 1 and 'is writable by other users' in found[2] else f'writable: {found}'


def left_out(at, _):
    at.tool.unlink()
    found = at.run('help')
    if found[0] != 0 or 'trace summary' in found[1] or 'steptime estimate' not in found[1]:
        return f'help: {found}'
    found = at.run('docs', 'commands')
    return None if found[0] == 0 and '## steptime trace summary' not in found[1] else 'pages have its verbs'


def main():
    program, tool = map(os.path.abspath, sys.argv[1:3])
    cases = [(f'a tool: {spoil.__name__.replace("_", " ")}', spoiled, spoil) for spoil in SPOILED]
    cases += [('a sound installation', sound, None), ('a tool behind a link', linked, None),
              ('a verb of a user', of_a_user, None),
              ('pages without a tool', left_out, None)]
    failed = 0
    for number, (name, check, detail) in enumerate(cases, 1):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            fault = check(Installation(folder, program, tool), detail)
        failed += fault is not None
        print(f'{"ok" if fault is None else "not ok"} {number} - {name}')
        if fault is not None:
            print('# ' + fault.replace('\n', '\n# '))
    print(f'1..{len(cases)}')
    return 1 if failed else 0


sys.exit(main())
