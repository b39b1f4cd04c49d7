# SPDX-License-Identifier: Apache-2.0
"""Jobs: keys, cells, what they say and what they refuse."""
import copy
import json
import pathlib
import pickle
import sysconfig
import threading

import pytest
import steptime as st

JOB = 'llama3-8b-8xh100'


@pytest.fixture
def job():
    return st.Job(JOB)


def test_same_numbers_as_the_program(job, steptime):
    report = json.loads(steptime('estimate', JOB, '--set', 'batch.micro=2', '--json'))
    job['batch.micro'] = 2
    assert job.report.data['cells'] == report['cells']
    shown = {one['name']: one['value'] for one in report['cells']}
    assert job.step_time.to('ms') == pytest.approx(shown['step_time'] * {'s': 1e3, 'ms': 1}[job.cell('step_time').unit], rel=1e-12)


def test_data_parallelism_follows_other_sizes(job):
    with pytest.warns(st.SteptimeWarning, match='parallel.dp is 2, before 8: it fills the 8 GPUs'):
        job['parallel.tp'] = 4
    assert job['parallel.dp'] == 2 and job.step_time > 1
    with pytest.warns(st.SteptimeWarning, match='parallel.dp is 1, before 2'):
        job['parallel.pp'] = 2
    assert copy.copy(job)['parallel.dp'] == 1
    job['parallel.dp'] = 1
    job['parallel.tp'] = 8  # what was given stays, and the sheet says what is wrong
    with pytest.raises(st.CheckError, match='ranks'):
        job.step_time
    other = st.Job(JOB, {'parallel.dp': 8})
    other['parallel.tp'] = 4
    assert other['parallel.dp'] == 8
    with pytest.raises(st.CheckError, match='ranks'):
        other.step_time


def test_data_parallelism_follows_the_gpus(job):
    with pytest.warns(st.SteptimeWarning, match='parallel.dp is 16, before 8: it fills the 16 GPUs'):
        job['cluster.nodes'] = 2
    assert job['parallel.dp'] == 16


def test_numbers_have_units(job):
    time = job.step_time
    assert time.unit == 's' and isinstance(time, float) and str(time).endswith(' s')
    assert time.to('ms') == pytest.approx(float(time) * 1e3, rel=1e-15)
    assert job.memory.unit == 'B' and job.memory.to('GiB') == float(job.memory) / 2**30
    assert job.mfu.unit == '1' and 0.1 < job.mfu < 1
    assert st.Quantity(2.385, 'GB/s').unit == 'B/s' and str(st.Quantity(2.385, 'GB/s')) == '2.385 GB/s'
    assert f'{st.Quantity(0.25, "s"):.3f}' == '0.250' and f'{st.Quantity(0.25, "s")}' == '250 ms'
    assert st.Quantity(5, 'ms') == 0.005 and str(st.Quantity(200, 'Gbit/s')) == '200 Gbit/s'
    shown = st.Quantity(2.385, 'GB/s')
    assert pickle.loads(pickle.dumps(shown)) == shown and str(copy.copy(shown)) == str(shown)
    assert st.Quantity(float(shown), shown.unit) == shown
    with pytest.raises(st.UnitError, match='another dimension'):
        time.to('GB')
    with pytest.raises(st.UnitError, match="did you mean 'GB/s'"):
        st.Quantity(1, 'GBps').to('s')


