# SPDX-License-Identifier: Apache-2.0
"""Sweeps and searches, and their tables in NumPy, pandas, Polars and Arrow."""
import gc
import itertools
import json

import pytest
import steptime as st

JOB = 'llama3-8b-8xh100'
AXES = {'batch.micro': [1, 2, 4], 'cluster.nic_bandwidth': ['200 Gbit/s', '400 Gbit/s'], 'recompute': ['none', 'full']}


@pytest.fixture(scope='module')
def table():
    return st.sweep(JOB, AXES, cells=['step_time', 'memory', 'fits'])


def test_rows_are_single_estimates(table):
    assert len(table) == 12 and table.columns == [*AXES, 'step_time', 'memory', 'fits', 'ok', 'reason']
    assert table.units == {'batch.micro': '', 'cluster.nic_bandwidth': 'B/s', 'recompute': '', 'step_time': 's', 'memory': 'B',
                           'fits': '', 'ok': '', 'reason': ''}
    job = st.Job(JOB, check=False)
    for i, values in enumerate(itertools.product(*AXES.values())):
        job.update(dict(zip(AXES, values)))
        row = table.row(i)
        assert (row['batch.micro'], row['recompute']) == (values[0], values[2]) and isinstance(row['batch.micro'], int)
        assert row['cluster.nic_bandwidth'] == job['cluster.nic_bandwidth']
        assert (row['step_time'], row['memory'], row['fits']) == (job.step_time, job.memory, job.cell('fits').value)
        assert (row['reason'] == '') is row['fits'] is row['ok']
        assert not row['reason'] or row['reason'].startswith('not: ') and ' - ' in row['reason']


def test_axes():
    assert list(st.sweep(JOB, {'batch.micro': '1..8*2'})['batch.micro']) == [1, 2, 4, 8]
    zipped = st.sweep(JOB, {'parallel.tp': [1, 2], 'parallel.dp': [8, 4]}, zip=True)
    assert [list(zipped[key]) for key in ('parallel.tp', 'parallel.dp')] == [[1, 2], [8, 4]]
    sample = st.sweep(JOB, {'batch.micro': '1..100000', 'parallel.zero': '1..3'}, sample=50, seed=2385)
    assert len(sample) == 50 and len(set(sample['batch.micro'])) > 30
    assert list(st.sweep(JOB, {'model': ['llama3-8b', 'llama3-70b']})['model']) == ['llama3-8b', 'llama3-70b']
    job = st.Job(JOB, {'batch.micro': 4})
    assert list(st.sweep(job, {'parallel.zero': [3]})['step_time']) == [job.step_time]
    assert list(st.sweep(job, {'batch.micro': [1]})['step_time']) == [st.Job(JOB).step_time]
    assert list(st.sweep(JOB, {'model.tied': [True, False]})['model.tied']) == [True, False]


def test_wrong_axes():
    with pytest.raises(KeyError, match="did you mean 'batch.micro'"):
        st.sweep(JOB, {'batch.mirco': [1]})
    with pytest.raises(KeyError, match="did you mean 'T_bubble'"):
        st.sweep(JOB, {'batch.micro': [1]}, cells=['T_bubbel'])
    with pytest.raises(ValueError, match='has no values'):
        st.sweep(JOB, {'batch.micro': []})
    with pytest.raises(ValueError, match='contains'):
        st.sweep(JOB, {'parallel.order': ['tp,dp']})
    with pytest.raises(st.Error, match='10'):
        st.sweep(JOB, {'batch.micro': '1..1000000', 'batch.global': '1..1000000'})
    with pytest.raises(KeyError, match="did you mean 'step_time'"):
        st.sweep(JOB, {'batch.micro': [1]})['step_tim']


def test_threads_give_the_same(table):
    axes = {'batch.micro': '1..4000', 'parallel.zero': '1..3'}
    one, several = (st.sweep(JOB, axes, cells=['step_time'], threads=n) for n in (1, 3))
    assert len(one) == 12000 and one['step_time'].buffer() == several['step_time'].buffer()


def test_numpy(table):
    numpy = pytest.importorskip('numpy', reason='NumPy is not installed')
    column = table['step_time']
    shared = numpy.asarray(column)
    assert shared.dtype == float and shared.ctypes.data == int(st._library.ffi.cast('uintptr_t', column.pointer))
    assert list(table['recompute'].to_numpy()[:2]) == ['none', 'full']
    kept = list(shared)
    other = numpy.asarray(st.sweep(JOB, AXES)['step_time'])
    del column
    gc.collect()
    assert list(shared) == kept == list(other)
    assert memoryview(table['batch.micro'].buffer()).format == 'q'


