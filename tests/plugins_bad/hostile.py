#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins that harm the process or the machine: hostile.py STEPTIME ROOT MODULES

Each under check, list, info, estimate and search, the last two also with --isolate. A result is whole
and right, or there is an error; nothing is left of any process; files of others are as they were.
Prints TAP.
"""
import concurrent.futures
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

SETS = ['--set', 'parallel.tp=2', '--set', 'parallel.dp=4', '--set', 'parallel.sequence_parallel=false']
ESTIMATE = ['estimate', 'llama3-8b-8xh100', *SETS, '--csv']
SWEEP = ['sweep', 'llama3-8b-8xh100', *SETS, '--over', 'cluster.nic_bandwidth=100..160+0.1 Gbit/s', '--over', 'batch.micro=1,2,4',
         '--cells', 'step_time', '--csv']  # 48 kB, in several pieces
SEARCH = ['search', 'llama3-8b-8xh100', '--only', 'parallel.tp=1,2', '--set', 'parallel.sequence_parallel=false', '--threads', '2',
          '--csv']

# What an estimate in this process ends with: 'whole' is the result of a plugin that does no harm,
# with a warning; a number is an exit status; 'dies' is a signal, with the name of the plugin.
IN_PROCESS = {
    'exit': (1, "plugin 'hostile-exit' ends the program in 'all_reduce'"),
    'quick-exit': (1, "plugin 'hostile-quick-exit' ends the program in 'all_reduce'"),
    'low-exit': (1, "plugin 'hostile-low-exit' ends the program in 'all_reduce'"),
    'thread-exit': (1, "the program ended before its work was done: plugin 'hostile-thread-exit' ran last, in 'all_reduce'"),
    'pthread-exit': (1, "plugin 'hostile-pthread-exit' ends its thread in 'all_reduce'"),
    'exit-load': (1, "plugin 'hostile-exit-load' ends the program in 'load'"),
    'abort': (-signal.SIGABRT, "plugin 'hostile-abort' crashes in 'all_reduce': abort"),
    'abort-later': (-signal.SIGABRT, "plugin 'hostile-abort-later' crashes in 'all_reduce': abort"),
    'wild-write': (-signal.SIGSEGV, "plugin 'hostile-wild-write' crashes in 'all_reduce'"),
    'wild-jump': (-signal.SIGSEGV, "plugin 'hostile-wild-jump' crashes in 'all_reduce'"),
    'wild-thread': (-signal.SIGSEGV, "plugin 'hostile-wild-thread' crashes in 'all_reduce'"),
    'stack': (-signal.SIGSEGV, "plugin 'hostile-stack' crashes in 'all_reduce'"),
    'divide': (-signal.SIGFPE, "plugin 'hostile-divide' crashes in 'all_reduce': division by zero"),
    'chdir': ('whole', "warning: plugin 'hostile-chdir' changed the working folder in 'all_reduce'"),
    'umask': ('whole', "warning: plugin 'hostile-umask' changed the umask in 'all_reduce'"),
    'locale': ('whole', "warning: plugin 'hostile-locale' changed the locale in 'all_reduce'"),
    'rounding': ('whole', "plugin 'hostile-rounding' changed floating-point rounding"),
    'traps': ('whole', "plugin 'hostile-traps' changed floating-point rounding or traps"),
    'flush': ('whole', "plugin 'hostile-flush' changed floating-point rounding or traps"),
    'signals': ('whole', "plugin 'hostile-signals' changed signal handlers in 'all_reduce'"),
    'close': ('whole', "plugin 'hostile-close' closed or replaced standard streams in 'all_reduce'; steptime restored it"),
    'close-load': ('whole', "plugin 'hostile-close-load' closed or replaced standard streams in 'load'; steptime restored it"),
    'replace': ('whole', "plugin 'hostile-replace' closed or replaced standard streams in 'all_reduce'; steptime restored it"),
    'replace-load': ('whole', "plugin 'hostile-replace-load' closed or replaced standard streams in 'load'; steptime restored it"),
    'close-folder': ('whole', "warning: plugin 'hostile-close-folder' changed the working folder in 'all_reduce'"),
    'close-above': (1, "error: plugin 'hostile-close-above' closed or replaced file descriptors that cannot be restored in"),
    'chdir-load': ('whole', "warning: plugin 'hostile-chdir-load' changed the working folder in 'load'"),
    'umask-load': ('whole', "warning: plugin 'hostile-umask-load' changed the umask in 'load'"),
    'locale-load': ('whole', "warning: plugin 'hostile-locale-load' changed the locale in 'load'"),
    'rounding-load': ('whole', "plugin 'hostile-rounding-load' changed floating-point rounding or traps in 'load'"),
    'signals-load': ('whole', "plugin 'hostile-signals-load' changed signal handlers in 'load'"),
    'mask-load': ('whole', "plugin 'hostile-mask-load' blocked signals in 'load'; steptime restored it"),
    'limits-load': ('whole', "plugin 'hostile-limits-load' lowered resource limits in 'load'; steptime restored it"),
    'print-load': ('whole', '2385 printed'),
    'stack-load': (-signal.SIGSEGV, "plugin 'hostile-stack-load' crashes in 'load'"),
    'exit-end': (1, "error: plugin 'hostile-exit-end' ends the program in 'unload'"),
    'chdir-end': ('whole', 'changed the working folder in'),
    'cancel': (1, "plugin 'hostile-cancel' ends its thread in 'all_reduce'"),
    'trap': (-signal.SIGILL, "plugin 'hostile-trap' crashes in 'all_reduce': invalid instruction"),
    'pipe': ('whole', ''),
    'infinite': (1, "provider 'hostile-infinite' fails or returns an unusable value"),
    'print': ('whole', '2385 printed'),
    'descriptor': ('whole', '2385 printed'),
    'columns': (1, "error: plugin 'hostile-columns' wrote to its arguments in 'all_reduce'"),
    'sort': (1, "error: plugin 'hostile-sort' wrote to its arguments in 'all_reduce'"),
    'beyond': (-signal.SIGSEGV, "plugin 'hostile-beyond' crashes in 'all_reduce'"),
    'files': ('whole', ''),
    'outlive': ('whole', ''), 'vfork': ('whole', ''), 'daemon': ('whole', ''),
    'environment': ('whole', "plugin 'hostile-environment' changed the environment in 'all_reduce'; steptime restored it"),
    'clearenv': ('whole', "plugin 'hostile-clearenv' changed the environment in 'all_reduce'; steptime restored it"),
    'altstack': ('whole', "plugin 'hostile-altstack' changed the stack of signal handlers in 'all_reduce'; steptime restored it"),
    'twice': ('whole', "error: plugin 'hostile-twice' returns from a fork in 'all_reduce'"),
    'user-signal': (-signal.SIGUSR1, "plugin 'hostile-user-signal' crashes in 'all_reduce': signal SIGUSR1"),
    'real-time': (-(signal.SIGRTMIN + 3), "plugin 'hostile-real-time' crashes in 'all_reduce': a signal that nobody expects"),
    'quit': (-signal.SIGQUIT, "plugin 'hostile-quit' crashes in 'all_reduce': signal SIGQUIT"),
    'hang-up': (-signal.SIGHUP, "plugin 'hostile-hang-up' was running in 'all_reduce'"),
    'scribble': ('whole', ''),
    'addresses': (1, 'error: out of memory'),
    'limits': ('whole', "plugin 'hostile-limits' lowered resource limits in 'all_reduce'; steptime restored it"),
    'mask': ('whole', "plugin 'hostile-mask' blocked signals in 'all_reduce'; steptime restored it"),
    'strict': (-signal.SIGKILL, ''),  # the kernel's, at the next call; nobody can undo it
    'at-exit': (1, "error: plugin 'hostile-at-exit' ends the program in 'unload'"),
    'at-end': (-signal.SIGSEGV, "error: plugin 'hostile-at-end' crashes in 'unload'"),
    'jump': (-signal.SIGSEGV, "plugin 'hostile-jump' crashes in 'all_reduce'"),
    'text': (-signal.SIGSEGV, "plugin 'hostile-text' crashes in 'all_reduce'"),
    'free': (-signal.SIGABRT, "plugin 'hostile-free' crashes in 'all_reduce': abort"),
    'terminate': (-signal.SIGTERM, "plugin 'hostile-terminate' was running in 'all_reduce'"),
    'silence-write': (1, ''),  # messages, too
    'silence-rename': (1, "error: plugin 'hostile-silence-rename' filters the system calls of the program in 'all_reduce'"),
    'timer': (-signal.SIGUSR1, "error: plugin 'hostile-timer' "),  # runs or ran last
    'another': (0, ''),  # another program, whose status it is
    'direction': ('whole', "plugin 'hostile-direction' changed flags of the processor in 'all_reduce'"),
    'alignment': ('whole', "plugin 'hostile-alignment' changed flags of the processor in 'all_reduce'"),
    'close-error': ('whole', "plugin 'hostile-close-error' closed or replaced standard streams in 'all_reduce'"),
    'fork-end': ('whole', ''),
    'shrink': (-signal.SIGSEGV, "plugin 'hostile-shrink' ran last before the program ended, in 'all_reduce'"),
}


# With --isolate: the result of a plugin that does no harm, or an error with this reason.
APART = {
    'exit': 'it ended its process', 'quick-exit': 'it ended its process', 'low-exit': 'it ended its process',
    'thread-exit': 'it ended its process', 'pthread-exit': 'it ended its process',
    'exit-load': 'it ended its process', 'abort': 'it crashed: signal 6',
    'abort-later': 'ended its process or was killed', 'wild-write': 'it crashed: signal 11',
    'wild-jump': 'it crashed: signal 11', 'wild-thread': 'it crashed: signal 11', 'stack': 'it crashed: signal 11',
    'beyond': 'it crashed: signal 11', 'divide': 'it crashed: signal 8', 'kill': 'it crashed: signal 9',
    'stop': 'it stopped its process', 'memory': 'it crashed: signal 6', 'columns': 'unusable value',
    'jump': 'it crashed: signal 11', 'text': 'it crashed: signal 11', 'free': 'it crashed: signal 6',
    'terminate': 'it crashed: signal 15', 'user-signal': 'it crashed: signal 10',
    'real-time': 'it crashed: signal 37', 'quit': 'it crashed: signal 3', 'hang-up': 'it crashed: signal 1',
    'cancel': 'it ended its process', 'trap': 'it crashed: signal 4', 'pipe': 'it crashed: signal 13',
    'silent-load': 'it did not answer within 5 s',
    'infinite': 'unusable value', 'stack-load': 'it crashed: signal 11',
    'sort': 'unusable value', 'interrupt': 'it crashed: signal ',  # 11 where the kernel has no 32-bit calls
}
STREAMS = ['scribble', 'close', 'replace', 'close-load', 'replace-load']  # in process
SLOW = {'loop'}  # ended by limits of time, which takes as long
RACES = {'alarm', 'outlive-end', 'on-exit'}  # ends the process, or is stopped before
FAIL_CHECK = {'exit', 'quick-exit', 'low-exit', 'thread-exit', 'pthread-exit', 'exit-load', 'abort', 'abort-later', 'wild-write',
              'wild-jump', 'wild-thread', 'stack', 'divide', 'kill', 'stop', 'memory', 'chdir', 'umask', 'locale',
              'rounding', 'traps', 'flush', 'signals', 'columns', 'sort', 'close-load', 'scribble-load', 'loop', 'beyond', 'close', 'scribble', 'at-exit',
              'chdir-load', 'umask-load', 'locale-load', 'rounding-load', 'signals-load', 'mask-load', 'stack-load',
              'exit-end', 'close-folder', 'close-above', 'cancel', 'trap', 'pipe', 'infinite', 'silent-load',
              'at-end', 'jump', 'text', 'free', 'terminate', 'mask', 'altstack', 'clearenv', 'environment', 'hang-up', 'quit',
              'real-time', 'user-signal', 'direction', 'alignment', 'outlive-end', 'close-error', 'interrupt'}


class Bench:
    def __init__(self, program, root, modules, work):
        self.program = program
        self.work = work
        self.mark = 'HOSTILE_RUN=' + uuid.uuid4().hex
        name, value = self.mark.split('=')
        self.environment = {**os.environ, name: value}
        self.environment.pop('MALLOC_PERTURB_', None)  # it would fill gigabytes
        self.names = sorted(path.stem[len('hostile-'):] for path in modules.glob('hostile-*.so'))
        for module in [*modules.glob('hostile-*.so'), modules / 'bad-good.so']:
            folder = work / 'tree/plugins' / module.stem
            folder.mkdir(parents=True)
            shutil.copy(module, folder)
        self.number = self.failed = 0

    def run(self, words, timeout_s=20):
        """Status, output, messages; the status is None where it does not end."""
        def limits():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        child = subprocess.Popen([self.program, *words, '--path', str(self.work / 'tree')], cwd=self.work,
                                 env=self.environment, preexec_fn=limits, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, said = child.communicate(timeout=timeout_s)
            return child.returncode, out.decode(errors='replace'), said.decode(errors='replace')
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, said = child.communicate()
            return None, out.decode(errors='replace'), said.decode(errors='replace')

    def descendants(self):
        """Processes that carry the mark of this run."""
        found = []
        for folder in pathlib.Path('/proc').iterdir():
            if folder.name.isdigit():
                try:
                    if self.mark.encode() in (folder / 'environ').read_bytes():
                        found.append(int(folder.name))
                except OSError:
                    pass
        return found

    def left(self):
        """Those that are left after a moment; they are ended."""
        for _ in range(20):
            found = self.descendants()
            if not found:
                return []
            time.sleep(0.05)
        for process in found:
            os.kill(process, signal.SIGKILL)
        return found

    def verdict(self, what, fault):
        self.number += 1
        self.failed += bool(fault)
        print(f'{"not ok" if fault else "ok"} {self.number} - {what}')
        if fault:
            print('# ' + fault[:700].replace('\n', '\n# '))
        sys.stdout.flush()

    def try_all(self, trials):
        """Several at once; told in their order."""
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for (what, _, _), fault in zip(trials, pool.map(lambda trial: trial[1](*trial[2]), trials)):
                self.verdict(what, fault)


def fault_in_process(bench, name, whole):
    expected, text = IN_PROCESS[name]
    status, out, said = bench.run([*ESTIMATE, '--refine', 'hostile-' + name])
    if text not in said:
        return f'no "{text}" in: {said}'
    if expected == 'whole':
        return None if (status, out) == (0, whole) else f'status {status}, output {out[:200]}'
    if status != expected:
        return f'status {status}, not {expected}: {said}'
    return f'a result: {out[:200]}' if out else None


def fault_of_rows(bench, name, whole):
    """Rows that are written while others are still computed are those of the computation alone."""
    status, out, said = bench.run([*SWEEP, '--refine', 'hostile-' + name], 60)
    if (status, out) == (0, whole) and IN_PROCESS[name][1] in said:
        return None
    return f'status {status}, {len(out)} of {len(whole)} bytes: {said}'


def apart(verb, name):
    """The words of a run with the plugin in a process of its own: by the option, or by the job's key."""
    return [*verb, '--refine', name, *(['--isolate'] if verb is ESTIMATE else ['--set', 'isolate=true'])]


