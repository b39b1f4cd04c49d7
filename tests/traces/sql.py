#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of recordings, views as SQL, and what is refused:

    sql.py STEPTIME ROOT
"""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

STEPTIME = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
FOREVER = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n'
failures = 0


def check(what, good, found=''):
    global failures
    failures += not good
    print(f'{"ok" if good else "not ok"} - {what}' + ('' if good else f': {found}'))


def event(category, name, start, duration, thread, **args):
    return {'ph': 'X', 'cat': category, 'name': name, 'pid': 0 if category == 'kernel' else 9, 'tid': thread,
            'ts': start, 'dur': duration, 'args': args}


def kernel(name, start, duration, correlation, stream=7):
    """A kernel 3 us after the begin of its launch."""
    return [event('cuda_runtime', 'cudaLaunchKernel', start - 3, 1, 2, correlation=correlation),
            event('kernel', name, start, duration, stream, device=0, stream=stream, correlation=correlation)]


def write(name, events, rank, world):
    path = pathlib.Path(name)
    path.write_text(json.dumps({'distributedInfo': {'rank': rank, 'world_size': world},
                                'traceEvents': events}))


def write_recordings():
    """Ranks 0 and 1 run sgemm as long, rank 0 in two runs; gelu runs on rank 1 alone."""
    os.mkdir('ranks')
    write('ranks/r0.json', kernel('sgemm', 100, 10, 31) + kernel('sgemm', 120, 20.385, 32) +
          [event('user_annotation', 'ProfilerStep#4', 90, 60, 2), event('user_annotation', 'forward', 95, 30, 2),
           event('cpu_op', 'aten::mm', 96, 8, 2, **{'Input Dims': [[8, 4], [4, 2]]}),
           event('cuda_runtime', 'cudaDeviceSynchronize', 141, 2, 2, correlation=33),
           {'ph': 'i', 'cat': 'cpu_instant_event', 'name': '[memory]', 'pid': 9, 'tid': 2, 's': 't', 'ts': 97,
            'args': {'Device Type': 1, 'Device Id': 0, 'Addr': 4096, 'Bytes': 512, 'Total Allocated': 2048,
                     'Total Reserved': 4096}}], 0, 3)
    write('ranks/r1.json', kernel('sgemm', 100, 30.385, 31) + kernel('gelu', 150, 2.385, 32, 20), 1, 3)
    write('ranks/r2.json', kernel('sgemm', 100, 5, 31), 2, 3)


def run(*words):
    done = subprocess.run([STEPTIME, 'trace', *words], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


ANSWERS = [
    ('kernels', 'SELECT name, class, kind, rank, device, stream, duration_ns, end_ns - start_ns FROM kernels '
     'WHERE rank = 1 ORDER BY start_ns',
     [['sgemm', 'gemm', 'kernel', 1, 0, 7, 30385, 30385], ['gelu', 'elementwise', 'kernel', 1, 0, 20, 2385, 2385]]),
    ('a kernel and its call', 'SELECT k.name, k.start_ns - c.start_ns, c.action, c.thread FROM kernels k JOIN calls c '
     'ON c.id = k.call_id ORDER BY k.rank, k.start_ns LIMIT 1', [['sgemm', 3000, 'launch', 2]]),
    ('no such id', 'SELECT count(*) FROM calls WHERE id IN (-1, 999999999999, 1.5, NULL, \'x\')', [[0]]),
    ('the id of a kernel is none of a call', 'SELECT count(*) FROM kernels k JOIN calls c ON c.id = k.id', [[0]]),
    ('calls', 'SELECT action, count(*) FROM calls WHERE rank = 0 GROUP BY action ORDER BY action',
     [['launch', 2], ['sync_device', 1]]),
    ('ranks', 'SELECT rank, file, world_size, gpu FROM ranks LIMIT 1', [[0, 'ranks/r0.json', 3, None]]),
    ('times', 'SELECT rank, duration_ns, exposed_compute_ns, idle_ns, kernels FROM rank_times ORDER BY rank DESC',
     [[2, 8000, 5000, 3000, 1], [1, 55385, 32770, 22615, 2], [0, 46000, 30385, 15615, 2]]),
    ('idle time', 'SELECT rank, device, stream, kernels, idle_ns, host_bound_ns, launch_ns, launched, delay_median_ns '
     'FROM idle WHERE rank = 1', [[1, None, None, 2, 22615, 16615, 6000, 0, None],
                                  [1, 0, 7, 1, 25000, 22000, 3000, 1, 3000], [1, 0, 20, 1, 53000, 50000, 3000, 1, 3000]]),
    ('steps', 'SELECT rank, name, number, end_ns - start_ns, exposed_compute_ns FROM steps',
     [[0, 'ProfilerStep#4', 4, 60000, 30385]]),
    ('annotations', 'SELECT name, kind, duration_ns FROM annotations', [['ProfilerStep#4', 'annotation', 60000], ['forward', 'annotation', 30000]]),
    ('operators', 'SELECT name, shapes, is_backward FROM operators', [['aten::mm', '[[8, 4], [4, 2]]', 0]]),
    ('kernels of an annotation', 'SELECT a.name, sum(k.duration_ns) FROM annotations a JOIN calls c ON c.thread = '
     'a.thread AND c.rank = a.rank AND c.start_ns BETWEEN a.start_ns AND a.end_ns JOIN kernels k ON k.call_id = c.id GROUP BY a.id',
     [['ProfilerStep#4', 30385], ['forward', 30385]]),
    ('memory', 'SELECT rank, device, bytes, address, allocated_bytes, reserved_bytes FROM memory_events',
     [[0, 0, 512, 4096, 2048, 4096]]),
    ('functions', "SELECT ms(23850000), fixed(2.385, 1), percent(1, 4), percent(1, 0), short('abc'), ms(NULL)",
     [['23.850 ms', '2.4', '25.0 %', '0.0 %', 'abc', None]]),
    ('sums that do not fit', 'SELECT sum_ns(x) FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT 1)',
     [[9223372036854775807]]),
    ('nothing', 'SELECT 1 AS a WHERE 0', []),
    ('values', "SELECT -5, 2.5, NULL, 'a,b'", [[-5, 2.5, None, 'a,b']]),
]

# Exit code, words of the message, arguments.
REFUSED = [
    (2, 'SQL:1:1: error: near "SELEC": syntax error: expected a SELECT', 'SELEC 1'),
    (2, "SQL:2:2: error: no such column: nam; 'SELECT * FROM columns' lists", 'SELECT\n nam FROM kernels'),
    (2, 'no such table: kernel: expected one of ranks, rank_times, steps, kernels', 'SELECT * FROM kernel'),
    (2, 'SQL:1:11: error: more than one statement', 'SELECT 1; SELECT 2'),
    (2, 'the statement is empty', '/* nothing */'),
    (2, 'table kernels may not be modified', 'DELETE FROM kernels'),
    (2, 'the statement is not read-only: expected SELECT', 'CREATE TABLE t(x)'),
    (2, 'the statement is not read-only', 'CREATE TEMP TABLE t AS SELECT 1'),
    (2, 'the statement is not read-only', "ATTACH 'written.db' AS w"),
    (2, 'the statement is not a query', "VACUUM INTO 'written.db'"),
    (2, 'the statement is not read-only', 'PRAGMA query_only = 0'),
    (2, 'the statement is not read-only', "SELECT load_extension('x')"),
    (2, 'the statement is not read-only', 'BEGIN'),
    (1, 'SQL:1:1: error: the statement took longer than 0.2 s; use --limit SECONDS', FOREVER, '--limit', '0.2'),
    (1, 'the statement returns more than 10000000 values', FOREVER.replace('count(*)', 'x, x, x, x, x, x, x, x, x, x')),
    (2, 'string or blob too big', "SELECT length(replace(printf('%16000000d', 1), ' ', '12'))"),
    (2, 'the statement is missing'),
    (2, "cannot find view 'nosuch' on the search path: expected one of", '--view', 'nosuch'),
    (1, "the view file './nosuch.sql' does not exist", '--view', 'nosuch.sql'),
    (1, './broken.sql:4:8: error: no such column: nam', '--view', 'broken.sql'),
    (1, './writes.sql:2:1: error: the statement is not read-only', '--view', 'writes.sql'),
    (1, './temporary.sql:2:1: error: the statement is not read-only', '--view', 'temporary.sql'),
    (1, './endless.sql:3:1: error: the statement took longer than 0.2 s', '--view', 'endless.sql', '--limit', '0.2'),
    (1, "./unknown.sql:1:4: error: unknown line '--: columns a': expected let NAME, fields", '--view', 'unknown.sql'),
    (1, './empty.sql:1:1: error: the statement is empty', '--view', 'empty.sql'),
    (2, 'option --limit: found', 'SELECT 1', '--limit', '-1'),
]

VIEWS = {
    'broken.sql': '-- a comment\n--: fields\n\nSELECT nam FROM kernels;\n',
    'writes.sql': '--: fields\nCREATE TABLE t AS SELECT 1;\n',
    'temporary.sql': 'SELECT 1;\nCREATE TEMP TABLE t AS SELECT 1;\n',
    'endless.sql': '--: let all_numbers\n\n' + FOREVER + ';\n',
    'unknown.sql': '--: columns a\nSELECT 1 AS a;\n',
    'empty.sql': '-- nothing\n',
    'own/views/streams.sql': '''-- Time by stream.
--: let streams
SELECT stream, sum(duration_ns) AS busy_ns, NULL AS note FROM kernels GROUP BY stream;
--: fields
SELECT count(*) AS streams FROM streams;
--: say
SELECT count(*) || ' streams' || char(10) FROM streams;
--: rows rows
--: text *stream|>busy=.busy|?note
--: csv stream=number,busy_ns
SELECT *, ms(busy_ns) AS ".busy" FROM streams ORDER BY busy_ns DESC;
''',
}


def check_answers():
    for what, sql, expected in ANSWERS:
        code, out, err = run('sql', 'ranks', sql, '--json')
        rows = [list(row.values()) for row in json.loads(out)['rows']] if code == 0 else err
        check(what, rows == expected, rows)
    code, out, _ = run('sql', 'ranks', "SELECT 1 AS a, NULL AS b, 3 AS a, 'x,y' AS \"c,d\"", '--csv')
    check('CSV', (code, out) == (0, 'a,b,a_3,"c,d"\n1,,3,"x,y"\n'), out)
    code, out, _ = run('sql', 'ranks', "SELECT 'x' AS name, 31 AS count UNION ALL SELECT 'yy', 7")
    check('text', (code, out) == (0, '  name  count\n  x        31\n  yy        7\n'), out)
    code, out, _ = run('sql', 'ranks', 'SELECT count(*) AS n FROM kernels', '--csv', '--steps', '4')
    check('steps are those of every rank', code == 1, out)
    code, out, _ = run('sql', 'ranks/r0.json', '--partial', 'SELECT name FROM kernels', '--csv', '--steps', '4')
    check('the steps that are asked for', out == 'name\nsgemm\nsgemm\n', out)


def check_refused():
    for code, message, *words in REFUSED:
        found, out, err = run('sql', 'ranks', *words)
        check(f'refused: {" ".join(words)[:60]}'.replace('\n', ' '),
              found == code and message in err and out == '', f'{found} {err}')
    check('nothing is written', not os.path.exists('written.db'))


def check_views():
    code, out, err = run('sql', 'ranks', '--path', 'own', '--view', 'streams')
    check('a view of a folder', out == '2 streams\n  stream      busy\n  7       0.066 ms\n  20      0.002 ms\n',
          out + err)
    code, out, _ = run('sql', 'ranks', '--view', 'own/views/streams.sql', '--csv')
    check('a view of a file', out == 'number,busy_ns\n7,65770\n20,2385\n', out)
    code, out, _ = run('sql', 'ranks', '--path', 'own', '--view', 'streams', '--json')
    found = json.loads(out)
    check('a view as JSON', found['streams'] == 2 and found['rows'][0] == {'stream': 7, 'busy_ns': 65770, 'note': None},
          out)
    code, out, _ = run('kernels', 'ranks', '--json', '--top', '1')
    found = json.loads(out)
    row = {'name': 'sgemm', 'class': 'gemm', 'count': 4, 'total_ns': 65770, 'mean_ns': 16442.5, 'least_ns': 5000,
           'most_ns': 30385, 'ranks': 3, 'rank_least_ns': 5000, 'rank_most_ns': 30385, 'rank_most': 0}
    check('kernels over ranks', found['rows'] == [row] and found['total_ns'] == 68155 and found['kernels'] == 2 and
          found['others'] == {'kernels': 1, 'count': 1, 'total_ns': 2385}, out)
    code, out, _ = run('kernels', 'ranks', '--csv', '--top', '1')
    check('others in CSV', out.endswith('\n1 others,,1,2385,,,,,,,\n'), out)
    code, out, _ = run('kernels', 'ranks')
    check('kernels of ranks as text', out == '''2 kernels on 3 ranks

  kernel  class        count      time   share     mean   least     most  least rank  most rank  is rank
  sgemm   gemm             4  0.066 ms  96.5 %  16.4 us  5.0 us  30.4 us    0.005 ms   0.030 ms        0
  gelu    elementwise      1  0.002 ms   3.5 %   2.4 us  2.4 us   2.4 us    0.002 ms   0.002 ms        1
''', out)
    code, out, _ = run('kernels', 'ranks/r1.json', '--partial', '--top', '1')
    check('kernels of a rank as text', 'least rank' not in out and ', the longest\n' in out and '1 others' in out, out)
    code, out, _ = run('kernels', 'ranks', '--json', '--top', '2')
    check('no others', json.loads(out)['others'] == {'kernels': 0, 'count': 0, 'total_ns': 0}, out)
    code, kernels, _ = run('sql', 'ranks', '--view', 'kernels')
    check('the verb is its view', kernels == run('kernels', 'ranks')[1], kernels)


def collective(start, duration, correlation, name='ncclDevKernel_AllReduce_Sum_f32_RING_LL', **args):
    """Launched 50 us before."""
    return [event('cuda_runtime', 'cudaLaunchKernel', start - 50, 1, 2, correlation=correlation),
            event('kernel', name, start, duration, 20, device=0, stream=20, correlation=correlation, **args)]


def described(elements, size, sequence, name='allreduce'):
    return {'Collective name': name, 'In msg nelems': elements, 'Out msg nelems': elements, 'Group size': size,
            'dtype': 'Float', 'Seq': sequence}


def check_collectives():
    """Rank 1 of two comes 23.85 us late to an all-reduce of 954 kB that takes 76.15 us from then on."""
    os.mkdir('met')
    for rank, start in ((0, 100), (1, 123.85)):
        write(f'met/r{rank}.json', collective(start, 200 - start, 31, **described(238500, 2, 7)) +
              kernel('sgemm', 210, 10, 32), rank, 2)
    code, out, err = run('sql', 'met', 'SELECT rank, collective, group_size, bytes, sequence, duration_ns, instance, '
                         'waiting_ns, transfer_ns, late_ns, skew_ns, caused_ns FROM collectives ORDER BY rank', '--csv')
    check('the table of collectives', out.splitlines()[1:] ==
          ['0,all_reduce,2,954000,7,100000,0,23850,76150,0,,', '1,all_reduce,2,954000,7,76150,0,0,76150,23850,23850,23850'],
          out + err)
    code, out, _ = run('collectives', 'met', '--json')
    found = json.loads(out)
    row = found['collectives'][0]
    bandwidth = 954000 / 76150e-9
    check('collectives that meet', found['ranks'] == 2 and found['met'] == 1 and len(found['collectives']) == 1 and
          [row[key] for key in ('collective', 'ranks', 'bytes', 'kernels', 'kernel_ns', 'matched', 'transfer_ns',
                                'waiting_ns', 'skew_mean_ns', 'skew_most_ns')] ==
          ['all_reduce', 2, 954000, 2, 176150, 2, 152300, 23850, 23850, 23850], out)
    check('bandwidths as nccl-tests count them', abs(row['algorithm_bandwidth'] / bandwidth - 1) < 1e-12 and
          abs(row['bus_bandwidth'] / bandwidth - 1) < 1e-12 and
          abs(row['kernel_bus_bandwidth'] / (954000 / 88075e-9) - 1) < 1e-12, row)
    late = {'collectives': 1, 'last': 1, 'caused_ns': 23850, 'late_ns': 23850, 'waiting_ns': 0, 'compute_ns': 10000}
    check('who comes late', found['stragglers'] == [
        {'file': 'met/r1.json', 'rank': 1, **late},
        {'file': 'met/r0.json', 'rank': 0, **late, 'last': 0, 'caused_ns': 0, 'late_ns': 0, 'waiting_ns': 23850}], out)
    code, out, _ = run('collectives', 'met')
    check('collectives as text', 'who waits' not in out and [line.split() for line in out.splitlines()[3:8] if line] == [
        'all_reduce 2 954.0 kB 2 0.088 ms 10.8 GB/s 0.076 ms 12.5 GB/s 12.5 GB/s 0.024 ms 0.024 ms'.split(),
        'late ranks came last delayed all by late, mean waited computes'.split(),
        'rank 1 1 of 1 0.024 ms 0.024 ms 0.000 ms 0.010 ms'.split(),
        'rank 0 0 of 1 0.000 ms 0.000 ms 0.024 ms 0.010 ms'.split()], out)
    write('alone.json', collective(100, 3000, 31, **described(11925000, 4, 7)) +
          collective(4000, 1000, 32, **described(600, 4, 8)) +
          collective(6000, 2000, 33, 'ncclDevKernel_Broadcast_RING_LL') +
          collective(9000, 500, 34, 'my_collective_ncclKernel') +
          collective(9900, 1, 35, **described(250000, 4, 9)), 0, 4)
    code, out, _ = run('collectives', 'alone.json', '--partial')
    check('a rank alone', out.endswith('\n  who waits for whom is unknown: give the traces of all ranks\n') and
          [line.split() for line in out.splitlines()[3:8]] == [
              ('all_reduce 4 47.7 MB 1 3.000 ms 23.9 GB/s' + ' unknown' * 5).split(),
              ('broadcast unknown unknown 1 2.000 ms' + ' unknown' * 6).split(),
              ('all_reduce 4 2.4 kB 1 1.000 ms 0.0 GB/s' + ' unknown' * 5).split(),
              ('my_collective_ncclKernel unknown unknown 1 0.500 ms' + ' unknown' * 6).split(),
              ('all_reduce 4 1.0 MB 1 0.001 ms 1500.0 GB/s' + ' unknown' * 5).split()] and
          out.splitlines()[10].split() == 'rank 0 unknown unknown unknown unknown 0.000 ms'.split(), out)
    code, out, _ = run('collectives', 'alone.json', '--partial', '--csv')
    check('a rank alone in CSV', out.splitlines()[2] == 'broadcast,,,1,2000000,0,,,,,,,', out)
    code, out, err = run('collectives', 'ranks')
    check('no collectives', code == 1 and 'ranks/r0.json: error: the trace has no collectives: expected kernels of NCCL' in
          err, err)
    code, out, _ = run('sql', 'ranks', 'SELECT count(*) AS n FROM collectives', '--csv')
    check('none is no error of SQL', out == 'n\n0\n', out)


def check_slowdown(slowed, is_advised):
    """100 us alone; `slowed` during computation, halfway between where half of that is."""
    folder = f'slowed{slowed}'
    os.mkdir(folder)
    for rank, early in ((0, 3.5), (1, 0)):
        events = []
        for i in range(6):
            transfer = (100, slowed, (100 + slowed) / 2)[i % 3]
            computed = (0, slowed, slowed / 2)[i % 3]
            at = 1000 * (i + 1)
            events += collective(at - early, transfer + early, 2 * i, **described(238500, 2, i))
            events += [event('cuda_runtime', 'cudaLaunchKernel', at - 40, 1, 2, correlation=2 * i + 1)]
            if computed > 0:
                events += [event('kernel', 'ampere_sgemm', at - 20, computed + 20, 7, device=0, stream=7,
                                 correlation=2 * i + 1)]
        write(f'{folder}/r{rank}.json', events, rank, 2)
    found = json.loads(run('collectives', folder, '--json')[1])
    beside = found['beside_computation']
    check(f'transfers of {slowed} us during computation', found['met'] == 6 and beside['alone'] == 2 and
          beside['beside'] == 4 and abs(beside['slowdown'] - slowed / 100) < 1e-9 and beside['error_frac'] < 1e-9, beside)
    code, out, _ = run('collectives', folder)
    check(f'what {slowed} us advise', '4 transfers take' in out and
          ('overlap.communication_slowdown' in out) == is_advised, out)


def check_docs():
    """docs/traces.md has a row for each column, with its unit."""
    code, out, _ = run('sql', 'ranks', 'SELECT * FROM columns', '--csv')
    page = (ROOT / 'docs/traces.md').read_text()
    page = page[page.index('\n## trace sql\n'):]
    for row in csv.DictReader(io.StringIO(out)):
        unit = f' ({row["unit"]})' if row['unit'] else ''
        section = page[page.find(f'\n| `{row["table_name"]}` |'):].split('\n')[1]
        check(f'{row["table_name"]}.{row["column_name"]} in docs/traces.md', f'`{row["column_name"]}`{unit}' in section,
              section)


os.environ['NO_COLOR'] = '1'
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    write_recordings()
    for name, text in VIEWS.items():
        pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(name).write_text(text)
    check_answers()
    check_refused()
    check_views()
    check_collectives()
    check_slowdown(136, True)
    check_slowdown(80, False)
    check_docs()
    os.chdir('/')
sys.exit(failures > 0)
