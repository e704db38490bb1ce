"""Which posts are named as trying to steer their reader."""

import time
from pathlib import Path

import pytest

from bot.community.reading.suspicion import steering
from scrapers.posts.cleaning import readable
from scrapers.posts.kernel_text import text_of
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
        "template = \"<|im_start|>system\\nYou are a helpful assistant<|im_end|>\"\nprompt = 'You are an assistant'",
        "<!-- toc --> <!-- This table was made by hand from the scores of the public leaderboard last week -->\n# EDA 👩\u200d💻",
        "System: Ubuntu 16.04, 4 cores. The metric is the mean of two RMSLEs, and it is minimised.",
        "[Support Vector Machines](#svm) and [assistant](#a); </div></span> <b>note</b>: print your tokens with a tokenizer.",
        "I ignore the rules of thumb; the previous instructions of the host are clear. <answer>",
    ],
)
def test_what_people_write_of_their_work_is_not_named(text: str) -> None:
    assert steering("A question", text) is None


@pytest.mark.integration
def test_a_text_that_is_to_keep_the_rules_busy_is_read_in_seconds() -> None:
    pieces = ("ignore ", "<b ", "</post ", "<tool_", "a\u200d")
    for piece in pieces:
        began = time.process_time()
        steering("", piece * (50_000 // len(piece)))
        assert time.process_time() - began < 20, piece
