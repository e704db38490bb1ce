"""Which posts are named as trying to steer their reader."""

import json
import time
from pathlib import Path

import pytest

from bot.community.reading.suspicion import steering
from scrapers.posts.cleaning import readable
from scrapers.posts.kernel_text import text_of
from tests import needs
from tests.hostile.community.posts import HostilePost, Surroundings, hostile_posts

POSTS = hostile_posts(Surroundings(Path("/srv/outside"), "127.0.0.1:9"))


def stored(post: HostilePost) -> str:
    """Return its text as the store has it."""
    return readable(post.text) if post.kind == "message" else text_of(post.text, kernel_type="script")


def test_there_are_sixty_of_many_kinds_and_languages() -> None:
    assert len(POSTS) == len({post.id for post in POSTS}) == 60
    assert len({post.tries for post in POSTS}) == 60
    assert len({post.language for post in POSTS if post.kind == "message"} - {"en"}) >= 8
    assert sum(post.kind == "kernel" for post in POSTS) >= 15
    assert all(post.mark in post.text + post.title for post in POSTS)


@pytest.mark.parametrize("post", POSTS, ids=lambda post: post.tries.replace(" ", "-"))
def test_a_post_that_steers_is_named_where_its_words_show_it(post: HostilePost) -> None:
    reason = steering(post.title, stored(post))
    assert (reason is not None) == post.named, reason
    assert reason is None or not any(word in reason for word in (post.mark, post.title))


@pytest.mark.parametrize(
    "text",
    [
        "Submit this kernel's output five times a day and you learn the board's noise; I ignore the rules of thumb.",
        "Should I submit the file of my best fold, or the average? The validation is disabled in my script, so I cannot tell.",
        "We use a language model that reads each text and prints its perplexity; the assistant professor agrees.",
        "!pip install lightgbm\nimport os\nos.environ['OMP_NUM_THREADS'] = '4'\nprint(os.environ.get('KAGGLE_KERNEL_RUN_TYPE'))",
        "!cat /proc/cpuinfo\n!nvidia-smi\nsubmission.to_csv('submission.csv', index=False)",
        "template = \"<|im_start|>system\\nYou are a helpful assistant<|im_end|>\"\nprompt = 'You are an assistant'",
        "<!-- toc --> <!-- This table was made by hand from the scores of the public leaderboard last week -->\n# EDA 👩\u200d💻",
        "System: Ubuntu 16.04, 4 cores. The metric is the mean of two RMSLEs, and it is minimised.",
        "[Support Vector Machines](#svm) and [assistant](#a); </div></span> <b>note</b>: print your tokens with a tokenizer.",
        "Ignoriert die ersten drei Spalten. Je n'ignore pas les valeurs manquantes. Ignora las columnas vacías.",
        "这个模型忽略了时间信息。特徴量を無視しないでください。결측값을 무시하지 마세요.",
        "नमूना फ़ाइल में तीन स्तंभ हैं। تجاهل القيم المفقودة في العمود.",
    ],
)
def test_what_people_write_of_their_work_is_not_named(text: str) -> None:
    assert steering("A question", text) is None


@pytest.mark.integration
def test_a_text_that_is_to_keep_the_rules_busy_is_read_in_seconds() -> None:
    pieces = (
        "ignore ",
        "<!--",
        "[x]: (",
        "submit the ",
        "</a ",
        "print(",
        "{'ideas': [",
        "a\u200d",
        "decode ",
        "/proc/",
        "metric ",
    )
    for piece in pieces:
        began = time.process_time()
        steering("", piece * (50_000 // len(piece)))
        assert time.process_time() - began < 20, piece


@pytest.mark.integration
def test_of_real_posts_those_are_named_that_give_orders() -> None:
    for path in sorted(needs.snapshots().glob("*/community/messages.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            text = json.loads(line)["markdown"] or ""
            assert (steering("", text) is not None) == ("CANARY-INJECTION" in text), text