def fault_of_race(bench, name, whole, words):
    """Whole and right, or an error or the signal, with no more than the beginning of the result."""
    status, out, said = bench.run(words)
    out = out.replace('hostile-' + name, 'bad-good')
    if status == 0:
        return None if out == whole else f'another result: {out[:200]}'
    return None if status in (1, -signal.SIGALRM, -signal.SIGSEGV) and whole.startswith(out) and said else f'status {status}: {out[:200]}{said}'


def fault_apart(bench, name, verb, whole):
    begun = time.monotonic()
    status, out, said = bench.run(apart(verb, 'hostile-' + name))
    spent_s = time.monotonic() - begun
    if name not in APART:
        good = (status, out.replace('hostile-' + name, 'bad-good')) == (0, whole)
        return None if good else f'status {status}, output {out[:300]}, messages {said[:300]}'
    if status == 0 or status is None or status < 0:
        return f'status {status}: {out[:200]}'
    if verb is ESTIMATE and (APART[name] not in said or 'hostile-' + name not in said):
        return f'no "{APART[name]}" in: {said}'
    return f'it took {spent_s:.3f} s' if spent_s > 15 else None


def fault_of_check(bench, name):
    file = bench.work / f'tree/plugins/hostile-{name}/hostile-{name}.so'
    status, out, said = bench.run(['plugin', 'check', str(file), '--limit', '1'], 60)
    expected = 3 if name in FAIL_CHECK else 0
    return None if status == expected else f'status {status}: {out}{said}'


