#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of each reader its corpus reaches: coverage.py BUILD ROOT [--only NAME] [--grow FOLDER] [--update] [--list]

BUILD was made with clang's -fprofile-instr-generate -fcoverage-mapping. Prints lines reached and all lines of
the sources that read, by target. --grow takes those files of FOLDER/NAME, and of FOLDER itself, into the corpus
that reach lines which nothing there does, smallest first. --update writes the table into docs/fuzzing.md.

Each function with lines that no corpus reaches has a row with the reason in unreached.csv; lines that handle exhausted
memory need none. --list prints the lines. Exit status 1 where a function lacks its row, or a row its lines.
"""
import argparse
import bisect
import concurrent.futures
import csv
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

REASONS = ['unit', 'verb', 'passed', 'system', 'limit', 'excluded', 'input']  # docs/fuzzing.md has their meaning
MEMORY = re.compile(r'MEMORY|out_of_memory|fail_memory|fault_memory|out of memory|NOMEM|failed\b')
FEW = 4  # lines of a block that does nothing else
ALLOCATES = re.compile(r'(alloc|strdup|_copy|_printf|_create|_grow|_append|_text|_take|APPEND|open_memstream)\w*\(')
MOST_BYTES = 16384  # of a file that is taken into a corpus

# What each target is there for; other code that it runs into is another target's.
READERS = {
    'axis': ['estimator/plan/sweep/axis.c'],
    'call_costs': ['estimator/tools/record/price/host_costs.c'],
    'chakra': ['estimator/tools/workload/chakra_read.c', 'estimator/base/protobuf.c'],
    'counters': ['plugins/overlap-xgboost/fit/counters.c'],
    'database': ['estimator/core/profile/database.c'],
    'descriptor': ['estimator/core/plugin/descriptor.c'],
    'echo_table': ['plugins/nccl-whitebox/model/echo.c'],
    'execution_groups': ['estimator/tools/workload/execution_groups.c'],
    'expression': ['estimator/core/sheet/parse.c', 'estimator/core/sheet/lexer.c', 'estimator/core/sheet/check.c'],
    'filter': ['estimator/tools/fit/steps/filter.c'],
    'fit_spec': ['estimator/tools/fit/steps/fit_spec.c'],
    'gpu_ratios': ['estimator/tools/trace/gpu_ratios.c'],
    'gzip': ['estimator/tools/trace/bytes.c'],
    'import_framework': ['estimator/tools/launch/frameworks/read.c'],
    'import_hf': ['estimator/tools/launch/import/hf.c', 'estimator/tools/launch/import/hf_blocks.c',
                  'estimator/tools/launch/import/hf_families.c', 'estimator/tools/launch/import/hf_fields.c', 'estimator/tools/launch/import/hf_hybrid.c',
                  'estimator/tools/launch/import/hf_layers.c', 'estimator/base/json_read.c'],
    'import_megatron': ['estimator/tools/launch/import/megatron.c', 'estimator/tools/launch/import/megatron_args.c',
                        'estimator/tools/launch/import/megatron_layers.c', 'estimator/tools/launch/import/megatron_model.c',
                        'estimator/tools/launch/import/megatron_modern.c', 'estimator/tools/launch/import/megatron_options.c',
                        'estimator/tools/launch/import/megatron_plan.c', 'estimator/tools/launch/import/megatron_times.c'],
    'job': ['estimator/core/job/load.c', 'estimator/core/job/value.c', 'estimator/core/job/sets.c', 'estimator/base/yaml.c',
            'estimator/base/yaml_tree.c'],
    'kernels': ['plugins/overlap-xgboost/fit/kernel_table.c'],
    'layer_table': ['plugins/kernel-times/fit/table.c', 'estimator/base/fields.c'],
    'layer_times': ['plugins/kernel-times/model/times_read.c'],
    'layers': ['estimator/core/schedule/layer_list.c'],
    'layers_text': ['estimator/tools/launch/import/layers_text.c'],
    'manifest': ['estimator/core/plugin/kit/manifest.c'],
    'nccl_table': ['plugins/nccl-whitebox/fit/nccl_read.c', 'plugins/nccl-whitebox/fit/nccl_table.c'],
    'network': ['estimator/core/fabric/network_read.c'],
    'nsys': ['estimator/tools/trace/nsys.c'],
    'operator_shapes': ['plugins/operator-times/model/shapes.c', 'plugins/operator-times/model/table.c'],
    'operators': ['plugins/operator-times/fit/read.c'],
    'profile': ['estimator/core/profile/exchange.c'],
    'program': ['estimator/tools/record/program_file.c'],
    'pytorch': ['estimator/tools/workload/pytorch_read.c'],
    'quantity': ['estimator/base/quantity.c', 'estimator/base/number.c', 'estimator/base/unit.c'],
    'record_log': ['estimator/tools/record/log_read.c'],
    'record_ranks': ['estimator/tools/record/rank_dedup_table.c'],
    'record_run': ['estimator/tools/record/price/load.c', 'estimator/tools/record/price/cupti_join.c'],
    'recorded': ['plugins/overlap-xgboost/fit/recorded.c', 'plugins/overlap-xgboost/fit/nsys.c'],
    'refine': ['estimator/core/job/refine.c', 'estimator/core/plugin/refine_parse.c'],
    'rules': ['estimator/tools/trace/rules.c'],
    'sheet': ['estimator/core/sheet/load.c', 'estimator/core/sheet/loader_sections.c',
              'estimator/core/sheet/loader_checks.c', 'estimator/core/sheet/loader_overrides.c',
              'estimator/core/sheet/loader_roles.c', 'estimator/core/sheet/loader_summary.c'],
    'simai': ['estimator/tools/workload/simai_text.c'],
    'slowdown_model': ['plugins/overlap-xgboost/model/model.c'],
    'space': ['estimator/plan/search/space_file.c'],
    'split': ['estimator/tools/record/split.c'],
    'steps': ['estimator/core/fabric/steps_read.c', 'estimator/core/fabric/steps_follow.c'],
    'strategy': ['estimator/plan/timeline/strategy_read.c'],
    'table': ['estimator/tools/fit/steps/table_csv.c', 'estimator/base/csv.c'],
    'tcp_store': ['estimator/tools/record/tcp_store.c', 'estimator/tools/record/tcp_store_keys.c'],
    'token_shares': ['estimator/core/estimate/token_shares.c'],
    'topology': ['estimator/tools/launch/import/topology.c'],
    'trace': ['estimator/tools/trace/read.c', 'estimator/tools/trace/scan.c', 'estimator/tools/trace/event_draft.c'],
    'validation': ['estimator/tools/fit/steps/source.c', 'estimator/tools/fit/steps/cases_read.c'],
    'whatif_keys': ['estimator/tools/trace/whatif_keys.c'],
    'wire': ['estimator/core/plugin/isolate_answer.c', 'estimator/core/plugin/isolate_descriptor.c', 'estimator/core/plugin/ipc.c'],
    'xplane': ['estimator/tools/trace/xplane.c'],
}
MARKS = ('<!-- table: ./dev fuzz-coverage --update -->\n', '<!-- end of the table -->\n')


class Target:
    def __init__(self, build, root, name):
        self.name = name
        self.root = root
        self.program = build / 'tests/fuzz' / ('fuzz_' + name)
        self.library = build / 'tests/libsteptime-tests.so'
        self.corpus = root / 'tests/fuzz/corpus' / name
        self.functions = {}

    def lines(self, folder):
        """Lines that the files of a folder reach, and all lines, as (source, line)."""
        with tempfile.TemporaryDirectory() as work:
            whole = os.path.join(work, 'whole')
            environment = {**os.environ, 'LLVM_PROFILE_FILE': os.path.join(work, '%m.raw'), 'STEPTIME_PATH': '', 'STEPTIME_DATA': '',
                           'XDG_CONFIG_HOME': work}
            ran = subprocess.run([self.program, folder], env=environment, cwd=work, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
            if ran.returncode != 0:
                raise SystemExit(f'{self.name}: {ran.stdout.decode(errors="replace")[-600:]}')
            subprocess.run(['llvm-profdata', 'merge', '-sparse', '-o', whole, *pathlib.Path(work).glob('*.raw')],
                           check=True)
            shown = subprocess.run(['llvm-cov', 'export', '-format=lcov', '-instr-profile', whole, self.program,
                                    '-object', self.library, *[str(self.root / source) for source in READERS[self.name]]],
                                   check=True, stdout=subprocess.PIPE).stdout.decode()
        return parse(shown, READERS[self.name], self.functions)

    def reached(self, file):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(file, os.path.join(folder, 'one'))
            return self.lines(folder)[0]

    def grow(self, pool):
        """Files of the pool that reach more than the corpus does, smallest first."""
        self.corpus.mkdir(exist_ok=True)
        known = self.lines(self.corpus)[0] if any(self.corpus.iterdir()) else set()
        files = sorted((path for folder in (pool / self.name, pool) if folder.is_dir()
                        for path in folder.iterdir() if path.is_file() and path.stat().st_size <= MOST_BYTES),
                       key=lambda path: (path.stat().st_size, path.name))
        taken = []
        for file in files:
            new = self.reached(file) - known
            if new:
                known |= new
                digest = hashlib.sha256(file.read_bytes()).hexdigest()[:8]
                found = len(file.name) == 40 and file.suffix == ''  # libFuzzer's names are check sums
                shutil.copy(file, self.corpus / (f'found-{digest}' if found else file.name))
                taken.append(file.name)
        return taken


def parse(text, sources, functions=None):
    """Lines of an lcov report of these sources that were run, and all of them; where functions begin."""
    run, whole, source = set(), set(), None
    for line in text.splitlines():
        if line.startswith('SF:'):
            source = os.path.normpath(line[3:])  # "./BUILD/../estimator/plan/sweep/axis.c"
            source = source if source in sources else None
        elif line.startswith('FN:') and source is not None and functions is not None:
            number, name = line[3:].split(',')[:2]
            functions.setdefault(source, {})[int(number)] = name.split(':')[-1]
        elif line.startswith('DA:') and source is not None:
            number, count = line[3:].split(',')[:2]
            whole.add((source, int(number)))
            if int(count) > 0:
                run.add((source, int(number)))
    return run, whole


def is_memory(text, block):
    """Whether unreached lines handle exhausted memory: they say so, or stand behind a check of what was allocated."""
    if len(block) > FEW:
        return False
    if MEMORY.search(' '.join(text[number - 1] for number in block)):
        return True
    before = ' '.join(line.strip() for line in text[max(0, block[0] - 7):block[0] - 1])
    condition = before.rpartition('if (')[2]
    checked = re.findall(r'([\w.>-]+) == NULL|!([\w.>-]+)\b', condition)
    names = [one or other for one, other in checked]
    return any(re.search(re.escape(name.split('->')[-1].split('.')[-1]) + r'\b[^;]*=[^=;][^;]*' + ALLOCATES.pattern, before + condition)
               for name in names)


def entered(functions, run, whole):
    """Lines of the functions that the target enters; others are those of writers and of other callers."""
    begins = {source: sorted(numbers) for source, numbers in functions.items()}

    def function(line):
        return line[0], bisect.bisect(begins.get(line[0], []), line[1])
    known = {function(line) for line in run}
    return {line for line in whole if function(line) in known}


def unreached(root, functions, run, whole):
    """{(source, function): lines} that no input reaches, but for those that handle exhausted memory."""
    found = {}
    for source, begins in functions.items():
        text = (root / source).read_text(encoding='utf-8').split('\n')
        numbers = sorted(begins)
        blocks = []
        for number in sorted(line for name, line in whole - run if name == source):
            if not text[number - 1].strip(' {}'):
                continue
            same = blocks and number - blocks[-1][-1] <= 2 and bisect.bisect(numbers, number) == bisect.bisect(numbers, blocks[-1][-1])
            if same:
                blocks[-1].append(number)
            else:
                blocks.append([number])
        for block in blocks:
            if not is_memory(text, block):
                place = bisect.bisect(numbers, block[0])
                name = begins[numbers[place - 1]] if place else '?'
                found.setdefault((source, name), []).extend(block)
    return found


def check_rows(root, found, sources):
    """What is wrong with the table of reasons."""
    with open(root / 'tests/fuzz/unreached.csv', encoding='utf-8', newline='') as table:
        rows = {(row['source'], row['function']): row['reason'] for row in csv.DictReader(table)}
    for (source, name), lines in sorted(found.items()):
        if (source, name) not in rows:
            yield f'{source}:{lines[0]}: {name} has {len(lines)} lines that no corpus reaches: add an input or a row'
    for (source, name), reason in rows.items():
        if reason not in REASONS:
            yield f"unreached.csv: '{reason}' is none of {', '.join(REASONS)}"
        if source in sources and (source, name) not in found:
            yield f'unreached.csv: {source}, {name}: corpora reach every line: remove the row'


def measure(build, root, name, pool):
    target = Target(build, root, name)
    taken = target.grow(pool) if pool is not None else []
    run, whole = target.lines(target.corpus)
    files = [path for path in target.corpus.iterdir() if path.is_file()]
    missed = unreached(root, target.functions, run, whole)
    whole = entered(target.functions, run, whole)
    return {'name': name, 'unreached': missed, 'reached': len(run), 'lines': len(whole), 'files': len(files),
            'bytes': sum(path.stat().st_size for path in files), 'taken': taken}


def percent(row):
    return 100 * row['reached'] / max(1, row['lines'])


def table(rows):
    yield '| target | sources | lines reached | of | % | files | bytes |'
    yield '| --- | --- | ---: | ---: | ---: | ---: | ---: |'
    for row in rows:
        sources = ', '.join(f'`{source.removeprefix("estimator/")}`' for source in READERS[row['name']])
        yield (f'| `{row["name"]}` | {sources} | {row["reached"]} | {row["lines"]} | {percent(row):.0f} | '
               f'{row["files"]} | {row["bytes"]} |')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('root', type=pathlib.Path)
    parser.add_argument('--only')
    parser.add_argument('--grow', type=pathlib.Path)
    parser.add_argument('--update', action='store_true')
    parser.add_argument('--list', action='store_true')
    given = parser.parse_args()
    build, root = given.build.resolve(), given.root.resolve()
    names = [name for name in sorted(READERS) if given.only in (None, name)]
    rows = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row in pool.map(lambda name: measure(build, root, name, given.grow), names):
            rows.append(row)
            print(f'{row["name"]:18}{row["reached"]:6} of{row["lines"]:6} lines{percent(row):6.1f} %'
                  f'{row["files"]:6} files{row["bytes"]:9} bytes{"  + " + " ".join(row["taken"]) if row["taken"] else ""}',
                  flush=True)
    found = {}
    for row in rows:
        found.update(row['unreached'])
    faults = list(check_rows(root, found, {source for name in names for source in READERS[name]}))
    print(f'{sum(map(len, found.values()))} lines of {len(found)} functions are reached by no corpus, each for a reason; '
          f'{len(faults)} faults in the table of reasons')
    for fault in faults:
        print(fault)
    if given.list:
        for (source, name), lines in sorted(found.items()):
            print(f'{source} {name}: {" ".join(map(str, lines))}')
    if given.update:
        page = root / 'docs/fuzzing.md'
        head, rest = page.read_text(encoding='utf-8').split(MARKS[0])
        page.write_text(head + MARKS[0] + '\n'.join(table(rows)) + '\n' + MARKS[1] + rest.split(MARKS[1])[1],
                        encoding='utf-8')
    return 1 if faults else 0


sys.exit(main())
