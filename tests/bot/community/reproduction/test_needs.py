"""What a public notebook needs, and finds as on Kaggle."""

import gzip
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bot.community.reproduction.adapting import python_of, with_head
from bot.community.reproduction.choosing import in_order
from bot.community.reproduction.needs import check_needs
from bot.community.reproduction.reproducing import skipped_line
from state.community import Post, Repeat
from state.errors import UnsupportedKernel
from tests.state.conftest import START

FILES = ("train.csv", "test.csv.zip", "train.zip", "images/1.png", "sample_submission.csv")

PACKAGES = {"pandas", "scikit-learn", "python-dateutil"}

WRITE = "\npd.DataFrame().to_csv('submission.csv')\n"


@pytest.mark.parametrize(
    "code",
    [
        "pd.read_csv('../input/train.csv')",
        "pd.read_csv('/kaggle/input/a-slug/train.csv')",
        "os.listdir('../input/a-slug'); glob('/kaggle/input/a-slug/*.csv')",
        "glob('../input/train/*.jpg'); open('../input/images/1.png'); pd.read_csv('../input/test.csv')",
        "pd.read_csv(f'../input/{name}.csv')",
        "PATH = '../input/'; pd.read_csv(PATH + 'sample_submission.csv')",
        "try:\n    import xgboost\nexcept ImportError:\n    xgboost = None",
        "AutoModel.from_pretrained('../input/a-slug/images')",
        "pd.read_csv('../data/train.csv'); pd.read_csv('data/test.csv'); pd.read_csv('./train.csv'); pd.read_csv('train.csv')",
        "pd.read_csv('/kaggle/input/another-slug/train.csv'); pd.read_csv('../input/another-slug/sub/test.csv')",
        "DATA = '/kaggle/input/another-slug/'\npd.read_csv(os.path.join(DATA, 'train.csv'))",
        "pd.DataFrame().to_csv('features.csv'); pd.read_csv('features.csv'); pd.read_csv(OUT + 'features.csv')",
        "import lightgbm\nimport sklearn\nimport cPickle\nimport dateutil\nsklearn, cPickle, dateutil",
        "pd.read_csv(split + '_extra.csv'); pd.read_csv('../input/' + split + '_extra.csv')",
        "pd.read_csv(f'../input/another-slug/{x}_extra.csv')",
        "open('part.py', 'w').write('x = 1')\nimport part\npart.x",
        "pd.read_csv('{}train.csv'.format(DATA)); pd.read_csv('%s/test.csv' % DATA); pd.read_csv(f'{DATA}train.csv')",
        "pd.read_csv('../input/train.csv.gz'); pd.read_csv('test.csv.gz'); pd.read_csv('{}_extra.csv'.format(name))",
        "pd.read_csv('../input/sampleSubmission.csv'); pd.read_csv(r'..\\data\\Train.csv')",
        "pd.read_csv('../input/%s.csv' % 'train')",
        "os.listdir('/kaggle/input/competitions/a-slug'); pd.read_csv('/kaggle/input/competitions/a-slug/train.csv')",
    ],
)
def test_what_is_here_is_not_missed(code: str) -> None:
    check_needs(
        code + WRITE,
        ("%matplotlib inline", "!ls ../input", "!pip install pandas", "!pip install --upgrade not-here 2>/dev/null"),
        FILES,
        "a-slug",
        {"pandas", "scikit-learn", "python-dateutil"},
    )


@pytest.mark.parametrize(
    ("code", "dropped", "reason"),
    [
        ("open('../input/fasttext/wiki.vec')", (), "fasttext"),
        ("pd.read_csv('/kaggle/input/a-slug/extra.csv')", (), "extra.csv"),
        ("pd.read_csv('../input/subs/submission_0.97.csv')", (), "other people's"),
        ("x = 1", ("!wget https://example.org/a.zip",), "wget"),
        (
            "pd.read_csv('/kaggle/input/datasets/ann/soil-data/soil_prediction.csv')",
            (),
            "outside the competition: soil-data",
        ),
        ("pd.read_csv('../input/seoul-bike/SeoulBikeData.csv')", (), "outside the competition: seoul-bike"),
        ("import lightgbm as lgb\nlgb.train(x)", (), "packages that are not installed: lightgbm"),
        ("from my_features import *", (), "packages that are not installed: my_features"),
        ("from .features import make\nmake()", (), "its author's modules"),
        ("pd.read_csv('../data/extra.csv')", (), "outside the competition: extra.csv"),
        ("DATA = '../data/'\npd.read_csv(DATA + 'extra.csv')", (), "extra.csv"),
        ("DATA = '../data/'\npd.read_csv('{}extra.csv'.format(DATA))", (), "extra.csv"),
        ("pd.read_csv('%s/extra.csv' % DATA)", (), "extra.csv"),
        ("DATA = '../data/'\npd.read_csv(f'{DATA}extra.csv')", (), "extra.csv"),
        ("np.load(os.path.join(DATA, 'features.npy'))", (), "features.npy"),
        ("glob('../input/others/*.csv')", (), "outside the competition: others"),
        ("pd.read_csv('https://example.org/train.csv')", (), "network: https"),
        ("URL = 'https://example.org/train.csv'\npd.read_csv(URL)", (), "network: https"),
        ("pd.read_csv(f'https://example.org/{name}.csv')", (), "network: https"),
        ("torch.load('../input/weights/model.pth')", (), "outside the competition: weights"),
        ("P = '../input/glove/'\nopen(P + 'glove.txt')", (), "glove"),
        ("m = ResNet50(weights='imagenet')", (), "weights"),
    ],
)
def test_what_is_not_here_is_named(code: str, dropped: tuple[str, ...], reason: str) -> None:
    with pytest.raises(UnsupportedKernel, match=reason):
        check_needs(code + WRITE, dropped, FILES, "a-slug", {"pandas"})


