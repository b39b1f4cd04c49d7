#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a GPT-2 of stock PyTorch in every way it can run: run.py FOLDER SOURCE BUILD [CASE...]

FOLDER holds the Debian that root.sh makes. Counts are known from the model: a layer has four products
forward and twice as many backward, the head one and two.
"""
import array
import functools
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile

FOLDER, SOURCE, BUILD = (os.path.realpath(path) for path in sys.argv[1:4])
WANTED = sys.argv[4:]
LAYERS, STEPS = 12, 4
CONTEXT = 2_500_000_000  # what --context charges
PRODUCTS = 3 * (4 * LAYERS + 1)
PARAMETERS = 12 * LAYERS * 768**2 + 13 * LAYERS * 768 + (50304 + 1024) * 768 + 2 * 768
GATHERS = {'all_gather': 2 * LAYERS + 1, 'reduce_scatter': LAYERS + 1}
# name: mode, rank and world, products of a step, fused attention forward, collectives of a step
CASES = {
    'plain': ('plain', None, PRODUCTS, LAYERS, {}),
    'autocast': ('autocast', None, PRODUCTS, LAYERS, {}),
    # scores and context as products of their own
    'eager': ('eager', None, PRODUCTS + 6 * LAYERS, 0, {}),
    'accumulation': ('accumulation', None, 4 * PRODUCTS, 4 * LAYERS, {}),
    # a block again up to the input of its last product
    'checkpointing': ('checkpointing', None, PRODUCTS + 3 * LAYERS, 2 * LAYERS, {}),
    'graphs': ('graphs', None, PRODUCTS, LAYERS, {}),
    'scaler': ('scaler', None, PRODUCTS, LAYERS, {}),
    'profiler': ('profiler', None, PRODUCTS, LAYERS, {}),
    'ddp, 2 ranks': ('ddp', (0, 2), PRODUCTS, LAYERS, {'all_reduce': None}),
    'ddp, 8 ranks': ('ddp', (5, 8), PRODUCTS, LAYERS, {'all_reduce': None}),
    'fsdp1, 2 ranks': ('fsdp1', (1, 2), PRODUCTS, LAYERS, GATHERS),
    'fsdp2, 8 ranks': ('fsdp2', (3, 8), PRODUCTS, LAYERS, {**GATHERS, 'all_reduce': 1}),
    'fsdp2, 64 ranks': ('fsdp2', (17, 64), PRODUCTS, LAYERS, {**GATHERS, 'all_reduce': 1}),
    # the sum of a row-wise product forward, of the input's gradient backward
    'tensor, 2 ranks': ('tensor', (1, 2), PRODUCTS, LAYERS, {'all_reduce': 2 * LAYERS}),
}
# Public scripts below /opt of that Debian: their words, rank and world, products, all kernels of attention and bytes of all-reduces.
# nanoGPT has 6 layers of 4 products and a head, 7 steps, and 4 passes forward before them on rank 0 alone. minGPT's 3 layers
# have 2 products of attention more, 6 steps, and 100 batches of which each has 3 digits sampled.
NANOGPT = ['train.py', 'config/train_shakespeare_char.py', '--compile=False', '--eval_iters=2', '--max_iters=6']
SCRIPTS = {
    'nanoGPT': (NANOGPT, None, 7 * 75 + 4 * 25, 7 * 12 + 4 * 6, 0),
    'nanoGPT, 8 ranks': ([*NANOGPT, '--gradient_accumulation_steps=8'], (5, 8), 7 * 75, 7 * 12, 7 * 4 * 10_745_088),
    'minGPT': (['projects/adder/adder.py', '--trainer.max_iters=6'], None, 6 * 57 + 300 * 19, 0, 0),
}


def inside(command, share):
    """Runs a command in the Debian, with the build, the sources and a folder to write to."""
    mounts = ''.join(f'mkdir -p "{FOLDER}{path}" && mount --bind "{path}" "{FOLDER}{path}"\n'
                     for path in (SOURCE, BUILD, share))
    script = (f'set -e\nmount -t proc proc "{FOLDER}/proc"\nmount --rbind /dev "{FOLDER}/dev"\n{mounts}'
              'exec chroot "$0" "$@"\n')
    return subprocess.run(['unshare', '--mount', 'sh', '-c', script, FOLDER, *command], capture_output=True,
                          text=True, check=False, timeout=600)


def steptime(*arguments):
    done = subprocess.run([BUILD + '/estimator/cli/steptime', *arguments, '--json'], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def check(case, folder):
    mode, place, products, attention, collectives = CASES[case]
    ranks = ['--rank', str(place[0]), '--world', str(place[1]), '--store'] if place else []
    done = inside(['env', 'USE_LIBUV=0', BUILD + '/estimator/cli/steptime', 'record', '--quiet', '--device', 'h100-sxm', *ranks,
                   '-o', folder + '/run', '--', 'python3', SOURCE + '/tests/record/pytorch/gpt2.py', mode,
                   '--steps', str(STEPS)], folder)
    if done.returncode != 0:
        return [done.stderr.strip()[-2000:]]
    imported = steptime('trace', 'import', folder + '/run', '--cluster', 'dgx-h100', '--gap', '5us')
    worker = imported['workers'][0]
    wrong = []

    def expect(what, found, wanted):
        if found != wanted:
            wrong.append(f'{what}: {found}, expected {wanted}')

    passes = STEPS + (mode == 'graphs')  # one before the capture
    expect('products', worker['products'], passes * products)
    counts = {}
    for row in worker['operations']:
        name = re.sub('_(fp32|full)', '', row['operation'])
        counts[name] = counts.get(name, 0) + row['count']
    expect('attention', counts.get('attention', 0), passes * attention)
    backward = attention // 2 if mode == 'checkpointing' else attention
    expect('attention backward', counts.get('attention_backward', 0), passes * backward)
    found = {row['operation']: row for row in worker['collectives']}
    for name, count in collectives.items():
        if count is None:
            expect(name + ' bytes', found[name]['bytes'], 4 * PARAMETERS * STEPS)
        else:
            expect(name, found[name]['count'], count * STEPS)
    if worker['steps'] < 2 or not worker['step_ns']:
        wrong.append('no steps were found')
    if worker['unknown_ns'] > 0.02 * worker['busy_ns']:
        wrong.append(f"{worker['unknown']} unknown tasks take more than 2 % of the time")
    # The job that it shows; tensor parallelism of the MLP alone is none that the sheet knows.
    comparison, world = imported['comparison'], place[1] if place else 1
    if mode == 'tensor':
        expect('missing', 'tensor parallelism' in str(comparison.get('missing')), True)
    else:
        zero = {'fsdp1': 3, 'fsdp2': 3}.get(mode, 0)
        shown = {'model.layers': LAYERS, 'model.hidden': 768, 'model.heads': 12, 'model.ffn': 3072, 'model.gated': 'false',
                 'model.vocabulary': 50304, 'batch.sequence': 1024, 'batch.micro': 8,
                 'batch.global': 8 * world * (4 if mode == 'accumulation' else 1), 'parallel.dp': world, 'parallel.tp': 1,
                 'parallel.pp': 1, 'parallel.zero': zero, 'attention': 'unfused' if mode == 'eager' else 'flash',
                 'recompute': 'full' if mode == 'checkpointing' else 'none', 'graphs': 'full' if mode == 'graphs' else None,
                 'precision.weights': {'plain': 'fp32', 'scaler': 'fp16'}.get(mode, 'bf16'),
                 'precision.gradients': 'fp32' if world > 1 else None}
        for key, value in shown.items():
            expect(key, comparison.get('inferred', {}).get(key), value if value is None else str(value))
        if not comparison.get('parts'):
            wrong.append(f'no comparison: {comparison}')
    # What PyTorch's allocator reports, beyond the context and communicators.
    reserved = int(re.search(r'^peak (\d+)', done.stdout + done.stderr, re.M).group(1))
    kept = json.load(open(folder + '/run/run.json', encoding='utf-8'))
    charged = kept['peak_bytes'] - CONTEXT
    print(f"# {case}: step {(worker['step_ns'] or 0) / 1e6:.1f} ms, {charged / 2**30:.2f} GiB, "
          f'PyTorch reports {reserved / 2**30:.2f} GiB')
    return wrong, charged, reserved


def check_script(case, folder):
    """A public script, which was not changed."""
    words, place, products, attention, summed = SCRIPTS[case]
    home = '/opt/' + case.split(',')[0]
    data = FOLDER + home + '/data/shakespeare_char'
    if os.path.isdir(data):  # any text of 65 letters
        for part in 'train', 'val':
            with open(f'{data}/{part}.bin', 'wb') as file:
                array.array('H', (i * i % 65 for i in range(100_000))).tofile(file)
        with open(data + '/meta.pkl', 'wb') as file:
            pickle.dump({'vocab_size': 65}, file)
    ranks = ['--rank', str(place[0]), '--world', str(place[1]), '--store'] if place else []
    done = inside(['sh', '-c', f'cd {home} && exec env USE_LIBUV=0 PYTHONPATH=. "$0" "$@"',
                   BUILD + '/estimator/cli/steptime', 'record', '--quiet', '--device', 'h100-sxm', *ranks, '-o', folder + '/run',
                   '--', 'python3', *words], folder)
    if done.returncode != 0:
        return [done.stderr.strip()[-2000:]]
    worker = steptime('trace', 'import', folder + '/run', '--cluster', 'dgx-h100', '--gap', '5us')['workers'][0]
    found = (worker['products'], sum(row['count'] for row in worker['operations'] if row['operation'].startswith('attention')),
             sum(row['bytes'] for row in worker['collectives'] if row['operation'] == 'all_reduce'))
    print(f"# {case}: step {(worker['step_ns'] or 0) / 1e6:.1f} ms")
    expected = products, attention, summed
    wrong = [] if found == expected else [f'products, attention, summed bytes: {found}, expected {expected}']
    return wrong if worker['step_ns'] else [*wrong, 'no steps were found']


def missing_names():
    """Functions of the libraries of that Debian which the recorder lacks."""
    table = open(SOURCE + '/estimator/tools/record/library/calls.txt', encoding='utf-8').read()
    known = set(re.findall(r'^\w+ (\w+)', table, re.M))
    public = re.compile(r'(?:cu|cuda|cublas|cublasLt|nccl|nvml)[A-Z]\w+')
    missing = []
    for pattern in ('nvidia/current/libcuda.so.1', 'nvidia/current/libnvidia-ml.so.1', 'libcudart.so.12',
                    'libcublas.so.12', 'libcublasLt.so.12', 'libnccl.so.2'):
        path = f'{FOLDER}/usr/lib/x86_64-linux-gnu/{pattern}'
        listed = subprocess.run(['nm', '-D', '--defined-only', path], capture_output=True, text=True, check=True)
        names = {line.split()[-1].split('@')[0] for line in listed.stdout.splitlines() if ' T ' in line}
        # cublasLt_for_cublas_... are between the two libraries.
        missing += sorted(name for name in names - known if public.fullmatch(name) and '_for_' not in name)
    return missing


def loaded_driver(folder):
    """What a driver answers that a program loads later, by a name which is not the recorder's: the real one finds no GPU."""
    asks = 'import ctypes; raise SystemExit(ctypes.CDLL("libcuda.so").cuInit(0))'
    done = inside([BUILD + '/estimator/cli/steptime', 'record', '--quiet', '--device', 'h100-sxm', '-o', folder + '/run', '--',
                   'python3', '-c', asks], folder)
    return [done.stderr.strip()[-2000:]] if done.returncode != 0 else []


def main():
    failed = 0
    names = WANTED or [*CASES, *SCRIPTS, 'driver', 'names']
    for number, case in enumerate(names, 1):
        if case == 'names':
            missing = missing_names()
            failed += bool(missing)
            print('not ok' if missing else 'ok', number, '- functions of CUDA 12.4', *missing, flush=True)
            continue
        if case in SCRIPTS and not os.path.isdir(f"{FOLDER}/opt/{case.split(',')[0]}"):
            print('ok', number, '-', case, '# SKIP it could not be downloaded', flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            run = loaded_driver if case == 'driver' else functools.partial(check_script if case in SCRIPTS else check, case)
            try:
                result = run(folder)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                result = [str(error)]
        if isinstance(result, tuple):
            wrong, charged, reserved = result
            if abs(charged - reserved) > 0.03 * reserved:
                wrong.append(f'memory {charged}, PyTorch reports {reserved}')
        else:
            wrong = result
        failed += bool(wrong)
        print('ok' if not wrong else 'not ok', number, '-', case, flush=True)
        for line in '\n'.join(wrong).splitlines():
            print('#', line)
    print(f'1..{len(names)}')
    sys.exit(failed > 0)


main()
