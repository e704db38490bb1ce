"""The rows that a run's dependency graph is made of, as they may be known at a time."""

import contextlib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import func
from sqlmodel import Session, col, select

from bot.community.dependencies.graph import POSTS, Gain, Graph, Rows, build
from bot.execution.record import GUARDED, step_of
from bot.weights.catalog import load_catalog
from state.community import CommunityView
from state.errors import UsageError
from state.knowledge import analyses, drafts, ideas, reports, reproductions
from state.store import Store, read_blob
from state.tables import Draft, ModelCall, Node, Reproduction, Run, Step, Submission

_WEIGHTS = re.compile(r"weights/([A-Za-z0-9_][A-Za-z0-9._-]*)")
"""Where a script names weights."""
Shown = Mapping[int, Mapping[str, datetime]]
"""Times of posts by item, by the node whose coder was shown them."""


def dependency_graph(
    store: Store, run_id: str, community: CommunityView | None, as_of: datetime, lower_is_better: bool
) -> Graph:
    """Return a run's graph of what may be known at a time.

    Args:
        store: the run's database.
        run_id: the run.
        community: the community at that time; None: the run goes without one.
        as_of: the time.
        lower_is_better: of the metric.
    """
    known, read = ideas(store, run_id, as_of), analyses(store, run_id, as_of)
    made, reproduced = drafts(store, run_id, as_of), reproductions(store, run_id, as_of)
    named = {item for idea in known for item in idea.sources}
    named |= {row.id for row in read} | {row.id for row in reproduced}
    with store.read() as session:
        shown = _without_draft(session, run_id, posts_shown(session, run_id))
        nodes = _known_nodes(session, run_id, as_of, shown)
        ids = {node.id for node in nodes}
        gains, noise = _measured(session, run_id)
        sent = session.exec(select(Submission).where(Submission.run_id == run_id).order_by(col(Submission.at))).all()
        weights = _weights(session, run_id, nodes)
    named |= {item for node in nodes for item in shown.get(node.id, ())}
    posts = [item for item in sorted(named) if item.partition("/")[0] in POSTS]
    rows = Rows(
        posts=community.find(posts) if community is not None else (),
        read={row.id: row.known_at for row in read},
        ideas=known,
        drafts=made,
        reports=reports(store, run_id, as_of),
        reproductions=reproduced,
        nodes=nodes,
        shown={node.id: list(shown[node.id]) for node in nodes if node.id in shown},
        gains=gains,
        noise=noise,
        weights=weights,
        submissions=[one for one in sent if one.node in ids],
    )
    return build(rows, lower_is_better)


def posts_shown(session: Session, run_id: str) -> Shown:
    """Return the posts that coders were shown, with their times as prompts had them, by node."""
    query = select(ModelCall.node, ModelCall.items).where(
        ModelCall.run_id == run_id, ModelCall.role == "coder", col(ModelCall.node).is_not(None)
    )
    found: dict[int, dict[str, datetime]] = {}
    for node, items in session.exec(query.order_by(col(ModelCall.seq))):
        posts = {
            one["id"]: datetime.fromisoformat(one["time"]) for one in items if one["id"].partition("/")[0] in POSTS
        }
        if node is not None and posts:
            found.setdefault(node, {}).update(posts)
    return found


def _without_draft(session: Session, run_id: str, shown: Shown) -> Shown:
    """Leave out nodes of drafts, whose ideas name what they were drawn from, and kernels that were repaired."""
    query = select(Node.id).where(Node.run_id == run_id, col(Node.draft_id).is_(None), Node.action != "reproduce")
    return {node: shown[node] for node in session.exec(query) if node in shown}


def _known_nodes(session: Session, run_id: str, as_of: datetime, shown: Shown) -> list[Node]:
    """Return nodes without those that are made of what is known later, directly or by their parents."""
    late = select(Draft.id).where(Draft.run_id == run_id, Draft.known_at > as_of)
    drafts_left_out = set(session.exec(late))
    later = select(Reproduction.node).where(Reproduction.run_id == run_id, Reproduction.known_at > as_of)
    left_out = {node for node in session.exec(later) if node is not None}
    left_out |= {node for node, items in shown.items() if max(items.values()) > as_of}
    nodes = []
    for node in session.exec(select(Node).where(Node.run_id == run_id).order_by(col(Node.id))):
        if node.id in left_out or node.draft_id in drafts_left_out or left_out & set(node.parents):
            left_out.add(node.id)
        else:
            nodes.append(node)
    return nodes


def _measured(session: Session, run_id: str) -> tuple[dict[int, Gain], dict[int, float]]:
    """Return nodes' gains, and the standard errors of these, or of their scores."""
    keys = ("gain", "gain_error", "score_error")
    parts = [func.json_extract(col(Step.result), f"$.score.noise.{key}") for key in keys]
    query = select(col(Step.node), *parts).where(
        Step.run_id == run_id, Step.name == step_of(GUARDED), Step.attempt == 0
    )
    found = [tuple(row) for row in session.execute(query)]
    gains = {node: Gain(gain, error) for node, gain, error, _ in found if gain is not None}
    noise = {node: error or of_score for node, _, error, of_score in found}
    return gains, {node: error for node, error in noise.items() if error is not None}


def _weights(session: Session, run_id: str, nodes: Sequence[Node]) -> dict[int, Sequence[str]]:
    """Return which pretrained weights of those that can be had the nodes' scripts name."""
    folder = session.get_one(Run, run_id).config.get("weights")
    listed = set()
    # Of a list that can no longer be read nothing is known.
    with contextlib.suppress(UsageError):
        listed = {one.name for one in load_catalog(Path(folder))} if folder else set()
    found: dict[int, Sequence[str]] = {}
    for node in nodes:
        code = read_blob(session, node.code_sha).decode("utf-8", "replace") if listed and node.code_sha else ""
        found[node.id] = sorted(listed & set(_WEIGHTS.findall(code)))
    return found
