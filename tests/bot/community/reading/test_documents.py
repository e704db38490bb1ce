"""Documents: what is joined to one, and what of code is shown."""

import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.community.reading.code_excerpts import code_excerpt
from bot.community.reading.documents import Document, documents, excerpt, most_telling
from scrapers.posts.cleaning import fenced, fenced_cell
from state.clock import SystemClock
from state.community import TEAM, CommunityView, Post
from state.community_rows import add_community
from state.store import Store
from state.tables import KernelVersion, PostedMessage, Topic

TIME = datetime(2020, 1, 1, tzinfo=UTC)

WORDS = [f"word{number}" for number in range(400)]


def text(first: int, count: int) -> str:
    return " ".join(WORDS[first : first + count])


def kernel(id: str, body: str, score: float | None = None, votes: int | None = None) -> Document:
    return Document(f"kernel/{id}", TIME, (Post("kernel", id, TIME, "", body, None, None, votes, score),), votes)


def topic(id: str, body: str, votes: int | None = None, tier: str | None = None, hours: int = 0) -> Document:
    at = TIME + timedelta(hours=hours)
    return Document(f"topic/{id}", at, (Post("message", id, at, "", body, None, tier, votes),), votes)


def first_of(*unread: Document, known: str = "", **options: Any) -> str:
    return next(most_telling(unread, set(known.split()), lower_is_better=True, **options)).item


def rows() -> list[Any]:
    """A topic whose answers stand in a tree, one of which is deleted, one undated and one hardly a word; and two versions."""

    def message(id: str, parent: str | None, hour: int, **more: Any) -> PostedMessage:
        fields = {"posted_at": TIME + timedelta(hours=hour), "markdown": f"{id}: {text(int(id), 9)}", **more}
        return PostedMessage(competition="c", id=id, topic_id="1", parent_id=parent, **fields)

    return [
        Topic(competition="c", id="1", title="Trees", posted_at=TIME),
        message("10", None, 0),
        message("11", "10", 1),
        message("12", "10", 2),
        message("13", "11", 3),
        message("14", "10", 4, deleted=True),
        message("15", "14", 5),
        message("16", "10", 6, posted_at=None),
        message("17", "10", 7, markdown="Thanks a lot!"),
        KernelVersion(competition="c", id="20", ref="a/b", version=1, created_at=TIME + timedelta(hours=1), text="x"),
        KernelVersion(competition="c", id="21", ref="a/b", version=2, created_at=TIME + timedelta(hours=9), text="y"),
    ]


def seen(folder: Path, hours: float = 99, *more: Any) -> list[Document]:
    with Store.open(folder / "state.db", SystemClock()) as store:
        with store.write() as tx:
            add_community(tx, "c", [*rows(), *more])
        return documents(CommunityView(store, "c", TIME + timedelta(hours=hours)))


def test_a_topic_is_read_as_a_tree_and_a_kernel_by_its_latest_version(tmp_path: Path) -> None:
    thread, script = seen(tmp_path)
    assert [post.id for post in thread.posts] == ["10", "11", "13", "12", "15"]
    assert (thread.item, thread.title, thread.time) == ("topic/1", "Trees", TIME + timedelta(hours=5))
    assert script.item == "kernel/21"


def test_a_document_holds_what_the_clock_shows_and_its_time_is_that_of_its_latest_part(tmp_path: Path) -> None:
    thread, script = seen(tmp_path, 2.5)
    assert [post.id for post in thread.posts] == ["10", "11", "12"]
    assert thread.time == TIME + timedelta(hours=2)
    assert script.item == "kernel/20"


def test_messages_that_answer_each_other_in_a_circle_hold_nothing_up(tmp_path: Path) -> None:
    circle = [
        PostedMessage(competition="c", id=a, topic_id="1", parent_id=b, posted_at=TIME, markdown=text(0, 9))
        for a, b in (("30", "31"), ("31", "30"))
    ]
    thread, _ = seen(tmp_path, 99, *circle)
    assert len(thread.posts) == 5


