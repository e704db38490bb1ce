"""`bot submissions`: what was submitted, what waits, and why; also while the daemon runs."""

from typing import Annotated

import typer

from bot.cli.daemon_reading import as_json, daemon_to_read, runs_of
from bot.cli.options import Config, OneCompetition
from bot.cli.output import number, print_json, print_table
from bot.engine.run_record import RunRecord
from bot.status.submissions import not_submitted, shown_submissions
from state.live import live_runs

_COLUMNS = ("time (UTC)", "competition", "node", "how", "validation", "public", "status", "why", "tag")


def submissions(
    competition: OneCompetition = None,
    config: Config = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object per submission")] = False,
) -> None:
    """Show what was submitted and what waits, with both scores and the reason; and the last decision not to submit.

    Example: bot submissions titanic
    """
    with daemon_to_read(config) as store, store.read() as session:
        last_runs = runs_of(store, competition)
        runs = [RunRecord(session, row) for row in (live_runs(session, *last_runs) if last_runs else ())]
        found = sorted((one for run in runs for one in shown_submissions(session, run)), key=lambda one: one.at)
        latest_ids = {row.id for row in last_runs.values()}
        others = [last for run in runs if run.id in latest_ids and (last := not_submitted(run)) is not None]
    if json:
        for one in found:
            print_json(as_json(one))
        return
    if found:
        rows = [
            (
                f"{one.at:%Y-%m-%d %H:%M}",
                one.competition,
                str(one.node),
                one.how,
                number(one.validation),
                number(one.public),
                one.status,
                one.why,
                one.tag,
            )
            for one in found
        ]
        print_table(_COLUMNS, rows)
    else:
        typer.echo("nothing was submitted yet")
    for other in others:
        typer.echo(f"{other.competition}, {other.at:%Y-%m-%d %H:%M}: node {other.node} is not sent: {other.why}")
