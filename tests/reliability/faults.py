#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every allocation, open, read, write, sync, rename, fork and dlopen fails in turn, over typical commands:

    faults.py STEPTIME ROOT FAULTS.SO BUILD [--most N] [--only WORD] [--jobs N]

Each run has one failure. It may not crash nor hang, may not end with 0 and another result than without the
failure unless a warning says so, may not leave a file that is neither old nor whole and new, and says why where it fails.
--most is the number of failures of each kind and command, drawn evenly; without it all. Prints TAP,
a case for each command with the number of failures injected.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from injected import KINDS, Verdicts, places

OLD = b'what was there before, 2.385\n' * 40
JOB = 'llama3-8b-8xh100'
HF = {'model_type': 'llama', 'architectures': ['LlamaForCausalLM'], 'hidden_size': 4096, 'num_hidden_layers': 32,
      'num_attention_heads': 32, 'num_key_value_heads': 8, 'intermediate_size': 14336, 'vocab_size': 128256,
      'max_position_embeddings': 8192, 'tie_word_embeddings': False}
PROFILES = {'format': 'steptime profiles', 'schema': 1, 'profiles': [
    {'name': 'site', 'kind': 'options', 'plugin': 'alpha-beta', 'collective': 'all_reduce', 'ranks': 8,
     'nodes': 1, 'payload': '{}', 'provenance': '{}'}]}

