"""`bot approve`: approve or refuse a held submission; confirm a proposed task card; or accept a competition's rules."""

from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.daemon_store import daemon_is_running, open_daemon_store
from bot.cli.options import Config, Json
from bot.cli.output import print_json
from state.errors import UsageError

if TYPE_CHECKING:
    from state.store import Store


def approve(
    id: Annotated[
        str | None,
        typer.Argument(
            help="the number in the request, or the submission's tag; with --card or --rules, a competition; "
            "default: what waits is listed"
        ),
    ] = None,
    refuse: Annotated[bool, typer.Option("--refuse", help="refuse the submission")] = False,
    card: Annotated[
        bool, typer.Option("--card", help="confirm how a competition is scored, as it was proposed")
    ] = False,
    rules: Annotated[bool, typer.Option("--rules", help="accept a competition's rules, which you have read")] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Approve a held submission; the daemon sends it with the same checks as any other.

    Example: bot approve 7
    """
    if refuse + card + rules > 1:
        raise UsageError("--refuse is for a submission, --card and --rules for a competition: give one of them")
    if id is None and (refuse or card or rules):
        raise UsageError("say which: `bot approve` alone lists what waits")
    # Imported here: no other command should pay for these imports.
    from bot.status.orders import decide, who

    with open_daemon_store(config) as store:
        if id is None:
            _list_waiting(store, json=json)
            return
        if card:
            _confirm_card(store, id, json=json)
            return
        if rules:
            _accept_rules(store, id, json=json)
            return
        row = decide(store, id, "refused" if refuse else "approved", who())
        running = daemon_is_running(store)
    if json:
        answer = {"id": row.id, "run": row.run_id, "submission": row.submission, "decision": row.decision, "by": row.by}
        print_json({**answer, "daemon_runs": running})
        return
    what = "is refused, and will not be sent" if refuse else "is approved"
    later = "" if running else "; no daemon runs now: the decision takes effect when `bot run` starts"
    typer.echo(f"submission {row.id} {what}{later}")


def _list_waiting(store: "Store", *, json: bool) -> None:
    from bot.status.orders import waiting

    found = waiting(store)
    if json:
        print_json({"waiting": found})
        return
    for line in found or ["nothing waits for you"]:
        typer.echo(line)


def _confirm_card(store: "Store", competition: str, *, json: bool) -> None:
    from bot.live.reading.proposals import confirm
    from bot.status.orders import who

    with store.write() as tx:
        proposal = confirm(tx, competition, who())
    if json:
        print_json({"competition": competition, **proposal.model_dump(mode="json")})
    else:
        typer.echo(f"{competition}: confirmed: {', '.join(proposal.lines)}")


def _accept_rules(store: "Store", competition: str, *, json: bool) -> None:
    from bot.live.reading.rules import to_confirm
    from bot.status.orders import who
    from bot.status.problems import end
    from bot.submission.rules import accept_rules

    with store.write() as tx:
        sha, lines = accept_rules(tx, competition, who())
        end(tx, to_confirm(competition))
    if json:
        print_json({"competition": competition, "rules": sha, "lines": [one.model_dump(mode="json") for one in lines]})
        return
    typer.echo(f"{competition}: {'the rules page as last read' if sha else 'that there is no rules page'} is accepted")
    for one in lines:
        typer.echo(f"- {one}")