def test_pandas(table):
    pandas = pytest.importorskip('pandas', reason='pandas is not installed')
    frame = table.to_pandas()
    assert list(frame.columns) == table.columns and frame.attrs['units']['memory'] == 'B'
    assert frame['batch.micro'].dtype == 'int64' and list(frame['recompute'].unique()) == ['none', 'full']
    numpy = pytest.importorskip('numpy')
    assert numpy.shares_memory(frame['step_time'].to_numpy(), numpy.asarray(table['step_time']))
    assert frame.groupby('recompute', observed=True)['step_time'].min()['none'] == min(table['step_time'])
    assert isinstance(frame, pandas.DataFrame)


@pytest.fixture
def holes():
    """A table of every kind, each with a value that is missing."""
    columns = {'bool': [True, None, False], 'int': [None, 2**53 + 1, -7], 'float': [2.385, 1.5, None], 'text': ['b', 'a', None],
               'none': [None] * 3, 'small': [3, 5, None]}
    return st.Table([st._table.column_of(name, values) for name, values in columns.items()])


def test_what_is_missing_is_none(holes):
    assert holes.row(0) == {'bool': True, 'int': None, 'float': 2.385, 'text': 'b', 'none': None, 'small': 3}
    assert holes.row(1)['int'] == 2**53 + 1 and holes.row(2)['float'] != holes.row(2)['float']
    assert [holes[name].kind for name in holes] == ['bool', 'int64', 'float64', 'text', 'text', 'int64']
    assert repr(holes['text']) == '<column text: b, a, >' and 'yes' in repr(holes)


def test_missing_in_numpy_and_pandas(holes):
    numpy = pytest.importorskip('numpy', reason='NumPy is not installed')
    pandas = pytest.importorskip('pandas', reason='pandas is not installed')
    arrays = holes.to_numpy()
    assert list(arrays['bool']) == [True, None, False] and list(arrays['text']) == ['b', 'a', None]
    assert arrays['int'][1] == 2**53 + 1 and arrays['small'].dtype == float and numpy.isnan(arrays['small'][2])
    frame = holes.to_pandas()
    assert [str(one) for one in frame.dtypes] == ['boolean', 'Int64', 'float64', 'category', 'category', 'Int64']
    assert frame.isna().sum().to_dict() == {'bool': 1, 'int': 1, 'float': 1, 'text': 1, 'none': 3, 'small': 1}
    assert frame['int'][1] == 2**53 + 1 and frame['bool'][0] and not frame['bool'][2]


@pytest.mark.parametrize('library', ['pyarrow', 'polars'])
def test_missing_in_arrow(holes, library):
    arrow = pytest.importorskip(library, reason=f'{library} is not installed: Debian has none')
    table = arrow.table(holes) if library == 'pyarrow' else arrow.DataFrame(holes)
    for name in ('bool', 'int', 'text', 'none', 'small'):
        assert (table[name].to_pylist() if library == 'pyarrow' else table[name].to_list()) == list(holes[name])


def test_missing_bits(holes):
    from steptime import _arrow
    array = _arrow._array_of(holes['bool'])
    valid, values = ([_arrow.ctypes.c_uint8.from_address(array.buffers[i]).value for i in range(2)])
    assert (array.null_count, valid & 7, values & 7) == (1, 0b101, 0b001)
    _arrow._release(_arrow.ctypes.pointer(array))


def test_arrow(table):
    pyarrow = pytest.importorskip('pyarrow', reason='pyarrow is not installed: Debian has none')
    arrow = pyarrow.table(table)
    assert arrow.column_names == table.columns and arrow.num_rows == 12
    assert arrow.schema.field('memory').metadata == {b'unit': b'B'}
    assert arrow['step_time'].to_pylist() == list(table['step_time'])
    assert arrow['recompute'].to_pylist() == list(table['recompute'])
    address = int(st._library.ffi.cast('uintptr_t', table['step_time'].pointer))
    assert arrow['step_time'].chunk(0).buffers()[1].address == address
    assert pyarrow.array(table['batch.micro']).to_pylist() == list(table['batch.micro'])