# name: words and files written; '{}' is the folder of the run, '{in}' that of its inputs
COMMANDS = {
    'estimate': (['estimate', JOB], []),
    'estimate --json -o': (['estimate', JOB, '--json', '-o', '{}/a'], ['a']),
    'estimate --xlsx --svg': (['estimate', 'gpt-3b-32x3090', '--xlsx', '{}/b.xlsx', '--svg', '{}/c', '-o', '{}/a'],
                              ['a', 'b.xlsx', 'c']),
    'estimate --refine': (['estimate', JOB, '--refine', 'nccl-whitebox', '--path', '{build}'], []),
    'sweep --xlsx': (['sweep', 'gpt-3b-32x3090', '--over', 'batch.micro=1,2,4', '--threads', '1', '--xlsx', '{}/b.xlsx',
                      '-o', '{}/a'], ['a', 'b.xlsx']),
    'explain': (['explain', JOB, 'step_time', '-o', '{}/a'], ['a']),
    'sheet check': (['sheet', 'check', 'megatron'], []),
    'sheet export': (['sheet', 'export', 'li2024', '-o', '{}/a'], ['a']),
    'sweep': (['sweep', JOB, '--over', 'batch.micro=1,2,4', '--threads', '1', '--csv', '-o', '{}/a'], ['a']),
    'search': (['search', JOB, '--only', 'parallel.tp=1,2,4', '--threads', '1', '--json', '-o', '{}/a',
                '--write', '{}/b'], ['a', 'b']),
    'scale': (['scale', JOB, '--gpus', '8,16', '--threads', '1', '-o', '{}/a'], ['a']),
    'timeline': (['timeline', 'gpt-3b-32x3090', '--perfetto', '{}/a', '--svg', '{}/b'], ['a', 'b']),
    'traffic': (['traffic', 'gpt-3b-32x3090', '-o', '{}/a'], ['a']),
    'compare': (['compare', 'gpt-3b-32x3090', JOB, '-o', '{}/a'], ['a']),
    'import hf': (['import', 'hf', '{in}/config.json', '-o', '{}/a'], ['a']),
    'export': (['export', 'megatron', JOB, '-o', '{}/a'], ['a']),
    'profile import': (['profile', 'import', '{in}/profiles.json', '--db', '{}/p.db'], []),
    'profile list': (['profile', 'list', '--db', '{in}/p.db', '--json'], []),
    'plugin list': (['plugin', 'list', '--path', '{build}', '--csv'], []),
    'plugin info': (['plugin', 'info', 'alpha-beta', '--path', '{build}'], []),
    'plugin check': (['plugin', 'check', 'alpha-beta', '--path', '{build}'], []),
    'trace summary': (['trace', 'summary', '{in}/trace.json', '--json', '-o', '{}/a'], ['a']),
    'trace kernels': (['trace', 'kernels', '{in}/trace.json', '--partial'], []),
    'trace replay': (['trace', 'replay', '{in}/trace.json', '--partial'], []),
    'trace export': (['trace', 'export', '{in}/trace.json', '--partial', '-o', '{}/a.json'], ['a.json']),
    'trace whatif --job': (['trace', 'whatif', '{in}/trace.json', '--partial', '--job', 'gpt3-175b-64xa100', '--have',
                            'parallel.tp=2', '--have', 'parallel.pp=1', '--set', 'parallel.tp=4', '-o', '{}/a'], ['a']),
    'trace chakra': (['trace', 'chakra', '{in}/execution.json', '--gpu', 'a100-sxm-80gb', '-o', '{}/a'], ['a']),
    'trace import': (['trace', 'import', '{in}/run', '--gap', '5us', '--cluster', 'dgx-h100', '--json',
                      '-o', '{}/a.json'], ['a.json']),
    'export chakra': (['export', 'chakra', JOB, '-o', '{}/made'], []),
    'timeline of layers': (['timeline', 'resnet50-32x3090', '--perfetto', '{}/a'], ['a']),
    'timeline --strategy': (['timeline', 'gpt3-175b-64xa100', '--check', 'none', '--strategy',
                             '{in}/light.yaml', '--perfetto', '{}/a'], ['a']),
    'record': (['record', '--device', 'h100-sxm', '--rank', '0', '--world', '2', '-o', '{}/run', '--',
                '{build}/tests/record/record_programs', 'data-parallel'], []),
    'plugin new': (['plugin', 'new', 'made', '--dir', '{}/made'], []),
    'estimate --isolate': (['estimate', JOB, '--refine', 'alpha-beta', '--isolate', '--path', '{build}'], []),
    'estimate --nearest': (['estimate', JOB, '--nearest', '--csv'], []),
    'sheet show': (['sheet', 'show', 'li2024', '--json', '-o', '{}/a'], ['a']),
    'sheet export --format xlsx': (['sheet', 'export', 'li2024', '--format', 'xlsx', '-o', '{}/b.xlsx'], ['b.xlsx']),
    'list': (['list', 'stacks', '--csv'], []),
    'docs': (['docs', 'configuration'], []),
    'profile show': (['profile', 'show', 'site', '--db', '{in}/p.db'], []),
    'profile export': (['profile', 'export', 'site', '--db', '{in}/p.db', '-o', '{}/a'], ['a']),
    'steps check': (['steps', 'check', 'ring'], []),
    'validate': (['validate', '--csv', '-o', '{}/a'], ['a']),
    'validate of a log': (['validate', '{root}/tests/cli/logs/megatron.log', '--cluster', 'dgx-a100', '-o', '{}/a'], ['a']),
    'validate --save': (['validate', '{root}/tests/cli/logs/megatron.log', '--cluster', 'dgx-a100', '--save', '{}/a'], ['a']),
    'validate --peer': (['validate', '--peer', '{root}/tests/cli/peers/execution.json',
                         '{root}/tests/cli/peers/application.json', '--cluster', 'dgx-a100', '--set',
                         'measured.step_time=1.385s', '-o', '{}/a'], ['a']),
    'fit kernels': (['fit', 'kernels', '{in}/cli/layers.csv', '--path', '{build}', '--db', '{}/p.db', '--save', 'site'], []),
    'fit nccl': (['fit', 'nccl', '{in}/cli/all_reduce.log', '--path', '{build}', '--db', '{}/p.db', '--save', 'site'], []),
    'import megatron': (['import', 'megatron', '{root}/tests/cli/logs/megatron.log', '-o', '{}/a'], ['a']),
    'import torchtitan': (['import', 'torchtitan', '{in}/cli/titan.toml', '-o', '{}/a'], ['a']),
    'import deepspeed': (['import', 'deepspeed', '{in}/cli/ds.json', '--set', 'model.layers=22', '--set', 'model.hidden=2304',
                          '--set', 'model.heads=24', '--set', 'model.positions=4096', '--set', 'parallel.dp=8', '--set',
                          'batch.sequence=4096', '-o', '{}/a'], ['a']),
    'import layers': (['import', 'layers', '{root}/configs/layers/resnet50.layers', '-o', '{}/a'], ['a']),
    'import nccl-topo': (['import', 'nccl-topo', '{in}/cli/topology.xml', '-o', '{}/a'], ['a']),
    'export simai': (['export', 'simai', 'gpt3-175b-64xa100', '-o', '{}/a'], ['a']),
    'export torchtitan': (['export', 'torchtitan', JOB, '-o', '{}/a'], ['a']),
    'trace simai': (['trace', 'simai', '{root}/tests/fuzz/corpus/simai/aicb.txt', '-o', '{}/a'], ['a']),
    'trace of Nsight': (['trace', 'summary', '{root}/tests/fuzz/corpus/nsys/nsys.sqlite'], []),
    'trace of JAX': (['trace', 'summary', '{in}/gpu.xplane.pb'], []),
    'trace sql': (['trace', 'sql', '{in}/trace.json', 'SELECT count(*) FROM kernels', '--partial', '-o', '{}/a'], ['a']),
    **{f'trace {view}': (['trace', view, '{in}/trace.json', '--partial', '-o', '{}/a'], ['a'])
       for view in ('idle', 'collectives', 'graph', 'path', 'rank')},
    'trace breakdown': (['trace', 'breakdown', '{in}/cli/trace-module.json', '-o', '{}/a'], ['a']),
    'trace memory': (['trace', 'memory', '{in}/cli/trace-memory.json', '-o', '{}/a'], ['a']),
    'trace layers': (['trace', 'layers', '{in}/cli/repeats.json', '-o', '{}/a'], ['a']),
    'trace diff': (['trace', 'diff', '{in}/trace.json', '{in}/trace.json', '--partial', '-o', '{}/a'], ['a']),
}

