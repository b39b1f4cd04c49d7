#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Somebody stops (SIGSTOP) processes of a plugin that has its own: stopped.py STEPTIME ROOT MODULES

A plugin with --isolate has a keeper, a process that holds the namespace and one that answers. Whichever of
them stop in the middle of a sweep, the sweep ends soon: with all rows where the plugin still answers, and
else with an error that names plugin, provider and row. No process is left. Prints TAP.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT_S = 40  # of the clock; a call may take 10 s
SAID = ["plugin 'bad-good' ended its process or was killed in 'all_reduce'", ' while computing ',
        'size = ']


def below(process):
    """The processes that it has started, and those of these, in order."""
    try:
        tasks = pathlib.Path(f'/proc/{process}/task').glob('*/children')
        children = [int(word) for task in tasks for word in task.read_text().split()]
    except OSError:
        return []
    return [one for child in children for one in [child, *below(child)]]


def family(sweep):
    """The processes of the plugin once all of them answer calls: those that stay for a while."""
    until = time.monotonic() + LIMIT_S
    found = []
    while time.monotonic() < until and sweep.poll() is None:
        before, found = found, below(sweep.pid)
        if found and before == found:
            return found
        time.sleep(0.3)
    return []


def runs(process):
    try:
        state = pathlib.Path(f'/proc/{process}/stat').read_text(encoding='utf-8').rsplit(') ', 1)[1]
    except OSError:
        return False
    return state[0] != 'Z'  # whose parent has yet to ask


def still_there(processes):
    """Those that are left after a moment."""
    for _ in range(20):
        if not any(map(runs, processes)):
            break
        time.sleep(0.05)
    return [process for process in processes if runs(process)]


def fault(program, folder, which):
    """What is wrong where the processes at these places are stopped; None for nothing."""
    # a sweep that does not end by itself before the processes are found
    words = ['sweep', 'llama3-8b-8xh100', '--set', 'parallel.tp=2', '--set', 'parallel.dp=4',
             '--set', 'parallel.sequence_parallel=false', '--refine', 'bad-good', '--isolate', '--over', 'batch.micro=1,2,4', '--over', 'cluster.nic_bandwidth=100..900+0.004 Gbit/s',
             '--threads', '1', '--csv', '-o', '/dev/null', '--path', str(folder)]
    with subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as sweep:
        found = family(sweep)
        chosen = [process for place, process in enumerate(found) if place % 3 in which]  # of each opened plugin
        for process in chosen:
            os.kill(process, signal.SIGSTOP)
        begun = time.monotonic()
        try:
            said = sweep.communicate(timeout=LIMIT_S)[1].decode(errors='replace')
        except subprocess.TimeoutExpired:
            sweep.kill()
            sweep.communicate()
            said = None
        spent_s = time.monotonic() - begun
    left = still_there(found)
    for process in left:
        os.kill(process, signal.SIGKILL)
    if not found:
        return f'the sweep ended before: {said}'
    if said is None:
        return f'it hangs; stopped were {chosen} of {found}'
    if left:
        return f'left: {left} of {found}'
    if sweep.returncode == 1 and all(text in said for text in SAID):
        return None
    answers = 2 not in which  # the others are not asked
    return None if sweep.returncode == 0 and answers else f'status {sweep.returncode} in {spent_s:.1f} s: {said}'


def main():
    program = os.path.abspath(sys.argv[1])
    os.chdir(sys.argv[2])
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        plugin = pathlib.Path(folder) / 'plugins/bad-good'
        plugin.mkdir(parents=True)
        shutil.copy(pathlib.Path(sys.argv[3]) / 'bad-good.so', plugin)
        cases = [(1,), (2,), (0, 2), (0, 1, 2)]
        for number, which in enumerate(cases, 1):
            found = fault(program, folder, which)
            failed += found is not None
            print(f'{"ok" if found is None else "not ok"} {number} - stopped: processes {which}')
            if found is not None:
                print('# ' + found.replace('\n', '\n# '))
            sys.stdout.flush()
    print(f'1..{len(cases)}')
    return 1 if failed else 0


sys.exit(main())
