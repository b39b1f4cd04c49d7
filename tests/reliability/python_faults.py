#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every allocation and system call fails in turn while the Python module runs: python_faults.py ROOT FAULTS.SO [--most N] [--only WORD]

Each failure has a process of its own, a fork of one that has done the same without a failure. The interpreter may not crash nor
hang; what it raises is an exception of the module, MemoryError or one of Python's that says the same; a result without an exception
is that of a run without a failure, unless a warning says more; and once the failure is over, the same call has the same result.
Prints TAP, a case for each piece of work with the number of failures injected.
"""
import argparse
import ctypes
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings

from injected import KINDS, Verdicts, places

JOB = 'gpt-3b-32x3090'
SECONDS = 60
# What Python itself says where it lacks memory or a thread.
PYTHONS = ("can't allocate lock", "can't allocate read lock", "can't start new thread")


def job(st, root, work):
    one = st.Job(JOB, {'batch.micro': 4})
    one['cluster.bandwidth.tp'] = '4.385 GB/s'
    return float(one.step_time), float(one.cell('T_bubble').value), one['parallel.dp'], str(one.explain('T_iter'))


def texts(st, root, work):
    one = st.Job(JOB)
    return str(one.report), str(one.timeline), str(one.traffic()), one._repr_html_()


def unknown(st, root, work):
    one = st.Job(JOB)
    try:
        one['batch.mikro'] = 2
    except KeyError:  # without memory for its text, one of few words
        return True
    raise AssertionError('a key that does not exist was set')


def sweep(st, root, work):
    table = st.sweep(JOB, {'batch.micro': [1, 2, 4, 3], 'parallel.tp': [1, 2]}, cells=['T_iter'], threads=1)
    return repr(table), list(table['T_iter'])


def arrow(st, root, work):
    table = st.sweep(JOB, {'batch.micro': [1, 2, 4]}, cells=['T_iter'], threads=1)
    return table.to_pandas().to_string(), table['T_iter'].__array__().tolist()


def search(st, root, work):
    found = st.search(JOB, only=['parallel.tp=1,2,4'], top=3, threads=1)
    return [(one.keys, float(one.goal)) for one in found], found.passed


def provider(st, root, work):
    @st.provider('all_reduce', unit='s', reads={'size': 'B', 'ranks': '1', 'bandwidth': 'B/s'})
    def ring(size, ranks, bandwidth):
        return 2.385 * size / bandwidth
    return float(st.Job(JOB, refine=ring).step_time)


def refined(st, root, work):
    return float(st.Job(JOB, refine='nccl-whitebox').step_time)


def recording(st, root, work):
    trace = st.read_trace(str(root / 'tests/fuzz/corpus/trace/ranks.json'))
    return str(trace.sql('SELECT name, sum(duration_ns) AS ns FROM kernels GROUP BY name ORDER BY name'))


def validation(st, root, work):
    return [one['failed'] for one in st.validate('li2024').data['sources']]


def exported(st, root, work):
    return st.Job('llama3-8b-8xh100').export('megatron')


def workbook(st, root, work):
    path = work / 'book.xlsx'
    path.unlink(missing_ok=True)
    st.Job(JOB).workbook(str(path))
    return path.read_bytes()[:2]


WORK = [job, texts, unknown, sweep, arrow, search, provider, refined, recording, validation, exported, workbook]
# libxlsxwriter and NumPy do not ask everywhere whether they got memory, and crash.
CRASHES = {('workbook', 'memory'), ('arrow', 'memory')}


class Faults:
    """The library that is loaded before all others (faults.c)."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.faults_count.restype = ctypes.c_long

    def begin(self, kind, at):
        self.library.faults_begin(kind.encode(), ctypes.c_long(at))

    def end(self):
        self.library.faults_end()

    def count(self, kind):
        return self.library.faults_count(kind.encode())


def in_child(what):
    """What a fork says: (status, text); the status is None for one that hangs."""
    ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(ends[0])
            signal.alarm(SECONDS)
            text = what()
            status = 1 if text else 0
        except BaseException:
            text = traceback.format_exc()
        finally:
            os.write(ends[1], (text or '').encode()[:4000])
            os._exit(status)
    os.close(ends[1])
    with open(ends[0], encoding='utf-8', errors='replace') as answer:
        text = answer.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return (None if status == -signal.SIGALRM else status), text


