# SPDX-License-Identifier: Apache-2.0
"""Providers in Python: what they give, and everything that they may do wrong."""
import gc
import pathlib
import threading

import pytest

numpy = pytest.importorskip('numpy', reason='NumPy (python3-numpy) is not installed')
import steptime as st  # noqa: E402

JOB = 'gpt-3b-32x3090'
READS = {'size': 'B', 'ranks': '1', 'bandwidth': 'B/s'}


def ring(size, ranks, bandwidth):
    """A ring, as the sheet has it."""
    return size * 2 * (ranks - 1) / (ranks * bandwidth)


def made(function, unit='s', reads=READS, name='all_reduce'):
    return st.provider(name, unit=unit, reads=reads)(function)


def test_the_formula_again_gives_the_same_step():
    own = made(ring)
    job = st.Job(JOB, refine=own)
    assert job.step_time == pytest.approx(st.Job(JOB).step_time, rel=1e-12)
    assert job.report.data['job']['name'] == JOB and 'ring' in str(job.explain('T_TP_mb'))
    job['batch.micro'] = 4
    assert job.step_time == pytest.approx(st.Job(JOB, {'batch.micro': 4}).step_time, rel=1e-12)
    assert own(4.0, 2, 1.0) == 4.0 and 'test_provider.py' in repr(own)


def test_units_are_those_that_the_provider_names():
    def milliseconds(size, ranks, bandwidth):
        assert size.flags.writeable is False
        return ring(size * 2**20, ranks, bandwidth * 1e9) * 1e3
    own = made(milliseconds, 'ms', {'size': 'MiB', 'ranks': '1', 'bandwidth': 'GB/s'})
    assert st.Job(JOB, refine=[own]).step_time == pytest.approx(st.Job(JOB).step_time, rel=1e-12)


def test_a_sweep_calls_it_with_whole_columns():
    lengths = []

    def counted(size, ranks, bandwidth):
        lengths.append(len(size))
        return ring(size, ranks, bandwidth)
    keys = {'cluster.bandwidth.tp': [f'{one:.4f} GB/s' for one in numpy.linspace(3, 9, 700)]}
    table = st.sweep(st.Job(JOB, refine=made(counted)), keys)
    assert max(lengths) > 100
    assert list(table['T_iter']) == pytest.approx(list(st.sweep(JOB, keys)['T_iter']), rel=1e-12)


def wrong(function, kind=st.ProviderError, cause=None, **given):
    with pytest.raises(kind) as fault:
        st.Job(JOB, refine=made(function, **given)).step_time
    if cause is not None:
        assert isinstance(fault.value.__cause__, cause)
    return str(fault.value) + ''.join(getattr(fault.value, '__notes__', []))


def line_of(function):
    return f'{pathlib.Path(__file__).name}:{function.__code__.co_firstlineno}'


def test_it_raises():
    def divides(size, ranks, bandwidth):
        return helper(size)

    def helper(size):
        return 1 // 0
    text = wrong(divides, cause=ZeroDivisionError)
    assert f'{pathlib.Path(__file__).name}:{helper.__code__.co_firstlineno + 1}' in text and 'all_reduce' in text


@pytest.mark.parametrize('function, text', [
    (lambda size, ranks, bandwidth: numpy.zeros(len(size) + 2), r'array of shape \(3,\) for 1 row, expected \(1,\)'),
    (lambda size, ranks, bandwidth: 2.385, r'shape \(\)'),
    (lambda size, ranks, bandwidth: None, 'NoneType of dtype object, expected numbers'),
    (lambda size, ranks, bandwidth: numpy.array(['x'] * len(size)), 'dtype <U1'),
    (lambda size, ranks, bandwidth: size * 1j, 'complex128'),
    (lambda size, ranks, bandwidth: size * numpy.nan, 'returned nan for size = 1'),
    (lambda size, ranks, bandwidth: -size, 'returned -'),
    (lambda size, ranks, bandwidth: size / 0 if False else size * numpy.inf, 'returned inf'),
    (lambda size, ranks, bandwidth: st.Quantity(1, 'B'), 'which is in B, expected s'),
    (lambda size: size, 'takes 1 positional argument'),
    (lambda size, ranks, bandwidth: size.__setitem__(0, 3), 'read-only'),
])
def test_it_returns_something_else(function, text):
    import re
    found = wrong(function)
    assert re.search(text, found) and line_of(function) in found


