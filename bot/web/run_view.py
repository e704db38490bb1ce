"""What a page shows of one run, live or replayed: its tree, scores over time, labs and ideas, read from its database."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from bot.engine.experiments import Experiment, experiments_in
from bot.execution.folder import lower_is_better
from bot.logs.events import EventLog, LoggedEvent
from bot.logs.lab_turns import TurnText, lab_turns
from bot.models.commands import prose_and_command
from bot.report.charts import Chart, Series, score_axis, time_axis, timed
from bot.report.nodes import NodeRow, Outcome, node_rows
from bot.report.tree import TreeDrawing, tree_drawing
from bot.report.words import shortened
from bot.status.knowledge import IdeaShown, ideas_of
from bot.status.work import Doing, Doubt, Nodes, best_over_time, doing, doubts, nodes_of
from state.community import CommunityView, Post
from state.store import Store
from state.submissions import submissions_of
from state.tables import Draft, Event, Execution, Lab, Node, Run

MOST_BOXES = 90
"""Nodes in the drawing of a tree; of more, those that matter most are drawn."""
MOST_POINTS = 200
"""Single scores in the chart, the newest; the line of the best has all."""
MOST_LABS = 6
LAST_TURNS = 3
"""Turns shown of an open lab."""
MOST_EXPERIMENTS = 12
MOST_IDEAS = 12
MOST_POSTS = 12
MOST_EVENTS = 25
LONGEST = 1_500
"""Characters of what one turn shows."""
_LIGHT = "SELECT id, parents, status FROM node WHERE run_id = ? AND action != 'reproduce' ORDER BY id"
_A_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Turn:
    """One turn of a lab: what its coder wrote, typed and saw, the end of each if it is long."""

    number: int
    at: datetime
    prose: str
    command: str
    seen: str


@dataclass(frozen=True)
class LabShown:
    """A lab with its last turns."""

    row: Lab
    turns: tuple[Turn, ...]
    experiments: tuple[Experiment, ...] = ()
    """Its newest logged experiments."""


@dataclass(frozen=True)
class NodeShown:
    """One node as reports show it, with the hashes of its script and of what it printed last."""

    row: NodeRow
    code_sha: str | None
    log_sha: str | None


@dataclass(frozen=True)
class RunView:
    """One run, ready to be shown; nothing is escaped yet."""

    run: Run
    outcome: Outcome
    nodes: Nodes
    doing: tuple[Doing, ...]
    doubts: tuple[Doubt, ...]
    progress: Chart | None
    tree: TreeDrawing
    """Of at most `MOST_BOXES` nodes."""
    in_all: int
    """Nodes that the run has, blends among them."""
    labs: tuple[LabShown, ...]
    labs_in_all: int
    ideas: tuple[IdeaShown, ...]
    ideas_in_all: int
    posts: tuple[Post, ...]
    """The newest of the last day of the clock."""
    events: tuple[LoggedEvent, ...]
    """The newest first."""


def run_view(store: Store, run: Run, outcome: Outcome, now: datetime) -> RunView:
    """Read a run, now by the clock of its work: a replay's is the machine's, and all that its own clock let it know is shown."""
    lower, as_of = lower_is_better(run.config), run.cutoff or now
    pool = ideas_of(store, run, as_of)
    posts = CommunityView(store, run.competition, as_of).newest(MOST_POSTS, as_of - _A_DAY)
    with store.read() as session:
        in_all, drawn = _drawn(session, run.id, outcome)
        labs = session.exec(select(Lab).where(Lab.run_id == run.id)).all()
        ordered = sorted(labs, key=lambda one: (one.ended_at is not None, -one.id))
        return RunView(
            run=run,
            outcome=outcome,
            nodes=nodes_of(session, run.id, lower=lower),
            doing=doing(session, run.id),
            doubts=doubts(session, run.id),
            progress=progress(session, run, now),
            tree=tree_drawing(_rows(session, run, outcome, drawn), _titles(session, run.id), outcome),
            in_all=in_all,
            labs=tuple(_lab(session, one) for one in ordered[:MOST_LABS]),
            labs_in_all=len(labs),
            ideas=tuple(pool[:MOST_IDEAS]),
            ideas_in_all=len(pool),
            posts=tuple(reversed(posts)),
            events=tuple(reversed(EventLog(store).newest_of(run.id, MOST_EVENTS))),
        )


def progress(session: Session, run: Run, now: datetime, *, small: bool = False) -> Chart | None:
    """Return the chart of a run's scores over time, by validation and on the public leaderboard; None without any."""
    lower = lower_is_better(run.config)
    if lower is None:
        return None
    best, until = best_over_time(session, run.id, now, lower=lower), _until(session, run, now)
    query = select(Node.ended_at, Node.score).where(Node.run_id == run.id, Node.status == "valid")
    query = query.where(Node.action != "reproduce", col(Node.score).is_not(None)).order_by(col(Node.id).desc())
    ended = () if small else session.exec(query.limit(MOST_POINTS))
    points = [(at, score) for at, score in ended if at is not None and score is not None]
    public = [(one.sent_at or one.at, one.score) for one in submissions_of(session, run.id) if one.score is not None]
    steps = [*best, *([(until, best[-1][1])] if best else [])]
    everything = [*steps, *points, *public]
    if not everything:
        return None
    begin, end = min(everything)[0], max(everything)[0]
    scores = [score for _, score in everything]
    up = score_axis(scores, [score for _, score in steps[1:]] or scores[:1], falling=lower)
    series = [
        Series("validation, best so far", "good", timed(steps, begin), "steps"),
        Series("validation, each script", "good pale", timed(points, begin)),
        Series("public leaderboard", "ours", timed(public, begin)),
    ]
    across = time_axis((end - begin).total_seconds())
    found = Chart("Scores over time, better upwards", across, up, [one for one in series if one.points], width=520)
    return replace(found, width=160, height=40, room=(3, 4, 3, 4), has_axes=False) if small else found


