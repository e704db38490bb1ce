"""News for a running lab: what became known while it was open, a line each."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from textwrap import shorten
from typing import Any

from sqlmodel import col, func, select

from bot.coder.lab.lab_files import write_community
from bot.engine.context import RunContext
from bot.models import Item
from bot.models.quoting import in_quotes
from state.community import Post
from state.knowledge import analyses, drafts, ideas, reproductions
from state.labs import lab
from state.tables import Event
from state.words import iso

_STRONG = 8.0
"""Effectiveness, from 0 to 10, of an analysis that is worth a line of its own."""
_MAX_LINES = 3
"""Lines of one kind at a time."""
_IDEAS, _IDEA = 8, 120
"""Ideas that one line names, and characters of each."""
_TYPES = ("analysis.added", "draft.added", "idea.added", "kernel.reproduced", "retrain.tried")


@dataclass
class LabNews:
    """The news since the last check: posts by the clock, results derived from them by the run's events."""

    context: RunContext
    folder: Path
    """The lab's community folder, which is kept up to date."""
    mark: dict[str, Any] = field(default_factory=dict)
    """The position of the last check: `as_of`, number of the last event, best public score of a script and of the leaderboard."""
    items: list[Item] = field(default_factory=list)
    """What lies before the coder since the last `take_items`."""
    lab: int = 0
    """The lab's number."""

    def begin(self) -> dict[str, Any]:
        """Return the mark of a lab that opens now."""
        context, view = self.context, self.context.community
        scores = [p.public_score for p in view.posts() if p.public_score is not None] if view else []
        with context.store.read() as session:
            last = session.exec(select(func.max(Event.seq)).where(Event.run_id == context.run_id)).one()
        self.mark = {
            "as_of": iso(context.clock.as_of()),
            "event": last or 0,
            "kernel": max(scores, key=context.card.oriented, default=None),
        }
        self._board()
        self._best()
        return self.mark

    def take_items(self) -> list[Item]:
        """Return what the coder was shown or handed since the last call."""
        items, self.items = self.items, []
        return items

    def lines(self) -> list[str]:
        """Return the news since the last check, the most important first, and update the position."""
        events, posts = self._events(), self._posts()
        lines = [
            *self._draft(events),
            *self._trials(events),
            *self._best(),
            *self._board(),
            *self._kernels(posts),
            *self._reproductions(events),
            *self._read(events),
        ]
        if posts:
            lines.append(f"{len(posts)} new post{'s' if len(posts) != 1 else ''}: see /lab/community/index.md")
        lines += self._ideas(events)
        if posts or any(event.type in ("analysis.added", "kernel.reproduced") for event in events):
            self.items += write_community(self.context, self.folder).items
        return lines

    def _events(self) -> list[Event]:
        context = self.context
        since = select(Event).where(Event.run_id == context.run_id, Event.seq > self.mark["event"])
        with context.store.read() as session:
            events = list(session.exec(since.where(col(Event.type).in_(_TYPES)).order_by(col(Event.seq))))
        if events:
            self.mark["event"] = events[-1].seq
        return events

    def _posts(self) -> list[Post]:
        """Return the posts that the clock has made visible."""
        view, since = self.context.community, datetime.fromisoformat(self.mark["as_of"])
        if view is None or view.as_of <= since:
            return []
        self.mark["as_of"] = iso(view.as_of)
        return view.newest(10_000, since)

    def _draft(self, events: list[Event]) -> list[str]:
        """Return the lab's draft if it was planned since the lab opened."""
        lab_row = lab(self.context.store, self.context.run_id, self.lab)
        planned = {event.data["draft"] for event in events if event.type == "draft.added"}
        rows = [
            row
            for row in self._query(drafts)
            if lab_row is not None and row.id == lab_row.draft_id and row.id in planned
        ]
        self.items += [Item(f"draft/{row.id}", row.known_at) for row in rows]
        return [
            f"your draft, planned from the posts: {in_quotes(f'{row.title}. {row.aim} {row.description}', 6_000)}"
            for row in rows
        ]

    def _trials(self, events: list[Event]) -> list[str]:
        """Return a line on each of this lab's retrain commands that failed when it was tried."""
        return [
            f"the `retrain` command of {event.data['name']} made no usable predictions in a trial on 95% of your rows: "
            f"{in_quotes(event.data['reason'], 400)}; to replace it, log the same arrays again with the fixed files"
            for event in events
            if event.type == "retrain.tried" and event.data["lab"] == self.lab and event.data["reason"]
        ]

    def _kernels(self, posts: list[Post]) -> list[str]:
        """Return a line on each new public script whose public score beats all before it and the best score here."""
        oriented, log = self.context.card.oriented, self.context.experiments
        top = None if log is None else log.best()
        best_here = top.result.score if top is not None and top.has_score else None
        lines = []
        for post in posts:
            best, score = self.mark["kernel"], post.public_score
            if score is None or (best is not None and oriented(score) <= oriented(best)):
                continue
            self.mark["kernel"] = score
            if best_here is not None and oriented(score) <= oriented(best_here):
                continue
            before = "" if best is None else f", the best earlier public script has {best:g}"
            comparison = "" if best_here is None else f", the best experiment here has {best_here:.5g} out of fold"
            lines.append(
                f"a new public script has {score:g} on the leaderboard{before}{comparison}: {in_quotes(post.title, 120)}"
            )
        return lines[-_MAX_LINES:]

    def _reproductions(self, events: list[Event]) -> list[str]:
        """Return a line on each public script that was run here."""
        new = {event.data["kernel"] for event in events if event.type == "kernel.reproduced"}
        rows = [r for r in self._query(reproductions) if r.id in new and r.measured is not None]
        self.items += [Item(row.id, row.known_at) for row in rows]
        return [
            f"the public script {in_quotes(row.title, 120)} was run here unchanged: {row.measured:.5g} on validation rows"
            + ("" if row.published is None else f" ({row.published:g} on the leaderboard)")
            + f", {row.seconds:.0f} s; code in /lab/community/measured/"
            for row in rows[:_MAX_LINES]
        ]

    def _read(self, events: list[Event]) -> list[str]:
        """Return a line on each post that was read meanwhile and promises much."""
        new = {event.data["analysis"] for event in events if event.type == "analysis.added"}
        rows = [a for a in self._query(analyses) if a.id in new and a.effectiveness >= _STRONG]
        rows = sorted(rows, key=lambda analysis: (-analysis.effectiveness, analysis.id))[:_MAX_LINES]
        self.items += [Item(row.id, row.known_at) for row in rows]
        return [f"posted ({row.id}), summary: {in_quotes(row.summary, 300)}" for row in rows]

    def _ideas(self, events: list[Event]) -> list[str]:
        """Return a line on the ideas that were added, with their numbers and first words, but for those that were known."""
        new = {event.data["idea"] for event in events if event.type == "idea.added"}
        rows = [row for row in self._query(ideas) if row.id in new and row.state == "live"]
        self.items += [Item(f"idea/{row.id}", row.known_at) for row in rows]
        if not rows:
            return []
        words = "; ".join(f"{row.id} {in_quotes(shorten(row.text, _IDEA, placeholder=' …'))}" for row in rows[:_IDEAS])
        return [
            f"{len(rows)} idea{'s were' if len(rows) != 1 else ' was'} added (`lab ideas` shows them in full): {words}"
        ]

    def _query(self, query: Callable[..., list[Any]]) -> list[Any]:
        context = self.context
        return query(context.store, context.run_id, context.clock.as_of())

    def _best(self) -> list[str]:
        """Return a line on a new best experiment that this lab's coder has not logged itself."""
        log = self.context.experiments
        best = None if log is None else log.best()
        before, self.mark["best"] = self.mark.get("best"), None if best is None else best.name
        if best is None or best.name == before or (best.lab == self.lab and best.kind != "portfolio"):
            return []
        return [f"new best: {best.shown_score}, {best.name} from lab {best.lab}"]

    def _board(self) -> list[str]:
        """Return a line on a new best of the public leaderboard; there is none in a replay."""
        scores = self.context.executor.settings.board()
        before, self.mark["board"] = self.mark.get("board"), scores[0] if scores else None
        if not scores or before is None or scores[0] == before:
            return []
        return [f"the best public leaderboard score is now {scores[0]:g}; it was {before:g}"]