def test_keys(job):
    assert job['parallel.dp'] == 8 and isinstance(job['parallel.dp'], int)
    assert job['model'] == 'llama3-8b' and job['recompute'] == 'full'
    assert job['model.gated'] is True
    memory = job['cluster.gpu.memory']
    assert memory == 80 * 2**30 and memory.unit == 'B'
    job['cluster.nic_bandwidth'] = '200 Gbit/s'
    assert job['cluster.nic_bandwidth'] == 25e9
    job['cluster.nic_bandwidth'] = st.Quantity(23.85, 'GB/s')
    assert job['cluster.nic_bandwidth'] == 23.85e9 and job.key('cluster.nic_bandwidth').is_given
    assert job['constants.overlap_slowdown'] == 1 and not job.key('constants.overlap_slowdown').is_given
    job['constants.overlap_slowdown'] = 1.125
    assert job['constants.overlap_slowdown'] == 1.125
    assert 'parallel' not in job and 'constants.nothing' not in job
    with pytest.raises(KeyError, match='parallel is a section, not a key'):
        job['parallel']
    assert 'parallel.tp' in job and 'parallel.tpp' not in job and 'parallel.tp' in job.keys()
    job['model'] = 'llama3-70b'
    assert job['model'] == 'llama3-70b' and job['model.layers'] == 80


@pytest.mark.parametrize('value', [2, 2.0, '2', True])
def test_values(job, value):
    if value is True:
        job['model.tied'] = value
        assert job['model.tied'] is True
    else:
        job['batch.micro'] = value
        assert job['batch.micro'] == 2


def test_settings_equal_a_new_job(job):
    job.update({'parallel.tp': 4, 'parallel.dp': 2})
    job['batch.micro'] = 4
    other = st.Job(JOB, {'parallel.dp': 2, 'batch.micro': 4, 'parallel.tp': 4})
    assert job.step_time == other.step_time and job.memory == other.memory
    for same in (job.copy(), pickle.loads(pickle.dumps(job)), copy.copy(job)):
        assert same.step_time == job.step_time
    assert str(other.step_time) in str(other.report)


def test_unknown_names_have_the_nearest_one(job):
    for call, nearest in ((lambda: job['parallel.tpp'], 'parallel.tp'), (lambda: job.cell('T_bubbel'), 'T_bubble'),
                          (lambda: job.explain('T_bubbel'), 'T_bubble'), (lambda: st.Job('llama3-8b-8xh10'), JOB),
                          (lambda: job.role('stpe'), 'step'), (lambda: job.role('communication.hiden'), 'communication.hidden'), (lambda: job.read('T_bubbel'), 'T_bubble'),
                          (lambda: job.update({'parallel.tp': 2, 'batch.mirco': 1}), 'batch.micro')):
        with pytest.raises(KeyError, match=f"did you mean '{nearest}'") as fault:
            call()
        assert isinstance(fault.value, st.Error) and fault.value.messages[0].suggestion == nearest
    assert job['parallel.tp'] == 1  # none of several, after an error


def test_wrong_values(job):
    before = job.step_time
    with pytest.raises(ValueError, match='unit is missing: found .3., expected a number with a unit'):
        job['cluster.nic_bandwidth'] = 3
    with pytest.raises(ValueError, match='a whole number from 1'):
        job['batch.micro'] = 2.385
    with pytest.raises(TypeError, match='a value of a key is'):
        job['batch.micro'] = [1, 2]
    with pytest.raises(TypeError, match='a key is a string'):
        job[3] = 4
    with pytest.raises(ValueError, match='zero byte'):
        job['parallel.order'] = 'tp\0dp'
    assert job.step_time == before


def test_a_check_that_fails_fails_each_time(job):
    job.update({'parallel.tp': 4, 'parallel.dp': 8})  # 32 ranks on 8 GPUs
    for _ in range(2):
        with pytest.raises(st.CheckError, match='32 ranks') as fault:
            job.step_time
        assert fault.value.messages[0].line > 0
    with pytest.raises(st.CheckError):
        job.report
    with pytest.raises(KeyError):
        job.cell('T_bubbel')
    job['parallel.dp'] = 2
    assert job.step_time > 0
    other = st.Job(JOB, {'parallel.tp': 4, 'parallel.dp': 8}, check=False)
    for _ in range(2):  # a report says it, whatever was read before
        assert other.step_time > 0
        failed = [one['message'] for one in other.report.data['checks'] if not one['holds']]
        assert failed and '32 ranks' in failed[0] and '32 ranks' in str(other.report)