def _until(session: Session, run: Run, now: datetime) -> datetime:
    """Return when a run ended, or now."""
    ended = select(Event.at).where(Event.run_id == run.id, Event.type == "run.ended").order_by(col(Event.seq).desc())
    return now if run.status == "running" else session.exec(ended).first() or now


def one_node(session: Session, run: Run, outcome: Outcome, id: int) -> NodeShown | None:
    """Return one node; None: there is none."""
    node = session.get(Node, (run.id, id))
    if node is None:
        return None
    logged = select(Execution.log_sha).where(Execution.run_id == run.id, Execution.node == id)
    logs = session.exec(logged.where(col(Execution.log_sha).is_not(None)).order_by(col(Execution.started_at))).all()
    return NodeShown(_rows(session, run, outcome, [id])[0], node.code_sha, logs[-1] if logs else None)


def turns_of(session: Session, run_id: str, lab: int, after: int = 0, longest: int = LONGEST) -> tuple[Turn, ...]:
    """Return the turns of a lab after one of them, oldest first, each text cut to its end."""
    return tuple(_turn(one, longest) for one in lab_turns(session, run_id, lab, after))


def _drawn(session: Session, run_id: str, outcome: Outcome) -> tuple[int, list[int]]:
    """Return how many nodes there are, and those to draw: the best and running ones, the newest, and what they grew from."""
    light = session.connection().exec_driver_sql(_LIGHT, (run_id,)).all()
    parents = {id: text for id, text, _ in light}
    if len(light) <= MOST_BOXES:
        return len(light), list(parents)
    best = nodes_of(session, run_id, lower=outcome.is_lower_better).best
    first = [one for one in (outcome.chosen_node, best) if one in parents]
    first += [id for id, _, status in light if status == "running"]
    chosen: dict[int, None] = {}
    for id in (*first, *reversed(parents)):
        line = [one for one in _ancestry(id, parents) if one not in chosen]
        if len(chosen) + len(line) > MOST_BOXES:
            break
        chosen.update(dict.fromkeys(line))
    return len(light), sorted(chosen)


def _ancestry(id: int, parents: Mapping[int, str]) -> list[int]:
    """Return a node and its first parents up to the root."""
    found = [id]
    while above := [one for one in json.loads(parents[found[-1]]) if one in parents and one < found[-1]]:
        found.append(above[0])
    return found


def _rows(session: Session, run: Run, outcome: Outcome, ids: Sequence[int]) -> tuple[NodeRow, ...]:
    nodes = session.exec(select(Node).where(Node.run_id == run.id, col(Node.id).in_(ids))).all()
    runs = session.exec(select(Execution).where(Execution.run_id == run.id, col(Execution.node).in_(ids))).all()
    return node_rows(nodes, runs, outcome, (), run)


def _titles(session: Session, run_id: str) -> dict[str, str]:
    return dict(session.exec(select(Draft.id, Draft.title).where(Draft.run_id == run_id)).all())


def _lab(session: Session, row: Lab) -> LabShown:
    after = row.turns if row.ended_at is not None else max(0, row.turns - LAST_TURNS)
    mine = [one for one in experiments_in(session, row.run_id) if one.lab == row.id]
    return LabShown(row, turns_of(session, row.run_id, row.id, after), tuple(mine[-MOST_EXPERIMENTS:]))


def _turn(one: TurnText, longest: int) -> Turn:
    prose, command = prose_and_command(one.reply) or (one.reply, "")
    return Turn(one.turn, one.at, shortened(prose, longest), shortened(command, longest), ending(one.seen, longest))


def ending(text: str, longest: int) -> str:
    """Return the last characters of a text, from the beginning of a line if one begins there."""
    return text if len(text) <= longest else f"[…]{text[-longest:].partition(chr(10))[2] or text[-longest:]}"
