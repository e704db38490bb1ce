"""`bot submissions`: what was submitted, what waits, and why; also while the daemon runs."""

import typer

from bot.cli.daemon_reading import as_json, daemon_to_read, runs_of
from bot.cli.options import Config, Json, OneCompetition
from bot.cli.output import number, print_json, print_table
from bot.engine.run_record import RunRecord
from bot.status.submissions import not_submitted, shown_submissions
from state.live import live_runs

_COLUMNS = ("time (UTC)", "competition", "node", "how", "validation", "public", "status", "why", "tag")


def submissions(competition: OneCompetition = None, config: Config = None, json: Json = False) -> None:
    """Show what was submitted and what waits, with scores and reasons.

    It also shows the last decision not to submit.

    Example: bot submissions titanic
    """
    with daemon_to_read(config) as store, store.read() as session:
        last_runs = runs_of(store, competition)
        runs = [RunRecord(session, row) for row in (live_runs(session, *last_runs) if last_runs else ())]
        sent_files = sorted((s for run in runs for s in shown_submissions(session, run)), key=lambda s: s.time)
        latest_ids = {row.id for row in last_runs.values()}
        unsent = [last for run in runs if run.id in latest_ids and (last := not_submitted(run)) is not None]
    if json:
        for sent_file in sent_files:
            print_json(as_json(sent_file))
        return
    if sent_files:
        rows = [
            (
                f"{s.time:%Y-%m-%d %H:%M}",
                s.competition,
                str(s.node),
                s.source,
                number(s.validation),
                number(s.public),
                s.status,
                s.reason if s.approval is None else f"awaiting your approval (`bot approve {s.approval}`): {s.reason}",
                s.tag,
            )
            for s in sent_files
        ]
        print_table(_COLUMNS, rows)
    else:
        typer.echo("nothing has been submitted yet")
    for row in unsent:
        typer.echo(f"{row.competition}, {row.time:%Y-%m-%d %H:%M}: node {row.node} was not submitted: {row.reason}")
