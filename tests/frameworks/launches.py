#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exported launches against what releases accept and assert: launches.py PROGRAM ROOT.

Every shipped transformer and random plans, on each framework and each release that configs/launches knows: an export
is refused with a reason, or its options are those that the release accepts (configs/launches), and what it asserts at
its start (assertions.txt) holds. PLANS=1000 tries more. MEGATRON=FOLDER, TORCHTITAN=FOLDER and
MEGATRON_DEEPSPEED=FOLDER are source trees whose own parsers judge the launches of their release as well. Prints TAP.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib

import random_plans
import tables

PLANS = int(os.environ.get('PLANS', '40'))
SEED = int(os.environ.get('SEED', '20385'))
STACKS = {'megatron': 'megatron-core', 'megatron-bridge': 'megatron-bridge', 'torchtitan': 'torchtitan',
          'deepspeed': 'deepspeed'}
OWN_DATA = ['--mock-data', '--tokenizer-type', 'NullTokenizer', '--lr', '1e-4']

# Options of Megatron-Bridge that have other names as arguments of Megatron.
ARGUMENTS = {'num_moe_experts': 'num_experts', 'layernorm_epsilon': 'norm_epsilon',
             'virtual_pipeline_model_parallel_size': 'num_virtual_stages_per_pipeline_rank',
             'num_layers_in_first_pipeline_stage': 'decoder_first_pipeline_num_layers',
             'num_layers_in_last_pipeline_stage': 'decoder_last_pipeline_num_layers'}


def export(program, framework, release, sets):
    if framework == 'torchtitan' and sets['parallel.zero'] == 1:
        sets = sets | {'parallel.zero': 2}  # which it has in its place
    words = [word for key, value in sets.items() for word in ('--set', f'{key}={value}')]
    return subprocess.run([program, 'export', framework, 'llama3-8b-8xh100', '--set', f'stack={STACKS[framework]}',
                           '--target-version', release, *words], capture_output=True, text=True, check=False)


def arguments_of(text):
    """The launcher's words and the arguments of a script."""
    words = shlex.split(text.replace('\\\n', ' ').split('torchrun', 1)[1])
    program = next(i for i, word in enumerate(words) if word.endswith('.py'))
    return words[:program], [word for word in words[program + 1:] if word != '$@']


def pairs_of(words):
    starts = [i for i, word in enumerate(words) if word.startswith('--')] + [len(words)]
    return [(words[i][2:], words[i + 1:end]) for i, end in zip(starts, starts[1:])]


def options_of(framework, text):
    """(option, values) of an exported file."""
    if framework == 'megatron':
        return pairs_of(arguments_of(text)[1])
    if framework == 'torchtitan':
        return [(f'{section}.{key}', [str(value)]) for section, inner in tomllib.loads(text).items()
                for key, value in inner.items()]
    found = []
    if framework == 'deepspeed':
        for name, value in json.loads(text).items():
            if isinstance(value, dict) and name != '_steptime':
                found += [(f'{name}.{key}', [str(inner)]) for key, inner in value.items()]
            elif name != '_steptime':
                found.append((name, [str(value)]))
        launch = json.loads(text)['_steptime']['launch'].split('.py', 1)[1]
        return found + [(f'launch.{name.replace("-", "_")}', values) for name, values in pairs_of(shlex.split(launch))
                        if not name.startswith('deepspeed')]
    section = ''
    for line in text.splitlines():
        head, body = re.fullmatch(r'([\w.]+):', line), re.fullmatch(r'\s*(\w+): (.*)', line)
        if head:
            section = head[1] + '.'
        elif body and not line.startswith('#'):
            found.append(((section if line[0] == ' ' else '') + body[1], [body[2].strip('"')]))
    return found


# ---- what releases assert ----

class Options(dict):
    """Options by their plain names; what is not given is 0."""

    def __missing__(self, name):
        return 0


def value_of(values):
    text = ' '.join(values)
    if text.lower() in ('', 'true', 'false', 'null'):
        return int(text.lower() in ('', 'true'))
    try:
        return float(text) if re.search('[.e]', text) else int(text)
    except ValueError:
        return text


