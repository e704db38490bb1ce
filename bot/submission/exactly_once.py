"""Exactly once: a file is written down, sent and confirmed such that a crash at any point neither loses nor doubles it."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from bot.submission import Submitter
from sandbox.locks import take
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
_CHUNK = 1 << 20
_ORPHANED = "whoever sent it ended before the site's answer was written down"

Answer = TypeVar("Answer")
Also = Callable[[Transaction, Submission], None]
"""Writes what belongs to a move of a submission, in the transaction that makes it."""


class Patience(BaseModel):
    """How long a site may take, in seconds, before something is sent again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    looks: int = Field(default=2, ge=1, description="times that the site must not know a tag before it is sent again")
    grace: float = Field(default=60.0, ge=0, description="between two looks: a site may list late what it has taken")
    sends: int = Field(default=2, ge=1, description="times that one call sends a file at most")
    act_seconds: float = Field(default=600.0, gt=0, description="longest time of sending a file")
    ask_seconds: float = Field(default=60.0, gt=0, description="longest time of a question")
    turn: float = Field(default=0.5, ge=0, description="between two tries to have one's turn")


class ExactlyOnce:
    """Submits a run's files: intent, act, confirmation, each committed before the next begins.

    One at a time acts, whatever the process: its turn is a lock that the kernel takes back from whoever dies. So a
    submission found as `sending` is nobody's, and in doubt: the site is asked for its tag before anything is sent.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        submitter: Submitter,
        clock: Clock,
        lock: Path,
        patience: Patience | None = None,
        also: Also | None = None,
    ) -> None:
        """Take up a run.

        Args:
            store: where intents are written.
            run_id: the run, which must be in the store.
            submitter: the site.
            clock: what waiting goes by.
            lock: a file, the same for all who submit for this run; it is made if it is absent.
            patience: how long to wait for what.
            also: called with each move, such as to tell the owner of it.
        """
        self._store = store
        self._run_id = run_id
        self._submitter = submitter
        self._clock = clock
        self._lock = lock
        self._patience = patience or Patience()
        self._also = also or (lambda tx, row: None)

    async def submit(self, file: Path, *, node: int, handed_in: str) -> Submission:
        """Submit a file as the run's latest; called again with the same one, it goes on or finds that it is done.

        Whatever else is open is settled first: confirmed if the site has it, withdrawn if not.

        Args:
            file: what to send; it must not change meanwhile.
            node: whose it is.
            handed_in: how it was made, such as `refit`.

        Returns:
            The confirmed submission.

        Raises:
            SubmissionRefused: the site will not take this file; it is not asked a second time.
            QuotaReached: the site takes none now; the intent stays, and nothing was sent. NotSent: as much for another reason.
            SiteUnavailable: the site cannot be asked; nothing was sent.
            SubmissionInDoubt: it, or an earlier one, may have been sent, and the site cannot be asked or does not say.
            FileChanged: the file changed on the way; nothing was sent.
            OSError: the file cannot be read, or the lock not be had.
        """
        sha = file_hash(file)
        async with self._own_turn():
            known = [row for row in self._rows() if row.status != "withdrawn"]
            latest = known[-1] if known and known[-1].file_sha == sha else None
            for row in known:
                if row is not latest and row.status in OPEN:
                    await self._withdraw(row)
            return await self._complete(latest or self._intend(sha, node, handed_in), file)

    def intend(self, file: Path, *, node: int, handed_in: str, also: Also | None = None) -> Submission:
        """Write down that a file is to be submitted, for `complete` to do so, perhaps later; `also` in the same transaction.

        Raises OSError.
        """
        return self._intend(file_hash(file), node, handed_in, also)

    async def withdraw(self, id: str, why: str) -> Submission:
        """Give up what is not confirmed; what turns out to be at the site already is confirmed instead.

        Raises:
            SiteUnavailable: the site cannot be asked; SubmissionInDoubt where it may have it. Nothing was withdrawn.
        """
        async with self._own_turn():
            row = self._row(id)
            return await self._withdraw(row, why) if row.status in OPEN else row

    async def complete(self, id: str, file: Path) -> Submission:
        """Bring an intent to its end; one that is confirmed is given back as it is. Raises as `submit`.

        Raises:
            UsageError: it was withdrawn.
        """
        async with self._own_turn():
            return await self._complete(self._row(id), file)

    async def score(self, id: str) -> float | None:
        """Return the public score of a confirmed submission, asked of the site until it is known.

        Raises:
            SubmissionRefused: the site found the file invalid.
            SiteUnavailable: the site cannot be asked.
        """
        row = self._row(id)
        if row.score is not None or row.ref is None or row.status != "confirmed":
            return row.score
        try:
            found = await self._asked(self._submitter.score(row.ref))
        except SubmissionRefused as error:
            self._advance(row, "refused", message=str(error))
            raise
        if found is not None:
            with self._store.write() as tx:
                self._moved(tx, update_submission(tx, self._run_id, id, score=found))
        return found

    async def _complete(self, row: Submission, file: Path) -> Submission:
        sends = 0
        while True:
            if row.status == "refused":
                raise SubmissionRefused(row.message or "the site refused it")
            if row.status == "withdrawn":
                raise UsageError(f"the submission {row.tag} was withdrawn")
            if row.status not in OPEN:
                return row
            row = await self._looked_up(row)
            if row.status == "confirmed":
                return row
            if sends == self._patience.sends:
                raise SubmissionInDoubt(
                    f"{row.tag} was sent {sends} times without an answer, and the site does not list it: {row.message}"
                )
            await self._ensure_taken(row)
            # At the last moment: what was intended is sent, or nothing.
            if file_hash(file) != row.file_sha:
                raise FileChanged(f"{file.name} is not the file any more that was to be submitted as {row.tag}")
            row = await self._act(self._advance(row, "sending"), file)
            sends += 1

    async def _act(self, row: Submission, file: Path) -> Submission:
        """Send, and write down how it ended; what is raised beyond the known leaves it `sending`, which is doubt."""
        seconds = self._patience.act_seconds
        try:
            async with asyncio.timeout(seconds):
                ref = await self._submitter.submit(file, row.tag)
        except SubmissionRefused as error:
            self._advance(row, "refused", message=str(error))
            raise
        except NotSent as error:
            self._advance(row, "intended", message=str(error))
            raise
        except SiteUnavailable as error:
            return self._advance(row, "doubtful", message=str(error))
        except TimeoutError:
            return self._advance(row, "doubtful", message=f"the site did not answer within {seconds:g} s")
        return self._confirm(row, ref)

    async def _looked_up(self, row: Submission) -> Submission:
        """Return it confirmed if the site has it; else as it was, once the site had time enough to list it."""
        if row.status == "sending":
            row = self._advance(row, "doubtful", message=_ORPHANED)
        # Asked even before the first time: a database restored from a backup may have forgotten the act.
        for look in range(1 if row.status == "intended" else self._patience.looks):
            if look:
                await self._clock.sleep(self._patience.grace)
            ref = await self._asked(self._submitter.find(row.tag), row)
            if ref is not None:
                return self._confirm(row, ref)
        return row

    async def _withdraw(self, row: Submission, why: str = "another file is handed in") -> Submission:
        row = await self._looked_up(row)
        return row if row.status == "confirmed" else self._advance(row, "withdrawn", message=why)

    async def _ensure_taken(self, row: Submission) -> None:
        quota = await self._asked(self._submitter.quota(), row)
        if quota.remaining is not None and quota.remaining <= 0:
            until = f" until {iso(quota.resets_at)}" if quota.resets_at else ""
            raise QuotaReached(f"the site takes no more submissions{until}; {row.tag} was not sent")

    async def _asked(self, question: Awaitable[Answer], row: Submission | None = None) -> Answer:
        """Return the site's answer; without one, what is in doubt stays so."""
        seconds = self._patience.ask_seconds
        try:
            async with asyncio.timeout(seconds):
                return await question
        except TimeoutError:
            trouble = SiteUnavailable(f"the site did not answer within {seconds:g} s")
        except SiteUnavailable as error:
            trouble = error
        if row is not None and row.status == "doubtful":
            raise SubmissionInDoubt(
                f"{row.tag} may have been submitted ({row.message}), and the site cannot be asked: {trouble}; "
                "nothing was sent again"
            ) from trouble
        raise trouble

    def _intend(self, sha: str, node: int, handed_in: str, also: Also | None = None) -> Submission:
        with self._store.write() as tx:
            row = intend_submission(tx, self._run_id, node=node, handed_in=handed_in, file_sha=sha)
            if also is not None:
                also(tx, row)
            return row

    def _confirm(self, row: Submission, ref: str) -> Submission:
        with self._store.write() as tx:
            charge(tx, self._run_id, LEDGER, node=row.node, amount=1)
            return self._moved(tx, advance_submission(tx, self._run_id, row.id, "confirmed", ref=ref))

    def _advance(self, row: Submission, status: SubmissionStatus, *, message: str | None = None) -> Submission:
        with self._store.write() as tx:
            return self._moved(tx, advance_submission(tx, self._run_id, row.id, status, message=message))

    def _moved(self, tx: Transaction, row: Submission) -> Submission:
        self._also(tx, row)
        return row

    def _rows(self) -> list[Submission]:
        with self._store.read() as session:
            return submissions_of(session, self._run_id)

    def _row(self, id: str) -> Submission:
        with self._store.read() as session:
            return session.get_one(Submission, (self._run_id, id))

    @asynccontextmanager
    async def _own_turn(self) -> AsyncIterator[None]:
        """Wait until nobody else submits for this run, in any process."""
        while (held := take(self._lock)) is None:
            await self._clock.sleep(self._patience.turn)
        try:
            yield
        finally:
            held.release()


def file_hash(file: Path) -> str:
    """Return a file's sha256 in hex. Raises OSError."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def copy_durably(source: Path, target: Path) -> str:
    """Copy onto the disk itself, and return the sha256 (hex) of what was copied."""
    digest = hashlib.sha256()
    with source.open("rb") as reading, target.open("wb") as writing:
        while chunk := reading.read(_CHUNK):
            digest.update(chunk)
            writing.write(chunk)
        writing.flush()
        os.fsync(writing.fileno())
    return digest.hexdigest()
