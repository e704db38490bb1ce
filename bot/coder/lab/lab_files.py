"""A lab's folder on the host, which the engine fills before the lab opens."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.coder.lab.cards import measured_notebooks
from bot.engine.attempts import code
from bot.engine.context import RunContext
from bot.knowledge.retrieval import RetrievedEntries, entry_text
from bot.models import Item
from bot.models.quoting import clean, in_quotes, line, quoted
from sandbox.collect import collect
from sandbox.lab.lab_archive import KEPT_BYTES
from scrapers.posts.cleaning import without_encoded
from state.community import TEAM, Post
from state.knowledge import analyses, reproductions

MOST_KERNELS, MOST_TOPICS = 150, 300
MOST_BYTES = 400_000
"""Of one post's file."""
_BEST_MEASURED, _BEST_KERNELS, _MOST_VOTED = 3, 2, 8
_MOST_FILES = 2_000
"""Of a lab's work that its child begins with."""
_MARK = "a note from our team"
_SUFFIX = {"python": "py", "r": "R", "markdown": "md"}


@dataclass(frozen=True)
class LabCommunityFiles:
    """The contents of a lab's community folder."""

    items: tuple[Item, ...] = ()
    """All that a coder could read there."""
    best_measured: tuple[str, ...] = ()
    """The best that were run here: file, measured and published score, seconds and title."""
    kernels: tuple[str, ...] = ()
    """The best others by score: file, score, votes and title."""
    topics: tuple[str, ...] = ()
    """Those with the most votes: file, messages, votes, size and title."""


def write_community(context: RunContext, folder: Path) -> LabCommunityFiles:
    """Write what the community posted, as of the clock: an index, the public scripts, and the forum by topic."""
    view = context.community
    if view is None:
        return LabCommunityFiles()
    posts = list(view.posts())
    summaries = {a.id: a.summary for a in analyses(context.store, context.run_id, context.clock.as_of())}
    kernels = _choose_kernels([p for p in posts if p.kind == "kernel"], context.card.lower_is_better)[:MOST_KERNELS]
    (folder / "kernels").mkdir(parents=True, exist_ok=True)
    (folder / "topics").mkdir(exist_ok=True)
    measured_lines = _write_measured(context, folder / "measured")
    reproduction_of = {row.id: row for row in reproductions(context.store, context.run_id, context.clock.as_of())}
    # The owner's notes are written for those who work here, whatever others vote for.
    kernels += [post for post in posts if post.kind == "kernel" and post.tier == TEAM and post not in kernels]
    index, best, most_voted = list[str](), list[str](), list[str]()
    for post in kernels:
        text = _within_limit(without_encoded(post.text))
        # A notebook is its text with its code in fences.
        suffix = "md" if "\n```" in text else _SUFFIX.get((post.language or "").lower(), "txt")
        name = f"kernels/{_plain(post.id)}.{suffix}"
        (folder / name).write_text(text, encoding="utf-8")
        description = f"{name} · {_facts(post)} · {len(text) / 1000:.0f} kB · {in_quotes(post.title, 120)}"
        row = reproduction_of.get(post.item)
        if row is None:
            best.append(f"/lab/community/{description}")
        reason = f" · does not run here: {in_quotes(row.reason)}" if row is not None and row.reason else ""
        index.append(f"- {description}{reason}{_summary(summaries, post.item)}")
    topics: dict[str, list[Post]] = {}
    for post in posts:
        if post.kind == "message" and post.topic_id is not None:
            topics.setdefault(post.topic_id, []).append(post)
    if index:
        index = ["# Public scripts, best score first", "", *index, ""]
    index += ["# Forum, most votes first", ""]
    ranking = sorted(topics.items(), key=lambda pair: -sum(p.votes or 0 for p in pair[1]))
    ranking = [pair for n, pair in enumerate(ranking) if n < MOST_TOPICS or pair[1][0].tier == TEAM]
    for topic, messages in ranking:
        name = f"topics/{_plain(topic)}.md"
        text = _within_limit("\n\n".join(map(_message, messages)))
        (folder / name).write_text(f"# {in_quotes(messages[0].title)}\n\n{text}", encoding="utf-8")
        votes, size = sum(p.votes or 0 for p in messages), len(text) / 1000
        description = f"{len(messages)} messages · {votes} votes · {size:.0f} kB · {in_quotes(messages[0].title, 120)}"
        index.append(f"- {name} · {description}{_summary(summaries, f'topic/{topic}')}")
        most_voted.append(f"/lab/community/{name} · {description}")
    if measured_lines:
        index = ["# Public scripts that were run here", "", *(f"- {m}" for m in measured_lines), "", *index]
    (folder / "index.md").write_text("\n".join(index) + "\n", encoding="utf-8")
    shown_posts = [*kernels, *(p for _, messages in ranking for p in messages)]
    return LabCommunityFiles(
        tuple(Item(p.item, p.time) for p in shown_posts),
        tuple(f"/lab/community/{measured_line}" for measured_line in measured_lines[:_BEST_MEASURED]),
        tuple(best[:_BEST_KERNELS]),
        tuple(most_voted[:_MOST_VOTED]),
    )


