"""Everything that a report shows, read from a run's folder."""

import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from sqlmodel import Session, col, select

from bot.engine.experiments import Experiment, experiments_in
from bot.evaluation.answers.board import read_leaderboard
from bot.execution.folder import RunFolder
from bot.leaderboard.board import read_board
from bot.logs.lab_turns import TurnText, lab_mark, lab_turns
from bot.report.credits import PostCredit, read_credits
from bot.report.knowledge import ALL_TIME, Knowledge, read_knowledge
from bot.report.nodes import NodeRow, node_rows
from bot.report.result import RunResult, read_latest
from bot.report.spending import ViewSpending, by_view
from bot.report.stream import PostUse
from bot.report.words import shortened
from bot.status.knowledge import Source, find_sources
from bot.submission.notebook_lines import NotebookLine, notebook_lines
from state.clock import SystemClock
from state.errors import SnapshotError, UsageError
from state.series import last_reading
from state.store import Store, read_blob
from state.tables import Event, Execution, Lab, Node, Reproduction, Run

LONGEST_CODE = 150_000
"""Most characters of the submitted script on a page."""
_NEWS = " [news] "
"""What a line of news begins with after the lab's mark, under what a coder sees of a command."""


class _Metric(BaseModel):
    name: str


class Competition(BaseModel):
    """What a page shows of the competition; the snapshot's manifest, or a live run's task card, holds more."""

    title: str
    url: str | None = None
    category: str | None = None
    metric: _Metric | None = None
    split: str | None = None


@dataclass(frozen=True)
class LabStory:
    """One lab."""

    row: Lab
    seconds: float | None
    report: Mapping[str, str]
    """What its coder reported, by heading."""
    experiments: tuple[Experiment, ...]
    """What it has logged."""
    news: tuple[str, ...]
    """What became known while it was open, as its coder saw it."""
    turns: tuple[TurnText, ...]


@dataclass(frozen=True)
class ReportData:
    """One run, ready to be shown; nothing is escaped yet."""

    result: RunResult
    competition: Competition
    board: tuple[float, ...]
    """The real leaderboard, best first; empty if the snapshot is gone, or a live board was never read as a whole."""
    nodes: tuple[NodeRow, ...]
    knowledge: Knowledge
    brought: tuple[tuple[Source, PostCredit], ...]
    """What came of each post that an idea was drawn from or that was reproduced, the most useful first."""
    labs: tuple[LabStory, ...]
    notebooks: tuple[NotebookLine, ...]
    """Of a live run in a competition of notebooks: where each stands."""
    kernels: tuple[Reproduction, ...]
    """Public kernels that were run here, or recognised as unable to run, the best measured first."""
    known: tuple[tuple[PostUse, Source], ...]
    """Posts that were read while the clock moved, in order of time; those that a node used come first."""
    views: tuple[ViewSpending, ...]
    phases: tuple[str, ...]
    """When each phase began, a sentence each; empty where the agent has none."""
    code: str | None
    settings: str
    """All settings, as indented JSON."""


def read_run(folder: RunFolder) -> ReportData:
    """Read a finished run's folder, and the run's rows from its database.

    Raises:
        UsageError: the folder lacks a file of a finished run, or one cannot be read.
    """
    result = read_latest(folder)
    try:
        config = dict(json.loads(folder.config.read_text(encoding="utf-8")))
    except (FileNotFoundError, TypeError, ValueError) as error:
        raise UsageError(f"{folder.config} cannot be read: {error}") from error
    with Store.open_to_read(folder.database, SystemClock()) as store, store.read() as session:
        return _read(store, session, result, config)


