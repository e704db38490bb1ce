"""What a kernel needs that is not here is found in its code, and nothing else is mistaken for that."""

import pytest

from bot.community.reproduction.adapting import python_of
from bot.community.reproduction.choosing import in_order
from bot.community.reproduction.needs import check_needs
from state.community import Post, Repeat
from state.errors import UnsupportedKernel
from tests.state.conftest import START

FILES = ("train.csv", "test.csv.zip", "train.zip", "images/1.png", "sample_submission.csv")
WRITE = "\npd.DataFrame().to_csv('submission.csv')\n"


@pytest.mark.parametrize(
    "code",
    [
        "pd.read_csv('../input/train.csv')",
        "pd.read_csv('/kaggle/input/a-slug/train.csv')",
        "os.listdir('../input/a-slug')",
        "glob('../input/train/*.jpg'); open('../input/images/1.png'); pd.read_csv('../input/test.csv')",
        "pd.read_csv(f'../input/{name}.csv')",
        "PATH = '../input/'; pd.read_csv(PATH + 'sample_submission.csv')",
        "try:\n    import xgboost\nexcept ImportError:\n    xgboost = None",
        "AutoModel.from_pretrained('../input/a-slug/images')",
    ],
)
def test_what_is_here_is_not_missed(code: str) -> None:
    check_needs(
        code + WRITE, ("%matplotlib inline", "!ls ../input", "!pip install pandas"), FILES, "a-slug", {"pandas"}
    )


@pytest.mark.parametrize(
    ("code", "dropped", "reason"),
    [
        ("open('../input/fasttext/wiki.vec')", (), "fasttext"),
        ("pd.read_csv('/kaggle/input/a-slug/extra.csv')", (), "extra.csv"),
        ("pd.read_csv('../input/subs/submission_0.97.csv')", (), "other people"),
        ("x = 1", ("!wget https://example.org/a.zip",), "wget"),
        ("x = 1", ("!pip install git+https://example.org/fast.git",), "installs"),
        ("import lightgbm as lgb", (), "lightgbm"),
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
    assert source.dropped == ("!ls", "!ls")
    assert source.code.split() == ["if", "True:", "pass", "names", "=", "[]", "a", "=", "7\\", "%", "4"]


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