def test_its_units_are_not_the_sheets():
    assert 'gives B' in wrong(ring, st.UnitError, unit='B')
    assert "reads 'size' in s" in wrong(ring, st.UnitError, reads={**READS, 'size': 's'})
    assert "reads 'bites'" in wrong(ring, reads={'bites': 'B'})
    assert 'no open function or cell' in wrong(ring, name='all_reduction')
    with pytest.raises(st.UnitError, match="did you mean 'GB/s'"):
        made(ring, 'GBps')
    with pytest.raises(st.ProviderError, match="invalid name, 'a b'"):
        made(ring, name='a b')
    with pytest.raises(TypeError, match='a provider is a function'):
        made(3)
    with pytest.raises(TypeError, match='a map from names to units'):
        made(ring, reads=['size'])
    with pytest.raises(TypeError, match='providers made with'):
        st.Job(JOB, refine=ring)


def test_it_calls_the_library():
    job, other = st.Job(JOB), []

    def calls(size, ranks, bandwidth):
        for call in (lambda: job.step_time, lambda: st.Job(JOB), lambda: st.sweep(JOB, {'batch.micro': [1]}),
                     lambda: st.search(JOB), lambda: st.validate('li2024')):
            with pytest.raises(RuntimeError, match='a provider cannot use'):
                call()
            other.append(1)
        return ring(size, ranks, bandwidth)
    assert st.Job(JOB, refine=made(calls)).step_time == pytest.approx(job.step_time)
    assert len(other) >= 5
    assert 'a provider cannot use a Job' in wrong(lambda size, ranks, bandwidth: size * job.step_time, cause=RuntimeError)


@pytest.mark.parametrize('fault', [KeyboardInterrupt, SystemExit])
def test_it_ends_the_program(fault):
    def ends(size, ranks, bandwidth):
        raise fault
    with pytest.raises(fault):
        st.Job(JOB, refine=made(ends)).step_time


def test_a_fault_is_raised_each_time_until_a_key_is_set():
    calls = []

    def once(size, ranks, bandwidth):
        calls.append(1)
        return ring(size, ranks, bandwidth) if len(calls) > 1 else 1 // 0
    job = st.Job(JOB, refine=made(once))
    for _ in range(2):
        with pytest.raises(st.ProviderError, match='ZeroDivisionError'):
            job.step_time
    calls += [1]
    job['batch.micro'] = 2
    assert job.step_time == pytest.approx(st.Job(JOB, {'batch.micro': 2}).step_time)


