"""`bot logs`: what the daemon did, from its database, and where its log is."""

import re
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.configured import configured
from bot.cli.daemon_reading import daemon_now, daemon_to_read
from bot.cli.options import Config
from bot.cli.output import print_json
from state.errors import UsageError

if TYPE_CHECKING:
    from bot.logs.events import EventLog, LoggedEvent

_EVERY = 1.0
"""Seconds between two looks at the database."""
_LONGEST = 10 * 365 * 86_400
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def logs(
    competition: Annotated[str | None, typer.Argument(help="only this competition; default: all")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="keep showing new events")] = False,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="how far back, such as 90s, 30m, 1h or 2d")] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="how many events, without --since")] = 100,
    everything: Annotated[bool, typer.Option("--all", help="also show each call, step and charge")] = False,
    config: Config = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object per event")] = False,
) -> None:
    """Show what happened: the events in the daemon's database, while it runs or afterwards.

    Everything else, such as libraries' warnings, is in the daemon's log: systemd's journal, or the file that
    `log_file` in the table `daemon` names.

    Example: bot logs titanic --since 1h --follow
    """
    # Imported here: no other command should pay for these imports.
    from bot.logs.events import EventLog

    back = None if since is None else _duration(since)
    with daemon_to_read(config) as store:
        log = EventLog(store, competition, everything or json)
        if competition is not None and not follow and not log.newest(1):
            raise UsageError(f"nothing has happened in {competition}: `bot status` lists the competitions")
        last = log.last()
        found = log.newest(lines) if back is None else list(log.since(daemon_now(store) - back))
        _print(found, json=json)
        if follow:
            # Ctrl-C ends it.
            with suppress(KeyboardInterrupt):
                _follow(log, max([last, *(one.id for one in found)]), json=json)
        elif not json:
            typer.echo(_where(config), err=True)


def _follow(log: "EventLog", last: int, *, json: bool) -> None:
    while True:
        time.sleep(_EVERY)
        found, last = log.news(last)
        _print(found, json=json)


def _print(found: "Iterable[LoggedEvent]", *, json: bool) -> None:
    from bot.models.quoting import clean

    for one in found:
        if json:
            print_json(one.to_json())
            continue
        about = " ".join(part for part in (one.competition, None if one.node is None else f"node {one.node}") if part)
        mark = "!" if one.level == "warning" else " "
        typer.echo(f"{one.at:%Y-%m-%d %H:%M:%S} {mark} {about or 'bot':30} {clean(one.sentence)}")


def _duration(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smhd])", text)
    if found is None:
        raise UsageError(f"{text} is not a duration: write 90s, 30m, 1h or 2d")
    return timedelta(seconds=min(float(found[1]) * _UNITS[found[2]], _LONGEST))


def _where(config: Path | None) -> str:
    file = configured(config).daemon.log_file
    there = f"in {file}" if file else "on its stderr; under systemd: journalctl -u kaggle-bot"
    return f"the daemon's own log is {there}"
