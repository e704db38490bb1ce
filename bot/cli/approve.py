"""`bot approve`: approve or refuse a submission; confirm a proposed task spec; or accept a competition's rules."""

from typing import Annotated

import typer

from bot.cli.daemon_store import daemon_is_running, open_daemon_store
from bot.cli.options import Config, Json
from bot.cli.output import print_result
from bot.status.orders import decide, login_name, pending_approvals
from bot.status.problems import end
from state.errors import UsageError
from state.store import Store


def approve(
    id: Annotated[
        str | None,
        typer.Argument(help="number or tag of the submission, or the competition (default: list all)"),
    ] = None,
    refuse: Annotated[bool, typer.Option("--refuse", help="refuse the submission")] = False,
    card: Annotated[bool, typer.Option("--card", help="confirm a competition's proposed task spec")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="confirm that you have read a competition's rules")] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Approve a submission; the daemon sends it after the usual checks.

    Example: bot approve 7
    """
    if refuse + card + rules > 1:
        raise UsageError("use only one of --refuse (for a submission), --card and --rules (for a competition)")
    if id is None and (refuse or card or rules):
        raise UsageError("no submission or competition given: run `bot approve` to list what awaits approval")
    with open_daemon_store(config) as store:
        if id is None:
            lines = pending_approvals(store)
            print_result({"waiting": lines}, *(lines or ["nothing awaits your approval"]), json=json)
            return
        if card:
            _confirm_card(store, id, json=json)
            return
        if rules:
            _accept_rules(store, id, json=json)
            return
        row = decide(store, id, "refused" if refuse else "approved", login_name())
        running = daemon_is_running(store)
    answer = {"id": row.id, "run": row.run_id, "submission": row.submission, "decision": row.decision, "by": row.by}
    state = "is rejected and will not be sent" if refuse else "is approved"
    later = "" if running else "; no daemon is running: the decision takes effect when `bot run` starts"
    print_result({**answer, "daemon_runs": running}, f"submission {row.id} {state}{later}", json=json)


def _confirm_card(store: Store, competition: str, *, json: bool) -> None:
    from bot.live.reading.proposals import confirm  # here, as it takes most of a second

    with store.write() as tx:
        proposal = confirm(tx, competition, login_name())
    record = {"competition": competition, **proposal.model_dump(mode="json")}
    print_result(record, f"{competition}: task spec confirmed: {', '.join(proposal.lines)}", json=json)


def _accept_rules(store: Store, competition: str, *, json: bool) -> None:
    from bot.submission.rules import accept_rules, to_confirm  # here, as it takes most of a second

    with store.write() as tx:
        sha, lines = accept_rules(tx, competition, login_name())
        end(tx, to_confirm(competition))
    record = {"competition": competition, "rules": sha, "lines": [line.model_dump(mode="json") for line in lines]}
    accepted = "the rules page as of the last poll" if sha else "that the competition has no rules page"
    print_result(record, f"{competition}: accepted {accepted}", *(f"- {line}" for line in lines), json=json)