def stages(of, layers, pp, chunks):
    """Layers have a whole number in each chunk of each stage."""
    first, last = of['decoder_first_pipeline_num_layers'], of['decoder_last_pipeline_num_layers']
    ends = bool(first) + bool(last)
    if pp == 1 or of['is_hybrid_model']:
        return True
    if not ends:
        layers += of['account_for_embedding_in_pipeline_split'] + of['account_for_loss_in_pipeline_split']
        return layers % pp == 0 and layers // pp % chunks == 0
    middle = layers - first - last
    parts = [first, last] + ([middle // (pp - ends)] if pp > ends else [])
    return middle >= 0 and (middle % (pp - ends) == 0 if pp > ends else middle == 0) and all(
        part % chunks == 0 for part in parts)


def layout(text, layers, pp, mtp):
    """Each layer and each depth of prediction lies in one of a multiple of pp parts."""
    while match := re.search(r'\(([^()]*)\)\*(\d+)|([Etm])\*(\d+)', text):
        text = text.replace(match[0], (match[1] or match[3] or '') * int(match[2] or match[4]), 1)
    parts = text.split('|')
    return text.count('t') == layers and text.count('m') == mtp and len(parts) % pp == 0 and all(parts)


def titan_stages(layers, size, first, last):
    return -(-(layers + first + last) // size)


def namespace(framework, text, sets_layers):
    """What the conditions of assertions.txt read."""
    of = Options()
    for option, values in options_of(framework, text):
        plain = option.rsplit('.', 1)[-1].replace('-', '_')
        of[ARGUMENTS.get(plain, plain)] = value_of(values)
        if option.startswith('launch.'):
            of['launch_' + plain] = value_of(values)
    prefix = 'data_parallel_' if framework == 'torchtitan' else ''
    sizes = ('tensor_parallel_degree', 'pipeline_parallel_degree', 'context_parallel_degree') if prefix else (
        'tensor_model_parallel_size', 'pipeline_model_parallel_size', 'context_parallel_size')
    of['tp'], of['pp'], of['cp'] = (max(1, of[name]) for name in sizes)
    of['ep'] = max(1, of['expert_parallel_degree'])
    of['replicate'], of['shard'] = of['data_parallel_replicate_degree'], of['data_parallel_shard_degree']
    launcher = re.search(r'--(?:nproc-per-node|num_gpus) (\d+) --(?:nnodes|num_nodes) (\d+)', text)
    of['world'] = int(launcher[1]) * int(launcher[2])
    of['connections'] = (re.findall(r'^export CUDA_DEVICE_MAX_CONNECTIONS=(.*)$', text, re.M) or [''])[-1]
    if framework == 'megatron-bridge':  # which sets it itself
        of['connections'] = '' if of['use_megatron_fsdp'] else '1'
    of['chunks'] = max(1, of['num_virtual_stages_per_pipeline_rank'])
    if of['pipeline_model_parallel_layout']:
        of['chunks'] = (of['pipeline_model_parallel_layout'].count('|') + 1) // of['pp'] or 1
    of['layers'] = int((re.findall(r'model\.layers=(\d+)', text) or [sets_layers])[0])
    if framework == 'megatron-bridge':
        of['disable_bias_linear'] = int(not of.get('add_bias_linear', 1))
        of['bf16'] = int('bf16' in str(of['mixed_precision']))
        of['quick_geglu'] = int(of['activation_func'] == 'quick_gelu')
        of['fp8_format'] = of['fp8_recipe'] = of['mixed_precision'] if 'fp8' in str(of['mixed_precision']) else 0
    return Options(of | {'stages': lambda *numbers: stages(of, *numbers), 'layout': layout,
                         'titan_stages': titan_stages, 'max': max, 'bool': bool, 'set': set, 'str': str})


def assertions(root):
    """(framework, first release, last release, place, code)"""
    with open(os.path.join(root, 'tests/frameworks/assertions.txt'), encoding='utf-8') as file:
        rows = [line.rstrip('\n').split(' | ', 2) for line in file if line[0] != '#']
    found = []
    for target, place, condition in rows:
        framework, releases = target.split(' ')
        first, last = releases.split('-')
        found.append((framework, first, last, f'{place}: {condition}', compile(condition, place, 'eval')))
    return found


def deaths(rows, framework, release, text, layers):
    """What the release asserts and the launch does not hold to."""
    family, core = framework, release
    if framework == 'megatron-bridge':
        family, core = 'megatron', {'0.4': '0.17', '0.6': '0.19'}[release]
    names = namespace(framework, text, layers)
    return [what for target, first, last, what, code in rows
            if target == family and tables.order(first) <= tables.order(core) <= tables.order(last)
            and not eval(code, {}, names)]


# ---- parsers of frameworks themselves ----

class Starter:
    """A process that starts launches with the code of a source tree."""

    def __init__(self, script, folder):
        here = os.path.dirname(os.path.abspath(__file__))
        self.process = subprocess.Popen([sys.executable, '-W', 'ignore', '-B', os.path.join(here, script), folder],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, launch):
        self.process.stdin.write(json.dumps(launch) + '\n')
        self.process.stdin.flush()
        for line in self.process.stdout:
            try:
                return json.loads(line)
            except ValueError:
                continue
        return 'the parser of the source tree has ended'


def starter_of(framework, release):
    folder = os.environ.get({'megatron': 'MEGATRON', 'torchtitan': 'TORCHTITAN',
                             'deepspeed': 'MEGATRON_DEEPSPEED'}.get(framework, ''), '')
    if folder == '':
        return None
    if framework == 'deepspeed':  # which has no releases since 2023
        return Starter('deepspeed_start.py', folder)
    if framework == 'torchtitan':
        with open(os.path.join(folder, 'assets/version.txt'), encoding='utf-8') as file:
            return Starter('torchtitan_start.py', folder) if file.read().strip() == release else None
    with open(os.path.join(folder, 'megatron/core/package_info.py'), encoding='utf-8') as file:
        major, minor = re.findall(r'^(?:MAJOR|MINOR) = (\d+)', file.read(), re.M)
    return Starter('megatron_start.py', folder) if f'{major}.{minor}' == release else None


def launch_of(framework, text):
    if framework == 'torchtitan':
        ranks = re.search(r'--nproc-per-node (\d+) --nnodes (\d+)', text)
        return {'file': text, 'world': int(ranks[1]) * int(ranks[2])}
    if framework == 'deepspeed':
        words = shlex.split(json.loads(text)['_steptime']['launch'])
        numbers = [int(words[words.index(word) + 1]) for word in ('--num_gpus', '--num_nodes')]
        given = words[words.index('FILE') + 1:]
        return {'world': numbers[0] * numbers[1], 'arguments': [
            *given, *OWN_DATA[1:], *([] if '--train-samples' in given else ['--train-iters', '100'])]}
    launcher, arguments = arguments_of(text)
    numbers = [int(launcher[launcher.index(word) + 1]) for word in ('--nproc-per-node', '--nnodes')]
    more = ([] if '--train-samples' in arguments else ['--train-iters', '100']) + (
        [] if '--vocab-size' in arguments else ['--vocab-size', '32000'])
    return {'world': numbers[0] * numbers[1], 'environment': dict(re.findall(r'^export (\w+)=(.*)$', text, re.M)),
            'arguments': [*arguments, *OWN_DATA, *more]}


def main():
    program, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    rows = assertions(root)
    shipped = random_plans.models(root)
    bad = count = 0
    print(f'# seed {SEED}, {len(shipped)} models, {PLANS} random plans')
    for framework in STACKS:
        plans = random_plans.plans(root, PLANS, SEED, framework == 'torchtitan')
        table = tables.read(os.path.join(root, 'configs/launches', framework + '.yaml'))
        for release in table.releases:
            starter = starter_of(framework, release)
            faults, written, dead = [], 0, 0
            for sets in plans:
                done = export(program, framework, release, sets)
                if done.returncode not in (0, 1) or (done.returncode == 1 and 'error: ' not in done.stderr):
                    faults.append(f'{sets}: exit {done.returncode}: {done.stderr}')
                if done.returncode != 0:
                    continue
                written += 1
                found = [f'--{option} {" ".join(value)}' for option, value in options_of(framework, done.stdout)
                         if not table.accepts(option, value, release)]
                found += deaths(rows, framework, release, done.stdout, shipped[sets['model']].get('layers', 0))
                said = starter.ask(launch_of(framework, done.stdout)) if starter is not None else ''
                dead += found != [] or said != ''
                faults += [f'{sets}: {what}' for what in [*found, said] if what != '']
            count += 1
            few = written < (8 if framework == 'torchtitan' else 20)
            bad += bool(faults) or few
            print(f"{'not ok' if faults or few else 'ok'} {count} - {framework} {release}"
                  f"{'' if starter is None else ' with its own parser'}: {len(plans)} plans, {written} written, {dead} would die")
            for fault in faults[:5]:
                print('# ' + fault.replace('\n', '\n# '))
    print(f'1..{count}')
    return 1 if bad else 0


sys.exit(main())