def main():
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # which shells ignore in what runs in the background
    program, root, modules = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(str(program), root, modules, pathlib.Path(folder))
        status, whole, said = bench.run([*ESTIMATE, '--refine', 'bad-good'])
        bench.verdict('a good plugin', None if status == 0 else said)
        trials = [(f'{name}: estimate', fault_in_process, (bench, name, whole)) for name in bench.names
                  if name in IN_PROCESS]
        trials += [(f'{name}: estimate', fault_of_race, (bench, name, whole, [*ESTIMATE, '--refine', 'hostile-' + name]))
                   for name in RACES]
        status, rows, said = bench.run([*SWEEP, '--refine', 'bad-good'], 60)
        bench.verdict('a good plugin: rows in pieces', None if status == 0 else said)
        trials += [(f'{name}: rows in pieces', fault_of_rows, (bench, name, rows)) for name in STREAMS]
        for verb, what in ((ESTIMATE, 'estimate --isolate'), (SEARCH, 'search, isolate: true')):
            status, whole, said = bench.run(apart(verb, 'bad-good'))
            bench.verdict(f'a good plugin: {what}', None if status == 0 else said)
            trials += [(f'{name}: {what}', fault_apart, (bench, name, verb, whole)) for name in bench.names
                       if name not in SLOW | RACES]
            trials += [(f'{name}: {what}', fault_of_race, (bench, name, whole, apart(verb, 'hostile-' + name)))
                       for name in RACES]
        bench.try_all(trials)
        bench.verdict('nothing is left', repr(bench.left()) if bench.left() else None)
        bench.try_all([(f'{name}: plugin check', fault_of_check, (bench, name)) for name in bench.names
                       if name not in SLOW | RACES])
        status, out, said = bench.run(['plugin', 'list', '--look', '--csv'], 120)
        listed = [name for name in bench.names if f'hostile-{name},' not in out]
        bench.verdict('plugin list --look', f'status {status}, without {listed}: {said}' if status or listed else None)
        left = bench.left()
        bench.verdict('nothing is left of checks', f'{left}' if left else None)
        print(f'1..{bench.number}')
        return 1 if bench.failed else 0


sys.exit(main())
