"""Cleaning in processes of their own: bounded, and nothing that a text does ends it."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapers.posts.cleaners import Cleaners, CleanText, RawPost
from scrapers.posts.cleaning import LARGEST_TEXT, clean, cut_middle
from scrapers.posts.sketches import sketch_of

ROOT = Path(__file__).parents[3]


@pytest.fixture
async def cleaners() -> AsyncIterator[Cleaners]:
    async with Cleaners(1) as running:
        yield running


@pytest.fixture
async def mortal() -> AsyncIterator[Cleaners]:
    async with Cleaners(1, seconds=3, program="tests.scrapers.deadly_cleaner") as running:
        yield running


def texts(cleaned: list[CleanText]) -> list[str]:
    return [one.text for one in cleaned]


async def test_each_text_is_read_as_what_it_is(cleaners: Cleaners) -> None:
    notebook = '{"cells": [{"cell_type": "code", "source": "x <- 1"}]}'
    sources = [
        RawPost("html", "<b>a</b>\ud800"),
        RawPost("markdown", "<b>a</b>\0"),
        RawPost("kernel", notebook, "r", "notebook"),
        RawPost("kernel", "x = 1", "python", "script"),
        RawPost("markdown", ""),
    ]
    cleaned = await cleaners.clean(sources)
    assert texts(cleaned) == ["**a**\ufffd", "<b>a</b>", "```r cell\nx <- 1\n```", "x = 1", ""]
    assert [one.problem for one in cleaned] == [None] * 5
    assert [one.sketch for one in cleaned] == [
        sketch_of("**a**\ufffd", "message"),
        sketch_of("<b>a</b>", "message"),
        sketch_of("```r cell\nx <- 1\n```", "kernel", "notebook"),
        sketch_of("x = 1", "kernel", "script"),
        None,
    ]


@pytest.mark.integration  # seconds
async def test_signatures_are_the_same_in_every_process(cleaners: Cleaners) -> None:
    text = " ".join(f"word{n}" for n in range(99))
    (cleaned,) = await cleaners.clean([RawPost("markdown", text)])
    assert cleaned.sketch == sketch_of(text, "message")
    assert cleaned.sketch is not None and cleaned.sketch.prose is not None


@pytest.mark.integration  # seconds
async def test_children_start_when_they_are_needed_stay_and_end_with_the_rest() -> None:
    cleaners = Cleaners(2)
    assert cleaners.pids == []
    assert await cleaners.clean([]) == []
    assert cleaners.pids == []
    await cleaners.clean([RawPost("markdown", "a")])
    first = cleaners.pids
    await cleaners.clean([RawPost("markdown", "b")])
    assert cleaners.pids == first and len(first) == 1
    await asyncio.gather(*(cleaners.clean([RawPost("markdown", "b")]) for _ in range(5)))
    assert len(cleaners.pids) == 2
    await cleaners.aclose()
    assert cleaners.pids == []
    assert not Path(f"/proc/{first[0]}").exists()
    assert texts(await cleaners.clean([RawPost("markdown", "again")])) == ["again"]
    await cleaners.aclose()


async def test_a_text_of_which_the_child_dies_comes_back_cut_down_and_the_others_whole(mortal: Cleaners) -> None:
    deadly = "DIE \0" + "x " * LARGEST_TEXT
    cleaned = await mortal.clean([RawPost("html", "<b>a</b>"), RawPost("html", deadly), RawPost("html", "<b>c</b>")])
    assert [cleaned[0].text, cleaned[2].text] == ["**a**", "**c**"]
    assert [one.problem for one in cleaned] == [None, "cleaning the text failed or took too long", None]
    assert cleaned[1].text.startswith("DIE x") and len(cleaned[1].text.encode()) <= LARGEST_TEXT
    assert cleaned[1].sketch is None


@pytest.mark.integration  # seconds
async def test_a_text_at_which_the_child_hangs_does_no_more_harm(mortal: Cleaners) -> None:
    cleaned = await mortal.clean([RawPost("markdown", "HANG")])
    assert cleaned[0].text == "HANG" and cleaned[0].problem is not None
    # No HTML: what reads it may take longer to load, on a busy machine, than a text may here.
    (after,) = await mortal.clean([RawPost("markdown", "<b>a</b>\0")])
    assert (after.text, after.problem) == ("<b>a</b>", None)


async def test_a_text_that_fails_keeps_its_child_and_says_why(mortal: Cleaners) -> None:
    await mortal.clean([RawPost("markdown", "a")])
    pids = mortal.pids
    cleaned = await mortal.clean([RawPost("markdown", "a"), RawPost("markdown", "FAIL"), RawPost("markdown", "b")])
    assert texts(cleaned) == ["a", "FAIL", "b"]
    assert "this text is odd" in (cleaned[1].problem or "")
    assert mortal.pids == pids


async def test_a_child_that_was_killed_is_replaced(cleaners: Cleaners) -> None:
    await cleaners.clean([RawPost("markdown", "a")])
    (pid,) = cleaners.pids
    os.kill(pid, signal.SIGKILL)
    assert texts(await cleaners.clean([RawPost("markdown", "b")])) == ["b"]
    assert cleaners.pids != [pid]


async def test_a_call_that_is_cancelled_ends_its_child_and_the_next_one_has_another(mortal: Cleaners) -> None:
    task = asyncio.create_task(mortal.clean([RawPost("markdown", "HANG")]))
    while not mortal.pids:
        await asyncio.sleep(0.01)
    (pid,) = mortal.pids
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not Path(f"/proc/{pid}").exists()
    assert texts(await mortal.clean([RawPost("markdown", "b")])) == ["b"]


@pytest.mark.integration  # seconds
async def test_more_memory_than_is_allowed_is_that_texts_trouble_alone() -> None:
    async with Cleaners(1, memory_bytes=150_000_000) as cleaners:
        cleaned = await cleaners.clean([RawPost("markdown", "z" * 60_000_000)])
        assert cleaned[0].problem is not None
        assert len(cleaned[0].text.encode()) <= LARGEST_TEXT
        assert texts(await cleaners.clean([RawPost("markdown", "small")])) == ["small"]


@pytest.mark.integration  # seconds
async def test_the_event_loop_goes_on_while_a_large_text_is_read(cleaners: Cleaners) -> None:
    task = asyncio.create_task(cleaners.clean([RawPost("html", "<p>x<b>y" * 200_000)]))
    turns = 0
    while not task.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert turns > 10


ORPHAN = """
import asyncio, os
from scrapers.posts.cleaners import Cleaners, RawPost
async def main():
    cleaners = Cleaners(1, seconds=3, program="tests.scrapers.deadly_cleaner")
    task = asyncio.create_task(cleaners.clean([RawPost("markdown", "HANG")]))
    while not cleaners.pids:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    print(cleaners.pids[0], flush=True)
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""


@pytest.mark.integration  # seconds
def test_a_child_ends_with_the_bot_whatever_it_is_at() -> None:
    done = subprocess.run([sys.executable, "-c", ORPHAN], cwd=ROOT, capture_output=True, text=True, check=False)
    child = Path(f"/proc/{int(done.stdout)}")
    deadline = time.monotonic() + 60
    while child.exists() and "zombie" not in (child / "status").read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not child.exists() or "zombie" in (child / "status").read_text()


@given(st.text(alphabet=st.characters(codec=None, categories=None)))
def test_clean_text_can_be_stored_and_has_no_controls_but_tab_and_newline(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert {char for char in cleaned if unicodedata.category(char) == "Cc"} <= {"\n", "\t"}
    assert clean(cleaned) == cleaned


@given(st.text(), st.integers(200, 400))
def test_a_cut_text_is_never_longer_than_its_bound(part: str, largest: int) -> None:
    text = part * 50
    cut = cut_middle(text, largest)
    assert len(cut.encode()) <= largest
    if len(text.encode()) <= largest:
        assert cut == text
    else:
        assert "bytes cut from the middle" in cut


def test_line_ends_become_newlines() -> None:
    assert clean("a\r\nb\rc\n") == "a\nb\nc\n"
