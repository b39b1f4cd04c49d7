# SPDX-License-Identifier: Apache-2.0
"""The Python of the pages runs, and prints what the page shows below it; so does the notebook."""
import json
import subprocess
import sys

import pages
import pytest

@pytest.mark.parametrize('page', pages.PAGES)
def test_page(root, page, monkeypatch):
    pytest.importorskip('numpy', reason='NumPy is not installed')
    pytest.importorskip('pandas', reason='pandas is not installed')
    monkeypatch.chdir(root)
    difference = pages.run(root / page)
    assert difference is None, f'./dev golden writes it anew:\n{difference[0]}\nis now\n{difference[1]}'


def notebook(root):
    return root / 'docs/notebooks/first-steps.ipynb'


def test_notebook_as_a_program(root, monkeypatch):
    pytest.importorskip('pandas', reason='pandas is not installed')
    monkeypatch.chdir(root)
    cells = json.loads(notebook(root).read_text(encoding='utf-8'))['cells']
    names = {}
    for cell in cells:
        if cell['cell_type'] == 'code':
            assert cell['outputs'] == [] and cell['execution_count'] is None
            exec(compile(''.join(cell['source']), 'notebook', 'exec'), names)


def test_notebook_by_nbconvert(root, tmp_path):
    for module in ('nbconvert', 'ipykernel', 'pandas'):
        pytest.importorskip(module, reason=f'{module} is not installed')
    done = subprocess.run([sys.executable, '-m', 'nbconvert', '--to', 'notebook', '--execute', '--output-dir', str(tmp_path),
                           str(notebook(root))], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / 'first-steps.ipynb').read_text(encoding='utf-8'))['cells']
    shown = {kind for cell in cells for one in cell.get('outputs', []) for kind in one.get('data', {})}
    assert {'text/html', 'image/svg+xml', 'text/plain'} <= shown
    assert not [one for cell in cells for one in cell.get('outputs', []) if one['output_type'] == 'error']