def _write_measured(context: RunContext, folder: Path) -> list[str]:
    """Write the public scripts that were run here, as they ran, and return a line each, the best first."""
    lines = []
    for row, text in measured_notebooks(context):
        folder.mkdir(exist_ok=True)
        name = f"{_plain(row.id.partition('/')[2])}.py"
        (folder / name).write_text(_within_limit(code(context, row.node or 0)), encoding="utf-8")
        lines.append(f"measured/{name} · {text}")
    return lines


def _choose_kernels(kernels: Sequence[Post], lower_is_better: bool) -> list[Post]:
    """Return kernels with the best score first, then those without one by votes."""
    sign = 1 if lower_is_better else -1
    return sorted(
        kernels, key=lambda p: (p.public_score is None, sign * (p.public_score or 0.0), -(p.votes or 0), p.time, p.id)
    )


def _message(post: Post) -> str:
    """Return a message of a topic under its heading; only the owner's notes are outside a fence."""
    text = post.text if post.tier == TEAM else quoted(post.text, post.item)
    return f"## {in_quotes(post.author or 'somebody', 60)}, {_facts(post)}\n\n{text}"


def _facts(post: Post) -> str:
    score = [] if post.public_score is None else [f"score {post.public_score:g}"]
    votes = [] if post.votes is None else [f"{post.votes} votes"]
    return ", ".join([*([_MARK] if post.tier == TEAM else []), *score, *votes]) or "no votes known"


def _summary(summaries: Mapping[str, str], item: str) -> str:
    summary = summaries.get(item)
    return f" · summary: {in_quotes(summary, 300)}" if summary else ""


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:80]


def _within_limit(text: str) -> str:
    return clean(text.encode(errors="replace")[:MOST_BYTES].decode(errors="ignore"))


def write_knowledge(retrieved: RetrievedEntries, folder: Path) -> None:
    """Write entries of the knowledge base: an index, and a short file each; nothing, not even the folder, without entries."""
    if not retrieved.entries:
        return
    folder.mkdir(exist_ok=True)
    index = ["# What helped in similar tasks, most similar first", ""]
    for entry in retrieved.entries:
        name, sources = (
            f"{entry.id}.md",
            "\n".join(f"- {in_quotes(source.title)}: {line(source.url or source.path)}" for source in entry.sources),
        )
        since = f"Known since {entry.known_at:%Y-%m-%d}. Labels: {', '.join(entry.labels)}."
        (folder / name).write_text(
            clean(f"# {entry_text(entry)}\n\n{since}\n\nSources:\n{sources}\n"), encoding="utf-8"
        )
        index.append(f"- {name} · {entry.kind} · {entry.support} · {line(entry.title, 160)}")
    (folder / "index.md").write_text("\n".join(index) + "\n", encoding="utf-8")


def copy_work(source: Path, target: Path) -> list[str]:
    """Copy what stayed of a closed lab's work beside what another's holds, and return the files, relative to it.

    Links are refused on the way, hard ones too: a file of the host, labels among them, could lie behind one.
    """
    files = sorted((p for p in source.rglob("*") if not p.is_dir()), key=lambda path: (len(path.parts), path))
    copied = []
    for path in files[:_MOST_FILES]:
        relative = path.relative_to(source)
        if (target / relative.parts[0]).is_file():
            continue
        place = target / relative.parent
        place.mkdir(parents=True, exist_ok=True)
        if collect(path.parent, [path.name], place, cap=KEPT_BYTES).files:
            copied.append(str(relative))
    return copied
