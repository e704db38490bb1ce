"""`bot approve`: let a submission go that is held, or refuse it; and accept a rules page that has changed."""

from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.daemon_store import daemon_is_running, open_daemon_store
from bot.cli.options import Config, Json
from bot.cli.output import print_json
from bot.cli.steering import who
from state.errors import UsageError

if TYPE_CHECKING:
    from state.store import Store
    from state.tables import Approval


def approve(
    id: Annotated[
        str,
        typer.Argument(help="the number that you were asked with, or the submission's tag; with --rules a competition"),
    ],
    refuse: Annotated[bool, typer.Option("--refuse", help="it must not go")] = False,
    rules: Annotated[
        bool, typer.Option("--rules", help="you have read a competition's changed rules, and it goes on by them")
    ] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Let a held submission go; the daemon sends it under the same checks as any other.

    Example: bot approve 7
    """
    if rules and refuse:
        raise UsageError("--rules accepts what has changed; --refuse is of a submission")
    with open_daemon_store(config) as store:
        if rules:
            _accept_rules(store, id, json=json)
            return
        row = _decide(store, id, "refused" if refuse else "approved")
        running = daemon_is_running(store)
    if json:
        told = {"id": row.id, "run": row.run_id, "submission": row.submission, "decision": row.decision, "by": row.by}
        print_json({**told, "daemon_runs": running})
        return
    what = "is refused, and will not be sent" if refuse else "may go"
    later = "" if running else "; no daemon runs now, so that it will be looked at when `bot run` starts"
    typer.echo(f"submission {row.id} {what}{later}")


def _decide(store: "Store", name: str, verdict: str) -> "Approval":
    from state.approvals import decide_approval, find_approval, undecided

    with store.write() as tx:
        held = find_approval(tx.session, name)
        if held is None or held.id is None:
            waiting = ", ".join(str(row.id) for row in undecided(tx.session))
            known = f"waiting are {waiting}" if waiting else "none is waiting"
            raise UsageError(f"there is no submission {name} that waits for your word: {known}")
        return decide_approval(tx, held.id, verdict, who())  # type: ignore[arg-type]  # one of the two


def _accept_rules(store: "Store", competition: str, *, json: bool) -> None:
    from bot.status.work import latest_runs
    from bot.submission.facts import ACCEPTED
    from state.series import last_reading

    with store.write() as tx:
        run, page = latest_runs(tx.session).get(competition), last_reading(tx.session, competition, "page", "rules")
        if run is None or page is None or page.sha256 is None:
            raise UsageError(f"there is no run on {competition} whose rules page was read")
        tx.record(ACCEPTED, run_id=run.id, sha256=page.sha256, by=who())
    if json:
        print_json({"competition": competition, "rules": page.sha256})
    else:
        typer.echo(f"{competition}: the rules page as it was read on {page.at:%Y-%m-%d %H:%M} UTC is accepted")