def test_a_cells_commands_are_left_out_and_named_and_its_python_stays() -> None:
    text = (
        "# A title\n\n```python cell\n%%time\nif True:\n    !ls\nnames = !ls\n```\n\n```text\nnot code (\n```\n\n"
        "```python cell\na = 7\\\n  % 4\n```"
    )
    source = python_of(text, "python")
    assert source.commands == ("!ls", "!ls")
    assert source.code.split() == ["if", "True:", "pass", "names", "=", "[]", "a", "=", "7\\", "%", "4"]


def test_magics_that_jupytext_commented_out_are_run() -> None:
    source = python_of("# %%\nx = 1  # %time\n# %time y = x\n# !wget a\n\n# %% [markdown]\n# # Title\n", "python")
    assert source.code == "# %%\nx = 1  # %time\ny = x\npass\n\n# %% [markdown]\n# # Title\n"
    assert source.commands == ("!wget a",)
    assert python_of("# %time y = x\nx = 1\n", "python").code == "# %time y = x\nx = 1\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n    y = 2\n# print x", "it is not valid Python 3: line 2: unexpected indent"),
        ("'''\nprint x\n'''\ndef f(:\n    pass", "it is not valid Python 3: line 4: "),
        ("x = 1\nprint x", "it is written in Python 2: print x"),
        (
            "```python cell\nx = 1\n```\n\n```python cell\nprint x\n```",
            "it is written in Python 2: code cell 2, print x",
        ),
        ("```python cell\nx = b'[encoded data left out]'\n```", "its code contained encoded data"),
        ("# Title\n\n```python cell\n\n```", "it contains no Python code"),
        ("```julia cell\nx = 1\n```", "it is written in julia"),
    ],
)
def test_what_cannot_be_read_as_python_is_refused_for_its_true_reason(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedKernel, match=re.escape(reason)):
        python_of(text, "python")


def test_an_example_in_a_notebooks_prose_is_no_code() -> None:
    text = "```python cell\nx = 1\n```\n\nFirst I had\n\n```python\nx = worse()\n```\n\n```python cell\ny = x\n```"
    assert python_of(text, None).code.split("\n\n") == ["x = 1", "y = x\n"]


@pytest.mark.parametrize(
    ("code", "stays"),
    [
        ("m.fit(x)\np = m.predict(pd.read_csv('test.csv'))", True),
        ("m.fit(x)\nprint(m.score(x))", False),
        ("frame.describe().to_csv('overview.csv')", False),
        ("frame.to_csv('submission.csv')", True),
        ("frame.to_csv(NAME)", True),
        ("frame.to_csv(f'sub_{n}.csv')", True),
        ("Path('submission.csv').write_text(text)", True),
        ("print(frame)", False),
    ],
)
def test_a_kernel_stays_that_writes_predictions_or_trains_a_model_that_could(code: str, stays: bool) -> None:
    if stays:
        check_needs(code, (), FILES, "a-slug", {"pandas"})
    else:
        with pytest.raises(UnsupportedKernel, match="does not write a submission"):
            check_needs(code, (), FILES, "a-slug", {"pandas"})


def test_kernels_that_are_skipped_are_counted_by_reason_in_one_line() -> None:
    reasons = [
        "it needs packages that are not installed: keras, h2o",
        "it is written in R",
        "it needs packages that are not installed: keras",
    ]
    assert skipped_line(reasons) == "needs packages that are not installed (2: keras, h2o); is written in R (1)"


def kernel(number: int, text: str, score: float | None, votes: int) -> Post:
    return Post("kernel", str(number), START, "t", text, "ann", None, votes, public_score=score)


