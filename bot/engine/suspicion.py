"""Detection of the engine's own faults: different scripts that fail with the same sentence."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import func
from sqlmodel import col, select

from bot.engine.tree import APART
from sandbox import ExitReason
from state.store import Store
from state.tables import Node, Step

SUSPICIOUS = 2
"""When so many other scripts failed with the same sentence, a failed debug run does not count."""
MOST_ALIKE = 10
"""When so many scripts in a row failed with the same sentence, the search ends."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class _Ended:
    code: str | None
    fault: str | None
    """The sentence it failed with; None if it did not fail, or ran out of time, which is the script's own fault."""

    def is_for(self, fault: str) -> bool:
        """Return whether it failed with this sentence, whatever the numbers in it."""
        return self.fault is not None and without_numbers(self.fault) == without_numbers(fault)


def without_numbers(sentence: str) -> str:
    """Return a sentence with its numbers masked, for comparisons."""
    return _NUMBER.sub("#", sentence)


def failed_alike(store: Store, run_id: str, node: int, fault: str) -> int:
    """Return how many scripts other than a node's own have failed with the same sentence."""
    with store.read() as session:
        own = session.get_one(Node, (run_id, node)).code_sha
    return len({ended.code for ended in _ended(store, run_id) if ended.is_for(fault)} - {own})


def last_failures(store: Store, run_id: str, after: int) -> tuple[int, str]:
    """Return how many of the last nodes failed in a row with the same sentence, and that sentence.

    Args:
        store: holds the run.
        run_id: the run.
        after: only nodes with higher numbers count.
    """
    count, fault = 0, ""
    for ended in _ended(store, run_id, after, MOST_ALIKE):
        if ended.fault is None or (count and not ended.is_for(fault)):
            break
        count, fault = count + 1, fault or ended.fault
    return count, fault


def _ended(store: Store, run_id: str, after: int = 0, most: int | None = None) -> Iterator[_Ended]:
    """Yield the scripts that ended valid or buggy, the last first, with the fault of their last execution."""
    faults = func.json_extract(col(Step.result), "$.fault")
    reasons = func.json_extract(col(Step.result), "$.reason")
    nodes = select(Node).where(Node.run_id == run_id, Node.id > after, col(Node.status).in_(("valid", "buggy")))
    nodes = nodes.where(col(Node.action).not_in(APART))
    with store.read() as session:
        rows = session.exec(nodes.order_by(col(Node.id).desc()).limit(most)).all()
        known = select(Step.node, faults, reasons).where(
            Step.run_id == run_id, col(Step.node).in_([row.id for row in rows]), faults.is_not(None)
        )
        # Sorted so, a hold-out run comes after the debug runs, whose faults it replaces, and a later one after those before.
        known = known.order_by(col(Step.name).desc(), col(Step.attempt))
        ends = {node: (fault, reason) for node, fault, reason in session.exec(known)}
    for row in rows:
        fault, reason = ends.get(row.id, (row.error or "", None))
        failed = row.status == "buggy" and reason != ExitReason.TIMED_OUT
        yield _Ended(row.code_sha, str(fault) if failed else None)
