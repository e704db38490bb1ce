"""Retention: what was collected for a competition is removed when its time is over, with everything derived from it.

Kept are the runs themselves: what they did, scored, spent and submitted, their code and its output, and every model call
without its bodies; the owner's notes; and the list of tasks. Removed are posts, readings, pages, boards and likenesses;
analyses, ideas, drafts and reports, those of labs too; plans of nodes; prompts and answers; and bodies that nothing
refers to any more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from state.backup import back_up, drop_backups
from state.errors import UsageError
from state.store import Store

BY_COMPETITION = (
    *("observation", "likeness", "keptsketch", "message", "topic", "kernelversion"),
    *("reading", "polledtopic", "polledkernel", "watermark"),
)
"""Tables of collected data, and of data derived from that alone."""
BY_RUN = ("analysis", "reproduction", "idea", "ideause", "draft", "report")
"""Tables of what runs derived from posts."""

_RUNS = "SELECT id FROM run WHERE competition = :competition"
_COMPETITIONS = "{table} WHERE competition = :competition"
_ITS_RUNS = "{table} WHERE run_id IN ({runs})"
_BODIES = """
    blob WHERE sha256 IN (
        SELECT messages_sha FROM modelcall WHERE run_id IN ({runs})
        UNION SELECT answer_sha FROM modelcall WHERE run_id IN ({runs})
        UNION SELECT raw_sha FROM kernelversion WHERE competition = :competition AND raw_sha IS NOT NULL
        UNION SELECT sha256 FROM reading WHERE competition = :competition AND sha256 IS NOT NULL
        EXCEPT SELECT messages_sha FROM modelcall WHERE run_id NOT IN ({runs})
        EXCEPT SELECT answer_sha FROM modelcall WHERE run_id NOT IN ({runs})
        EXCEPT SELECT raw_sha FROM kernelversion WHERE competition <> :competition
        EXCEPT SELECT sha256 FROM reading WHERE competition <> :competition
        EXCEPT SELECT code_sha FROM node
        EXCEPT SELECT infer_sha FROM node WHERE infer_sha IS NOT NULL
        EXCEPT SELECT log_sha FROM execution
    )