def test_arrow_releases_everything(table):
    """The C data interface as a consumer uses it, by hand: moved, read, released."""
    import ctypes

    from steptime import _arrow
    before = len(_arrow._alive)
    capsules = [table.__arrow_c_stream__(), table['recompute'].__arrow_c_schema__(), *table['recompute'].__arrow_c_array__()]
    assert len(_arrow._alive) > before
    del capsules  # nobody took them
    gc.collect()
    assert len(_arrow._alive) == before
    capsule = table.__arrow_c_stream__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = _arrow._Stream.from_address(get(capsule, b'arrow_array_stream'))
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    schema, array, end = _arrow._Schema(), _arrow._Array(), _arrow._Array()
    assert call(stream.get_schema)(ctypes.addressof(stream), ctypes.addressof(schema)) == 0
    assert (schema.format, schema.n_children) == (b'+s', 8) and schema.children[3].contents.name == b'step_time'
    assert call(stream.get_next)(ctypes.addressof(stream), ctypes.addressof(array)) == 0
    assert call(stream.get_next)(ctypes.addressof(stream), ctypes.addressof(end)) == 0 and not end.release
    child = array.children[3].contents
    values = ctypes.cast(child.buffers[1], ctypes.POINTER(ctypes.c_double))
    assert values[:child.length] == list(table['step_time'])
    del capsule  # with the stream, not with what it gave
    for made in (schema, array):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(made.release)(ctypes.addressof(made))
        assert not made.release
    assert len(_arrow._alive) == before


def test_a_table_by_hand_shows_itself(table):
    assert repr(table).splitlines()[-1] == '12 rows' and 'cluster.nic_bandwidth [B/s]' in repr(table)
    assert table._repr_html_().count('<tr>') == 13


def test_search(steptime):
    found = st.search(JOB, gpus=8, top=3, cells=['memory'], only=['parallel.tp', 'parallel.dp', 'parallel.pp', 'batch.micro'])
    shown = json.loads(steptime('search', JOB, '--gpus', '8', '--top', '3', '--only', 'parallel.tp', '--only', 'parallel.dp',
                               '--only', 'parallel.pp', '--only', 'batch.micro', '--json'))
    assert len(found) == 3 and found.total == shown['plans']
    best = found.best
    assert best.goal.unit == 's' and best.job.step_time == pytest.approx(best.goal, rel=1e-12)
    assert best.cells['memory'] == best.job.memory
    assert [one.goal for one in found] == sorted(one.goal for one in found)
    frame = found.table
    assert list(frame[found.ranked_by]) == [float(one.goal) for one in found] and '<table>' in found._repr_html_()
    assert set(frame['parallel.tp']) <= {1, 2, 4, 8}


def test_searches_that_find_nothing_or_are_wrong():
    nothing = st.search(JOB, gpus=8, where='memory < 1[B]')
    assert not nothing and nothing.reasons and 'plans' in nothing._repr_html_()
    with pytest.raises(LookupError, match='none of'):
        nothing.best
    with pytest.raises(ValueError, match='expected one of exhaustive, bound'):
        st.search(JOB, method='luck')
    with pytest.raises(st.Error, match='1 to 1000'):
        st.search(JOB, top=0)
    with pytest.raises(KeyError, match='did you mean'):
        st.search(JOB, minimise='step_tme')
    with pytest.warns(st.SteptimeWarning, match='do not fill nodes'):
        st.search(JOB, gpus=12, top=1)


def test_ctrl_c_ends_a_search(isolated):
    status, output, errors = isolated('''
import _thread, threading, steptime as st
threading.Timer(0.3, _thread.interrupt_main).start()
try:
    found = st.search("gpt3-175b-1024xa100", gpus="64..8192*2", vary=["batch.micro=1..64", "batch.global=64..4096*2"])
    print(found.interrupted)
except KeyboardInterrupt:
    print(True)
''')
    assert (status, output.strip()) == (0, 'True'), errors


def test_a_plan_keeps_the_job_that_was_searched():
    job = st.Job(JOB)
    best = st.search(job, gpus=8, top=1).best
    job['model'] = 'llama3-70b'
    assert best.job['model'] == 'llama3-8b' and best.job.step_time == pytest.approx(best.goal, rel=1e-12)


@pytest.mark.parametrize('given', [{'top': -1}, {'threads': -3}, {'seed': -3}])
def test_negative_counts(given):
    with pytest.raises(ValueError, match='expected a number from 0'):
        st.search(JOB, gpus=8, **given)
    if 'top' not in given:
        with pytest.raises(ValueError, match=f'{[*given][0]} is -3'):
            st.sweep(JOB, {'batch.micro': [1]}, **given)


def test_tables_show_no_escapes():
    table = st.Table([st.Column.empty('name', 'text', 1, values=['\x1b[31m'])])
    assert '\x1b' not in str(table) and '\x1b' not in repr(table['name']) and table['name'][0] == '\x1b[31m'
