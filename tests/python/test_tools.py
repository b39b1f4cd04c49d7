# SPDX-License-Identifier: Apache-2.0
"""Recordings, validation, import and export from Python."""
import json

import pytest
import steptime as st

TRACE = 'tests/fuzz/corpus/trace/ranks.json'


def test_sql(root):
    trace = st.read_trace(root / TRACE)
    table = trace.sql('SELECT name, duration_ns, rank FROM kernels ORDER BY rank, name')
    assert table.columns == ['name', 'duration_ns', 'rank'] and list(table['duration_ns']) == [41125, 23850, 41125, 23850]
    assert trace.sql('SELECT * FROM kernels WHERE 1 = 0').columns[:1] == trace.sql('SELECT * FROM kernels').columns[:1]
    nulls = trace.sql("SELECT 1.5 AS real, 3 AS whole, 'x' AS word, NULL AS none UNION ALL SELECT NULL, NULL, NULL, NULL")
    assert nulls.row(0) == {'real': 1.5, 'whole': 3, 'word': 'x', 'none': None}
    assert {name: value for name, value in nulls.row(1).items() if name != 'real'} == {'whole': None, 'word': None, 'none': None}
    assert 'sgemm' in trace.kernels() and trace.summary()
    with pytest.raises(st.Error, match='durations_ns'):
        trace.sql('SELECT durations_ns FROM kernels')
    with pytest.raises(FileNotFoundError, match='no such recording'):
        st.read_trace('missing.json')
    with pytest.raises(st.Error):
        st.read_trace(root / 'README.md').sql('SELECT 1')


def test_sql_of_a_real_recording(data):
    folder = data / 'traces' / '03_dlrm_v100x8'
    if not folder.is_dir():
        pytest.skip(f'{folder} is not there')
    table = st.read_trace(folder / 'kineto_rank0.json.gz', partial=True).sql(
        'SELECT class, count(*) AS count, sum(duration_ns) / 1e9 AS s FROM kernels GROUP BY class')
    assert len(table) > 2 and all(0 < one < 10 for one in table['s'])


def test_validate():
    found = st.validate('li2024')
    assert found.data['sources'][0]['failed'] == 0 and 'Li et al.' in str(found)
    table = st.validate('jiang2024').tables
    assert set(table['source']) == {'jiang2024'} and all(0 < one < 0.5 for one in table['mean_absolute'])
    with pytest.raises(KeyError, match="did you mean 'li2024'"):
        st.validate('li2042')


def test_import_and_export(root, tmp_path):
    with (root / 'tests/models/configs.jsonl').open() as file:
        config = json.loads(file.readline())['config']
    source = tmp_path / 'config.json'
    source.write_text(json.dumps(config))
    text = st.import_job(source, cluster='dgx-h100', keys={'batch.sequence': 4096, 'batch.global': 64, 'batch.micro': 1,
                                                           'cluster.nodes': 1, 'parallel.dp': 8, 'parallel.zero': 3})
    file = tmp_path / 'job.yaml'
    file.write_text(text)
    job = st.Job(str(file))
    assert job['model.layers'] == config['num_hidden_layers'] and job.step_time > 0
    with pytest.warns(st.SteptimeWarning, match='carries them separately'):
        script = job.export('megatron')
    assert f'--num-layers {config["num_hidden_layers"]}' in script
    again = tmp_path / 'again.yaml'
    (tmp_path / 'run.sh').write_text(script)
    again.write_text(st.import_job(tmp_path / 'run.sh', 'megatron'))
    assert st.Job(str(again)).step_time == pytest.approx(job.step_time, rel=1e-9)


def test_wrong_imports_and_exports(root, tmp_path):
    source = tmp_path / 'config.json'
    source.write_text('{"model_type": "llama", "hidden_size": 12')
    with pytest.raises(st.Error, match='config.json:1'):
        st.import_job(source)
    source.write_text(json.dumps(json.loads((root / "tests/models/configs.jsonl").read_text().splitlines()[0])["config"]))
    with pytest.raises(KeyError, match="did you mean 'dgx-h100'"):
        st.import_job(source, cluster='dgx-h10')
    with pytest.raises(KeyError, match="did you mean 'hf'"):
        st.import_job(source, 'hff')
    with pytest.raises(KeyError, match="did you mean 'megatron'"):
        st.export_job('llama3-8b-8xh100', 'megatrom')
    with pytest.raises(FileNotFoundError):
        st.import_job(tmp_path / 'missing.json')
    with pytest.raises(st.Error, match='ranks'):
        st.export_job(st.Job('llama3-8b-8xh100', {'parallel.tp': 4}), 'megatron')