STRATEGY = """strategy: light
schedule: 1f1b
stages:
  - {devices: 0-31, layers: 0-20}
  - {devices: 32-63, layers: 21-95}
"""
EXECUTION = {'schema': '1.0.1', 'nodes': [
    {'name': 'aten::mm', 'id': 5, 'parent': 4, 'inputs': [[51, 31, 0, 238500, 2, 'cuda:0'],
                                                          [52, 32, 0, 1000, 2, 'cuda:0']],
     'input_shapes': [[2385, 100], [100, 10]], 'input_types': ['Tensor(c10::BFloat16)', 'Tensor(c10::BFloat16)'],
     'outputs': [[53, 33, 0, 23850, 2, 'cuda:0']], 'output_shapes': [[2385, 10]],
     'output_types': ['Tensor(c10::BFloat16)']}]}


def trace():
    """A call and a kernel, a call and a collective, of one of two ranks."""
    call = {'ph': 'X', 'cat': 'cuda_runtime', 'name': 'cudaLaunchKernel', 'pid': 1, 'tid': 2, 'dur': 5}
    task = {'ph': 'X', 'cat': 'kernel', 'pid': 0}
    return {'distributedInfo': {'backend': 'nccl', 'rank': 0, 'world_size': 2}, 'traceEvents': [
        {**call, 'ts': 10.125, 'args': {'correlation': 31}}, {**call, 'ts': 18.5, 'args': {'correlation': 32}},
        {**task, 'name': 'ampere_sgemm_32x32_nn', 'tid': 7, 'ts': 20.25, 'dur': 23.85,
         'args': {'device': 0, 'stream': 7, 'correlation': 31}},
        {**task, 'name': 'ncclDevKernel_AllReduce_Sum_f16_RING_LL', 'tid': 20, 'ts': 30, 'dur': 40,
         'args': {'device': 0, 'stream': 20, 'correlation': 32}}]}


# What is known and not steptime's to mend. A manifest that `plugin list` cannot read is told as such. A recorded
# program has the same failure as steptime itself, which may lack the memory to say so. Without libstdc++ an import
# warns that names stay mangled. libxlsxwriter does not ask whether it got memory and crashes, and its name is in the message;
# libraries in C++ end the program.
KNOWN = {'record': {'memory'}, 'plugin list': {'open', 'read'}, 'trace import': {'open', 'library'}}
LIBRARY_CRASHES = ('libxlsxwriter crashes', 'std::bad_alloc')


