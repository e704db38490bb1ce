"""The desk: all that one live run submits, from the node that is worth it to the files that should count in the end."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from bot.daemon.candidates import Candidates
from bot.daemon.considering import Considering
from bot.daemon.judging import Judge
from bot.daemon.live_run import LiveRun
from bot.daemon.sending import Sending
from bot.daemon.settings import CompetitionSettings
from bot.daemon.settling import Settling
from bot.daemon.shared import Shared
from bot.daemon.telling import telling
from bot.engine.context import RunContext
from bot.evaluation.worker import Worker
from bot.submission import Submitter
from bot.submission.exactly_once import ExactlyOnce, Patience
from bot.submission.kaggle import KaggleSubmitter
from bot.submission.policy import Decision
from bot.submission.relation import Pair, Relation

__all__ = ["LOCK", "Desk", "open_desk"]

LOCK = ".submission.lock"
"""In the competition's folder: whose turn it is to send."""


class Desk:
    """Submits for one live run; nothing of it is in memory alone, so that it may be killed at any point.

    Each method may be called again and again, and side by side with the others. None raises for a site that cannot be
    asked; StateUnavailable and StateCorrupted it lets through.
    """

    def __init__(
        self,
        context: RunContext,
        folder: Path,
        settings: CompetitionSettings,
        submitter: Submitter,
        worker: Worker,
        patience: Patience | None = None,
    ) -> None:
        """Take up a run, which may have submitted before.

        Args:
            context: the run, whose clock is the one that all goes by.
            folder: the competition's, in which files that are to be sent are kept.
            settings: what its owner allows.
            submitter: the site.
            worker: for all that needs numpy.
            patience: how long to wait for the site.
        """
        also = telling(context.card.slug)
        once = ExactlyOnce(
            context.store, context.run_id, submitter, context.clock, folder / LOCK, patience=patience, also=also
        )
        candidates = Candidates(context, folder, worker)
        self._judge = Judge(context, settings, submitter, candidates)
        self._considering = Considering(context, self._judge, candidates, once)
        self._sending = Sending(context, self._judge, candidates, once)
        self._settling = Settling(context, self._judge, once, also)
        self._turns = {name: asyncio.Lock() for name in ("consider", "send", "settle")}

    async def consider(self) -> Decision | None:
        """Decide about the next file, make it if it may go, and write down the intent or the reason; None: all is decided.

        The event `submission.considered` tells what was decided about a node. A node is looked at again when the day, the
        quota, the settings or what is known of the site have changed, or the time has come until which it was to wait.
        """
        async with self._turns["consider"]:
            return await self._considering.next()

    async def send(self) -> None:
        """Send what may go now, one file after the other, and withdraw what shall not go any more."""
        async with self._turns["send"]:
            await self._sending.all()

    async def give_up(self, why: str) -> None:
        """Send nothing more: what is not at the site is withdrawn, wishes are refused.

        Raises:
            SiteUnavailable, KaggleError: the site cannot be asked what it has; SubmissionInDoubt where it may have a file.
        """
        async with self._turns["consider"], self._turns["send"]:
            await self._sending.give_up(why)
            self._considering.refuse_wishes(why)

    async def settle(self) -> None:
        """Write down the public scores that have come; what a poll has read of them is preferred to asking."""
        async with self._turns["settle"]:
            await self._settling.scores()

    async def propose_final(self) -> None:
        """Propose to the owner which files should count, from two days before the deadline on, and again when it changes."""
        self._settling.propose()

    def pairs(self) -> Sequence[Pair]:
        """Return the validation and the public score of what was sent, as the metric has them, the earliest first."""
        return self._settling.pairs()

    def relation(self) -> Relation:
        """Return how these hang together; that they do not is told to the owner once."""
        return self._settling.relation()


def open_desk(shared: Shared, run: LiveRun, context: RunContext) -> Desk:
    """Return the desk of a live run, which submits to Kaggle over HTTP."""
    submitter = KaggleSubmitter(shared.client, run.card.slug, run.card.submission_file)
    return Desk(context, shared.competition(run.card.slug), run.own, submitter, shared.machinery.worker)
