"""Ingest at the size of MLE-Live: cleaning, de-duplicating and storing all posts of its 22 competitions as one.

MLE-Live's first version holds 2,687 discussions and 4,270 kernels; how many messages its discussions have is not
published: here eight each. The posts are those of the snapshots in `BOT_SNAPSHOTS` (of the bundled demo without), many
times over, each with words and figures of its own; one in ten repeats an earlier one with small changes. Messages come
as HTML. A fifth of the kernels are notebooks of 100 KB to 5 MB (evenly in the logarithm, or evenly with `--even`, twice
as much), four fifths of it pictures, the rest logs and code. Texts are made before the clock runs and read from a file;
notebooks are put together from pieces as they are read, which takes a second.

Memory is that of the whole tree of processes, sampled: its resident pages added up (RSS, in which shared libraries count
for each process), and with what is shared divided among those who share it (PSS).
"""

import argparse
import asyncio
import base64
import contextlib
import json
import math
import os
import random
import re
import resource
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path

import psutil

from scrapers.posts.cleaners import Cleaners, Source
from scrapers.posts.ingest import Raw, ingest
from state.clock import SystemClock
from state.store import Store
from state.tables import KernelVersion, Message, Observation, Topic

DISCUSSIONS, KERNELS, MESSAGES_EACH, NOTEBOOK_SHARE = 2_687, 4_270, 8, 5
GOAL_SECONDS, GOAL_BYTES = 90.0, 400_000_000
START = datetime(2026, 1, 1, tzinfo=UTC)
NAME = "a-competition-of-usual-length"
DEMO = Path(__file__).parents[2] / "scrapers" / "snapshots" / "demo_data"


@dataclass
class Pieces:
    """What the posts are made of."""

    messages: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    picture: str = ""
    log: str = ""


def snapshots() -> list[Path]:
    """Return the folders of communities."""
    named = os.environ.get("BOT_SNAPSHOTS")
    found = sorted(Path(named).glob("*/community")) if named else []
    return found or [DEMO / "community"]


def pieces(rng: random.Random) -> Pieces:
    """Read the snapshots' posts."""
    made = Pieces()
    for folder in snapshots():
        for line in (folder / "messages.jsonl").read_text().splitlines():
            made.messages.append(json.loads(line)["markdown"] or "")
        made.scripts += [path.read_text() for path in sorted((folder / "kernels").glob("*.py"))]
    made.words = sorted({word for text in made.messages for word in re.findall(r"[a-z]{4,}", text)})
    made.picture = base64.b64encode(rng.randbytes(9_000_000)).decode()
    lines = (f"[{n}]  train-rmse: {rng.random():.5f}  valid-rmse: {rng.random():.5f}\\n" for n in range(40_000))
    made.log = '", "'.join(lines)
    return made


def own(text: str, rng: random.Random, words: list[str]) -> str:
    """Return a text with every figure and every third longer word its own."""
    text = re.sub(r"\d+", lambda found: str(rng.randrange(10 ** len(found[0]))), text)
    return re.sub(r"\b[a-z]{4,}\b", lambda found: rng.choice(words) if rng.random() < 0.33 else found[0], text)


def html(markdown: str) -> str:
    """Return HTML as a forum makes it of markdown."""
    blocks = []
    for block in re.split(r"\n\n(?![^`]*\n```)", markdown):
        if block.startswith("```"):
            language, _, code = block.strip("`\n").partition("\n")
            blocks.append(f'<pre><code class="language-{language}">{escape(code)}</code></pre>')
        elif block.startswith(("- ", "* ", "1. ")):
            items = "".join(f"<li>{escape(line.lstrip('-*1. '))}</li>\n" for line in block.splitlines())
            blocks.append(f"<ul>\n{items}</ul>")
        else:
            text = re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(block, quote=False))
            text = re.sub(r"\*\*(.*?)\*\*", r"<b>\1</b>", text)
            blocks.append(f"<p>{text}</p>")
    return '<div class="x">' + "\n".join(blocks) + '<p><a href="https://www.kaggle.com/code">see</a></p></div>'


