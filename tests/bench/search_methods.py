#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways through a space of plans whose provider takes long: plans until the best one.

search_methods.py STEPTIME FOLDER [SEEDS [TRIALS]]

FOLDER holds plugins/ring-replay, which replays the rings of every plan. Each method searches the spaces
below once for each seed, with and without an end when the best five stand for 20 plans; beside it stand
the exhaustive search, which knows the best plan, the bound, and what pruning skips. A Markdown table.
"""
import json
import statistics
import subprocess
import sys
import time

KNOBS = ['--only', 'parallel.tp', '--only', 'parallel.pp', '--only', 'recompute', '--only', 'parallel.sequence_parallel',
         '--only', 'parallel.zero=0,1', '--only', 'batch.micro']
SPACES = {
    '18.4B, 64 A100': ['gpt3-175b-64xa100', '--set', 'model=megatron-18.4b', '--set', 'batch.global=512',
                       '--gpus', '64', '--only', 'parallel.virtual_stages=1,2,4'],
    'Llama 2 13B, 32 A100': ['gpt3-175b-64xa100', '--set', 'model=llama2-13b', '--set', 'batch.global=256',
                             '--gpus', '32', '--only', 'parallel.virtual_stages=1,2,4'],
    'Mixtral 8x7B, 64 H100': ['mixtral-8x7b-64xh100', '--gpus', '64', '--only', 'parallel.ep'],
}
METHODS = ['random', 'evolution', 'bayes', 'cmaes']
STANDING = 20


def search(program, folder, space, *more):
    """What a search says, and the seconds that it took."""
    begin = time.perf_counter()
    command = [program, 'search', *SPACES[space], *KNOBS, '--refine', 'ring-replay:fallback=formula', '--path', folder, '--cells',
               'step_time', '--top', '1', '--json', *more]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f'{" ".join(command)}: {run.stderr}')
    return json.loads(run.stdout), time.perf_counter() - begin


def goal_of(found):
    return found['ranking'][0]['cells']['step_time']


def mean(values):
    return statistics.median(values)


def compare(program, folder, space, seeds, trials):
    whole, seconds = search(program, folder, space)
    best = goal_of(whole)
    count = whole['plans']
    single = search(program, folder, space, '--threads', '1')[1]
    rows = [('exhaustive', count, None, 'all', 0, seconds),
            ('exhaustive, one thread', count, None, 'all', 0, single)]
    for name, more in (('bound', ['--method', 'bound']), ('pruned, proven', ['--prune', 'proven'])):
        found, seconds = search(program, folder, space, *more)
        assert abs(goal_of(found) - best) <= 1e-9 * best, name
        rows.append((name, found['guided']['computed'], found['guided'].get('best_at', 0), 'all', 0, seconds))
    for method in METHODS:
        for standing in (0, STANDING):
            runs = [search(program, folder, space, '--method', method, '--trials', str(trials), '--seed', str(seed),
                           '--stop-after', str(standing)) if standing else
                    search(program, folder, space, '--method', method, '--trials', str(trials), '--seed', str(seed))
                    for seed in seeds]
            gaps = [goal_of(found) / best - 1 for found, _ in runs]
            hits = [found['guided']['best_at'] for (found, _), gap in zip(runs, gaps) if gap < 1e-9]
            rows.append((method + (f', best five stand {standing}' if standing else ''),
                         mean([found['guided']['computed'] for found, _ in runs]),
                         mean(hits) if hits else None, f'{len(hits)} of {len(runs)}', max(gaps),
                         mean([taken for _, taken in runs])))
    return best, rows


def main():
    program, folder = sys.argv[1:3]
    seeds = range(1, 1 + int(sys.argv[3] if len(sys.argv) > 3 else 10))
    trials = int(sys.argv[4] if len(sys.argv) > 4 else 200)
    print(f'seeds {seeds[0]} to {seeds[-1]}, at most {trials} plans of a walk')
    for space in SPACES:
        best, rows = compare(program, folder, space, seeds, trials)
        print(f'\n{space}: best {best:.4g} s\n')
        print('| method | plans computed | until the best | found it | worst of the seeds | seconds |')
        print('| --- | --- | --- | --- | --- | --- |')
        for name, computed, until, hits, gap, seconds in rows:
            at = '-' if until is None else f'{until:.0f}'
            print(f'| {name} | {computed:.0f} | {at} | {hits} | +{100 * gap:.2f} % | {seconds:.2f} |')


main()
