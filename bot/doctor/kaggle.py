"""The checks of Kaggle: is there a key, whose is it, and can the bot compete in the configured competitions?"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bot.configuration.competition import CompetitionSettings
from bot.doctor import Check
from bot.doctor.competitions import check_competitions
from scrapers.kaggle.account import who_am_i
from scrapers.kaggle.client import KaggleClient, open_client, open_http
from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.credentials import Credentials, find_credentials
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.rehearsal_clock import site_clock
from scrapers.kaggle.settings import KaggleSection, Patience
from state.clock import Clock, SystemClock
from state.errors import KaggleError, SiteUnavailable, UsageError

_PART = "kaggle"
_MOST_NAMED = 5
_PATIENCE = Patience(attempts=1, connect=5.0, silence=10.0, whole=15.0)


def check_kaggle(
    section: KaggleSection,
    competitions: Mapping[str, CompetitionSettings],
    clock: Clock | None = None,
    *,
    rehearsal: bool = False,
    state: Path = Path(),
) -> list[Check]:
    """Ask Kaggle who we are and about each configured competition, and change nothing.

    Args:
        section: `[kaggle]` of bot.toml.
        competitions: its tables `[competitions.SLUG]`.
        clock: decides which deadlines have passed; None: the machine's, or the stand-in site's.
        rehearsal: whether the site is the stand-in.
        state: the daemon's folder.
    """
    try:
        credentials = find_credentials()
    except UsageError as error:
        if competitions:
            return [Check(_PART, "fails", "no key: no configured competition can be read or entered", str(error))]
        return [Check(_PART, "warning", "no key: past competitions can be replayed, running ones not read", str(error))]

    async def asked() -> list[Check]:
        patient = section.model_copy(update={"patience": _PATIENCE})
        async with open_client(patient, SystemClock(), Tally(), lambda: credentials) as client:
            account = await _account(client, credentials)
            now_by = clock or (await _clock_of_site(section.url) if rehearsal else SystemClock())
            return [account, *await check_competitions(client, competitions, now_by, state)]

    try:
        return asyncio.run(asked())
    except KaggleError as error:
        found, fix = f"the key from {credentials.source} does not work", credentials.hide(str(error))
    except SiteUnavailable as error:
        found, fix = f"{section.url} does not answer", credentials.hide(str(error))
    except UsageError as error:
        found, fix = "[kaggle] url cannot be used", str(error)
    return [Check(_PART, "fails", found, fix)]


async def _account(client: KaggleClient, credentials: Credentials) -> Check:
    name = credentials.user or "its user"
    if credentials.user is None and credentials.refresh is None:  # the client renews that one by itself
        with suppress(KaggleError):  # Kaggle does not know the user of some tokens that work
            name = (await who_am_i(client, credentials.secret)).username or name
    entered = [competition.slug async for competition in Competitions(client).entered()]
    names = ", ".join(entered[:_MOST_NAMED]) + (" and more" if len(entered) > _MOST_NAMED else "")
    found = f"the key from {credentials.source}: {name}, who has entered {len(entered)} competitions"
    return Check(_PART, "ok", f"{found} ({names})" if entered else found)


async def _clock_of_site(url: str) -> Clock:
    async with open_http(_PATIENCE) as http:
        return await site_clock(http, url)
