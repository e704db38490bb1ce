"""A lab's conversation as on a terminal: each response of the coder, and what it saw."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from bot.models.commands import prose_and_command
from state.tables import Step


@dataclass(frozen=True)
class TurnText:
    """One turn that has ended."""

    turn: int
    ended_at: datetime
    reply: str
    observation: str

    @property
    def prose_and_command(self) -> tuple[str, str]:
        """What its coder wrote, and the command that it typed, if any."""
        return prose_and_command(self.reply) or (self.reply, "")


def lab_turns(session: Session, run_id: str, lab: int, after: int = 0) -> list[TurnText]:
    """Return the turns of a lab after one of them, oldest first."""
    turn_steps = (
        select(Step)
        .where(Step.run_id == run_id, Step.node == lab, Step.name == "lab.turn", col(Step.attempt) > after)
        .where(Step.status == "finished")
        .order_by(col(Step.attempt))
    )
    turns = session.exec(turn_steps).all()
    # A refused turn was requested again, under its name with a plus for each time.
    names = [f"turn:{step.attempt}{suffix}" for step in turns for suffix in ("", "+", "++")]
    call_steps = select(Step).where(Step.run_id == run_id, Step.node == lab, col(Step.name).in_(names))
    replies = {
        step.name.rstrip("+"): (step.result or {}).get("text", "")
        for step in session.exec(call_steps.order_by(col(Step.name))).all()
    }
    return [
        TurnText(
            step.attempt,
            step.ended_at or step.started_at,
            replies.get(f"turn:{step.attempt}", ""),
            (step.result or {}).get("text", ""),
        )
        for step in turns
    ]


def command_of(session: Session, run_id: str, lab: int, turn: int) -> str:
    """Return the command of a turn that may be unfinished; empty if its reply has none, or the owner's agent works."""
    names = [f"turn:{turn}{suffix}" for suffix in ("", "+", "++")]
    query = select(Step).where(Step.run_id == run_id, Step.node == lab, col(Step.name).in_(names))
    replies = [step.result for step in session.exec(query.order_by(col(Step.name))) if step.result]
    return (prose_and_command(replies[-1].get("text", "")) or ("", ""))[1] if replies else ""


def lab_mark(session: Session, run_id: str, lab: int) -> str:
    """Return the mark of the engine's lines in what a lab's coder saw; empty if the lab has not opened."""
    opening_steps = select(Step).where(Step.run_id == run_id, Step.node == lab, Step.name == "lab.open")
    step = session.exec(opening_steps).first()
    return str((step.result or {}).get("mark", "")) if step else ""
