"""A replay whose clock moves: what its prompts hold at each time, what its report shows, and what its audit finds."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from tests.bot.replay.conftest import Finished
from tests.bot.replay.stream_parts import MIDDLE_WORDS, POSTS, STOOD_AT, TOPICS, exported, moves_of

Row = dict[str, Any]

pytestmark = pytest.mark.integration


@pytest.fixture
def streamed(streamed_run: Finished) -> Path:
    """Return the folder of a finished run; nothing in it is changed."""
    return streamed_run.folder


@pytest.fixture
def copy(streamed: Path, tmp_path: Path) -> Path:
    """Return a copy that may be tampered with."""
    return Path(shutil.copytree(streamed, tmp_path / "run"))


def audit(run: Path) -> Result:
    return CliRunner().invoke(app, ["audit", str(run)], catch_exceptions=False)


def result_of(run: Path) -> Row:
    found: Row = json.loads((run / "result.json").read_text())
    return found


def text_of(prompt: Row) -> str:
    return "\n".join(message["content"] for message in prompt["messages"])


def test_the_clock_moves_with_the_nodes_and_stands_at_the_cutoff_in_the_end(streamed: Path) -> None:
    assert moves_of(streamed) == [(as_of, node) for node, as_of in enumerate(STOOD_AT, 2)]
    stream = result_of(streamed)["stream"]
    assert [move["as_of"] for move in stream["moves"]] == ["2020-01-01T00:00:00Z", *STOOD_AT]
    assert [move["messages"] for move in stream["moves"]] == [0, 2, 3, 4]
    at_start = [node["as_of"] for node in stream["nodes"]]
    assert at_start == ["2020-01-01T00:00:00Z", *STOOD_AT, STOOD_AT[-1]]
    assert (result_of(streamed)["pace"], stream["moved_with"]) == ("stream", "nodes")


def test_a_post_is_read_when_it_was_posted_and_not_before(streamed: Path) -> None:
    prompts = exported(streamed, "prompts")
    shown = [(prompt["as_of"], item["id"]) for prompt in prompts for item in prompt["items"]]
    for item, posted in POSTS.items():
        first = min(as_of for as_of, found in shown if found == item)
        assert first == min(as_of for as_of in STOOD_AT if as_of >= posted)
    assert all(item["time"] <= prompt["as_of"] for prompt in prompts for item in prompt["items"])
    assert all(MIDDLE_WORDS not in text_of(prompt) for prompt in prompts if prompt["as_of"] == STOOD_AT[0])


def test_votes_are_those_of_the_clock(streamed: Path) -> None:
    asked = [prompt for prompt in exported(streamed, "prompts") if prompt["prompt"] == "propose_ideas"]
    (shown,) = [text_of(prompt) for prompt in asked if "votes" in text_of(prompt) and "topic/15" in text_of(prompt)]
    assert "77 votes" in shown
    assert "88 votes" not in shown


def test_what_was_posted_in_mid_run_changes_what_is_tried_and_the_result_says_which_node_used_it(streamed) -> None:
    posts = {post["item"]: post for post in result_of(streamed)["stream"]["posts"]}
    assert {item: posts[item]["posted"] for item in TOPICS} == TOPICS
    assert posts["topic/15"]["as_of"] == STOOD_AT[1]
    assert posts["topic/1"]["nodes"] == [2, 4], "of each round's drafts the one that takes the ideas"
    assert posts["topic/15"]["nodes"] == posts["topic/16"]["nodes"] == [4], "that of the round after it"
    kinds = {
        event["node"]: event["action"] for event in exported(streamed, "events") if event["type"] == "node.created"
    }
    assert kinds[4] == "draft"


def test_the_page_shows_the_post_and_the_node_that_used_it(streamed: Path) -> None:
    page = (streamed / "report.html").read_text()
    section = page[page.index('<section id="known">') : page.index('<section id="agreement">')]
    row = next(line for line in section.splitlines() if "topic/15" in line)
    assert "2020-02-10 00:00 UTC" in row
    assert '<a href="#node-4">4</a>' in row


def test_an_honest_run_passes_the_audit(streamed: Path) -> None:
    done = audit(streamed)
    assert done.exit_code == 0, done.output
    assert "for 7 later posts" in done.output


def tamper(run: Path, change: Callable[[Row], None]) -> None:
    """Change the first prompt for ideas, of when the clock had moved once."""
    rows = exported(run, "prompts")
    change(next(row for row in rows if row["prompt"] == "propose_ideas"))
    (run / "prompts.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def test_the_audit_finds_words_that_were_posted_after_the_prompts_own_clock(copy: Path) -> None:
    def insert(row: Row) -> None:
        row["messages"][-1]["content"] += f"\n{MIDDLE_WORDS}\n"

    tamper(copy, insert)
    done = audit(copy)
    assert done.exit_code == 1
    assert "contains words from message/15, published after that prompt" in done.output


def test_the_audit_finds_an_item_that_is_later_than_the_prompts_own_clock(copy: Path) -> None:
    tamper(copy, lambda row: row["items"].append({"id": "message/15", "time": POSTS["message/15"]}))
    done = audit(copy)
    assert done.exit_code == 1
    assert "message/15 is dated 2020-02-10T00:00:00Z, but the clock was at" in done.output


def test_the_audit_finds_a_prompt_that_claims_a_later_clock_than_the_run_had_then(copy: Path) -> None:
    def claim(row: Row) -> None:
        row["as_of"] = STOOD_AT[-1]

    tamper(copy, claim)
    done = audit(copy)
    assert done.exit_code == 1
    assert f"is later than the run's clock at that call, {STOOD_AT[0]}" in done.output


def test_without_a_moving_clock_such_a_run_would_not_pass(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    config["settings"]["pace"] = "all"
    (copy / "config.json").write_text(json.dumps(config))
    done = audit(copy)
    assert done.exit_code == 1
    assert "the clock moved although" in done.output
    assert "does not match the run's (2020-03-01T00:00:00Z)" in done.output