class Command:
    def __init__(self, given, inputs, name):
        self.name = name
        self.program = os.path.abspath(given.program)
        self.library = os.path.abspath(given.library)
        self.build = os.path.abspath(given.build)
        self.root = os.path.abspath(given.root)
        self.inputs = inputs
        self.words, self.files = COMMANDS[name]

    def run(self, folder, **fault):
        """Status, output, messages and files; the status is None for one that hangs."""
        work = pathlib.Path(folder)
        results = work / 'results'
        scratch = work / 'scratch'
        for one in (results, scratch):
            shutil.rmtree(one, ignore_errors=True)
            one.mkdir()
        for name in self.files:
            (results / name).write_bytes(OLD)
        words = [word.replace('{in}', str(self.inputs)).replace('{build}', self.build).replace('{root}', self.root)
                 .replace('{}', str(results)) for word in self.words]
        environment = {**os.environ, 'TMPDIR': str(scratch), 'LD_PRELOAD': self.library, 'OMP_NUM_THREADS': '1',
                       'SOURCE_DATE_EPOCH': '1700000000', **{key: str(value) for key, value in fault.items()}}
        try:
            ran = subprocess.run([self.program, *words], env=environment, stdin=subprocess.DEVNULL, timeout=60,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=results)
        except subprocess.TimeoutExpired:
            return None, b'', '', {}
        found = {path.name: path.read_bytes() for path in sorted(results.iterdir()) if path.is_file()}
        left = [path.name for path in scratch.iterdir()]
        if left:
            found['left in the folder for temporary files'] = repr(left).encode()
        hide = str(results).encode()
        return ran.returncode, ran.stdout.replace(hide, b''), ran.stderr.decode(errors='replace'), found

    def begin(self, folder):
        counts = pathlib.Path(folder) / 'counts'
        self.whole = self.run(folder, FAULT_COUNTS=counts)
        pairs = [line.split() for line in counts.read_text(encoding='utf-8').splitlines()]
        return {kind: int(number) for kind, number in pairs}

    def fault(self, result, kind):
        """What is wrong with a run that had a failure of that kind; None for nothing."""
        status, out, said, files = result
        if status is None:
            return 'it hangs'
        if status < 0:
            return f'signal {-status}: {said[:200]}'
        if kind == 'name':  # what cannot be removed stays
            files = {name: text for name, text in files.items() if name in self.whole[3]}
        warned = said.count('warning: ') > self.whole[2].count('warning: ')
        if status == 0 and not warned and (out, {**files, 'p.db': b''}) != (self.whole[1], {**self.whole[3], 'p.db': b''}):
            return f'success with another result: {said[:200]}'
        if status != 0 and 'error: ' not in said and 'FAIL' not in out.decode(errors='replace'):
            return f'status {status} without a reason: {said[:200]!r}'
        # what a plugin or a recorded program did is told, too, where something fails behind it
        if status != 0 and out and status != self.whole[0] and self.name.split()[0] not in ('plugin', 'record'):
            return f'status {status}, and output: {out[:80]!r}'
        for name, text in files.items():
            if name.startswith('p.db'):
                continue  # SQLite's journal is what keeps the database whole
            if name not in self.files:
                return f'left: {name} {text[:60]!r}'
            if text not in (OLD, self.whole[3][name]):
                return f'{name} is neither old nor new'
        return None


def try_command(given, inputs, name):
    """Number of failures by kind, and what was found."""
    command = Command(given, inputs, name)
    injected = {}
    faults = []
    known = 0
    with tempfile.TemporaryDirectory() as folder:
        counts = command.begin(folder)
        if command.whole[0] != 0:
            return {}, 0, [f'undisturbed: status {command.whole[0]}: {command.whole[2][:300]}']
        for kind in KINDS:
            for at in places(counts[kind], given.most):
                injected[kind] = injected.get(kind, 0) + 1
                fault = command.fault(command.run(folder, FAULT_KIND=kind, FAULT_AT=at), kind)
                crashes = fault is not None and fault.startswith('signal')
                if fault and (any(text in fault for text in LIBRARY_CRASHES) if crashes else kind in KNOWN.get(name, ())):
                    known += 1
                elif fault:
                    faults.append(f'{kind} {at} of {counts[kind]}: {fault}')
    return injected, known, faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('root')
    parser.add_argument('library')
    parser.add_argument('build')
    parser.add_argument('--most', type=int)
    parser.add_argument('--only')
    parser.add_argument('--jobs', type=int, default=2)
    given = parser.parse_args()
    os.chdir(given.root)
    names = [name for name in COMMANDS if given.only is None or given.only in name]
    verdicts = Verdicts()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        inputs = pathlib.Path(folder)
        (inputs / 'config.json').write_text(json.dumps(HF), encoding='utf-8')
        (inputs / 'trace.json').write_text(json.dumps(trace()), encoding='utf-8')
        (inputs / 'execution.json').write_text(json.dumps(EXECUTION), encoding='utf-8')
        shutil.copy('tests/fuzz/corpus/xplane/gpu', inputs / 'gpu.xplane.pb')
        (inputs / 'cli').mkdir()
        subprocess.run(['sh', os.path.abspath('tests/cli/inputs.sh')], cwd=inputs / 'cli', check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, 'PATH': f'{os.path.dirname(os.path.abspath(given.program))}:{os.environ["PATH"]}'})
        (inputs / 'light.yaml').write_text(STRATEGY, encoding='utf-8')
        program = pathlib.Path(given.build).absolute() / 'tests/record/record_programs'
        if program.exists():
            subprocess.run([given.program, 'record', '--device', 'h100-sxm', '--rank', '0', '--world', '2', '-o',
                            str(inputs / 'run'), '--', program, 'data-parallel'], check=True, stdout=subprocess.DEVNULL)
        else:
            names = [name for name in names if 'record' not in name and name != 'trace import']
        (inputs / 'profiles.json').write_text(json.dumps(PROFILES), encoding='utf-8')
        subprocess.run([given.program, 'profile', 'import', str(inputs / 'profiles.json'), '--db',
                        str(inputs / 'p.db')], check=True, stdout=subprocess.DEVNULL)
        for name, outcome in zip(names, pool.map(lambda name: try_command(given, inputs, name), names)):
            verdicts.give(name, *outcome)
    return verdicts.end()


sys.exit(main())
