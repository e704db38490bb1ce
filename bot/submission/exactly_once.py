"""Exactly once: a file is recorded, sent and confirmed so that a crash at any point neither loses nor repeats it."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bot.submission import Submitter
from sandbox.locks import try_lock
from scrapers.http.responses import SLOWEST
from state.clock import Clock
from state.errors import (
    FileChanged,
    NotSent,
    QuotaReached,
    SiteUnavailable,
    SubmissionInDoubt,
    SubmissionRefused,
    UsageError,
)
from state.files import sha256_of, sync
from state.spending import charge
from state.store import Store, Transaction
from state.submissions import (
    OPEN,
    SubmissionStatus,
    advance_submission,
    intend_submission,
    submissions_of,
    update_submission,
)
from state.tables import Submission
from state.words import iso

LEDGER = "submission"
_LOOKS = 2
"""Times that a tag must be missing at the site before a file is sent again."""
_GRACE = 60.0
"""Seconds between two looks: a site may list a submission late."""
_SENDS = 2
"""Most times that one call sends a file."""
_ACT_SECONDS, _ASK_SECONDS = 600.0, 60.0
"""Longest time of sending a small file (a large one has more), and of a question."""
_TURN = 0.5
"""Seconds between two tries to take the lock."""
_ORPHANED = "the process that submitted it ended before the site's answer was recorded"

Answer = TypeVar("Answer")
OnChange = Callable[[Transaction, Submission], None]
"""Called with each change of a submission, in its transaction."""


@dataclass(frozen=True)
class ExactlyOnce:
    """Submits a run's files: intent, act, confirmation, each committed before the next begins.

    Only one process acts at a time, under a lock that the kernel releases if the process dies. So a submission found as
    `sending` belongs to nobody and is in doubt: the site is asked for its tag before anything is sent.
    """

    store: Store
    run_id: str
    submitter: Submitter
    clock: Clock
    lock: Path
    """A file, the same for all who submit for this run, and created if missing."""
    on_change: OnChange = lambda tx, row: None
    grace: float = _GRACE
    act_seconds: float = _ACT_SECONDS

    async def submit(self, file: Path, *, node: int, source: str) -> Submission:
        """Submit a file as the run's latest, and return it once confirmed; called again with it, go on, or do nothing if done.

        The file must not change meanwhile; `source` says how it was made, such as `refit`. Other open submissions are
        settled first: confirmed if the site has them, withdrawn if not.

        Raises:
            SubmissionRefused: the site refuses this file; it is not asked a second time.
            QuotaReached: the site takes none now; the intent stays, and nothing was sent. NotSent: the same for another reason.
            SiteUnavailable: the site cannot be asked; nothing was sent.
            SubmissionInDoubt: this file, or an earlier one, may have been sent, and the site cannot be asked or does not list it.
            FileChanged: the file has changed since it was recorded; nothing was sent.
            OSError: the file cannot be read, or the lock cannot be taken.
        """
        sha = sha256_of(file)
        async with self._own_turn():
            with self.store.read() as session:
                rows = [row for row in submissions_of(session, self.run_id) if row.status != "withdrawn"]
            latest = rows[-1] if rows and rows[-1].file_sha == sha else None
            for row in rows:
                if row is not latest and row.status in OPEN:
                    await self._withdraw(row)
            return await self._complete(latest or self._intend(sha, node, source), file)

    def intend(self, file: Path, *, node: int, source: str, on_change: OnChange | None = None) -> Submission:
        """Record the intent to submit a file, for `complete`; `on_change` is called in the same transaction. Raises OSError."""
        return self._intend(sha256_of(file), node, source, on_change)

    async def withdraw(self, id: str, reason: str) -> Submission:
        """Withdraw a submission that is not confirmed; if the site turns out to have it, it is confirmed instead.

        Raises SiteUnavailable: the site cannot be asked; SubmissionInDoubt if it may have the file. Nothing was withdrawn.
        """
        async with self._own_turn():
            row = self._row(id)
            return await self._withdraw(row, reason) if row.status in OPEN else row

    async def complete(self, id: str, file: Path) -> Submission:
        """Carry out an intent; a confirmed one is returned unchanged. Raises what `submit` raises.

        Raises UsageError: it was withdrawn.
        """
        async with self._own_turn():
            return await self._complete(self._row(id), file)

    async def score(self, id: str) -> float | None:
        """Return the public score of a confirmed submission, asking the site until it is known.

        Raises SubmissionRefused: the site found the file invalid; SiteUnavailable: the site cannot be asked.
        """
        row = self._row(id)
        if row.score is not None or row.ref is None or row.status != "confirmed":
            return row.score
        try:
            public_score = await self._ask_site(self.submitter.score(row.ref))
        except SubmissionRefused as error:
            self._advance(row, "refused", message=str(error))
            raise
        if public_score is not None:
            with self.store.write() as tx:
                self.on_change(tx, update_submission(tx, self.run_id, id, score=public_score))
        return public_score

    async def _complete(self, row: Submission, file: Path) -> Submission:
        sends = 0
        while True:
            if row.status == "refused":
                raise SubmissionRefused(row.message or "the site rejected it")
            if row.status == "withdrawn":
                raise UsageError(f"submission {row.tag} was withdrawn")
            if row.status not in OPEN:
                return row
            row = await self._looked_up(row)
            if row.status == "confirmed":
                return row
            if sends == _SENDS:
                raise SubmissionInDoubt(
                    f"{row.tag} was sent {sends} times without an answer, and the site does not list it: {row.message}"
                )
            await self._ensure_taken(row)
            # Checked at the last moment, so that only the recorded file is ever sent.
            if sha256_of(file) != row.file_sha:
                raise FileChanged(f"{file.name} has changed since it was recorded for submission as {row.tag}")
            row = await self._act(self._advance(row, "sending"), file)
            sends += 1

    async def _act(self, row: Submission, file: Path) -> Submission:
        """Send, and record how it ended; an unknown exception leaves the submission `sending`, which means in doubt."""
        seconds = self.act_seconds + file.stat().st_size / SLOWEST
        try:
            async with asyncio.timeout(seconds):
                ref = await self.submitter.submit(file, row.tag)
        except SubmissionRefused as error:
            self._advance(row, "refused", message=str(error))
            raise
        except NotSent as error:
            self._advance(row, "intended", message=str(error))
            raise
        except SiteUnavailable as error:
            return self._advance(row, "doubtful", message=str(error))
        except TimeoutError:
            return self._advance(row, "doubtful", message=f"the site did not answer within {round(seconds, 1):g} s")
        return self._confirm(row, ref)

    async def _looked_up(self, row: Submission) -> Submission:
        """Return the row confirmed if the site has it; otherwise unchanged, once the site has had time to list it."""
        if row.status == "sending":
            row = self._advance(row, "doubtful", message=_ORPHANED)
        # Asked even before the first attempt: a database restored from a backup may have forgotten one.
        for look in range(1 if row.status == "intended" else _LOOKS):
            if look:
                await self.clock.sleep(self.grace)
            ref = await self._ask_site(self.submitter.find(row.tag), row)
            if ref is not None:
                return self._confirm(row, ref)
        return row

    async def _withdraw(self, row: Submission, reason: str = "a different file is being submitted") -> Submission:
        row = await self._looked_up(row)
        return row if row.status == "confirmed" else self._advance(row, "withdrawn", message=reason)

    async def _ensure_taken(self, row: Submission) -> None:
        quota = await self._ask_site(self.submitter.quota(), row)
        if quota.remaining is not None and quota.remaining <= 0:
            until = f" until {iso(quota.resets_at)}" if quota.resets_at else ""
            raise QuotaReached(f"the site accepts no more submissions{until}; {row.tag} was not submitted")

    async def _ask_site(self, question: Awaitable[Answer], row: Submission | None = None) -> Answer:
        """Return the site's answer; without one, a submission in doubt stays in doubt."""
        try:
            async with asyncio.timeout(_ASK_SECONDS):
                return await question
        except TimeoutError:
            failure = SiteUnavailable(f"the site did not answer within {_ASK_SECONDS:g} s")
        except SiteUnavailable as error:
            failure = error
        if row is not None and row.status == "doubtful":
            raise SubmissionInDoubt(
                f"{row.tag} may have been submitted ({row.message}), but Kaggle does not answer: {failure}; it was not sent again"
            ) from failure
        raise failure

    def _intend(self, sha: str, node: int, source: str, on_change: OnChange | None = None) -> Submission:
        with self.store.write() as tx:
            row = intend_submission(tx, self.run_id, node=node, prediction_source=source, file_sha=sha)
            if on_change is not None:
                on_change(tx, row)
            return row

    def _confirm(self, row: Submission, ref: str) -> Submission:
        with self.store.write() as tx:
            charge(tx, self.run_id, LEDGER, node=row.node, amount=1)
            row = advance_submission(tx, self.run_id, row.id, "confirmed", ref=ref)
            self.on_change(tx, row)
            return row

    def _advance(self, row: Submission, status: SubmissionStatus, *, message: str | None = None) -> Submission:
        with self.store.write() as tx:
            row = advance_submission(tx, self.run_id, row.id, status, message=message)
            self.on_change(tx, row)
            return row

    def _row(self, id: str) -> Submission:
        with self.store.read() as session:
            return session.get_one(Submission, (self.run_id, id))

    @asynccontextmanager
    async def _own_turn(self) -> AsyncIterator[None]:
        """Wait until nobody else submits for this run, in any process."""
        while (lock := try_lock(self.lock)) is None:
            await self.clock.sleep(_TURN)
        try:
            yield
        finally:
            lock.release()


def copy_durably(source: Path, target: Path) -> str:
    """Copy a file and flush it to disk; returns the sha256 (hex) of what was copied."""
    shutil.copyfile(source, target)
    sync(target)
    return sha256_of(target)
