"""The owner's orders to a daemon, before or while it runs: what `bot note`, `pause` and `approve` do, and the page's buttons."""

import getpass
from pathlib import Path
from typing import Literal

from sqlmodel import Session

from bot.configuration.secret_texts import find_secrets
from bot.status.presence import daemon_clock
from bot.status.problems import current
from state.approvals import decide_approval, find_approval, undecided
from state.clock import Clock, FastClock, SystemClock
from state.errors import UsageError
from state.steering import ControlState, add_note, control, set_control
from state.store import Store
from state.tables import Approval, Node, Note, Run, Submission

Verdict = Literal["approved", "refused"]
"""What an owner may decide."""


def open_for_orders(database: Path) -> Store:
    """Open a daemon's database to write to it, with the latest daemon's clock: no order may lie in the daemon's future.

    Raises StateCorrupted: it is damaged; StateUnavailable: it cannot be used now.
    """
    store = Store.open(database, SystemClock())
    with store.read() as session:
        store.clock = daemon_clock(session, store.clock)
    return store


def refuse_secrets(text: str) -> None:
    """Raise UsageError if a note would reveal a secret to a model; the error does not repeat it."""
    for secret in find_secrets(text):
        raise UsageError(
            f"the note contains {secret.kind}, but notes become part of prompts: store it in {secret.place} instead"
        )


def leave_note(store: Store, competition: str, text: str, author: str) -> Note:
    """Store a note on a competition. Raises UsageError: it holds a secret, is empty or too long."""
    refuse_secrets(text)
    with store.write() as tx:
        return add_note(tx, competition, text, author)


def order(store: Store, competition: str, state: ControlState, author: str) -> ControlState:
    """Set whether a competition is worked on, paused or stopped; return its state before."""
    with store.write() as tx:
        before = control(tx.session, competition)
        set_control(tx, competition, state, author)
    return before


def decide(store: Store, name: str, verdict: Verdict, author: str) -> Approval:
    """Decide on a held submission, by the number of the question or by its tag.

    Raises UsageError: no such submission is held, or another decision was made before.
    """
    with store.write() as tx:
        approval = find_approval(tx.session, name)
        if approval is None or approval.id is None:
            pending_ids = ", ".join(str(row.id) for row in undecided(tx.session))
            pending_list = f"waiting: {pending_ids}" if pending_ids else "none is waiting"
            raise UsageError(f"no submission {name} is waiting for approval; {pending_list}")
        return decide_approval(tx, approval.id, verdict, author)


def pending_approvals(store: Store) -> list[str]:
    """Return what waits for the owner's decision, each with the command that gives it."""
    with store.read() as session:
        pending = undecided(session)
        problem_lines = [problem.sentence for problem in current(session) if "bot approve" in problem.sentence]
        lines = [_approval_line(session, approval, store.clock) for approval in pending]
    return lines + problem_lines


def _approval_line(session: Session, approval: Approval, clock: Clock) -> str:
    run, submission = session.get(Run, approval.run_id), session.get(Submission, (approval.run_id, approval.submission))
    node = None if submission is None else session.get(Node, (approval.run_id, submission.node))
    node_label = f"{run.competition if run else approval.run_id}, node {submission.node if submission else '?'}"
    speed = clock.speed if isinstance(clock, FastClock) else 1.0  # a rehearsal's hours are moments to you
    minutes = max(0, int((clock.now() - approval.asked_at).total_seconds() / speed // 60))
    score = "" if node is None or node.score is None else f", validation {node.score:.6g}"
    clock_note = "" if speed == 1 else " of real time"
    order = f"`bot approve {approval.id}` or `bot approve {approval.id} --refuse`"
    return f"{order}: {node_label}{score}, waiting for {minutes // 60} h {minutes % 60:02d} min{clock_note}: {approval.reason}"


def login_name() -> str:
    """Return the name of the user who gives an order."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return "owner"
