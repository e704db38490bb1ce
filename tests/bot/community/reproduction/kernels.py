"""Twenty public kernels as real ones are, for the made-up table, in what most often keeps such from running elsewhere."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.tiny_snapshot import DEADLINE, write_tiny

LATE = "CANARY-LATE-KERNEL"


@dataclass(frozen=True)
class Kernel:
    """A kernel, and what comes of it."""

    name: str
    source: str
    outcome: str
    """`ran`, `repaired`, `failed` or `recognised`."""
    reason: str = ""
    """Words of the reason."""
    language: str = "python"

    @property
    def suffix(self) -> str:
        """Of its file."""
        if self.source.startswith("{"):
            return "ipynb"
        return {"python": "py", "r": "R", "julia": "jl"}[self.language]


def notebook(*cells: str) -> str:
    """Return a notebook's JSON; a cell that starts with `#md` is prose, and `#>` lines are a code cell's output."""
    return json.dumps(
        {
            "cells": [_cell(cell) for cell in cells],
            "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
            "nbformat": 4,
            "nbformat_minor": 4,
        }
    )


def _cell(text: str) -> dict[str, Any]:
    if text.startswith("#md"):
        return {"cell_type": "markdown", "metadata": {}, "source": text[3:].strip()}
    code = [line for line in text.split("\n") if not line.startswith("#>")]
    seen = [line[2:] for line in text.split("\n") if line.startswith("#>")]
    outputs = [{"output_type": "stream", "name": "stdout", "text": "\n".join(seen)}] if seen else []
    return {"cell_type": "code", "metadata": {}, "source": "\n".join(code), "outputs": outputs, "execution_count": 1}


_READ = """import numpy as np
import pandas as pd
train = pd.read_csv("../input/train.csv")
test = pd.read_csv("../input/test.csv")
"""
_FIT = """from sklearn.linear_model import LogisticRegression
cols = ["a", "b", "c"]
clf = LogisticRegression()
clf.fit(train[cols], train["label"])
p = clf.predict_proba(test[cols])[:, 1]
"""
_WRITE = """pd.DataFrame({"id": test["id"], "label": p}).to_csv("submission.csv", index=False)
"""

KERNELS = (
    Kernel(
        "old-layout-forest",
        '''"""Random forest, my first script :)"""
from __future__ import print_function, division
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from joblib import Parallel, delayed

def square(x):
    return x ** 2

def main():
    train = pd.read_csv('../input/train.csv', index_col='id')
    test = pd.read_csv('../input/test.csv', index_col='id')
    y = train.pop('label')
    for df in (train, test):
        df['a2'] = Parallel(n_jobs=2)(delayed(square)(x) for x in df['a'])
    rf = RandomForestClassifier(n_estimators=100, min_samples_leaf=5, random_state=42)
    rf.fit(train, y)
    sub = pd.read_csv('../input/sample_submission.csv')
    sub['label'] = rf.predict_proba(test)[:, 1]
    sub.to_csv('submission.csv', index=False)

if __name__ == '__main__':
    main()
''',
        "ran",
    ),
    Kernel(
        "new-layout-notebook",
        notebook(
            "#md\n# Simple LR\nUpvote if you like it! `pd.read_csv` is used below.",
            "# This Python 3 environment comes with many helpful analytics libraries installed\nimport numpy as np\n"
            "import pandas as pd\nimport os\nfor dirname, _, filenames in os.walk('/kaggle/input'):\n"
            "    for filename in filenames:\n        print(os.path.join(dirname, filename))\n"
            "#>/kaggle/input/tiny-table/train.csv",
            "%matplotlib inline\nimport matplotlib.pyplot as plt\nimport seaborn as sns\nplt.style.use('seaborn-whitegrid')",
            "train = pd.read_csv('/kaggle/input/tiny-table/train.csv')\ntest = pd.read_csv('/kaggle/input/tiny-table/test.csv')\n"
            "display(train.head())\ntrain.shape",
            "fig, ax = plt.subplots(figsize=(12, 4))\nsns.countplot(x='label', data=train, ax=ax)\n"
            "ax.set_title(f'{ax.get_ylim()[1]:.1f}')\n"
            "train['a'].hist(bins=30); plt.show()",
            f"%%time\n{_FIT}",
            "sub = pd.DataFrame({'id': test.id, 'label': p})\nsub.to_csv('/kaggle/working/submission.csv', index=False)\nsub?",
        ),
        "ran",
    ),
    Kernel(
        "ls-and-plots",
        notebook(
            "import pandas as pd, numpy as np\nfrom subprocess import check_output\n"
            'print(check_output(["ls", "../input"]).decode("utf8"))\n#>sample_submission.csv\n#>test.csv\n#>train.csv',
            "import plotly.offline as py\npy.init_notebook_mode(connected=True)\nimport plotly.graph_objs as go\n"
            "import matplotlib.pyplot as plt\nfrom wordcloud import WordCloud",
            "train = pd.read_csv('../input/train.csv'); test = pd.read_csv('../input/test.csv')\n"
            "py.iplot(go.Figure(data=[go.Bar(x=[1], y=[2])]))\n"
            "plt.figure(); plt.imshow(WordCloud().generate('a')); plt.axis('off')",
            f"{_FIT}my_sub = test[['id']].copy()\nmy_sub['label'] = p\nmy_sub.to_csv('my_awesome_sub_v3.csv', index=False)",
        ),
        "ran",
    ),
    Kernel(
        "python-two", f'{_READ}print "rows:", len(train)\n{_FIT}print clf.coef_\n{_WRITE}', "recognised", "Python 2"
    ),
    Kernel(
        "cross-validation-module",
        f"{_READ}from sklearn.cross_validation import train_test_split, cross_val_score\n{_FIT}"
        "print(cross_val_score(clf, train[cols], train['label'], cv=3).mean())\n"
        "X, V, y, v = train_test_split(train[cols], train['label'], test_size=np.float(0.2))\n" + _WRITE,
        "repaired",
    ),
    Kernel(
        "append-and-ix",
        f"{_READ}both = train.append(test, ignore_index=True)\nboth['ab'] = both['a'] * both['b'].astype(np.float)\n"
        "train = both.ix[both['label'].notnull()]\ntest = both.ix[both['label'].isnull()]\n"
        f"{_FIT}{_WRITE}",
        "repaired",
    ),
    Kernel(
        "pip-install-something",
        notebook(
            "!pip install pytabkit-unknown==0.9 -q",
            "from pytabkit_unknown import RealMLP",
            f"{_READ}model = RealMLP().fit(train[['a', 'b', 'c']], train['label'])\np = model.predict(test)\n{_WRITE}",
        ),
        "recognised",
        "packages that are not installed: pytabkit_unknown",
    ),
    Kernel(
        "pip-install-what-is-here",
        notebook("!pip install -U scikit-learn --quiet\n!nvidia-smi", f"files = !ls ../input\n{_READ}", _FIT, _WRITE),
        "ran",
    ),
    Kernel(
        "in-r",
        'library(readr)\ntrain <- read_csv("../input/train.csv")\nm <- glm(label ~ a + b, data=train, family="binomial")\n'
        'write_csv(sub, "submission.csv")\n',
        "recognised",
        "written in R",
        "r",
    ),
    Kernel(
        "in-julia",
        'using DataFrames, CSV\ntrain = CSV.read("../input/train.csv", DataFrame)\n',
        "recognised",
        "written in julia",
        "julia",
    ),
    Kernel(
        "missing-data-set",
        notebook(
            "EMB = '/kaggle/input/glove840b300dtxt/glove.840B.300d.txt'\nvectors = {l.split()[0]: l for l in open(EMB)}",
            f"{_READ}{_FIT}{_WRITE}",
        ),
        "recognised",
        "files from outside the competition: glove840b300dtxt",
    ),
    Kernel(
        "prints-test-rows",
        notebook(
            f"{_READ}pd.set_option('display.max_rows', None)\nprint(test.to_string())\n"
            "#>     id       a       b\n#>0  r0240  0.1234 -0.5",
            f"{_FIT}",
            f"{_WRITE}print(open('submission.csv').read())\n#>id,label\n#>r0240,0.93",
        ),
        "ran",
    ),
    Kernel(
        "blend-of-public-files",
        "import pandas as pd\nB = '../input/'\none = pd.read_csv(B + 'x/submission.csv')\n"
        "two = pd.read_csv('../input/best-public-lb/blend_0.1423.csv')\none['label'] = 0.6 * one.label + 0.4 * two.label\n"
        "one.to_csv('submission.csv', index=False)\n",
        "recognised",
        "other people's submission files: best-public-lb/blend_0.1423.csv",
    ),
    Kernel(
        "needs-a-package",
        "import h2o\nfrom h2o.automl import H2OAutoML\nh2o.init(max_mem_size='12G')\n"
        "frame = h2o.import_file('../input/train.csv')\nframe['label'] = frame['label'].asfactor()\n"
        "aml = H2OAutoML(max_runtime_secs=3000, sort_metric='logloss', seed=1)\naml.train(y='label', training_frame=frame)\n"
        "guess = aml.leader.predict(h2o.import_file('../input/test.csv'))\n"
        "guess.as_data_frame()[['p1']].to_csv('submission.csv', index=False)\n",
        "recognised",
        "packages that are not installed: h2o",
    ),
    Kernel(
        "downloads",
        f"import urllib.request\nurllib.request.urlretrieve('https://example.org/holidays.csv', 'h.csv')\n{_READ}{_FIT}{_WRITE}",
        "recognised",
        "needs the network: https://example.org/holidays.csv",
    ),
    Kernel(
        "only-a-look",
        notebook("#md\n# EDA", f"{_READ}train.describe()", "import seaborn as sns\nsns.pairplot(train, hue='label')"),
        "recognised",
        "does not write a submission",
    ),
    Kernel(
        "pretrained-weights",
        f"{_READ}try:\n    from transformers import AutoModel\nexcept ImportError:\n    AutoModel = None\n"
        f"bert = AutoModel.from_pretrained('bert-base-uncased')\n{_FIT}{_WRITE}",
        "recognised",
        "downloads weights",
    ),
    Kernel(
        "zipped-tables",
        "import pandas as pd, zipfile\nfrom pathlib import Path\nINPUT = Path('../input/tiny-table')\n"
        "train = pd.read_csv(INPUT / 'train.csv.zip')\n"
        "with zipfile.ZipFile('/kaggle/input/tiny-table/test.csv.zip') as z:\n    test = pd.read_csv(z.open('test.csv'))\n"
        f"{_FIT}pd.DataFrame({{'id': test['id'], 'label': p}}).to_csv('submission.csv.zip', index=False)\n",
        "ran",
    ),
    Kernel(
        "compressed-and-leaves-early",
        f"import sys, os, zipfile\nos.chdir('/kaggle/working')\n{_READ}{_FIT}"
        "zipfile.ZipFile('weights.zip', 'w').writestr('weights.bin', b'\\xff' * 200_000)\n"
        "pd.DataFrame({'id': test['id'], 'label': p}).to_csv('sub.csv.gz', index=False, compression='gzip')\nsys.exit(0)\n",
        "ran",
    ),
    Kernel(
        "unfinished",
        "import pandas as pd\nfrom sklearn.naive_bayes import GaussianNB\n"
        "frame = pd.read_csv('../input/train.csv').set_index('id')\n"
        "unseen = pd.read_csv('../input/test.csv').set_index('id')\n"
        "bayes = GaussianNB().fit(frame.drop(columns='label'), frame.label)\n"
        "unseen['label'] = bayes.predict_proba(unseen).max(axis=1) * factor_of_my_other_notebook\n"
        "unseen[['label']].reset_index().to_csv('submission.csv', index=False)\n",
        "failed",
        "NameError",
    ),
)


def write_kernels(folder: Path) -> Path:
    """Write the made-up snapshot with these kernels, and one of after the deadline; return its folder."""
    write_tiny(folder)
    late = Kernel("late", f"# {LATE}\n{_READ}{_FIT}{_WRITE}", "ran")
    rows = []
    for number, kernel in enumerate((*KERNELS, late), 101):
        path = f"kernels/{kernel.name}.{kernel.suffix}"
        (folder / "community" / path).write_text(kernel.source)
        rows.append(
            {
                "id": number,
                "ref": f"ann/{kernel.name}",
                "version": 1,
                "title": kernel.name,
                "author": "ann",
                "tier": "EXPERT",
                "created_at": DEADLINE.replace("03-01", "03-02") if kernel is late else "2020-01-07T00:00:00Z",
                "votes": 130 - number,
                "public_score": round(0.3 + number / 1000, 3),
                "language": kernel.language,
                "kind": "notebook" if kernel.suffix == "ipynb" else "script",
                "datasets": [],
                "parent_ref": None,
                "path": path,
                "url": None,
                "source": "made up",
            }
        )
    readings = [
        {"target": "kernel", "id": row["id"], "at": "2020-01-08T00:00:00Z", "votes": row["votes"],
         "public_score": row["public_score"], "tier": "EXPERT"}
        for row in rows[:-1]
    ]  # fmt: skip
    _lines(folder / "community/kernels.jsonl", rows)
    _lines(folder / "community/observations.jsonl", readings)
    return folder


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
