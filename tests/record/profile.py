#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a program on a simulated GPU: profile.py STEPTIME PROGRAM REAL.

REAL is the folder of a driver, a runtime and a CUPTI of the tests' own. Its kernels take 2,385 ns times
their number and its copies a tenth of a nanosecond a byte, and so they have to in the trace.
"""
import json
import os
import subprocess
import sys
import tempfile

STEPTIME, PROGRAM, REAL = sys.argv[1:4]
STEPS, KERNEL_US = 3, 2.385
failures = []


def run(arguments, real=REAL, **environment):
    own = dict(os.environ, **environment)
    own['LD_LIBRARY_PATH'] = real
    done = subprocess.run([STEPTIME, *arguments], capture_output=True, text=True, check=False, env=own)
    return done.returncode, json.loads(done.stdout) if done.stdout.startswith('{') else {}, done.stderr


def expect(what, found, expected):
    if found != expected:
        failures.append(f'{what}: {found!r}, expected {expected!r}')


def expect_error(what, arguments, code, message, real=REAL, **environment):
    got, _, errors = run(arguments, real, **environment)
    if got != code or message not in errors:
        failures.append(f'{what}: exit code {got}, expected {code} with {message!r}\n{errors}')


def check_trace(file):
    events = json.load(open(file, encoding='utf-8'))['traceEvents']
    tasks = [event for event in events if event.get('cat') in ('kernel', 'gpu_memcpy')]
    names = [event['name'] for event in tasks]
    expect('kernels', [names.count(name) for name in ('gelu', 'norm', 'ncclDevKernel_AllReduce')],
           [2 * STEPS, 2 * STEPS, STEPS])
    times = {event['name']: event['dur'] for event in tasks}
    expect('times', [times['gelu'], times['norm'], times['Memcpy HtoD']], [KERNEL_US, 2 * KERNEL_US, 4.0])
    calls = {event['args']['correlation']: event['name'] for event in events
             if event.get('cat') == 'cuda_runtime'}
    launches = [calls.get(event['args']['correlation']) for event in tasks]
    expect('launches', [launches.count(name) for name in
                        ('cudaLaunchKernel', 'cudaGraphLaunch', 'cudaMemcpyAsync', 'ncclAllReduce')],
           [2 * STEPS, 2 * STEPS, STEPS, STEPS])
    expect('streams', {event['args']['stream'] for event in tasks}, {0, 13})
    # The sum waits for what was enqueued before it in the other stream, and the host for the sum.
    ends = sorted((event['ts'] + event['dur'], event['name']) for event in tasks)
    order = [name for _, name in ends]
    expect('order', order, STEPS * ['Memcpy HtoD', 'gelu', 'norm', 'gelu', 'norm', 'ncclDevKernel_AllReduce'])
    waits = [event for event in events if event.get('name') == 'cudaDeviceSynchronize']
    sums = [end for end, name in ends if 'nccl' in name]
    # A host that was put aside begins to wait when the sum is over.
    expect('waits', [round(wait['ts'] + wait['dur'], 3) for wait in waits],
           [round(max(end, wait['ts'] + (wait['dur'] if wait['ts'] > end else 0)), 3)
            for wait, end in zip(waits, sums)])


with tempfile.TemporaryDirectory() as folder:
    log, trace = os.path.join(folder, 'run'), os.path.join(folder, 'rank3.json')
    code, said, errors = run(['record', '--profile', '--json', '--rank', '3', '--world', '64', '-o', log, '--',
                              PROGRAM])
    expect('record', (code, said.get('verdict'), said.get('measured'), said.get('launches'),
                      said.get('collectives'), said.get('peak_bytes'), said.get('misuses')),
           (0, 'recorded', True, 4 * STEPS, STEPS, 2385 * 4, []))
    if code != 0:
        sys.exit(errors)
    expect_error('no GPU named', ['trace', 'import', log], 1, '--gpu')
    code, said, errors = run(['trace', 'import', log, '--cluster', 'dgx-a100', '--json', '-o', trace])
    expect('import', (code, said.get('tasks'), said.get('unknown')), (0, 6 * STEPS, 0))
    if code == 0:
        check_trace(trace)
    code, said, _ = run(['trace', 'summary', trace, '--partial', '--json'])
    expect('summary', code, 0)

    # Sizes of products come from the calls and go to the longest of each product's kernels.
    log, trace = os.path.join(folder, 'products'), os.path.join(folder, 'products.json')
    code, said, errors = run(['record', '--profile', '--device', 'h100-sxm', '--json', '--rank', '3', '--world', '64',
                              '-o', log, '--', PROGRAM], PRODUCTS='1')
    expect('products', (code, said.get('gemms'), said.get('launches'), said.get('misuses')),
           (0, 2, 4 * STEPS + 4, []))
    code, said, errors = run(['trace', 'import', log, '--json', '-o', trace])
    worker = said.get('workers', [{}])[0]
    expect('FLOP', (code, worker.get('products'), worker.get('flop')),
           (0, 2, 2.0 * 96 * 64 * 238 + 5 * 2.0 * 33 * 21 * 119))
    if code == 0:
        events = json.load(open(trace, encoding='utf-8'))['traceEvents']
        sized = [event for event in events if 'MNK' in event.get('args', {})]
        expect('sizes', [(event['name'], event['dur'], event['args']['MNK'], event['args']['batch'],
                          event['args']['type'], event['args']['operation']) for event in sized],
               [('xmma_gemm', 4 * KERNEL_US, [64, 96, 238], 1, 'bf16', 'measured'),
                ('xmma_gemm', 4 * KERNEL_US, [21, 33, 119], 5, 'fp32', 'measured')])
    code, said, errors = run(['record', '--profile', '--json', '-o', os.path.join(folder, 'unsized'), '--', PROGRAM],
                             PRODUCTS='1', REFUSED_KIND='39', WORLD_SIZE='1')
    expect('unsized', ([item['what'] for item in said.get('misuses', [])], said.get('launches')),
           (['CUPTI does not report kernels of matrix products'], 4 * STEPS + 4))

    # Ranks that do the same run once on the one GPU, too.
    log = os.path.join(folder, 'ranks')
    code, said, errors = run(['record', '--profile', '--device', 'h100-sxm', '--json', '--ranks', '64', '-o', log,
                              '--', PROGRAM])
    expect('ranks', (code, said.get('unique_processes'), said.get('world')), (0, 1, 64))
    code, said, errors = run(['trace', 'import', log, '--json'])
    expect('import of ranks', (code, said.get('world')), (0, 64))

    refused = os.path.join(folder, 'refused')
    code, said, errors = run(['record', '--profile', '--json', '-o', refused, '--', PROGRAM], REFUSED_KIND='10',
                             WORLD_SIZE='1')
    expect('refused', [(item['what'], item['answer']) for item in said.get('misuses', [])],
           [('CUPTI does not measure kernels', 35)])

    forked = os.path.join(folder, 'forked')
    code, said, errors = run(['record', '--profile', '--json', '-o', forked, '--', PROGRAM], FORK='1', WORLD_SIZE='1')
    expect('forked', (code, said.get('launches'), said.get('collectives')), (0, 4 * STEPS, STEPS))
    _, _, errors = run(['record', '--profile', '-o', os.path.join(folder, 'clock'), '--', PROGRAM], BROKEN_CLOCK='1',
                       WORLD_SIZE='1')
    expect('a reason', 'CUPTI has no clock' in errors, True)

    new = ['record', '--profile', '-o', os.path.join(folder, 'new')]
    expect_error('no driver', [*new, '--', PROGRAM], 1, 'requires a GPU and its driver', '/none')
    expect_error('no GPU', [*new, '--', PROGRAM], 1, 'found no GPU', NO_GPU='1')
    expect_error('a broken driver', [*new, '--', PROGRAM], 1, 'CUDA error 999', BROKEN_DRIVER='1')
    expect_error('no CUPTI', [*new, '--cupti', '/none', '--', PROGRAM], 1, 'not a CUPTI library')
    expect_error('memory', [*new, '--memory', '16GiB', '--', PROGRAM], 2, '--memory')
    expect_error('together', [*new, '--ranks', '4', '--together', '--', PROGRAM], 2, '--together')
    expect_error('CUPTI alone', ['record', '--cupti', 'x', '--', PROGRAM], 2, 'add --profile')

print('\n'.join(failures) if failures else 'all as expected')
sys.exit(len(failures) > 0)
