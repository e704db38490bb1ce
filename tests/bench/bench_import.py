"""Import of an MLE-Live root at the papers' size: 22 competitions, 2,687 discussions, 4,270 kernels.

Texts are made up: kernels of 10 KB in the median with a tail to 300 KB, three in four of them notebooks; discussions with
an opening message and eight comments on average, three levels deep. A third of the competitions have the older layout and
shape. Each has a task of 1 MB of data, so that linking and checking it are part of the time. All is written before the
clock runs; the import is a process of its own, as a person would start it, and its memory is the most that it held.
Processor seconds tell how it would go on a machine that does nothing else.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.scrapers.small import write_csv, write_manifest, write_small

COMPETITIONS, DISCUSSIONS, KERNELS, COMMENTS = 22, 2_687, 4_270, 8
GOAL_SECONDS, GOAL_BYTES = 120.0, 400_000_000
START = datetime(2020, 1, 2, tzinfo=UTC)
WORDS = (
    "model",
    "score",
    "fold",
    "public",
    "private",
    "leaderboard",
    "feature",
    "train",
    "test",
    "loss",
    "image",
    "seed",
)


def prose(rng: random.Random, characters: int) -> str:
    """Return paragraphs of about a length."""
    words = rng.choices(WORDS, k=characters // 6 + 1)
    return "\n\n".join(" ".join(words[start : start + 60]) for start in range(0, len(words), 60))


def code(rng: random.Random, characters: int) -> str:
    """Return lines of Python of about a length."""
    lines = ["import numpy as np"]
    lines += [
        f"{rng.choice(WORDS)}_{n} = np.log1p({rng.random():.6f})  # {rng.choice(WORDS)}"
        for n in range(characters // 45)
    ]
    return "\n".join(lines)


def kernel(rng: random.Random) -> str:
    """Return a kernel's text as the collector writes it."""
    size = int(min(300_000, max(500, rng.lognormvariate(9.2, 1.1))))
    if rng.random() < 0.25:
        return f"```\n{code(rng, size)}\n```\n"
    cells = max(2, size // 800)
    pairs = (f"\n## {prose(rng, 200)}\n```\n{code(rng, size // cells)}\n```" for _ in range(cells))
    return "".join(pairs) + "\n"


def discussion(rng: random.Random, number: int) -> str:
    """Return a discussion's text as the collector writes it."""
    lines, depth = [f"# Topic {number}", f"(Name {number} <TIER: {number % 5}>) {prose(rng, 1200)}"], 0
    for n in range(rng.randrange(2 * COMMENTS + 1)):
        depth = rng.randint(1, min(3, depth + 1))
        lines.append(f"{'    ' * depth}+ (Other {n} <TIER: N/A>) {prose(rng, rng.randrange(50, 900))}")
    return "\n".join(lines)


def write_kind(folder: Path, texts: list[str], *, older: bool) -> int:
    """Write texts and their info.json; return the bytes of the texts."""
    folder.mkdir(parents=True)
    entries = []
    for number, text in enumerate(texts, start=100_000):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
        time = (START + timedelta(minutes=10 * (number % 5_000))).isoformat().replace("+00:00", "Z")
        entry = {"title": f"Title {number}", "votes": number % 50, "id": str(number), "bestPublicScore": 0.5}
        entries.append(entry if older else entry | {"created_at": time})
    info = {entry["id"]: entry for entry in entries} if older else entries
    (folder / "info.json").write_text(json.dumps(info, indent=4), encoding="utf-8")
    return sum(map(len, texts))


def write_all(root: Path, tasks: Path, rng: random.Random) -> int:
    """Write the MLE-Live root and its tasks; return the bytes of all texts."""
    size = 0
    for number in range(COMPETITIONS):
        slug, older = f"competition-{number:02}", number % 3 == 2
        folder = root / "docs" / slug / "docs" if older else root / slug
        first, last = (DISCUSSIONS * n // COMPETITIONS for n in (number, number + 1))
        size += write_kind(folder / "discussions", [discussion(rng, n) for n in range(first, last)], older=older)
        first, last = (KERNELS * n // COMPETITIONS for n in (number, number + 1))
        size += write_kind(folder / "kernels", [kernel(rng) for _ in range(first, last)], older=older)
        task = write_small(tasks / slug)
        rows = [[n, f"{rng.random():.9f}", n % 3] for n in range(50_000)]
        write_csv(task / "data/train.csv", ["id", "x", "y"], rows)
        write_manifest(task, slug=slug)
    return size


def processor() -> float:
    """Return the processor seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure once on a disk: an import, and the same again."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        root, tasks, out = (Path(folder) / name for name in ("live", "tasks", "out"))
        size = write_all(root, tasks, random.Random(7))
        command = [
            sys.executable,
            "-m",
            "bot",
            "snapshot",
            "import",
            "mle-live",
            root,
            "--tasks",
            tasks,
            "--out",
            out,
            "--json",
        ]
        seconds, busy = [], []
        for _ in range(2):
            began, before = time.perf_counter(), processor()
            done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, check=True)
            seconds.append(time.perf_counter() - began)
            busy.append(processor() - before)
        said = json.loads(done.stdout)
    came = {kind: sum(one["rows"][kind] for one in said["competitions"]) for kind in ("topics", "messages", "kernels")}
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(f"{said['snapshots']} snapshots, {came}, {size / 1e6:.0f} MB of texts; load {os.getloadavg()[0]:.1f}")
    verdict = "met" if seconds[0] < GOAL_SECONDS else "MISSED"
    print(f"{seconds[0]:.1f} s, {GOAL_SECONDS / seconds[0]:.1f} times under the goal of {GOAL_SECONDS:g} s: {verdict}")
    print(f"processor seconds: {busy[0]:.1f}; the same again: {seconds[1]:.1f} s, of the processor {busy[1]:.1f}")
    verdict = "met" if peak < GOAL_BYTES else "MISSED"
    print(f"peak {peak / 1e6:.0f} MB, goal {GOAL_BYTES / 1e6:.0f} MB: {verdict}")


if __name__ == "__main__":
    main()
