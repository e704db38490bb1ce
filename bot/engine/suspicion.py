"""Detection of the engine's own faults: different scripts that fail with the same message."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlmodel import col, select

from bot.engine.tree import SEPARATE
from bot.execution.record import DEBUG, EXECUTED, GUARDED, REHEARSAL, REHEARSAL_FEW
from sandbox import ExitReason
from state.steps import read_steps
from state.store import Store
from state.tables import Node

SUSPICIOUS = 2
"""Number of other scripts with the same message from which a failed debug run does not count."""
MOST_ALIKE = 10
"""Number of scripts in a row with the same message that ends the search."""
_VIEWS = (DEBUG, REHEARSAL_FEW, REHEARSAL, GUARDED)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class _EndedNode:
    code: str | None
    fault: str | None
    """The message of its failure; None if it did not fail, or ran out of time, which is the script's own fault."""

    def is_for(self, fault: str) -> bool:
        """Return whether it failed with this message, whatever the numbers in it."""
        return self.fault is not None and without_numbers(self.fault) == without_numbers(fault)


def without_numbers(sentence: str) -> str:
    """Return a sentence with its numbers masked, for comparisons."""
    return _NUMBER.sub("#", sentence)


def failed_alike(store: Store, run_id: str, node: int, fault: str) -> int:
    """Return how many scripts other than a node's own have failed with the same message."""
    with store.read() as session:
        own_code = session.get_one(Node, (run_id, node)).code_sha
    return len({end.code for end in _ended_nodes(store, run_id) if end.is_for(fault)} - {own_code})


def last_failures(store: Store, run_id: str, after: int) -> tuple[int, str]:
    """Return how many of the last nodes after one failed in a row with the same message, and the message."""
    count, fault = 0, ""
    for end in _ended_nodes(store, run_id, after, MOST_ALIKE):
        if end.fault is None or (count and not end.is_for(fault)):
            break
        count, fault = count + 1, fault or end.fault
    return count, fault


def _ended_nodes(store: Store, run_id: str, after: int = 0, limit: int | None = None) -> Iterator[_EndedNode]:
    """Yield the scripts that ended valid or buggy, the last first, with the fault of their last execution."""
    nodes = select(Node).where(Node.run_id == run_id, Node.id > after, col(Node.status).in_(("valid", "buggy")))
    nodes = nodes.where(col(Node.action).not_in(SEPARATE))
    with store.read() as session:
        rows = session.exec(nodes.order_by(col(Node.id).desc()).limit(limit)).all()
        # A hold-out run replaces the faults of debug runs, and a later one those before it.
        steps = read_steps(session, run_id, EXECUTED, _VIEWS, [row.id for row in rows])
    failures = {key.node: execution for key, execution in steps.items() if execution.fault is not None}
    for row in rows:
        end = failures.get(row.id)
        fault, is_late = (row.error or "", False) if end is None else (end.fault, end.reason is ExitReason.TIMED_OUT)
        yield _EndedNode(row.code_sha, None if is_late or row.status != "buggy" else fault)
