"""The check of Kaggle: is there a key, whose is it, and which competitions has that user entered?"""

import asyncio
from contextlib import suppress

from bot.doctor import Check
from scrapers.kaggle.account import who_am_i
from scrapers.kaggle.client import open_client
from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.credentials import Credentials, find_credentials
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.settings import KaggleSection, Patience
from state.clock import SystemClock
from state.errors import KaggleError, SiteUnavailable, UsageError

__all__ = ["check_kaggle"]

_PART = "kaggle"
_MOST_NAMED = 5
_PATIENCE = Patience(attempts=1, connect=5.0, silence=10.0, whole=15.0)


def check_kaggle(section: KaggleSection, *, needed: bool = False) -> Check:
    """Ask Kaggle who we are, with two questions, and change nothing; `needed` is whether competitions are configured."""
    try:
        credentials = find_credentials()
    except UsageError as error:
        if needed:
            return Check(
                _PART, "fails", "no key: the configured competitions can neither be read nor entered", str(error)
            )
        return Check(_PART, "warning", "no key: past competitions can be replayed, running ones not read", str(error))
    try:
        return asyncio.run(_asked(section.model_copy(update={"patience": _PATIENCE}), credentials))
    except KaggleError as error:
        return Check(_PART, "fails", f"the key from {credentials.source} does not work", credentials.hide(str(error)))
    except SiteUnavailable as error:
        return Check(_PART, "fails", f"{section.url} does not answer", credentials.hide(str(error)))
    except UsageError as error:
        return Check(_PART, "fails", "[kaggle] url cannot be used", str(error))


async def _asked(section: KaggleSection, credentials: Credentials) -> Check:
    async with open_client(section, SystemClock(), Tally(), lambda: credentials) as client:
        name = credentials.user or "its user"
        if credentials.user is None:
            with suppress(KaggleError):  # of some tokens it tells nothing, and they work
                name = (await who_am_i(client, credentials.secret)).username or name
        entered = [competition.slug async for competition in Competitions(client).entered()]
    names = ", ".join(entered[:_MOST_NAMED]) + (" and more" if len(entered) > _MOST_NAMED else "")
    found = f"the key from {credentials.source}: {name}, who has entered {len(entered)} competitions"
    return Check(_PART, "ok", f"{found} ({names})" if entered else found)
