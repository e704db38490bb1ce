"""`bot logs`: what the daemon did, from its database, and where its log is."""

import re
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.daemon_reading import daemon_now, daemon_to_read, runs_of
from bot.cli.options import Config, Json
from bot.cli.output import print_json
from bot.engine.lab_turns import lab_turns
from bot.execution.folder import RunFolder
from bot.logs.events import EventLog, LoggedEvent
from bot.models.quoting import clean
from state import labs
from state.clock import SystemClock
from state.errors import UsageError
from state.store import Store

_POLL_SECONDS = 1.0
"""Seconds between two checks of the database."""
_LONGEST = 10 * 365 * 86_400
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def logs(
    competition: Annotated[
        str | None,
        typer.Argument(help="only this competition (default: all); with --lab, a run folder also works"),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="follow new events")] = False,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="how far to look back, such as 90s, 1h or 2d")
    ] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="number of events to show without --since")] = 100,
    lab: Annotated[int | None, typer.Option(min=1, help="show this lab's commands and output")] = None,
    all_events: Annotated[bool, typer.Option("--all", help="include every model call, step and charge")] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the events in the daemon's database, while it runs or afterwards.

    Libraries' warnings and the like are in the daemon's log: on its stderr, or in systemd's journal.

    Example: bot logs titanic --since 1h --follow
    """
    if lab is not None:
        _lab(competition, lab, config, follow=follow)
        return
    back = None if since is None else _duration(since)
    with daemon_to_read(config) as store:
        log = EventLog(store, competition, all_events or json)
        if competition is not None and not follow and not log.newest(1):
            raise UsageError(f"no events for {competition}: `bot status` lists the competitions")
        last = log.last()
        events = log.newest(lines) if back is None else list(log.since(daemon_now(store) - back))
        _print(events, json=json)
        if follow:
            last = max([last, *(e.id for e in events)])
            # Ctrl-C ends it.
            with suppress(KeyboardInterrupt):
                while True:
                    time.sleep(_POLL_SECONDS)
                    events, last = log.news(last)
                    _print(events, json=json)
        elif not json:
            typer.echo("the daemon writes its own log to stderr; under systemd: journalctl -u kaggle-bot", err=True)


def _lab(run: str | None, lab: int, config: Path | None, *, follow: bool) -> None:
    """Show a lab of a live competition's run, or of a run in a folder."""
    if run is None:
        raise UsageError("--lab needs a competition or a run folder")
    folder = RunFolder(Path(run))
    with ExitStack() as stack:
        if folder.config.is_file():
            store = stack.enter_context(Store.open_to_read(folder.database, SystemClock()))
            run_id = folder.path.resolve().name
        else:
            store = stack.enter_context(daemon_to_read(config))
            run_id = runs_of(store, run)[run].id
        row = labs.lab(store, run_id, lab)
        if row is None:
            labs_known = ", ".join(str(lab_row.id) for lab_row in labs.labs(store, run_id)) or "none"
            raise UsageError(f"this run has no lab {lab}; its labs: {labs_known}")
        typer.echo(f"lab {lab}: {row.title}")
        last = 0
        with suppress(KeyboardInterrupt):
            while True:
                row = labs.lab(store, run_id, lab)
                with store.read() as session:
                    turns = lab_turns(session, run_id, lab, last)
                for turn in turns:
                    prose, command = turn.prose_and_command
                    remarks = [f"# {line}" for line in clean(prose).strip().splitlines()]
                    typed = [f"$ {clean(command)}"] if command else []
                    head = f"[{turn.turn}] {turn.ended_at:%H:%M:%S}"
                    typer.echo("\n".join(["", head, *remarks, *typed, clean(turn.observation)]))
                    last = turn.turn
                if row is not None and row.ended_at is not None:
                    typer.echo(f"ended: {row.reason}")
                    return
                if not follow:
                    return
                time.sleep(_POLL_SECONDS)


def _print(events: Iterable[LoggedEvent], *, json: bool) -> None:
    for event in events:
        if json:
            print_json(event.to_json())
            continue
        subject = " ".join(p for p in (event.competition, None if event.node is None else f"node {event.node}") if p)
        mark = "!" if event.level == "warning" else " "
        typer.echo(f"{event.time:%Y-%m-%d %H:%M:%S} {mark} {subject or 'bot':30} {clean(event.sentence)}")


def _duration(text: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smhd])", text)
    if match is None:
        raise UsageError(f"{text} is not a duration such as 90s, 30m, 1h or 2d")
    return timedelta(seconds=min(float(match[1]) * _UNITS[match[2]], _LONGEST))