def notebook(code: str, size: int, rng: random.Random, made: Pieces) -> str:
    """Return a notebook's JSON of about a size: a cell for every twenty lines, logs and pictures in turn below them."""
    lines = code.splitlines(keepends=True)
    chunks = ["".join(lines[start : start + 20]) for start in range(0, len(lines), 20)] * 3
    cells = []
    for n, chunk in enumerate(chunks):
        share = size // len(chunks)
        if n % 2:
            log = rng.randrange(len(made.log) // 2)
            begin = made.log.index('", "', log) + 4
            end = made.log.index('", "', begin + min(share // 4, 100_000))
            output = f'{{"output_type": "stream", "name": "stdout", "text": ["{made.log[begin:end]}"]}}'
        else:
            start = rng.randrange(len(made.picture) // 2)
            data = f'"image/png": "{made.picture[start : start + share * 2]}", "text/plain": ["<Figure>"]'
            output = f'{{"output_type": "display_data", "metadata": {{}}, "data": {{{data}}}}}'
        cells.append(f'{{"cell_type": "markdown", "metadata": {{}}, "source": ["## Part {n} of {size}"]}}')
        source = json.dumps(chunk)
        cells.append(f'{{"cell_type": "code", "metadata": {{}}, "source": {source}, "outputs": [{output}]}}')
    return f'{{"nbformat": 4, "nbformat_minor": 4, "metadata": {{}}, "cells": [{", ".join(cells)}]}}'


def write_texts(path: Path, made: Pieces, rng: random.Random) -> None:
    """Write the texts of all messages, then of all kernels, one a line."""

    def text(pool: list[str]) -> str:
        if rng.random() < 0.1:
            return f"{rng.choice(pool)}\n# again {rng.random()}"
        return own(rng.choice(pool), rng, made.words)

    with path.open("w") as file:
        for _ in range(DISCUSSIONS * MESSAGES_EACH):
            file.write(json.dumps(html(text(made.messages))) + "\n")
        for _ in range(KERNELS):
            file.write(json.dumps(text(made.scripts)) + "\n")


class Posts:
    """All posts, made one by one; counts what it has given."""

    def __init__(self, texts: Path, made: Pieces, rng: random.Random, *, even: bool) -> None:
        self.texts, self.made, self.rng, self.even = texts, made, rng, even
        self.characters = 0
        self.notebooks = 0

    def __iter__(self) -> Iterator[Raw]:
        """Yield topics with their messages, then kernels."""
        with self.texts.open() as file:
            lines = map(json.loads, file)
            for n in range(DISCUSSIONS):
                yield from self.discussion(n, START + timedelta(minutes=40 * n), lines)
            for n in range(KERNELS):
                yield from self.kernel(n, START + timedelta(minutes=30 * n), lines)

    def discussion(self, number: int, at: datetime, texts: Iterator[str]) -> Iterator[Raw]:
        """Yield a topic, its messages, and a reading of each."""
        yield Raw(Topic(competition=NAME, id=str(number), title=f"Topic {number}", posted_at=at, author="ann"))
        for n in range(MESSAGES_EACH):
            id, time = f"{number}-{n}", at + timedelta(minutes=n)
            row = Message(competition=NAME, id=id, topic_id=str(number), posted_at=time, author=f"user{number % 97}")
            yield Raw(row, self.source("html", next(texts)))
            yield Raw(Observation(competition=NAME, target="message", target_id=id, at=time, votes=number % 9))

    def kernel(self, number: int, at: datetime, texts: Iterator[str]) -> Iterator[Raw]:
        """Yield a kernel version and a reading of it."""
        text, kind = next(texts), "script"
        if number % NOTEBOOK_SHARE == 0:
            low, high = 100_000, 5_000_000
            even = self.rng.uniform(low, high)
            size = even if self.even else math.exp(self.rng.uniform(math.log(low), math.log(high)))
            text, kind = notebook(text, int(size), self.rng, self.made), "notebook"
            self.notebooks += len(text)
        row = KernelVersion(
            competition=NAME, id=str(number), ref=f"user{number % 97}/k{number}", version=1, author=f"user{number % 97}",
            created_at=at, kind=kind, language="python",
        )  # fmt: skip
        yield Raw(row, self.source("kernel", text, kind))
        later, id = at + timedelta(hours=1), str(number)
        yield Raw(Observation(competition=NAME, target="kernel", target_id=id, at=later, votes=3, public_score=0.5))

    def source(self, form: str, text: str, kind: str | None = None) -> Source:
        """Return the text as it would come from the site."""
        self.characters += len(text)
        return Source(form, text, "python" if kind else None, kind)  # type: ignore[arg-type]  # a form it knows


class Watch:
    """Samples the memory of this process and of the cleaners."""

    def __init__(self, cleaners: Cleaners) -> None:
        self.rss = self.pss = 0
        self._cleaners = cleaners
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        looks = 0
        while not self._stop.wait(0.2):
            with contextlib.suppress(psutil.NoSuchProcess):
                tree = [psutil.Process(pid) for pid in (os.getpid(), *self._cleaners.pids)]
                self.rss = max(self.rss, sum(process.memory_info().rss for process in tree))
                # What is shared takes the system a while to find out.
                if (looks := looks + 1) % 10 == 0:
                    self.pss = max(self.pss, sum(process.memory_full_info().pss for process in tree))


async def longest_wait(stop: asyncio.Event) -> float:
    """Return the longest time for which the event loop did not come round, beyond what was asked for."""
    longest = 0.0
    while not stop.is_set():
        began = time.perf_counter()
        await asyncio.sleep(0.02)
        longest = max(longest, time.perf_counter() - began - 0.02)
    return longest


async def measure(store: Store, posts: Posts) -> tuple[float, float, int, Watch]:
    """Ingest all; return seconds, the loop's longest wait, the number of problems and the memory."""
    stop = asyncio.Event()
    waiting = asyncio.create_task(longest_wait(stop))
    async with Cleaners(2) as cleaners:
        with Watch(cleaners) as watch:
            began = time.perf_counter()
            problems = await ingest(store, NAME, posts, cleaners)
            taken = time.perf_counter() - began
    stop.set()
    return taken, await waiting, len(problems), watch


def main() -> None:
    """Measure once on a disk."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--even", action="store_true")
    rng = random.Random(7)
    even, made = parser.parse_args().even, pieces(rng)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        posts = Posts(Path(folder) / "texts.jsonl", made, rng, even=even)
        write_texts(posts.texts, made, rng)
        base = psutil.Process().memory_info().rss
        before = resource.getrusage(resource.RUSAGE_SELF)
        path = Path(folder) / "state.db"
        with Store.open(path, SystemClock()) as store:
            taken, wait, problems, watch = asyncio.run(measure(store, posts))
            with store.read() as session:
                count = session.connection().exec_driver_sql("SELECT count(*), count(original) FROM likeness").one()
        size = path.stat().st_size
    own_pieces = len(posts.made.picture) + len(posts.made.log)
    print(
        f"{DISCUSSIONS} topics, {DISCUSSIONS * MESSAGES_EACH} messages, {KERNELS} kernels: {posts.characters / 1e6:.0f} MB, "
        f"of which notebooks {posts.notebooks / 1e6:.0f} MB; stored in {size / 1e6:.0f} MB; {count[0]} compared, "
        f"{count[1]} repeat an earlier one; {problems} problems"
    )
    verdict = "met" if taken < GOAL_SECONDS else "MISSED"
    print(
        f"{taken:.1f} s: {posts.characters / taken / 1e6:.1f} MB/s, "
        f"{GOAL_SECONDS / taken:.1f} times under the goal of {GOAL_SECONDS:g} s: {verdict}"
    )
    verdict = "met" if watch.rss < GOAL_BYTES else "MISSED"
    print(
        f"peak of all processes: RSS {watch.rss / 1e6:.0f} MB, PSS {watch.pss / 1e6:.0f} MB (this one before it began "
        f"{base / 1e6:.0f}, pieces of posts {own_pieces / 1e6:.0f}); goal {GOAL_BYTES / 1e6:.0f} MB: {verdict}"
    )
    after, cleaners = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    here = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"processor seconds: this process {here:.0f}, the cleaners {cleaners.ru_utime + cleaners.ru_stime:.0f} "
        f"(two cores have {2 * taken:.0f}); load {os.getloadavg()[0]:.1f}; "
        f"the event loop's longest wait: {wait * 1000:.0f} ms"
    )


if __name__ == "__main__":
    main()
