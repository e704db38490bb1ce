"""`bot note`, `pause`, `unpause` and `stop`: the owner's notes and orders to the daemon, before or while it runs."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli.configuration import configured, settings_file
from bot.cli.daemon_store import daemon_is_running, open_daemon_store
from bot.cli.options import Competition, Config, Json
from bot.cli.output import print_json, print_result
from bot.status.orders import leave_note, login_name, order, refuse_secrets
from state.errors import UsageError
from state.steering import LONGEST_NOTE, ControlState, notes
from state.store import Store
from state.tables import Note
from state.words import did_you_mean, iso


def note(
    competition: Competition,
    text: Annotated[list[str] | None, typer.Argument(help="text of the note (- reads it from stdin)")] = None,
    list_notes: Annotated[bool, typer.Option("--list", help="list the notes")] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Leave a note that every later prompt on a competition contains.

    Models read notes, so a note that seems to contain a key or a password is refused.

    Example: bot note titanic "the tickets' prefixes are worth a look"
    """
    if list_notes and text:
        raise UsageError("--list takes no text")
    _check_configured(config, competition)
    if list_notes:
        with open_daemon_store(config) as store:
            _show_notes(store, competition, json=json)
        return
    # Reads a little more than a note may hold, so that a text that is too long is refused.
    words = sys.stdin.read(LONGEST_NOTE * 4) if text == ["-"] else " ".join(text or [])
    refuse_secrets(words)  # before a database is made for it
    with open_daemon_store(config, create=True) as store:
        added = leave_note(store, competition, words, login_name())
        _report(store, _as_record(added), f"note {added.id} for {competition} saved", json=json)


def pause(competition: Competition, config: Config = None, json: Json = False) -> None:
    """Pause a competition: running scripts finish, polling continues.

    Example: bot pause titanic
    """
    _change(config, competition, "paused", json=json)


def unpause(competition: Competition, config: Config = None, json: Json = False) -> None:
    """Continue a competition that was paused or stopped.

    Example: bot unpause titanic
    """
    _change(config, competition, "running", json=json)


def stop(competition: Competition, config: Config = None, json: Json = False) -> None:
    """Stop a competition: write its result and report, submit nothing more.

    Example: bot stop titanic
    """
    _change(config, competition, "stopped", json=json)


def _change(config: Path | None, competition: str, state: ControlState, *, json: bool) -> None:
    _check_configured(config, competition)
    with open_daemon_store(config, create=True) as store:
        before = order(store, competition, state, login_name())
        changed = before != state
        message = f"{competition} is now {state} (was {before})" if changed else f"{competition} is already {state}"
        record = {"competition": competition, "state": state, "before": before, "changed": changed}
        _report(store, record, message, json=json)


def _check_configured(config: Path | None, competition: str) -> None:
    """Refuse an order that the daemon would never read."""
    file = settings_file(config)
    slugs = sorted(configured(file).competitions)
    if competition in slugs:
        return
    if file is None:
        raise UsageError(f"no bot.toml here, so {competition} is not configured: pass the file with --config")
    raise UsageError(f"{competition} is not configured in {file}: {did_you_mean(competition, slugs)}")


def _as_record(row: Note) -> dict[str, Any]:
    return {"competition": row.competition, "note": row.id, "text": row.text, "at": iso(row.at), "by": row.by}


def _show_notes(store: Store, competition: str, *, json: bool) -> None:
    with store.read() as session:
        all_notes = notes(session, competition, store.clock.as_of())
    for row in all_notes:
        if json:
            print_json(_as_record(row))
        else:
            typer.echo(f"note {row.id}, {row.at:%Y-%m-%d %H:%M} UTC, {row.by}:")
            typer.echo("".join(f"  {line}\n" for line in row.text.splitlines()), nl=False)
    if not all_notes and not json:
        typer.echo(f"no notes for {competition}")


def _report(store: Store, facts: dict[str, Any], message: str, *, json: bool) -> None:
    running = daemon_is_running(store)
    when = "the daemon will see it within seconds" if running else "it takes effect when the daemon starts"
    record = {**facts, "database": str(store.path), "daemon_running": running}
    print_result(record, f"{message}; {when}", json=json)
