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

from bot.community.dependencies.graph import POSTS, Credit, Graph
from bot.evaluation.answers.board import read_leaderboard
from bot.execution.folder import RunFolder
from bot.leaderboard.board import read_board
from bot.report.export import read_graph
from bot.report.knowledge import Knowledge, Source, read_knowledge, source_of
from bot.report.labs import LabStory, lab_stories
from bot.report.nodes import NodeRow, node_rows
from bot.report.result import RunResult, read_latest
from bot.report.spending import ViewSpending, by_view
from bot.report.stream import PostUse
from bot.report.words import shortened
from bot.submission.notebook_lines import NotebookLine, notebook_lines
from state.engine import reading
from state.errors import SnapshotError, UsageError
from state.series import last_reading
from state.store import read_blob
from state.tables import Event, Execution, Node, Reproduction, Run

LONGEST_CODE = 150_000
"""Most characters of the submitted script on a page."""


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
class ReportData:
    """One run, ready to be shown; nothing is escaped yet."""

    result: RunResult
    competition: Competition
    board: tuple[float, ...]
    """The real leaderboard, best first; empty if the snapshot is gone, or a live board was never read as a whole."""
    nodes: tuple[NodeRow, ...]
    knowledge: Knowledge
    graph: Graph
    brought: tuple[tuple[Source, Credit], ...]
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
    config: Mapping[str, Any]

    @property
    def config_text(self) -> str:
        """The settings as indented JSON."""
        return json.dumps(self.config, indent=2, ensure_ascii=False)


def read_run(folder: RunFolder) -> ReportData:
    """Read a finished run's folder, and the run's rows from its database.

    Raises:
        UsageError: the folder lacks a file of a finished run, or one cannot be read.
    """
    result, graph = read_latest(folder), read_graph(folder.graph)
    try:
        config = dict(json.loads(folder.config.read_text(encoding="utf-8")))
    except (FileNotFoundError, TypeError, ValueError) as error:
        raise UsageError(f"{folder.config} cannot be read: {error}") from error
    if not folder.database.is_file():
        raise UsageError(f"{folder.database} does not exist.")
    engine = reading(folder.database)
    try:
        # Read as of one moment, as a bot may be writing.
        with Session(engine) as session:
            return _read(session, result, graph, config)
    finally:
        engine.dispose()


def _read(session: Session, result: RunResult, graph: Graph, config: Mapping[str, Any]) -> ReportData:
    competition, board = (_live if result.live else _past)(session, result, config)
    executions = session.exec(select(Execution).where(Execution.run_id == result.run_id)).all()
    nodes = _nodes(session, result, board, executions)
    return ReportData(
        result=result,
        competition=competition,
        board=board,
        nodes=nodes,
        knowledge=read_knowledge(session, result, nodes),
        graph=graph,
        brought=tuple(
            (source_of(session, result.competition_id, item, {}), credit)
            for item, credit in graph.credits.items()
            if graph.elements[item].kind in POSTS
        ),
        labs=lab_stories(session, result.run_id),
        notebooks=tuple(notebook_lines(session, result.run_id)),
        kernels=_kernels(session, result),
        known=_known(session, result),
        views=tuple(by_view(executions)),
        phases=_phases(session, result.run_id),
        code=_code(session, result),
        config=config,
    )


def _known(session: Session, result: RunResult) -> tuple[tuple[PostUse, Source], ...]:
    posts = () if result.stream is None else result.stream.posts
    ordered = sorted(posts, key=lambda use: (not use.nodes, use.posted, use.item))
    return tuple((use, source_of(session, result.competition_id, use.item, {})) for use in ordered)


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


def _nodes(
    session: Session, result: RunResult, board: Sequence[float], executions: Sequence[Execution]
) -> tuple[NodeRow, ...]:
    run = session.get(Run, result.run_id)
    if run is None:
        raise UsageError(f"the database does not know the run {result.run_id}.")
    rows = session.exec(
        select(Node).where(Node.run_id == run.id, Node.action != "reproduce").order_by(col(Node.id))
    ).all()
    return node_rows(rows, executions, result, board, run)


def _code(session: Session, result: RunResult) -> str | None:
    if result.chosen_node is None:
        return None
    node = session.get(Node, (result.run_id, result.chosen_node))
    if node is None or node.code_sha is None:
        return None
    return shortened(read_blob(session, node.code_sha).decode("utf-8", "replace"), LONGEST_CODE)
