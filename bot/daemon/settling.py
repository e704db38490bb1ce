"""Settling: what became of what was sent: its public score, how that relates to ours, and which files should count."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlmodel import select

from bot.daemon.affairs import Affairs
from bot.daemon.judging import Judge
from bot.engine.context import RunContext
from bot.notify.events import Choice, FinalSelectionProposed, ScoresDisagree
from bot.notify.outbox import notify
from bot.submission.exactly_once import Also, ExactlyOnce
from bot.submission.relation import Pair, Relation, relation_of
from state.errors import KaggleError, SiteUnavailable, SubmissionRefused
from state.outward import advance_submission, update_submission
from state.polled import Reading
from state.series import last
from state.store import Transaction
from state.tables import Node, Notification, Submission
from state.watermarks import watermark

__all__ = ["PROPOSED", "Settling", "choose"]

PROPOSED = timedelta(days=2)
"""Before the deadline, from when on a selection is proposed."""
_COUNTED = 2
"""Submissions that count in the end."""
_POLLED = timedelta(hours=2)
"""A list of submissions that was read within this time is taken as one that is read again and again."""
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=10)


class Settling:
    """Follows up what was sent, in one live run."""

    def __init__(self, context: RunContext, judge: Judge, once: ExactlyOnce, also: Also) -> None:
        self._context = context
        self._judge = judge
        self._once = once
        self._also = also
        self._asked: dict[str, tuple[datetime, timedelta]] = {}

    async def scores(self) -> None:
        """Write down public scores that have come, and what the site found invalid; each is told in the same transaction."""
        affairs = self._judge.affairs()
        for row in (*affairs.earlier, *affairs.there):
            if row.status != "confirmed" or row.score is not None or row.ref is None:
                continue
            reading, polled = self._read(row.ref)
            if reading is not None and self._take(row, reading):
                continue
            if not polled and row.run_id == self._context.run_id and self._may_ask(row.id):
                await self._ask(row)

    def _read(self, ref: str) -> tuple[Reading | None, bool]:
        """Return how the site's list shows a submission, and whether that list is read again and again."""
        slug, now = self._context.card.slug, self._context.clock.now()
        with self._context.store.read() as session:
            at = watermark(session, slug, "submissions").at
            return last(session, slug, "submission", ref), at is not None and now - at < _POLLED

    def _take(self, row: Submission, reading: Reading) -> bool:
        """Take over what a reading tells; return whether it is the end."""
        status, score = reading.data.get("status"), _number(str(reading.data.get("public_score") or ""))
        if status == "ERROR":
            words = str(reading.data.get("error_description") or "the file is invalid, without a word why")
            with self._context.store.write() as tx:
                self._also(tx, advance_submission(tx, row.run_id, row.id, "refused", message=words))
            return True
        if status != "COMPLETE" or score is None:
            return False
        with self._context.store.write() as tx:
            self._also(tx, update_submission(tx, row.run_id, row.id, score=score))
        return True

    def _may_ask(self, id: str) -> bool:
        """Return whether the site may be asked again: at first after seconds, later after minutes."""
        now = self._context.clock.now()
        due, pause = self._asked.get(id, (now, _FIRST_PAUSE))
        if now < due:
            return False
        self._asked[id] = (now + pause, min(pause * 1.5, _LONGEST_PAUSE))
        return True

    async def _ask(self, row: Submission) -> None:
        try:
            await self._once.score(row.id)
        except SubmissionRefused as error:
            self._context.say(f"{row.tag} was found invalid: {error}")
        except (SiteUnavailable, KaggleError) as error:
            self._context.say(f"{row.tag} has no score yet: {error}")

    def pairs(self) -> list[Pair]:
        """Return the two scores of each submission that has both, the earliest first."""
        with self._context.store.read() as session:
            found = [(row, session.get(Node, (row.run_id, row.node))) for row in self._judge.affairs().there]
        return [
            Pair(row.tag, node.score, row.score)
            for row, node in found
            if row.score is not None and node is not None and node.score is not None
        ]

    def relation(self) -> Relation:
        """Return how the two scores hang together; that it is broken is told once."""
        context, found = self._context, relation_of(self.pairs())
        if found.warning is not None:
            notice = ScoresDisagree(context.card.slug, context.run_id, found.pairs, found.warning).notice(
                context.run_id
            )
            with context.store.write() as tx:
                if not _known(tx, notice.key):
                    tx.record(
                        "submission.relation_broken",
                        run_id=context.run_id,
                        pairs=found.pairs,
                        correlation=found.correlation,
                        why=found.warning,
                    )
                    notify(tx, notice)
        return found

    def propose(self) -> None:
        """Tell the owner which files should count, in the last days before the deadline, and again when that changes."""
        context, affairs = self._context, self._judge.affairs()
        now = context.clock.now()
        if affairs.deadline is None or not affairs.deadline - PROPOSED <= now < affairs.deadline:
            return
        choices = self._choices(affairs)
        if not choices:
            return
        url = f"https://www.kaggle.com/competitions/{context.card.slug}/submissions"
        event = FinalSelectionProposed(context.card.slug, tuple(choices), affairs.deadline, url)
        with context.store.read() as session:
            if session.exec(select(Notification.id).where(Notification.key == event.key)).first() is not None:
                return
        with context.store.write() as tx:
            tx.record("selection.proposed", run_id=context.run_id, tags=[choice.tag for choice in choices])
            notify(tx, event.notice(context.run_id))

    def _choices(self, affairs: Affairs) -> list[Choice]:
        rows = (*affairs.earlier, *affairs.rows)
        confirmed = {row.file_sha: row for row in rows if row.status == "confirmed"}
        with self._context.store.read() as session:
            # Of other runs the public score alone can be compared.
            nodes = {row.node: session.get(Node, (row.run_id, row.node)) for row in affairs.rows}
        found = []
        for row in confirmed.values():
            node = nodes[row.node] if row.run_id == self._context.run_id else None
            found.append(Choice(row.tag, row.node, row.score, None if node is None else node.score))
        return choose(found, lower_is_better=self._context.card.lower_is_better)


def choose(found: Sequence[Choice], *, lower_is_better: bool) -> list[Choice]:
    """Return which submissions should count: the best by public score, and of the others the best by validation."""
    sign = -1.0 if lower_is_better else 1.0

    def worth(score: float | None) -> float:
        return -math.inf if score is None else sign * score

    public = max(found, key=lambda one: worth(one.public_score), default=None)
    chosen = [] if public is None or public.public_score is None else [public]
    others = sorted((one for one in found if one not in chosen), key=lambda one: -worth(one.validation_score))
    return [*chosen, *others][:_COUNTED]


def _known(tx: Transaction, key: str) -> bool:
    return tx.session.exec(select(Notification.id).where(Notification.key == key)).first() is not None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
