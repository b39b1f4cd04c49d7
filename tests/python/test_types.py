# SPDX-License-Identifier: Apache-2.0
"""The package and a program that uses it, as mypy sees them."""
import os
import pathlib
import subprocess
import sys

import pytest
import steptime as st

PROGRAM = '''
import steptime as st
job = st.Job("llama3-8b-8xh100", {"batch.micro": 2})
right: st.Quantity = job.step_time
wrong: str = job.step_time
reveal_type(st.search(job, gpus="8").best.job)
reveal_type(st.sweep(job, {"batch.micro": [1, 2]}))
job.step_tme
'''


def test_mypy(tmp_path):
    pytest.importorskip('mypy', reason='mypy is not installed')
    (tmp_path / 'program.py').write_text(PROGRAM)
    package = pathlib.Path(st.__file__).parent
    command = [sys.executable, '-m', 'mypy', '--ignore-missing-imports', f'--cache-dir={tmp_path / "cache"}']
    environment = {**os.environ, 'MYPYPATH': str(package.parent)}
    own = subprocess.run([*command, '-p', 'steptime'], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert own.returncode == 0, own.stdout + own.stderr
    done = subprocess.run([*command, 'program.py'], cwd=tmp_path, env=environment, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('program.py:')]
    assert [line.split(':')[1] for line in lines if 'error' in line] == ['5', '8'], done.stdout
    assert [line.split('"')[1] for line in lines if 'note' in line] == ['steptime._job.Job', 'steptime._table.Table']