def test_a_sweep_raises_what_it_raised():
    with pytest.raises(st.ProviderError, match='ZeroDivisionError') as fault:
        st.sweep(st.Job(JOB, refine=made(lambda size, ranks, bandwidth: 1 // 0)), {'batch.micro': [1, 2]})
    assert isinstance(fault.value.__cause__, ZeroDivisionError)


def test_rows_that_it_rejects_say_their_numbers():
    def picky(size, ranks, bandwidth, micro):
        return ring(size, ranks, bandwidth) * numpy.where(micro == 4, numpy.nan, numpy.where(micro == 2, -2.385, 1))
    own = made(picky, reads={**READS, 'batch.micro': '1'})
    table = st.sweep(st.Job(JOB, refine=own), {'batch.micro': [1, 2, 4], 'cluster.bandwidth.tp': ['3 GB/s', '4 GB/s']})
    assert list(table['ok']) == [True, True, False, False, False, False] and table['reason'][0] == ''
    for row, returned in ((2, 'returned -'), (3, 'returned -'), (4, 'returned nan'), (5, 'returned nan')):
        text = table['reason'][row]
        assert f'has no usable value of all_reduce: {returned}' in text and f'batch.micro = {table["batch.micro"][row]}' in text
        assert line_of(picky) in text


def test_it_cannot_be_isolated(root, tmp_path):
    file = tmp_path / 'job.yaml'
    file.write_text((root / f'configs/jobs/{JOB}.yaml').read_text() + 'isolate: true\n')
    with pytest.warns(st.SteptimeWarning, match="plugin 'python-ring' is not isolated"):
        job = st.Job(str(file), refine=made(ring))
    assert job.step_time == pytest.approx(st.Job(JOB).step_time)


def test_a_search_uses_it_and_raises_what_it_raised():
    bandwidth = {'ranks': '1', 'links': 'GB/s'}
    job = st.Job('llama3-8b-8xh100', refine=made(lambda ranks, links: links * 0.785, 'GB/s', bandwidth, 'ring_bandwidth'))
    best = st.search(job, gpus=8, top=1).best
    assert best.job.step_time == pytest.approx(best.goal, rel=1e-12)
    faulty = made(lambda ranks, links: 1 // 0, 'GB/s', bandwidth, 'ring_bandwidth')
    with pytest.raises(st.ProviderError, match='ZeroDivisionError'):
        st.search(st.Job('llama3-8b-8xh100', refine=faulty), gpus=8)


def test_its_end():
    own = made(ring)
    name = own.plugin_id
    job = st.Job(JOB, refine=own)
    del own
    gc.collect()
    assert job.step_time > 0  # the job keeps it
    del job
    gc.collect()
    with pytest.raises(KeyError, match='no plugin'):
        st.Job(JOB, refine=name)


def test_many_threads():
    own, found, faults = made(ring), [], []

    def work():
        try:
            job = st.Job(JOB, refine=own)
            for i in range(40):
                job['batch.micro'] = 1 + i % 2
                found.append(float(job.step_time))
        except Exception as fault:
            faults.append(fault)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not faults and len(set(found)) == 2


def test_a_provider_does_not_go_to_another_process():
    import pickle
    with pytest.raises(TypeError, match='cannot be pickled'):
        pickle.dumps(st.Job(JOB, refine=made(ring)))


def test_a_thread_that_a_provider_waits_for(isolated):
    status, output, errors = isolated('''
import threading, numpy, steptime as st
@st.provider("all_reduce", unit="s", reads={"size": "B"})
def waits(size):
    def other():
        try:
            job.step_time
        except RuntimeError as fault:
            print(fault)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    return size * 1e-9
job = st.Job("gpt-3b-32x3090", refine=waits)
st.Job("gpt-3b-32x3090").step_time
import steptime._library as library
library.WAIT = 0.05
print(job.step_time > 0)
''')
    assert status == 0 and 'use one Job per thread' in output and output.strip().endswith('True'), errors


def test_columns_are_its_own():
    kept = []

    def keeps(size, ranks, bandwidth):
        kept.append((size, size.copy()))
        return ring(size, ranks, bandwidth)
    st.sweep(st.Job(JOB, refine=made(keeps)), {'batch.micro': [1, 2, 4], 'cluster.bandwidth.tp': ['3 GB/s', '4 GB/s']})
    gc.collect()
    assert kept and all(one.flags.owndata and numpy.array_equal(one, before) for one, before in kept)


def test_jobs_that_share_one_raise_only_their_own():
    def picky(size, ranks, bandwidth, micro):
        if micro[0] == 8:
            raise ValueError('only for micro 8')
        return ring(size, ranks, bandwidth)
    own = made(picky, reads={**READS, 'batch.micro': '1'})
    good, bad = st.Job(JOB, refine=own), st.Job(JOB, refine=own)
    inside, go = threading.Event(), threading.Event()
    bad['batch.micro'] = 8
    raised = []

    class Waits(type(bad._errors)):  # the other job is read between the exception and its report
        __slots__ = ()
        settle_own = type(bad._errors).settle

        def settle(self, *given):
            inside.set()
            go.wait(20)
            return self.settle_own(*given)
    bad._errors.__class__ = Waits

    def read():
        try:
            bad.step_time
        except st.ProviderError as fault:
            raised.append(fault.__cause__)
    thread = threading.Thread(target=read)
    thread.start()
    assert inside.wait(20)
    good['batch.micro'] = 4
    assert good.step_time == pytest.approx(st.Job(JOB, {'batch.micro': 4}).step_time)
    go.set()
    thread.join()
    assert isinstance(raised[0], ValueError)


@pytest.mark.parametrize('name', ['none', 'nccl_whitebox'])
def test_its_name_is_not_that_of_a_plugin(name):
    calls = []

    def function(size, ranks, bandwidth):
        calls.append(1)
        return ring(size, ranks, bandwidth)
    before = st.Job(JOB, refine='nccl-whitebox').step_time
    function.__name__ = name
    own = made(function)
    assert st.Job(JOB, refine=own).step_time == pytest.approx(st.Job(JOB).step_time) and calls
    assert st.Job(JOB, refine='nccl-whitebox').step_time == before


def test_columns_go_by_name():
    assert st.Job(JOB, refine=made(lambda bandwidth, size, ranks: ring(size, ranks, bandwidth))).step_time == \
        pytest.approx(st.Job(JOB).step_time)
    assert st.Job(JOB, refine=made(lambda a, b, c: ring(a, b, c))).step_time == pytest.approx(st.Job(JOB).step_time)