def test_cells(job):
    cell = job.cell('T_bubble')
    assert cell.unit == 'ms' and cell.value.unit == 's' and cell.doc and cell.cite and 'T_pipeline' in cell.formula
    assert job.cell('fits').value is True
    names = [one.name for one in job.cells()]
    assert len(names) == len(set(names)) > 100
    values = job.read('T_bubble', 'step_time')
    assert values == {'T_bubble': cell.value, 'step_time': job.step_time}


def test_reports_and_pictures(job, tmp_path):
    report = job.report
    assert str(report).startswith(str(job.step_time)) and report.data['job']['name'] == JOB
    assert report.bars.svg.startswith('<svg') and '</svg>' in report._repr_html_()
    assert report._repr_html_().count('<details>') == 2
    explanation = job.explain('step_time')
    html = explanation._repr_html_()
    assert html.count('<details') == html.count('</details>') > 20 and len(html) < 500000 and explanation.data['explanation']['name'] == 'step_time'
    assert len(job.explain('step_time', levels=1).text) < len(explanation.text)
    job.timeline.save(tmp_path / 'step.svg')
    assert (tmp_path / 'step.svg').read_text().startswith('<svg')
    assert job.traffic('dp').svg.startswith('<svg')
    with pytest.raises(KeyError, match="did you mean 'dp'"):
        job.traffic('dpp')
    flows = job.flows()
    assert len(flows) == 8 and set(flows['kind']) == {'dp'} and flows.units['bytes'] == 'B'
    for one in (job, job.cell('T_bubble'), flows):
        assert one._repr_html_().startswith('<')


def test_html_of_names_is_escaped():
    table = st.Table([st.Column.empty('<b>&', 'text', 1, values=['<script>'])])
    assert '<script>' not in table._repr_html_() and '<b>' not in table._repr_html_()


def test_threads_may_share_a_job(job):
    found, faults = set(), []

    def work():
        try:
            for _ in range(200):
                found.add(float(job.step_time))
        except Exception as fault:
            faults.append(fault)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not faults and found == {float(job.step_time)}


def test_a_child_of_fork_goes_on(isolated):
    status, output, errors = isolated('''
import os, threading, steptime as st
job = st.Job("llama3-8b-8xh100")
job._lock.__enter__()  # another thread's, as the child sees it
child = os.fork()
if child == 0:
    found = st.search(job, gpus=8, top=1)
    print(job.step_time == job.copy().step_time, len(found), flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
print(os.WEXITSTATUS(status))
''')
    assert (status, output.split()) == (0, ['True', '1', '0']), errors


def test_no_library_and_another_release(isolated, tmp_path):
    status, _, errors = isolated('import steptime', STEPTIME_LIBRARY=str(tmp_path))
    assert status == 1 and 'libsteptime.so.0 of steptime' in errors and str(tmp_path) in errors and 'STEPTIME_LIBRARY' in errors
    (tmp_path / 'libsteptime.so.0').write_bytes(b'no library')
    status, _, errors = isolated('import steptime', STEPTIME_LIBRARY=str(tmp_path))
    assert status == 1 and 'cannot be loaded' in errors
    library = sysconfig.get_config_var('LIBDIR')
    (tmp_path / 'libsteptime.so.0').unlink()
    (tmp_path / 'libsteptime.so.0').symlink_to(next(one for one in pathlib.Path(library).rglob('libm.so.6')))
    status, _, errors = isolated('import steptime', STEPTIME_LIBRARY=str(tmp_path))
    assert status == 1 and 'is of release older than 0.1.0' in errors
    import steptime._library as library
    with pytest.raises(ImportError, match='is of release 9.9.9, this module of 0.1.0'):
        library._checked(type('Other', (), {'st_version': staticmethod(lambda: library.ffi.new('char[]', b'9.9.9'))}))


def test_no_memory_grows_in_a_loop(job):
    import resource
    for i in range(2000):
        job['batch.micro'] = 1 + i % 2
        job.step_time
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for i in range(6000):
        job['batch.micro'] = 1 + i % 2
        job.step_time
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048  # kB
