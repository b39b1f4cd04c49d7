#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What calls from Python take, in time of a processor: python.py, with PYTHONPATH=build/estimator/python"""
import time

start = time.process_time()
import steptime as st  # noqa: E402

AXES = {'batch.micro': [1, 2, 4, 8], 'cluster.nic_bandwidth': [f'{100 + i} Gbit/s' for i in range(500)],
        'cluster.gpu.memory_bandwidth': [f'{2 + i / 100} TB/s' for i in range(500)]}


def line(what, value, unit, goal):
    print(f'{what:<58} {value:8.2f} {unit:<3} of {goal}')


def main():
    line('import of the module', (time.process_time() - start) * 1e3, 'ms', 30)
    for name in ('llama3-8b-8xh100', 'gpt-3b-32x3090'):
        job, count = st.Job(name), 20000
        begun = time.process_time()
        for i in range(count):
            job['batch.micro'] = 1 + i % 2
            job.step_time
        line(f'a key set and the step read, {name}', (time.process_time() - begun) / count * 1e6, 'us', 20)
    # Rows of the second job are replayed, micro-batch by micro-batch.
    for name, part in (('gpt3-175b-1024xa100', 500), ('llama3-8b-8xh100', 50)):
        axes = {**AXES, 'cluster.gpu.memory_bandwidth': AXES['cluster.gpu.memory_bandwidth'][:part]}
        begun, wall = time.process_time(), time.perf_counter()
        frame = st.sweep(name, axes, cells=['step_time']).to_pandas()
        scale = 1e6 / len(frame)
        line(f'a million rows in a data frame, {name}', (time.process_time() - begun) * scale, 's', 1)
        line('the same on the clock', (time.perf_counter() - wall) * scale, 's', 1)


main()