def _read(store: Store, session: Session, result: RunResult, config: Mapping[str, Any]) -> ReportData:
    run = session.get(Run, result.run_id)
    if run is None:
        raise UsageError(f"the database does not know the run {result.run_id}.")
    competition, board = (_live if result.live else _past)(session, result, config)
    executions = session.exec(select(Execution).where(Execution.run_id == result.run_id)).all()
    query = select(Node).where(Node.run_id == run.id, Node.action != "reproduce").order_by(col(Node.id))
    nodes = node_rows(session.exec(query).all(), executions, result, board, run)
    credits = read_credits(session, result.run_id, lower_is_better=result.is_lower_better)
    posts = sorted(
        () if result.stream is None else result.stream.posts,
        key=lambda use: (not use.nodes, use.posted, use.item),
    )
    items = {*credits.posts, *(use.item for use in posts)}
    sources = find_sources(store, result.competition_id, items, ALL_TIME)
    return ReportData(
        result=result,
        competition=competition,
        board=board,
        nodes=nodes,
        knowledge=read_knowledge(store, session, run, result, nodes),
        brought=tuple((sources[item], credit) for item, credit in credits.posts.items()),
        labs=lab_stories(session, result.run_id),
        notebooks=tuple(notebook_lines(session, result.run_id)),
        kernels=_kernels(session, result),
        known=tuple((use, sources[use.item]) for use in posts),
        views=tuple(by_view(executions)),
        phases=_phases(session, result.run_id),
        code=_code(session, result),
        settings=json.dumps(config, indent=2, ensure_ascii=False),
    )


def _past(_: Session, result: RunResult, config: Mapping[str, Any]) -> tuple[Competition, tuple[float, ...]]:
    """Return the snapshot's facts on the competition, and its leaderboard; a page without them is better than none."""
    competition, board = Competition(title=result.competition_id), tuple[float, ...]()
    name = config.get("settings", {}).get("snapshot")
    if isinstance(name, str):
        with contextlib.suppress(OSError, ValidationError):
            competition = Competition.model_validate_json((Path(name) / "snapshot.json").read_bytes())
        with contextlib.suppress(SnapshotError):
            board = read_leaderboard(Path(name) / "leaderboard.csv")
    return competition, board


def _live(session: Session, result: RunResult, config: Mapping[str, Any]) -> tuple[Competition, tuple[float, ...]]:
    """Return the settings' facts on the competition, and the leaderboard as last read."""
    slug = result.competition_id
    facts = last_reading(session, slug, "competition")
    url = facts.data.get("url") if facts is not None else None
    competition = Competition(title=slug, url=url)
    with contextlib.suppress(TypeError, ValidationError):
        competition = Competition.model_validate({"title": slug, **config.get("card", {}), "url": url})
    board = read_board(session, slug, lower_is_better=result.is_lower_better)
    return competition, tuple(board.scores) if board and board.complete else ()


def _kernels(session: Session, result: RunResult) -> tuple[Reproduction, ...]:
    rows = session.exec(select(Reproduction).where(Reproduction.run_id == result.run_id)).all()
    order = {row.id: math.inf if row.measured is None else -result.oriented(row.measured) for row in rows}
    return tuple(sorted(rows, key=lambda row: (order[row.id], row.id)))


def _phases(session: Session, run_id: str) -> tuple[str, ...]:
    query = select(Event).where(Event.run_id == run_id, Event.type == "phase.began").order_by(col(Event.seq))
    # A bot that was killed at the wrong moment has told it twice.
    told = {event.data["phase"]: str(event.data["sentence"]) for event in session.exec(query)}
    return tuple(told.values())


def _code(session: Session, result: RunResult) -> str | None:
    if result.chosen_node is None:
        return None
    node = session.get(Node, (result.run_id, result.chosen_node))
    if node is None or node.code_sha is None:
        return None
    return shortened(read_blob(session, node.code_sha).decode("utf-8", "replace"), LONGEST_CODE)


def lab_stories(session: Session, run_id: str) -> tuple[LabStory, ...]:
    """Return a run's labs, in the order of their numbers."""
    rows = session.exec(select(Lab).where(Lab.run_id == run_id).order_by(col(Lab.id))).all()
    known = experiments_in(session, run_id)
    return tuple(_story(session, row, known) for row in rows)


def _story(session: Session, row: Lab, known: Sequence[Experiment]) -> LabStory:
    turns = tuple(lab_turns(session, row.run_id, row.id))
    news = f"{lab_mark(session, row.run_id, row.id)}{_NEWS}"
    return LabStory(
        row=row,
        seconds=None if row.ended_at is None else max(0.0, (row.ended_at - row.started_at).total_seconds()),
        report={heading: str(text) for heading, text in row.report.items() if text},
        experiments=tuple(one for one in known if one.lab == row.id),
        news=tuple(line.removeprefix(news) for one in turns for line in one.seen.splitlines() if line.startswith(news)),
        turns=turns,
    )
