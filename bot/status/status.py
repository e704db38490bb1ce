"""The status of a daemon and its competitions, all read from one state of its database."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

from sqlmodel import Session

from bot.execution.disk_space import free_bytes
from bot.execution.folder import lower_is_better
from bot.status.accounts import Account, Allowance, accounts
from bot.status.presence import PULSE, Presence, is_running, presence
from bot.status.problems import Problem, current
from bot.status.queue import GivenUp, Letters, NoteRead, Queued, controls, dead, held, letters, notes_read, queued
from bot.status.site import PartPolled, Posts, Rank, Sent, deadline, polled, posts, rank, sent
from bot.status.work import Doing, Doubt, Nodes, Pool, doing, doubts, latest_runs, nodes_of, pool_of
from bot.submission.notebook_lines import NotebookLine, notebook_lines
from state.latest_events import latest_of_each
from state.store import NO_RUN, Store
from state.tables import Event, Pulse, Run

EntryState = Literal["not begun", "waiting", "working", "paused", "stopped", "over"]
_ENTRY_EVENTS = tuple(f"entry.{state}" for state in get_args(EntryState) if state != "not begun")


@dataclass(frozen=True)
class RunLine:
    """A competition's run."""

    id: str
    agent: str
    model: str
    status: str
    created_at: datetime


@dataclass(frozen=True)
class CompetitionStatus:
    """The status of one competition."""

    competition: str
    configured: bool
    """Whether bot.toml has a table for it."""
    submit: bool
    """Whether files are sent."""
    state: EntryState
    why: str | None
    """What it waits for, in a sentence."""
    since: datetime | None
    control: str
    """The owner's last order: `running`, `paused` or `stopped`."""
    run: RunLine | None
    deadline: datetime | None
    days_left: float | None
    polled: tuple[PartPolled, ...]
    posts: Posts
    pool: Pool
    nodes: Nodes
    doing: tuple[Doing, ...]
    sent: Sent
    doubts: tuple[Doubt, ...]
    """The guards' latest findings that did not pass, latest first."""
    held: tuple[int, ...]
    """Numbers by which held submissions are approved."""
    notebooks: tuple[NotebookLine, ...]
    """In a competition of notebooks: those that are under way, and the last one that is settled."""
    rank: Rank
    spent: tuple[Account, ...]
    """The accounts of the competition, its day and its run."""
    next: tuple[Queued, ...]
    notes: tuple[NoteRead, ...]


@dataclass(frozen=True)
class DaemonStatus:
    """The status of the daemon itself."""

    folder: str
    running: bool
    now: datetime
    """By its clock."""
    since: datetime | None
    """When it last began; None: never."""
    ended: datetime | None
    """When it ended in order; None while it runs, or if it was killed."""
    alive: datetime | None
    """When it last proved that it works; None: never."""
    version: str | None
    process: int | None
    database_bytes: int
    free_bytes: int
    """On the disk of its folder."""
    spent: Account
    """The account of the day, over all competitions."""
    problems: tuple[Problem, ...]
    """What needs a person."""
    dead: tuple[GivenUp, ...]
    """Tasks that were given up, by cause, unless the same kind of task has succeeded since."""
    next: tuple[Queued, ...]
    """Tasks of no competition."""
    letters: Mapping[str, Letters]


@dataclass(frozen=True)
class Status:
    """Everything that `bot status` shows."""

    daemon: DaemonStatus
    competitions: tuple[CompetitionStatus, ...]


def status_of(store: Store, allowance: Allowance, names: Collection[str] = ()) -> Status:
    """Return the status, of all competitions or of the named ones that are known; the database lies in the daemon's folder."""
    with store.read() as session:
        found = presence(session)
        now = (found.clock if found is not None else store.clock).now()
        reader = _StatusReader(session, store.path, allowance, now, found, latest_runs(session), entries(session))
        slugs = sorted({*allowance.competitions, *reader.runs, *reader.entries})
        slugs = [slug for slug in slugs if not names or slug in names]
        spent, known, asked = accounts(session, allowance, now), posts(session), controls(session)
        return Status(
            reader.daemon(spent[0]),
            tuple(
                reader.competition(slug, spent, known.get(slug, Posts()), asked.get(slug, "running")) for slug in slugs
            ),
        )


def entries(session: Session) -> dict[str, Event]:
    """Return each competition's latest event of its state, such as `entry.waiting`."""
    return latest_of_each(session, NO_RUN, _ENTRY_EVENTS, "competition")


@dataclass(frozen=True)
class _StatusReader:
    """Reads one state of a database."""

    session: Session
    database: Path
    allowance: Allowance
    now: datetime
    presence: Presence | None
    runs: Mapping[str, Run]
    entries: Mapping[str, Event]

    def daemon(self, spent: Account) -> DaemonStatus:
        session, found, folder = self.session, self.presence, self.database.parent
        pulse = session.get(Pulse, PULSE)
        return DaemonStatus(
            folder=str(folder),
            running=is_running(folder),
            now=self.now,
            since=found.since if found else None,
            ended=found.ended if found else None,
            alive=pulse.at if pulse else None,
            version=found.version if found else None,
            process=found.process if found else None,
            database_bytes=_bytes(self.database),
            free_bytes=free_bytes(folder),
            spent=spent,
            problems=tuple(current(session)),
            dead=dead(session),
            next=queued(session, ""),
            letters=letters(session),
        )

    def competition(self, slug: str, spent: Sequence[Account], posts: Posts, control: str) -> CompetitionStatus:
        session, settings = self.session, self.allowance.competitions.get(slug)
        run, entry = self.runs.get(slug), self.entries.get(slug)
        ends = deadline(session, slug, settings, run)
        own = [one for one in spent if one.competition == slug]
        return CompetitionStatus(
            competition=slug,
            configured=settings is not None,
            submit=settings is not None and settings.submit,
            state=_state(entry),
            why=_why(entry),
            since=entry.at if entry else None,
            control=control,
            run=RunLine(run.id, run.agent, run.model, run.status, run.created_at) if run else None,
            deadline=ends,
            days_left=max(0.0, (ends - self.now).total_seconds() / 86_400) if ends else None,
            polled=polled(session, slug),
            posts=posts,
            pool=pool_of(session, run.id) if run else Pool(),
            nodes=nodes_of(session, run.id, lower=lower_is_better(run.config)) if run else Nodes(),
            doing=doing(session, run.id) if run else (),
            sent=sent(session, slug, settings, self.now),
            doubts=doubts(session, run.id) if run else (),
            held=held(session, run.id) if run else (),
            notebooks=self._notebooks(run) if run else (),
            rank=rank(session, slug),
            spent=tuple(one for one in own if one.level != "run" or (run is not None and one.name == run.id)),
            next=queued(session, slug),
            notes=notes_read(session, slug, run.id if run else None),
        )

    def _notebooks(self, run: Run) -> tuple[NotebookLine, ...]:
        lines = notebook_lines(self.session, run.id)
        return (*[one for one in lines if one.settled][-1:], *[one for one in lines if not one.settled])


def _state(entry: Event | None) -> EntryState:
    found = "not begun" if entry is None else entry.type.removeprefix("entry.")
    return next((state for state in get_args(EntryState) if state == found), "not begun")


def _why(entry: Event | None) -> str | None:
    if entry is None:
        return None
    sentences = (entry.data.get(name) for name in ("line", "why"))
    return next((str(one) for one in sentences if one), None)


def _bytes(path: Path) -> int:
    """Return a database's size on disk, including its log."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
