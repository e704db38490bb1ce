"""Notebooks: where each package that goes to a site as a private notebook stands, as events of its run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, cast, get_args

from sqlmodel import Session, col, func, select

from state.store import Transaction
from state.tables import Event

Stage = Literal["uploading", "uploaded", "pushing", "pushed", "ran", "failed"]
"""uploading, pushing: about to be sent, or sent without an answer; uploaded: the site has the weights, but may not be ready;
pushed: the site has the notebook, and runs it; ran: its output was checked; failed: it is not submitted, or in vain."""

NOTEBOOK_REFUSED = "notebook.refused"
"""Event: the check of a node's notebook failed, and why; nothing was pushed."""
_TYPES = tuple(f"notebook.{stage}" for stage in get_args(Stage))
REMOVED = "notebook.removed"
"""Event: what a package was at the site is removed, as nothing needs it any more."""
_MOST_LOG = 4_000
"""Characters of a log, its last ones."""


@dataclass(frozen=True)
class NotebookState:
    """Where a package stands."""

    node: int
    stage: Stage
    at: datetime
    ref: str = ""
    """The site's name of the notebook."""
    version: int = 0
    """0: it is not pushed."""
    data_set: str = ""
    """The site's name of its weights; empty: it has none, or they are not there."""
    reason: str = ""
    """Why it failed."""
    log: str = ""
    """The end of what the failed notebook printed."""
    removed: bool = False
    """Whether its weights were removed from the site again."""

    @property
    def sentence(self) -> str:
        """Say it, of a node's notebook."""
        name = f"{self.ref}, version {self.version}"
        return {
            "uploading": "its weights are being uploaded",
            "uploaded": "its weights have been uploaded, and Kaggle is processing them",
            "pushing": f"it is being pushed as {self.ref}",
            "pushed": f"it is running on Kaggle as {name}",
            "ran": f"it ran on Kaggle as {name}",
            "failed": f"abandoned: {self.reason}",
        }[self.stage]


def record_stage(tx: Transaction, run_id: str, node: int, package: str, stage: Stage, **facts: Any) -> NotebookState:
    """Record that a package (its sha256 in hex) has reached a stage; `facts` are further fields of `NotebookState`."""
    if "log" in facts:
        facts["log"] = str(facts["log"])[-_MOST_LOG:]
    tx.record(f"notebook.{stage}", run_id=run_id, node=node, package=package, **facts)
    return notebook_states(tx.session, run_id, package)[package]


def notebook_state(session: Session, run_id: str, package: str) -> NotebookState | None:
    """Return where a package stands; None: nothing was begun."""
    return notebook_states(session, run_id, package).get(package)


def notebook_states(session: Session, run_id: str, package: str | None = None) -> Mapping[str, NotebookState]:
    """Return where a run's packages stand, or one of them, by their sha256."""
    query = select(Event).where(Event.run_id == run_id, col(Event.type).in_((*_TYPES, REMOVED)))
    if package is not None:
        query = query.where(func.json_extract(col(Event.data), "$.package") == package)
    facts: dict[str, dict[str, Any]] = {}
    states: dict[str, NotebookState] = {}
    for event in session.exec(query.order_by(col(Event.seq))):
        key = str(event.data["package"])
        if event.type == REMOVED:
            states[key] = replace(states[key], removed=True)
            continue
        known_facts = facts.setdefault(key, {})
        known_facts.update({name: value for name, value in event.data.items() if name != "package"})
        stage = cast(Stage, event.type.removeprefix("notebook."))
        states[key] = NotebookState(event.node or 0, stage, event.at, **known_facts)
    return states


def failures_of(session: Session, run_id: str) -> Mapping[int, str]:
    """Return why a node's notebook was refused by the notebook check, or failed at the site; the last reason counts."""
    types = (NOTEBOOK_REFUSED, "notebook.failed")
    query = select(Event).where(Event.run_id == run_id, col(Event.type).in_(types)).order_by(col(Event.seq))
    return {event.node: str(event.data["reason"]) for event in session.exec(query) if event.node is not None}
