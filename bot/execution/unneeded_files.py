"""Files of executions and blends that are not needed any more: those of nodes that are neither good, submitted nor new."""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from bot.execution.folder import RunFolder, lower_is_better
from bot.execution.record import PREDICTIONS
from sandbox.leftovers import find_orphaned_resources, own_bytes
from sandbox.workspace import remove_tree
from state.approvals import open_requests
from state.tables import Execution, Node, Run, Submission

BEST = 100
"""Best nodes of an unfinished run, whose files stay: any may still be submitted, or become part of an ensemble."""
_LARGE = ("submission.csv", PREDICTIONS)
"""Logs and scripts are small, and stay."""


def unneeded_files(session: Session, runs: Path, before: datetime, best: int = BEST) -> Iterator[Path]:
    """Yield the files that may be removed from the executions of all live runs.

    Files stay of nodes in flight, of those that were or will be submitted, and of the best: of an ended run the best
    one alone, as submitted files are stored elsewhere too. A blend's members keep theirs with it: it is made of
    them again when it is refitted.

    Files that were written after `before`, by the machine's time, stay; of an unfinished run the `best` nodes keep
    theirs.
    """
    for run in session.exec(select(Run).where(col(Run.cutoff).is_(None)).order_by(Run.id)):
        folder = RunFolder(runs / run.id)
        needed_nodes = _needed_nodes(session, run, best if run.status == "running" else 1)
        if needed_nodes is None:
            continue
        executions = select(Execution.id).where(Execution.run_id == run.id, col(Execution.node).not_in(needed_nodes))
        paths = [folder.executions / id for id in session.exec(executions.where(col(Execution.ended_at).is_not(None)))]
        for node in session.exec(_blends(run).where(col(Node.id).not_in(needed_nodes))):
            paths += folder.blends_of(node.id)
        yield from (path for execution in paths for name in _LARGE if _is_old(path := execution / name, before))


def _needed_nodes(session: Session, run: Run, best: int) -> set[int] | None:
    lower = lower_is_better(run.config)
    if lower is None:
        return None
    score = col(Node.score).asc() if lower else col(Node.score).desc()
    scored_nodes = select(Node.id).where(Node.run_id == run.id, col(Node.score).is_not(None))
    scored_nodes = scored_nodes.where(Node.status == "valid", Node.action != "reproduce")
    running = select(Node.id).where(Node.run_id == run.id, Node.status == "running")
    submitted_nodes = select(Submission.node).where(Submission.run_id == run.id)
    nodes = {
        *session.exec(scored_nodes.order_by(score, col(Node.id)).limit(best)),
        *session.exec(running),
        *session.exec(submitted_nodes),
        *(request.node for request in open_requests(session, run.id)),
    }
    return nodes.union(*(blend.parents for blend in session.exec(_blends(run).where(col(Node.id).in_(nodes)))))


def _blends(run: Run) -> SelectOfScalar[Node]:
    return select(Node).where(Node.run_id == run.id, Node.action == "ensemble")


def _is_old(path: Path, before: datetime) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_mtime < before.timestamp()


@dataclass(frozen=True)
class Prunable:
    """One thing that may be removed."""

    kind: Literal["left", "views", "files"]
    """Leftovers of a killed bot, the views of a finished run, or files of executions that are not needed."""
    name: str
    bytes: int
    """Bytes that are freed; files with links from elsewhere do not count."""
    message: str
    """What was done, for people."""


def prune(folder: Path, keep_days: float, now: datetime, *, dry_run: bool) -> list[Prunable]:
    """Remove what is not needed below a folder of runs, and return it.

    Views of a finished run stay for `keep_days`; a run without a result may still be resumed, so that its views stay, too.
    """
    prunable = []
    for orphan in find_orphaned_resources(folder):
        size, message = orphan.size(), f"would remove {orphan.name}" if dry_run else orphan.remove()
        prunable.append(Prunable("left", orphan.name, size, message))
    for run in map(RunFolder, sorted(folder.iterdir()) if folder.is_dir() else ()):
        views = run.views
        if run.path.is_symlink() or not run.config.is_file() or not run.result.is_file() or not views.is_dir():
            continue
        if now.timestamp() - run.result.stat().st_mtime > keep_days * 86400:
            size = own_bytes([views])
            if not dry_run:
                remove_tree(views)
            prunable.append(Prunable("views", str(views), size, f"{'would remove' if dry_run else 'removed'} {views}"))
    return prunable