def test_a_digest_changes_with_a_text_and_not_with_votes() -> None:
    assert topic("1", "a b", votes=3).digest == topic("1", "a b", votes=4, tier="MASTER").digest
    assert topic("1", "a b").digest != topic("1", "a c").digest


def test_votes_tier_score_and_freshness_each_bring_a_document_forward() -> None:
    assert first_of(topic("1", text(0, 50), 3), topic("2", text(50, 50), 9)) == "topic/2"
    assert first_of(topic("1", text(0, 50)), topic("2", text(50, 50), tier="MASTER")) == "topic/2"
    assert first_of(kernel("1", text(0, 50), 0.4), kernel("2", text(50, 50), 0.3)) == "kernel/2"
    assert first_of(topic("1", text(0, 50)), topic("2", text(50, 50), hours=2), fresh_since=TIME) == "topic/2"


def test_the_script_with_the_best_score_is_among_the_first_even_where_nobody_votes_for_it() -> None:
    voted = [kernel(str(n), text(n * 30, 30), 0.9 - n / 100, votes=50 - n) for n in range(10)]
    unread = [*voted, kernel("99", text(300, 30), 0.1, votes=0)]
    assert "kernel/99" in [document.item for document in most_telling(unread, set(), lower_is_better=True)][:2]


def test_what_says_nothing_new_comes_last_or_never() -> None:
    again, fresh = topic("1", text(0, 60), votes=20), topic("2", text(100, 60), votes=1)
    assert first_of(again, fresh) == "topic/1"
    assert first_of(again, fresh, known=text(0, 40)) == "topic/2"
    left = list(most_telling([again, fresh], set(text(0, 60).split()), lower_is_better=True))
    assert [document.item for document in left] == ["topic/2"]


def test_a_short_note_of_the_owners_is_read_whatever_others_vote_for() -> None:
    voted, note = topic("1", text(0, 200), votes=90), topic("note-2", text(0, 8), tier=TEAM)
    assert first_of(voted, note) == first_of(voted, note, known=text(0, 200)) == "topic/note-2"
    assert first_of(voted, topic("note-2", text(0, 8))) == "topic/1"
    unwanted = topic("note-2", text(0, 200), votes=0, tier=TEAM)
    assert first_of(topic("1", text(200, 200), votes=90, tier="MASTER"), unwanted) == "topic/1"


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(5, 99), st.integers(0, 50)), max_size=12))
def test_each_is_the_best_of_those_left_given_what_was_read_before(drawn: list[tuple[int, int, int]]) -> None:
    unread = [topic(str(n), text(first, count), votes) for n, (first, count, votes) in enumerate(drawn)]
    order = list(most_telling(unread, set(), lower_is_better=True))
    known = ""
    for place, document in enumerate(order):
        # All are ranked together, as votes are relative to the most voted.
        rest = [one if one in order[place:] else topic("x", "", one.votes) for one in unread]
        assert first_of(*rest, known=known) == document.item
        known += f" {document.posts[0].text}"


def test_of_a_long_topic_the_opening_and_the_most_voted_answers_are_shown() -> None:
    posts = [Post("message", str(n), TIME, "", "x" * 900, None, None, n) for n in range(5)]
    shown = excerpt(Document("topic/1", TIME, tuple(posts), 1), 3_000)
    assert [post.id for post in shown.posts] == ["0", "3", "4"]


def test_of_a_script_an_excerpt_is_shown() -> None:
    shown = excerpt(kernel("1", "import os\n" + "y = 1\n" * 900 + "model = Ridge(alpha=3)"), 600)
    assert "model = Ridge(alpha=3)" in shown.posts[0].text and len(shown.posts[0].text) < 700


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
    deep = "if a:\n    pass\n" + "elif b:\n    print('c')\n" * 900
    assert MODEL in code_excerpt(fenced_cell(f"{deep}\n{MODEL}", "python"), 900)
    assert code_excerpt("", 900) == ""