"""
_BANDS = "sketchband WHERE sketch IN (SELECT id FROM keptsketch WHERE competition = :competition)"
_WIPES = (
    "UPDATE node SET plan = '' WHERE run_id IN ({runs})",
    # The results of decisions, executions and guards record what the run did; all other results hold a model's answer.
    "UPDATE step SET result = json_object() WHERE result IS NOT NULL AND name <> 'decision'"
    " AND name NOT LIKE 'execute:%' AND name NOT LIKE 'guards:%' AND run_id IN ({runs})",
    "UPDATE lab SET title = '', report = json_object(), notes = json_array() WHERE run_id IN ({runs})",
    "UPDATE event SET data = json_set(data, '$.title', '') WHERE type IN ('draft.added', 'lab.opened')"
    " AND run_id IN ({runs})",
    "UPDATE event SET data = json_remove(data, '$.report', '$.text') WHERE type IN ('lab.report', 'lab.note')"
    " AND run_id IN ({runs})",
    "UPDATE event SET data = json_remove(data, '$.reason', '$.paths', '$.dropped') WHERE type IN ('idea.closed',"
    " 'ideas.proposed') AND run_id IN ({runs})",
    "UPDATE event SET data = json_set(data, '$.traceback', '') WHERE type = 'worker.crashed' AND run_id IN ({runs})",
    # Events of no run: errors of the competition's tasks.
    "UPDATE event SET data = json_set(data, '$.error', '', '$.traceback', '') WHERE run_id = 'bot'"
    " AND json_extract(data, '$.competition') = :competition AND json_extract(data, '$.traceback') IS NOT NULL",
    "UPDATE task SET error = NULL WHERE competition = :competition AND status IN ('done', 'dead')",
)


@dataclass(frozen=True)
class Pruned:
    """What was removed, or would be."""

    competition: str
    posts: int
    """Topics, messages and kernel versions."""
    readings: int
    derived: int
    """Analyses, ideas, drafts and reports."""
    bodies: int
    """Prompts, answers and raw files that nothing else refers to."""
    runs: tuple[str, ...]
    """Runs on the competition, which stay."""


def prunable(store: Store, competition: str) -> Pruned:
    """Return what `prune_community` would remove."""
    with store.read() as session:
        return _count_posts(session.connection(), competition)


def prune_community(store: Store, competition: str) -> Pruned:
    """Remove what was collected for a competition and what was derived from it, and rewrite the file without it.

    Afterwards neither the file nor its log holds any of it, and a new backup takes the place of the daily ones, if there
    are any; copies elsewhere, such as a run folder's exports, stay. It takes as long as reading and writing the
    whole file, and nobody else can write meanwhile: call it in a thread. If it was interrupted, call it again.

    Raises:
        UsageError: a run on the competition has not ended.
        StateUnavailable: another process uses the database, or the disk has no room for a second copy: either nothing is
            removed, or the rows are but the file still holds their text.
        StateCorrupted: it is damaged.
    """
    with store.write() as tx:
        pruned = _count_posts(tx.connection, competition)
        if running := _running(tx.connection, competition):
            raise UsageError(
                f"the run {running[0]} on {competition} has not ended: stop it, or resume it and let it finish"
            )
        if pruned.posts or pruned.readings or pruned.derived or pruned.bodies:
            deleted = [(_BODIES, "blob"), (_BANDS, "sketchband")]
            deleted += [(_COMPETITIONS, table) for table in BY_COMPETITION] + [(_ITS_RUNS, table) for table in BY_RUN]
            statements = [_sql("DELETE FROM", condition, table) for condition, table in deleted]
            for statement in (*statements, *map(_sql, _WIPES)):
                tx.connection.exec_driver_sql(statement, {"competition": competition})
            for run in pruned.runs:
                counts = {"posts": pruned.posts, "derived": pruned.derived, "bodies": pruned.bodies}
                tx.record("community.pruned", run_id=run, competition=competition, **counts)
    store.compact()
    if drop_backups(store.path):
        back_up(store)
    return pruned


def prune_expired(store: Store, deadlines: Mapping[str, datetime], keep_days: float, now: datetime) -> list[Pruned]:
    """Remove the communities of competitions whose deadline is more than `keep_days` ago; see `prune_community`.

    Skipped are competitions with nothing left to remove, so that this may be called every day, and those with a run that
    has not ended.
    """
    results = []
    for competition in sorted(deadlines):
        if now - deadlines[competition] <= timedelta(days=keep_days):
            continue
        with store.read() as session:
            running = _running(session.connection(), competition)
        contents = prunable(store, competition)
        if not running and (contents.posts or contents.derived):
            results.append(prune_community(store, competition))
    return results


def _running(connection: Connection, competition: str) -> Sequence[str]:
    query = "SELECT id FROM run WHERE competition = ? AND status = 'running' ORDER BY id"
    return connection.exec_driver_sql(query, (competition,)).scalars().all()


def _count_posts(connection: Connection, competition: str) -> Pruned:
    its = {"competition": competition}

    def count(condition: str, *tables: str) -> int:
        queries = (_sql("SELECT count(*) FROM", condition, table) for table in tables)
        return sum(connection.exec_driver_sql(query, its).scalar_one() for query in queries)

    return Pruned(
        competition=competition,
        posts=count(_COMPETITIONS, "topic", "message", "kernelversion"),
        readings=count(_COMPETITIONS, "observation", "reading"),
        derived=count(_ITS_RUNS, *(table for table in BY_RUN if table != "ideause")),
        bodies=count(_BODIES, "blob"),
        runs=tuple(connection.exec_driver_sql(f"{_RUNS} ORDER BY id", its).scalars()),
    )


def _sql(start: str, condition: str = "", table: str = "") -> str:
    return " ".join((start, condition)).format(table=table, runs=_RUNS)
