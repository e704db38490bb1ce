"""The hands: what the owner does on the page. Each calls what the command of its name calls, and is recorded as its act."""

from collections.abc import Callable, Mapping
from typing import cast

from bot.live.reading.proposals import confirm
from bot.status.orders import Verdict, decide, leave_note, login_name, open_for_orders, order
from bot.status.problems import end
from bot.submission.rules import accept_rules, to_confirm
from bot.web.sources import Sources
from state.errors import UsageError
from state.live import latest_runs
from state.steering import ControlState
from state.store import Store
from state.submissions import choose_final
from state.words import did_you_mean

_STATES = ("running", "paused", "stopped")
_VERDICTS = ("approved", "refused")


class Hands:
    """Carries out forms; the guard has checked whose they are."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._acts: Mapping[str, Callable[[Store, Mapping[str, str]], None]] = {
            "note": self._note,
            "control": self._control,
            "approve": self._approve,
            "final": self._final,
            "rules": self._rules,
            "task": self._task,
        }

    def act(self, name: str, form: Mapping[str, str]) -> None:
        """Carry out one form.

        Raises:
            UsageError: a field is missing or wrong, or what is asked for cannot be done.
            ConfigurationError: bot.toml is wrong.
            StateUnavailable, StateCorrupted: the database cannot be written now.
        """
        act, database = self._acts.get(name), self._sources.database
        if act is None:
            raise UsageError(f"unknown action: {name}")
        if database is None:
            raise UsageError("the daemon has no database yet: `bot run` creates it")
        with open_for_orders(database) as store:
            act(store, form)

    def _note(self, store: Store, form: Mapping[str, str]) -> None:
        leave_note(store, self._competition(form), _field(form, "text"), _author())

    def _control(self, store: Store, form: Mapping[str, str]) -> None:
        state = _one_of(form, "state", _STATES)
        order(store, self._competition(form), cast(ControlState, state), _author())

    def _approve(self, store: Store, form: Mapping[str, str]) -> None:
        verdict = _one_of(form, "verdict", _VERDICTS)
        decide(store, _field(form, "id"), cast(Verdict, verdict), _author())

    def _rules(self, store: Store, form: Mapping[str, str]) -> None:
        name = self._competition(form)
        with store.write() as tx:
            accept_rules(tx, name, _author())
            end(tx, to_confirm(name))

    def _task(self, store: Store, form: Mapping[str, str]) -> None:
        with store.write() as tx:
            confirm(tx, self._competition(form), _author())

    def _final(self, store: Store, form: Mapping[str, str]) -> None:
        name = self._competition(form)
        tags = [tag for field in ("first", "second") if (tag := form.get(field, ""))]
        with store.write() as tx:
            if (run := latest_runs(tx.session).get(name)) is None:
                raise UsageError(f"no run on {name} yet")
            choose_final(tx, run.id, tags, _author())

    def _competition(self, form: Mapping[str, str]) -> str:
        """Return the competition of a form, which a daemon must know, or it would never read the order."""
        name, names = _field(form, "competition"), sorted(self._sources.settings.competitions)
        if name not in names:
            raise UsageError(f"{name} is not among the competitions of bot.toml: {did_you_mean(name, names)}")
        return name


def _field(form: Mapping[str, str], name: str) -> str:
    if not (value := form.get(name, "").strip()):
        raise UsageError(f"missing field in the form: {name}")
    return value


def _one_of(form: Mapping[str, str], name: str, names: tuple[str, ...]) -> str:
    if (value := _field(form, name)) not in names:
        raise UsageError(f"the form's {name} must be one of {', '.join(names)}")
    return value


def _author() -> str:
    return f"{login_name()} (page)"
