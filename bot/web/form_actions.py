"""What the owner does on the page. Each form calls what the command of its name calls, and is recorded as the owner's."""

from collections.abc import Mapping
from typing import cast

from bot.live.reading.proposals import confirm
from bot.status.orders import Verdict, decide, leave_note, login_name, open_for_orders, order
from bot.status.problems import end
from bot.submission.rules import accept_rules, to_confirm
from bot.web.sources import Sources
from state.errors import UsageError
from state.live import latest_runs
from state.steering import ControlState
from state.submissions import choose_final
from state.words import did_you_mean


class FormActions:
    """Carries out forms; the guard has checked who sent them."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def act(self, name: str, form: Mapping[str, str]) -> None:
        """Carry out one form.

        Raises:
            UsageError: a field is missing or wrong, or what is asked for cannot be done.
            ConfigurationError: bot.toml is wrong.
            StateUnavailable, StateCorrupted: the database cannot be written now.
        """
        if (database := self._sources.database) is None:
            raise UsageError("the daemon has no database yet: `bot run` creates it")
        author = f"{login_name()} (page)"
        with open_for_orders(database) as store:
            match name:
                case "note":
                    leave_note(store, self._competition(form), _field(form, "text"), author)
                case "control":
                    state = _field(form, "state", ("running", "paused", "stopped"))
                    order(store, self._competition(form), cast(ControlState, state), author)
                case "approve":
                    verdict = _field(form, "verdict", ("approved", "refused"))
                    decide(store, _field(form, "id"), cast(Verdict, verdict), author)
                case "rules":
                    competition = self._competition(form)
                    with store.write() as tx:
                        accept_rules(tx, competition, author)
                        end(tx, to_confirm(competition))
                case "task":
                    with store.write() as tx:
                        confirm(tx, self._competition(form), author, form.get("choice", ""))
                case "final":
                    competition = self._competition(form)
                    tags = [tag for field in ("first", "second") if (tag := form.get(field, ""))]
                    with store.write() as tx:
                        if (run := latest_runs(tx.session).get(competition)) is None:
                            raise UsageError(f"no run on {competition} yet")
                        choose_final(tx, run.id, tags, author)
                case _:
                    raise UsageError(f"unknown action: {name}")

    def _competition(self, form: Mapping[str, str]) -> str:
        """Return the competition of a form, which a daemon must know, or it would never read the order."""
        name, names = _field(form, "competition"), sorted(self._sources.settings.competitions)
        if name not in names:
            raise UsageError(f"{name} is not configured in bot.toml: {did_you_mean(name, names)}")
        return name


def _field(form: Mapping[str, str], name: str, choices: tuple[str, ...] = ()) -> str:
    if not (value := form.get(name, "").strip()):
        raise UsageError(f"missing field in the form: {name}")
    if choices and value not in choices:
        raise UsageError(f"the form field {name} must be one of {', '.join(choices)}")
    return value