def attempt(st, faults, function, root, work, whole, kind, at):
    """Runs with one failure; "" or what is wrong."""
    raised = None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter('always')
        faults.begin(kind, at)
        try:
            result = function(st, root, work)
        except BaseException as fault:
            raised = fault
        faults.end()
    if raised is None and result != whole and not warned:
        return f'success with another result: {result!r:.300}'
    if raised is not None and not isinstance(raised, (st.Error, MemoryError, OSError, ImportError)) and str(raised) not in PYTHONS:
        return ''.join(traceback.format_exception(raised))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        again = function(st, root, work)
    return '' if again == whole else f'afterwards another result: {again!r:.300}'


def try_work(st, faults, function, root, work, most):
    """Numbers of failures by kind, and what was found."""
    injected, found, known = {}, [], 0
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        function(st, root, work)  # what is loaded once
        faults.begin('none', 0)
        whole = function(st, root, work)
        faults.end()
    counts = {kind: faults.count(kind) for kind in KINDS}
    for kind in KINDS:
        for at in places(counts[kind], most):
            injected[kind] = injected.get(kind, 0) + 1
            status, text = in_child(lambda: attempt(st, faults, function, root, work, whole, kind, at))
            if status == 0:
                continue
            if (function.__name__, kind) in CRASHES and status is not None and status < 0:
                known += 1
                continue
            what = 'it hangs' if status is None else f'signal {-status}' if status < 0 else text
            found.append(f'{kind} {at} of {counts[kind]}: {what}')
    return injected, known, found


def import_once(faults, kind, at):
    """The import itself with one failure, in a fork that has not imported it."""
    faults.begin(kind, at)
    try:
        import steptime as st
    except (MemoryError, OSError, ImportError):
        faults.end()
        return ''
    except BaseException as fault:
        faults.end()
        return '' if str(fault) in PYTHONS else ''.join(traceback.format_exception(fault))
    faults.end()
    value = float(st.Job(JOB).step_time)
    return '' if value > 0 else f'a step of {value}'


def try_import(faults, most):
    import _cffi_backend  # noqa: F401 # its own import is none of the module's
    import numpy  # noqa: F401

    def count():
        faults.begin('none', 0)
        import steptime  # noqa: F401
        faults.end()
        return ' '.join(str(faults.count(kind)) for kind in KINDS)
    counts = dict(zip(KINDS, map(int, in_child(count)[1].split())))
    injected, found, known = {}, [], 0
    for kind in KINDS:
        for at in places(counts[kind], most):
            injected[kind] = injected.get(kind, 0) + 1
            status, text = in_child(lambda: import_once(faults, kind, at))
            if kind == 'memory' and status in (1, 127) and not text:  # libgomp or the loader ends the process
                known += 1
            elif status != 0:
                what = 'it hangs' if status is None else f'signal {-status}' if status < 0 else text
                found.append(f'{kind} {at} of {counts[kind]}: {what}')
    return injected, known, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('root', type=pathlib.Path)
    parser.add_argument('library', type=os.path.abspath)
    parser.add_argument('--most', type=int)
    parser.add_argument('--only')
    given = parser.parse_args()
    if os.environ.get('LD_PRELOAD') != given.library:
        try:
            import cffi  # noqa: F401
            import numpy  # noqa: F401
            import pandas  # noqa: F401
        except ImportError as fault:
            print(f'1..1\nok 1 - failures in Python # SKIP {fault}')
            return 0
        # Compiled, as an installation is: Python's own compiler calls a file without faults wrong where it lacks memory.
        with tempfile.TemporaryDirectory() as compiled:
            environment = {**os.environ, 'OMP_NUM_THREADS': '1', 'SOURCE_DATE_EPOCH': '1700000000', 'PYTHONPYCACHEPREFIX': compiled}
            package = importlib.util.find_spec('steptime').submodule_search_locations[0]
            subprocess.run([sys.executable, '-m', 'compileall', '-q', package], env=environment, check=True)
            return subprocess.run([sys.executable, *sys.argv], env={**environment, 'LD_PRELOAD': given.library}).returncode
    os.environ.pop('LD_PRELOAD')
    root, faults, verdicts = given.root.resolve(), Faults(given.library), Verdicts()
    names = ['import', *[one.__name__ for one in WORK]]
    names = [name for name in names if given.only is None or given.only in name]
    with tempfile.TemporaryDirectory() as folder:
        os.environ['TMPDIR'] = folder  # a crash inside libxlsxwriter leaves the workbook's folder
        for name in names:
            if name == 'import':
                outcome = try_import(faults, given.most)
            else:
                import steptime as st
                function = next(one for one in WORK if one.__name__ == name)
                outcome = try_work(st, faults, function, root, pathlib.Path(folder), given.most)
            verdicts.give(name, *outcome)
    return verdicts.end()


sys.exit(main())
