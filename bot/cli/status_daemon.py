"""`bot status` of the daemon: what its database says, for a person or as JSON."""

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


def look(store: Store, question: Question) -> dict[str, Any]:
    """Return how the daemon and its competitions stand, or those of some names alone: all of it, or as a page.

    Raises:
        UsageError: one of the names is no competition's.
        ConfigurationError: the configuration is wrong.
        StateCorrupted: the database is damaged.
        StateUnavailable: it cannot be used now.
    """
    settings = read_settings(Path(question.file) if question.file else None)
    found, names = status_of(store, Allowance(settings.budget, settings.competitions)), question.names
    if names:
        known = [one.competition for one in found.competitions]
        if unknown := next((name for name in names if name not in known), None):
            listed = f"they are {', '.join(known)}" if known else "it has none"
            raise UsageError(f"{unknown} is neither a folder nor a competition of the daemon: {listed}")
        found = replace(found, competitions=tuple(one for one in found.competitions if one.competition in names))
    return as_json(found) if question.json else asdict(_page(found))


def _page(found: Status) -> Page:
    above = list(daemon_lines(found.daemon))
    if not found.competitions:
        return Page([*above, "there are no competitions: each is a table [competitions.SLUG] of bot.toml"])
    return Page(
        above,
        [COLUMNS, *map(row, found.competitions)],
        [line for one in found.competitions for line in detail_lines(one, found.daemon.now)],
    )
