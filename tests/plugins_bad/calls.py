#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every system call, tried by a confined plugin, changes nothing outside: calls.py STEPTIME MODULES

The plugin is looked at on a pseudo-terminal, with namespaces and where they are forbidden, as this user and, for
root, as nobody; and it runs in the process of a command with --confine. Folder, process and tables of the kernel are compared before and after. Prints TAP.
"""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

LIMIT_S = 60
NOBODY = 65534
TABLES = ['/proc/sysvipc/shm', '/proc/sysvipc/msg', '/proc/sysvipc/sem', '/proc/keys']
CONFINED = ['estimate', 'llama3-8b-8xh100', '--refine', 'bad-calls', '--set', 'parallel.tp=2', '--set', 'parallel.dp=4',
            '--set', 'parallel.sequence_parallel=false', '--quiet', '--confine']
# A process whose user may make no namespaces.
FORBID = ['unshare', '-Ur', 'sh', '-c', 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"', 'sh']


def state_of(folder, victim):
    """What a plugin must not change."""
    files = {}
    for path in [folder, *sorted(folder.rglob('*'))]:
        status = os.lstat(path)
        files[str(path)] = (status.st_mode, status.st_uid, status.st_gid, status.st_size, status.st_mtime_ns,
                            status.st_ctime_ns, os.listxattr(path) if path.exists() else [],
                            path.read_bytes() if path.is_file() else b'')
    process = (victim.poll(), os.getpriority(os.PRIO_PROCESS, victim.pid), os.sched_getaffinity(victim.pid),
               os.sched_getscheduler(victim.pid), pathlib.Path(f'/proc/{victim.pid}/limits').read_text(),
               pathlib.Path(f'/proc/{victim.pid}/stat').read_text().split()[2])
    tables = {name: pathlib.Path(name).read_text() for name in TABLES if os.access(name, os.R_OK)}
    for name, text in tables.items():  # when a key expires changes by itself
        tables[name] = re.sub(r'\s\d+[smhdw]\s', ' ', text)
    return files, process, tables


def on_terminal(words, environment, user):
    """Runs a command on a pseudo-terminal: its status, and all that the terminal showed."""
    child, master = pty.fork()
    if child == 0:
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        os.execvpe(words[0], words, environment)
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
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode(errors='replace')


def names_every_call(program, work, number):
    """The author of a plugin reads the names of the refused calls, not their numbers."""
    folder = work / 'traced'
    folder.mkdir()
    check = [program, 'plugin', 'check', 'bad-calls', '--trace', '--path', str(work / 'tree')]
    victim = subprocess.Popen(['sleep', str(2 * LIMIT_S)], stdin=subprocess.DEVNULL)
    environment = {**os.environ, 'VICTIM_FOLDER': str(folder), 'VICTIM_PROCESS': str(victim.pid)}
    done = subprocess.run(check, capture_output=True, text=True, check=False, env=environment)
    victim.kill()
    victim.wait()
    refused = re.search(r'refused: (.*)', done.stdout)
    names = [part.split(' (')[0] for part in refused.group(1).split(', ')] if refused else []
    named = {name for name in names if not re.fullmatch(r'call \d+', name)}  # a kernel has calls that no header names
    fine = len(named) > 250 and {'renameat2', 'mq_open', 'bpf', 'setxattr', 'openat to write'} <= named
    print(f'{"ok" if fine else "not ok"} {number} - names of refused calls: {len(named)}')
    return fine


def main():
    program, modules = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    work = pathlib.Path(tempfile.mkdtemp())
    tree = work / 'tree/plugins/bad-calls'
    tree.mkdir(parents=True)
    shutil.copy(modules / 'bad-calls.so', tree)
    look = [program, 'plugin', 'info', 'bad-calls', '--json', '--path', str(work / 'tree')]
    can_forbid = subprocess.run([*FORBID, 'true'], capture_output=True, check=False).returncode == 0
    confined = [program, *CONFINED, '--path', str(work / 'tree')]
    cases = [('with namespaces', [], None, look), ('without namespaces', FORBID, None, look),
             ('a confined command', [], None, confined)]
    if os.getuid() == 0:
        cases += [('with namespaces, as nobody', [], NOBODY, look),
                  ('without namespaces, as nobody', FORBID, NOBODY, look),
                  ('a confined command, as nobody', [], NOBODY, confined)]
    print(f'1..{len(cases) + 1}')
    failed = 0
    for number, (title, before, user, command) in enumerate(cases, 1):
        if before and not can_forbid:
            print(f'ok {number} - {title} # SKIP no namespace to forbid namespaces in')
            continue
        folder = pathlib.Path(tempfile.mkdtemp())
        (folder / 'file').write_text('2.385\n')
        for path in [work, folder, folder / 'file']:
            path.chmod(0o755)
            if user is not None and path != work:
                os.chown(path, user, user)
        victim = subprocess.Popen(['sleep', str(2 * LIMIT_S)], user=user, stdin=subprocess.DEVNULL)
        environment = {**os.environ, 'VICTIM_FOLDER': str(folder), 'VICTIM_PROCESS': str(victim.pid)}
        time.sleep(0.1)  # until it sleeps
        then = state_of(folder, victim)
        if command is look:
            status, shown = on_terminal([*before, *look], environment, user)
        else:  # it would wait for what is typed
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                  env=environment, user=user, extra_groups=None if user is None else [])
            status, shown = done.returncode, done.stdout + done.stderr
        time.sleep(0.1)
        now = state_of(folder, victim)
        summary = ''
        if status == 0 and command is look:
            summary = json.loads(shown).get('summary', '')
        elif status == 0:
            summary = (re.findall(r'\d+ tried, through:[^\n\r]*?(?: none|[)])', shown) or [''])[0]
        faults = [] if status == 0 else [f'status {status}: {shown[-400:]}']
        faults += [f'changed: {old} -> {new}' for old, new in zip(then, now) if old != new]
        if not re.fullmatch(r'[1-9]\d{3,} tried, through: none', summary):
            faults.append(f'summary: {summary}')
        victim.kill()
        victim.wait()
        shutil.rmtree(folder)
        failed += bool(faults)
        print(f'{"not ok" if faults else "ok"} {number} - {title}: {summary[:40]}')
        for fault in faults:
            print('# ' + fault[:1500].replace('\n', '\n# '))
        sys.stdout.flush()
    failed += not names_every_call(program, work, len(cases) + 1)
    shutil.rmtree(work)
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
