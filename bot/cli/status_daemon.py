"""`bot status` of the daemon, from its database, for a person or as JSON."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bot.cli.daemon_reading import as_json
from bot.cli.status_lines import COLUMNS, daemon_lines, detail_lines, row
from bot.cli.status_page import Page
from bot.configuration import read_settings
from bot.status.accounts import Allowance
from bot.status.asking import Question
from bot.status.status import Status, status_of
from state.errors import UsageError
from state.store import Store
from state.words import did_you_mean


def look(store: Store, question: Question) -> dict[str, Any]:
    """Return the status of the daemon and its competitions, or only the named ones: as data, or as a page.

    Raises UsageError if a name is not a competition's, and what reading the configuration and the database raises.
    """
    settings = read_settings(Path(question.file) if question.file else None)
    found, names = status_of(store, Allowance(settings.budget, settings.competitions)), question.names
    if names:
        known = [one.competition for one in found.competitions]
        if unknown := next((name for name in names if name not in known), None):
            near = did_you_mean(unknown, known)
            raise UsageError(f"{unknown} is neither a folder nor a competition of the daemon: {near}")
        found = replace(found, competitions=tuple(one for one in found.competitions if one.competition in names))
    return as_json(found) if question.json else asdict(_page(found))


def _page(found: Status) -> Page:
    above = list(daemon_lines(found.daemon, found.competitions))
    if not found.competitions:
        return Page([*above, "there are no competitions: add a table [competitions.SLUG] to bot.toml"])
    return Page(
        above,
        [COLUMNS, *map(row, found.competitions)],
        [
            line
            for one in found.competitions
            for line in detail_lines(one, found.daemon.now, running=found.daemon.running)
        ],
    )
