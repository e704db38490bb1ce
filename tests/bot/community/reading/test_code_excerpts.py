"""What an excerpt of a public script or notebook keeps."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.community.reading.code_excerpts import code_excerpt
from scrapers.posts.cleaning import fenced, fenced_cell

MODEL = "params = {'num_leaves': 63, 'learning_rate': 0.03}\nmodel = lgb.LGBMRegressor(**params, n_estimators=900)"
LIST = "CITIES = [\n" + "".join(f"    'city number {n}',\n" for n in range(130)) + "]"
JUNK = (
    "!pip install -q lightgbm",
    "import numpy as np\nimport lightgbm as lgb",
    "plt.figure(figsize=(9, 4))\nplt.plot(train.price)\nplt.show()",
    "for name in names:\n    sns.histplot(train[name])\n    plt.show()",
    "train.head(20)",
    "print(train.shape)\nprint(test.shape)\ndisplay(test)",
    "warnings.filterwarnings('ignore')\npd.set_option('display.max_rows', 99)",
    LIST,
)


def notebook(*cells: str) -> str:
    return "\n\n".join(fenced_cell(cell, "python") for cell in cells)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip() and not line.lstrip().startswith("[…")]


def test_what_defines_the_solution_stays_where_a_long_list_and_plots_go() -> None:
    """A list of 130 lines had stayed where 11,375 characters with the model went."""
    features = "\n".join(f"train['ratio_{n}'] = train['a_{n}'] / train['b_{n}']" for n in range(60))
    text = notebook(LIST, JUNK[2], features, *JUNK, "folds = GroupKFold(5)", MODEL, "y = np.log1p(train.price)", LIST)
    shown = code_excerpt(text, 4_000)
    for kept in ("num_leaves", "LGBMRegressor", "GroupKFold(5)", "np.log1p(train.price)", "ratio_30"):
        assert kept in shown
    for gone in ("city number 5", "plt.show", "pip install", "display(", "import "):
        assert gone not in shown
    assert "CITIES = [… 130 items]" in shown
    assert len(shown) <= 4_100


@pytest.mark.parametrize("junk", JUNK)
def test_what_is_left_out_has_a_note_of_one_line_or_none(junk: str) -> None:
    shown = code_excerpt(notebook("a = load()", junk, MODEL), 5_000)
    assert shown.startswith("a = load()") and shown.endswith(MODEL)
    assert shown.count("\n") <= 3


@given(
    before=st.lists(
        st.sampled_from([*JUNK, "train['a'] = train['b'] * 2", "x = fold_scores", "z = f(1)"]), max_size=25
    ),
    after=st.lists(st.sampled_from([*JUNK, "oof[hold] = cross_val_predict(x)", "w = 1\n" * 40]), max_size=25),
    characters=st.integers(200, 3_000),
)
def test_the_models_definition_survives_wherever_it_fits(before: list[str], after: list[str], characters: int) -> None:
    shown = code_excerpt(notebook(*before, MODEL, *after), characters)
    assert MODEL in shown
    assert len(shown) <= characters + 50


BLOCKS = (
    "if a:\n    b = f(1)\nelif c:\n    b = f(2)\nelse:\n    b = f(3)",
    "try:\n    b = f(1)\nexcept (A, B) as error:\n    b = f(error)\nelse:\n    b = 4\nfinally:\n    close()",
    "@cached\ndef make(x,\n         y):\n    # why\n    z = x + y\n\n    return z",
    "class Net(nn.Module):\n    size = 3\n\n    def forward(self, x):\n        '''Says.'''\n        return self.net(x)",
    "match kind:\n    case 'a':\n        b = 1\n    case _:\n        b = 2",
    "with a, \\\n        b:\n    c = 'ünï'; d = [1,\n 2]",
    "text = '''\n  not code\n'''",
)


@given(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=9, unique=True), st.booleans())
def test_long_blocks_are_split_and_put_together_again(blocks: list[str], within: bool) -> None:
    code = "\n\n".join(blocks)
    if within:
        code = f"def main():\n{textwrap.indent(code, '    ')}"
    assert lines(code_excerpt(code, 9_000)) == lines(code)


@given(st.lists(st.sampled_from([*BLOCKS, MODEL, "z = f(1)\n" * 30]), min_size=1, max_size=9), st.integers(100, 900))
def test_what_is_shown_stands_in_its_own_order(blocks: list[str], characters: int) -> None:
    code = "def main():\n" + textwrap.indent("\n\n".join(blocks), "    ")
    left = iter(lines(code))
    assert all(line in left for line in lines(code_excerpt(code, characters)))


def test_figures_that_an_output_or_a_paragraph_has_stay_and_logs_go() -> None:
    log = "\n".join(f"[{n}]\tvalid's rmse: 0.{n}" for n in range(100, 200))
    output = fenced(f"{log}\nCV rmse 0.1234", "text")
    text = "\n\n".join(
        ("# Title", "Without the month the score was 0.14.", fenced_cell(MODEL, "python"), "Output:", output)
    )
    shown = code_excerpt(text, 2_000)
    assert "0.14" in shown and "CV rmse 0.1234" in shown
    assert "[150]" not in shown


def test_a_definition_that_does_not_fit_is_shown_in_part() -> None:
    long = "model = Sequential([\n" + "".join(f"    Dense({n}),\n" for n in range(400)) + "])"
    shown = code_excerpt(long, 1_000)
    assert "Dense(3)" in shown and 800 < len(shown) < 1_100


def test_other_languages_and_broken_code_are_read_by_blocks() -> None:
    r = "library(ranger)\n\nggplot(d) + geom_line()\n\nfit <- ranger(y ~ ., data = d, num.trees = 900)\n\nhead(d)"
    assert "num.trees = 900" in code_excerpt(r, 900) and "geom_line" not in code_excerpt(r, 900)
    listed = ", ".join(f"'word {n}'" for n in range(300))
    two = f"print 'old'\n\nwords = [{listed}]\n\n{MODEL}"
    assert MODEL in code_excerpt(two, 900) and "300 items" in code_excerpt(two, 900)
    assert code_excerpt("", 900) == ""
