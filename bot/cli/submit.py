"""`bot submit`: ask the daemon to submit one node's file now, and wait a moment for its answer."""

import time
from typing import Annotated

import typer

from bot.cli.daemon_store import daemon_is_running, open_daemon_store
from bot.cli.options import Competition, Config, Json
from bot.cli.output import print_result
from bot.status.orders import login_name
from state.approvals import request_submission
from state.errors import UsageError
from state.live import latest_runs
from state.store import Store
from state.tables import Node, SubmissionRequest
from state.words import did_you_mean

_PAUSE = 0.2


def submit(
    competition: Competition,
    node: Annotated[int, typer.Argument(help="node number, from `bot status` or the report")],
    wait: Annotated[float, typer.Option(min=0, help="seconds to wait for the daemon")] = 10.0,
    config: Config = None,
    json: Json = False,
) -> None:
    """Submit one node's file, however poor its validation score.

    The daemon submits it after the usual checks. Exits with 1 if it refuses or has not answered yet.

    Example: bot submit titanic 17
    """
    with open_daemon_store(config) as store:
        run_id = _run_of(store, competition, node)
        with store.write() as tx:
            request = request_submission(tx, run_id, node, login_name())
        end = time.monotonic() + wait
        while request.seen_at is None and time.monotonic() < end:
            time.sleep(_PAUSE)
            with store.read() as session:
                request = session.get_one(SubmissionRequest, request.id)
        running = daemon_is_running(store)
    record = {
        **{"competition": competition, "node": node, "request": request.id, "state": request.state},
        **{"reason": request.reason, "seen": request.seen_at is not None, "submission": request.submission},
        "daemon_runs": running,
    }
    print_result(record, _sentence(competition, request, running=running), json=json)
    raise typer.Exit(int(request.seen_at is None or request.state == "refused"))


def _run_of(store: Store, competition: str, node: int) -> str:
    with store.read() as session:
        run = (runs := latest_runs(session)).get(competition)
        if run is None:
            raise UsageError(f"no run on {competition}: {did_you_mean(competition, runs)}")
        row = session.get(Node, (run.id, node))
    if row is None:
        raise UsageError(f"the run on {competition} has no node {node}")
    if row.status != "valid" or row.score is None:
        raise UsageError(f"node {node} on {competition} is {row.status} and has no validation score: cannot submit it")
    return run.id


def _sentence(competition: str, request: SubmissionRequest, *, running: bool) -> str:
    subject = f"node {request.node} on {competition}"
    if request.seen_at is None:
        no_daemon = "no daemon is running: `bot run` will decide when it starts"
        return f"submission of {subject} requested; {'the daemon has not answered yet' if running else no_daemon}"
    if request.state == "intended":
        return f"{subject} is submission {request.submission} of its run: {request.reason}; `bot submissions` shows its progress"
    return f"{subject} {'was not submitted' if request.state == 'refused' else 'waits'}: {request.reason}"
