"""A run's clock as its database records it: the times it was set to, and its time at each model call."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import col, select

from bot.replay.settings import ReplaySettings
from state.clock_advances import clock_advances
from state.store import Store
from state.tables import Event
from state.words import iso


@dataclass(frozen=True)
class Clocks:
    """All times that a run's clock showed."""

    stood_at: frozenset[datetime]
    """Every time that it was set to."""
    at_call: dict[int, datetime]
    """The clock's time when each call was recorded, by the call's number."""
    problems: tuple[str, ...] = ()
    """Moves back, or too far."""

    @classmethod
    def read(cls, store: Store, run_id: str, settings: ReplaySettings, start: datetime) -> "Clocks":
        """Read the times; without `--pace stream` the clock stays at the cutoff."""
        types = ("clock.moved", "model.called")
        of_run = select(Event).where(Event.run_id == run_id, col(Event.type).in_(types)).order_by(col(Event.seq))
        with store.read() as session:
            made, events = clock_advances(session, run_id), session.exec(of_run).all()
        stands = start if settings.pace == "stream" else settings.cutoff
        stood_at, at_call, problems = {stands}, {}, []
        in_events = [datetime.fromisoformat(event.data["as_of"]) for event in events if event.type == "clock.moved"]
        if in_events != [move.as_of for move in made]:
            problems.append("the clock: its moves in the database differ from those in the events")
        if in_events and settings.pace != "stream":
            problems.append("the clock: it was moved, though it should have stood still")
            events = [event for event in events if event.type == "model.called"]
        for event in events:
            if event.type == "model.called":
                at_call[event.data["call"]] = stands
                continue
            to = datetime.fromisoformat(event.data["as_of"])
            if not stands <= to <= settings.cutoff:
                problems.append(
                    f"the clock: moved from {iso(stands)} to {iso(to)}, back or beyond {iso(settings.cutoff)}"
                )
            stands = to
            stood_at.add(to)
        return cls(frozenset(stood_at), at_call, tuple(problems))

    def problem(self, as_of: datetime | None, call: int) -> str | None:
        """Return what is wrong with the clock of the prompt of the n-th call, counted from 1."""
        limit = self.at_call.get(call)
        if as_of is None or as_of not in self.stood_at or limit is None:
            return f"is not the run's ({', '.join(map(iso, sorted(self.stood_at)))})"
        if as_of > limit:
            return f"is later than the run's, which stood at {iso(limit)} then"
        return None
