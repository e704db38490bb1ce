"""Whether a run's model gives answers that can be used: ten in a row that cannot end its part."""

from collections import Counter
from typing import Any

from sqlmodel import select

from bot.models import Prompt
from bot.models.commands import command_in
from bot.models.tools import tool_of
from state.errors import ModelRefused, ModelUseless
from state.store import Store
from state.tables import Event, ModelCall

MOST_UNUSABLE = 10
"""Unusable answers in a row that end a role's part; the coder's part ends with it the run's."""
_MODEL_USED = "model.used"
"""The event of a run's first usable answer."""
_CODER = "coder"


class Usefulness:
    """Counts the answers of one run that could not be used, in this process; that one could be is kept with the run."""

    def __init__(self, store: Store, run_id: str, *, one_model: bool = True) -> None:
        """Start counting; `one_model`: one model answers in all roles, so that failures count for all of them."""
        self._store = store
        self._run_id = run_id
        self._one_model = one_model
        self._in_a_row: Counter[str] = Counter()
        self._last: dict[str, str] = {}
        self._why: str | None = None
        with store.read() as session:
            event = session.exec(select(Event).where(Event.run_id == run_id, Event.type == _MODEL_USED)).first()
            call = session.exec(select(ModelCall).where(ModelCall.run_id == run_id)).first()
        self._is_used = event is not None
        if call is not None:
            self._why = "no answer was usable before the run was restarted"

    def ensure(self, role: str) -> None:
        """Ask nothing more for a role whose answers cannot be used.

        Raises:
            ModelUseless: those of the coder, or those in all roles, were of no use.
            ModelRefused: those of this role were, and others go on.
        """
        self._why = self._why or "no answer arrived in time"
        if self._one_model and not self._is_used and self._in_a_row.total() >= MOST_UNUSABLE:
            raise ModelUseless(self._sentence(self._in_a_row.total(), self._why))
        if self._in_a_row[role] >= MOST_UNUSABLE:
            kind = ModelUseless if role == _CODER else ModelRefused
            raise kind(self._sentence(self._in_a_row[role], self._last[role], role))

    def note(self, role: str, reason: str | None) -> None:
        """Note an answer; `why` it cannot be used, None if it can."""
        if reason is not None:
            self._in_a_row[role] += 1
            self._last[role] = self._why = reason
            return
        self._in_a_row[role] = 0
        if not self._is_used:
            self._is_used = True
            with self._store.write() as tx:
                tx.record(_MODEL_USED, run_id=self._run_id, role=role)

    def begin_anew(self) -> None:
        """Count from nothing, as the model can answer."""
        self._in_a_row.clear()

    def note_failure(self, reason: str) -> None:
        """Note that there was no answer."""
        self._why = reason

    @property
    def none_used(self) -> str | None:
        """Why no answer of the run could be used; None if one could, or none was asked for."""
        return None if self._is_used else self._why

    def _sentence(self, count: int, reason: str | None, role: str | None = None) -> str:
        return f"{count} consecutive answers{f' from the {role}' if role else ''} were unusable; the last problem: {reason}"


def why_unusable(prompt: Prompt[Any], text: str) -> str | None:
    """Return why an answer that was read is of no use: one to a prompt with a tool that holds no command."""
    return "it contained no command" if tool_of(prompt) is not None and command_in(text) is None else None