def test_the_strongest_comes_first_then_what_differs_and_near_copies_never() -> None:
    forest, copy = "rf = RandomForest()\nfit(rf)\nto_csv(x)", "rf = RandomForest()\nfit(rf)\nto_csv(y)"
    kernels = [
        kernel(1, forest, 0.9, 10),
        kernel(2, copy, 0.89, 9),
        kernel(3, "net = Dense()\ntrain(net)\nsave(net)", 0.8, 5),
        kernel(4, forest, 0.95, 0),
        kernel(5, "print(1)", None, 1),
    ]
    repeats = {"kernel/4": Repeat("kernel/1", 0.99)}
    order = [post.id for post in in_order(kernels, (), lambda score: score, repeats)]
    assert order == ["1", "3", "5", "2"]
    again = in_order(kernels, ["kernel/1"], lambda score: score, repeats)
    assert next(again).id == "3"


KAGGLE_FILES = (
    "train.csv",
    "test.csv",
    "sample_submission.csv",
    "extra/colours.csv",
    "extra/shapes.csv",
    "more/shapes.csv",
)

READ = """
import glob, os, pathlib
import numpy
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
assert pd.read_csv('../data/Train.csv').id[0] == pd.read_csv(r'..\\data\\train.csv').id[0] == 'train.csv'
assert pd.read_csv('../input/sampleSubmission.csv').id[0] == 'sample_submission.csv'
assert numpy.loadtxt('../data/train.csv', dtype=str, delimiter=',')[1][0] == 'train.csv'
import shutil
shutil.copy('../input/train.csv', 'train.csv')
shutil.copytree('../input/extra', 'copies')
assert pd.read_csv('copies/colours.csv').id[0] == 'extra/colours.csv'
os.chdir('../dataset')
assert pd.read_csv('train.csv').id[0] == 'train.csv'
assert sorted(os.path.basename(path) for path in glob.glob('../dataset/*.csv'))[-2:] == ['test.csv', 'train.csv']
os.chdir('/kaggle/input/a-slug')
os.chdir('/kaggle/working')
os.chdir('C:/Users/somebody/kaggle')
assert os.getcwd().endswith('working')
assert pd.read_csv('train.csv').id[0] == 'train.csv'
"""

REFUSED = """
for path in ('shapes.csv', '../data/absent.csv', 'submission.csv', '../model.pkl'):
    try:
        open(path)
    except FileNotFoundError:
        continue
    raise AssertionError(path)
"""

WRITE_SAMPLE = """
import os
import pandas as pd
frame = pd.DataFrame({'id': ['own'], 'label': [1]})
for path in ('colours.csv', '../output/train.csv', 'features/a/test.csv', '/proc/nowhere/made.csv'):
    frame.to_csv(path, index=False)
    assert pd.read_csv(path).id[0] == 'own', path
assert pd.read_csv('train.csv').id[0] == 'train.csv', 'the name alone is the competition\\'s still'
frame.to_csv('../results/Answer.CSV', index=False)
"""


READ_PACKED = """
import pandas as pd
DATA = '../input/'
for path in ('{}train.csv'.format(DATA), '%strain.csv.gz' % DATA, '../data/train.csv.zip', 'train.csv.gz'):
    assert pd.read_csv(path).id[0] == 'train.csv', path
for name in ('prices.csv', 'prices.csv.gz', 'prices.csv.zip', 'weather.csv', 'weather.csv.gz'):
    assert pd.read_csv('{}{}'.format('../input/any-slug/', name)).id[0] == name.split('.')[0], name
"""


def run(code: str, folder: Path, files: tuple[str, ...] = KAGGLE_FILES) -> subprocess.CompletedProcess[str]:
    for name in KAGGLE_FILES:
        path = folder / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"id,label\n{name},1\n")
    (folder / "solution.py").write_text(with_head(code, "kernel/1", files, "a-slug"))
    return subprocess.run([sys.executable, "solution.py"], cwd=folder, capture_output=True, text=True)


@pytest.mark.integration
@pytest.mark.parametrize("code", [READ, REFUSED, WRITE_SAMPLE], ids=["read", "refused", "write"])
def test_paths_lead_where_they_should(code: str, tmp_path: Path) -> None:
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    for name in KAGGLE_FILES:
        assert (tmp_path / "data" / name).read_text() == f"id,label\n{name},1\n", "the data stay as they are"
    if code is WRITE_SAMPLE:
        assert (tmp_path / "submission.csv").read_text() == "id,label\nown,1\n"


@pytest.mark.integration
def test_packed_tables_are_read_under_every_name(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with gzip.open(tmp_path / "data" / "prices.csv.gz", "wt") as file:
        file.write("id\nprices\n")
    with zipfile.ZipFile(tmp_path / "data" / "weather.zip", "w") as archive:
        archive.writestr("weather.csv", "id\nweather\n")
    done = run(READ_PACKED, tmp_path, (*KAGGLE_FILES, "prices.csv.gz", "weather.zip"))
    assert done.returncode == 0, done.stderr


@pytest.mark.integration
def test_a_package_that_is_imported_and_not_used_may_be_missing(tmp_path: Path) -> None:
    done = run("import absent_package as ap\nfrom absent_other import one\nimport json\nprint(json.dumps(1))", tmp_path)
    assert (done.returncode, done.stdout) == (0, "1\n")
