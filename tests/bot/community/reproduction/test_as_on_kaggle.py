"""A public notebook finds the competition's files wherever it looks for them, and its own files where it wrote them."""

import subprocess
import sys
from pathlib import Path

import pytest

from bot.community.reproduction.adapting import with_head

FILES = ("train.csv", "test.csv", "sample_submission.csv", "extra/colours.csv", "extra/shapes.csv", "more/shapes.csv")
READ = """
import glob, os, pathlib
import pandas as pd
DATA = '../../any/where/'
paths = [
    '../data/train.csv', 'data/train.csv', './train.csv', 'train.csv', '../input/train.csv', '/kaggle/input/some-slug/train.csv',
    '../input/some-slug/train.csv', '/home/somebody/kaggle/train.csv', DATA + 'train.csv', os.path.join(DATA, 'raw', 'train.csv'),
    pathlib.Path('..') / 'dataset' / 'train.csv',
]
for path in paths:
    assert os.path.exists(path), path
    assert open(path).read() == 'id,label\\ntrain.csv,1\\n', path
    assert pd.read_csv(path).id[0] == 'train.csv', path
assert pd.read_csv('colours.csv').id[0] == 'extra/colours.csv'
assert pd.read_csv('../x/more/shapes.csv').id[0] == 'more/shapes.csv'
assert sorted(os.path.basename(path) for path in glob.glob('../dataset/*.csv'))[-2:] == ['test.csv', 'train.csv']
"""
REFUSED = """
for path in ('shapes.csv', '../data/absent.csv', 'submission.csv', '../model.pkl'):
    try:
        open(path)
    except FileNotFoundError:
        continue
    raise AssertionError(path)
"""
WRITE = """
import os
import pandas as pd
frame = pd.DataFrame({'id': ['own'], 'label': [1]})
for path in ('colours.csv', '../output/train.csv', 'features/a/test.csv', '/proc/nowhere/made.csv'):
    frame.to_csv(path, index=False)
    assert pd.read_csv(path).id[0] == 'own', path
assert pd.read_csv('train.csv').id[0] == 'train.csv', 'the name alone is the competition\\'s still'
frame.to_csv('../results/answer.csv', index=False)
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    for name in FILES:
        path = folder / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"id,label\n{name},1\n")
    (folder / "solution.py").write_text(with_head(code, "kernel/1", FILES, "a-slug"))
    return subprocess.run([sys.executable, "solution.py"], cwd=folder, capture_output=True, text=True)


@pytest.mark.integration
@pytest.mark.parametrize("code", [READ, REFUSED, WRITE], ids=["read", "refused", "write"])
def test_paths_lead_where_they_should(code: str, tmp_path: Path) -> None:
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    for name in FILES:
        assert (tmp_path / "data" / name).read_text() == f"id,label\n{name},1\n", "the data stay as they are"
    if code is WRITE:
        assert (tmp_path / "submission.csv").read_text() == "id,label\nown,1\n"


@pytest.mark.integration
def test_a_package_that_is_imported_and_not_used_may_be_missing(tmp_path: Path) -> None:
    done = run("import absent_package as ap\nfrom absent_other import one\nimport json\nprint(json.dumps(1))", tmp_path)
    assert (done.returncode, done.stdout) == (0, "1\n")
