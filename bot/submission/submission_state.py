"""Affairs: what the database tells of a live run's submissions and of the site, all that a decision hangs on but the file."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session, col, select

from bot.budgets.kinds import Kind, words
from bot.budgets.levels import Level
from bot.configuration.competition import CompetitionSettings
from state.errors import BudgetExceeded
from state.outward import OPEN, may_be_there, submissions_of
from state.series import history, last
from state.tables import Event, Node, Run, Submission

__all__ = ["ACCEPTED", "Affairs", "Cap", "affairs_now", "cap_reached"]

ACCEPTED = "rules.accepted"
"""Event: the owner has read changed rules and goes on by them; its `sha256` is the page's."""


@dataclass(frozen=True)
class Cap:
    """A cap of the budget that is reached."""

    why: str
    renews: bool
    """Whether it is that of a day."""


@dataclass(frozen=True)
class Affairs:
    """How things stand at a moment."""

    rows: Sequence[Submission]
    """The run's submissions."""
    earlier: Sequence[Submission]
    """Those of the competition's other live runs."""
    comparable: Sequence[float]
    """Validation scores, as the metric has them, of what those of these runs have sent whose scores mean the same."""
    sent: int
    """Of the competition, by whatever run."""
    sent_today: int
    """Since 00:00 UTC."""
    deadline: datetime | None
    entered: bool | None
    closed: str | None
    rules_sha: str | None
    """Of the rules page, as it was read last; None: it was not, or there is none."""
    rules_changed: bool
    capped: Cap | None
    key: str
    """The same as long as there is no reason to decide anew; time alone changes it with the day and with the reserve."""

    @property
    def open(self) -> list[Submission]:
        """Those of which something is left to be done."""
        return [row for row in self.rows if row.status in OPEN]

    @property
    def there(self) -> list[Submission]:
        """Those that count: the site has them, or may have them."""
        return [row for row in self.rows if row.status in ("sending", "doubtful", "confirmed")]


def affairs_now(
    session: Session,
    run_id: str,
    settings: CompetitionSettings,
    spending: Level,
    now: datetime,
    deadline: datetime | None,
) -> Affairs:
    """Read how things stand; the deadline is the owner's word, else what the site said last, else `deadline`, the card's."""
    run = session.get_one(Run, run_id)
    runs = _live_runs(session, run.competition)
    earlier = [row for one in runs if one.id != run_id for row in submissions_of(session, one.id)]
    rows = submissions_of(session, run_id)
    sent = [row for row in (*earlier, *rows) if may_be_there(row)]
    facts = _facts(session, run.competition)
    if settings.deadline is not None:
        deadline = settings.deadline
    elif told := facts.get("deadline"):
        deadline = datetime.fromisoformat(told)
    rules, changed = _rules(session, run.competition, runs)
    late = deadline is not None and now >= deadline - timedelta(days=settings.reserved_days)
    limits = last(session, run.competition, "limits")
    left = {} if limits is None else {name: limits.data.get(name) for name in ("num_allowed_now", "limited_by_total")}
    closed, entered = _closed(facts), facts.get("user_has_entered")
    capped = cap_reached(spending)
    standing = (now.date(), late, len(sent), deadline, entered, closed, rules, changed, left, capped is None)
    return Affairs(
        rows=rows,
        earlier=earlier,
        comparable=_comparable(session, run, runs, earlier),
        sent=len(sent),
        sent_today=sum(row.sent_at is not None and row.sent_at.date() == now.date() for row in sent),
        deadline=deadline,
        entered=entered,
        closed=closed,
        rules_sha=rules,
        rules_changed=changed,
        capped=capped,
        key=hashlib.sha256(repr((standing, settings.model_dump_json())).encode()).hexdigest()[:12],
    )


def cap_reached(spending: Level) -> Cap | None:
    """Return which cap of the budget keeps a file from being sent; None: none does."""
    for level in reversed(spending.levels):
        cap, spent = level.caps.of(Kind.MONEY), level.spent(Kind.MONEY)
        if cap is not None and spent > cap:
            of = f"of {words(Kind.MONEY, cap)} {words(Kind.MONEY, spent)} are spent"
            return Cap(f"the {level.name}'s cap on money is passed: {of}", level.renews)
    try:
        with spending.reserve(submissions=1):
            return None
    except BudgetExceeded as error:
        return Cap(str(error), error.renews)


def _live_runs(session: Session, competition: str) -> Sequence[Run]:
    """Return all live runs of a competition, the earliest first."""
    live = select(Run).where(Run.competition == competition, col(Run.cutoff).is_(None))
    return session.exec(live.order_by(col(Run.created_at), col(Run.id))).all()


def _comparable(session: Session, run: Run, runs: Sequence[Run], earlier: Sequence[Submission]) -> list[float]:
    same = {one.id for one in runs if one.config.get("scores") == run.config.get("scores")}
    nodes = [session.get(Node, (row.run_id, row.node)) for row in earlier if row.run_id in same and may_be_there(row)]
    return [node.score for node in nodes if node is not None and node.score is not None]


def _facts(session: Session, competition: str) -> Mapping[str, Any]:
    reading = last(session, competition, "competition")
    if reading is None:
        return {}
    return {"gone": True} if reading.sha256 is None else reading.data


def _closed(facts: Mapping[str, Any]) -> str | None:
    if facts.get("gone"):
        return "the site does not list the competition any more"
    if facts.get("is_kernels_submissions_only"):
        return "the competition takes notebooks, not files"
    return "the site takes no submissions any more" if facts.get("submissions_disabled") else None


def _rules(session: Session, competition: str, runs: Sequence[Run]) -> tuple[str | None, bool]:
    """Return the rules page's hash, and whether it is another than that by which the first run began, or one accepted since."""
    now = last(session, competition, "page", "rules")
    if now is None:
        return None, False
    before = last(session, competition, "page", "rules", runs[0].created_at)
    if before is None:
        before = history(session, competition, "page", "rules")[0]
    if now.sha256 == before.sha256:
        return now.sha256, False
    of_them = col(Event.run_id).in_([run.id for run in runs])
    accepted = session.exec(select(Event.data).where(of_them, Event.type == ACCEPTED)).all()
    return now.sha256, now.sha256 not in {data.get("sha256") for data in accepted}
