"""Checks of Kaggle: is there a key, whose is it, and can the bot compete in the configured competitions?"""

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from bot.configuration.competition import CompetitionSettings
from bot.doctor import Finding
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.disk_space import free_bytes
from bot.execution.own_grader import check_grader
from bot.extensions import extension
from bot.live.kinds import IF_WRONG, kinds_of
from bot.live.services import competition_folder
from scrapers.kaggle.account import who_am_i
from scrapers.kaggle.card.derive import derive
from scrapers.kaggle.card.task import read_evidence
from scrapers.kaggle.client import KaggleClient, open_client, open_http
from scrapers.kaggle.competitions import Competitions, KaggleCompetition
from scrapers.kaggle.credentials import Credentials, find_credentials
from scrapers.kaggle.data import CompetitionData
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.settings import KaggleSection, Timeouts
from state.clock import Clock, SystemClock
from state.errors import Forbidden, KaggleError, NotFound, SiteUnavailable, UsageError
from state.words import did_you_mean, plural

_MAX_NAMES, _MAX_FIELDS = 5, 3
_OF_DATA = frozenset(("id_column", "key_columns", "prediction_columns", "sample_submission"))
"""Fields that the data settles, which a check does not fetch."""
_TIMEOUTS = Timeouts(attempts=1, connect=5.0, read=10.0, total=15.0)


def check_kaggle(
    section: KaggleSection,
    competitions: Mapping[str, CompetitionSettings],
    clock: Clock | None = None,
    *,
    rehearsal: bool = False,
    state: Path = Path(),
) -> Iterator[Finding]:
    """Ask Kaggle who we are and about each configured competition, and change nothing.

    The clock decides which deadlines have passed; None: the machine's, or in a rehearsal that of the simulated
    site. `state` is the daemon's folder.
    """
    try:
        credentials = find_credentials()
    except UsageError as error:
        finding = f"no Kaggle key: {'cannot read the configured competitions' if competitions else 'only replays work'}"
        yield Finding("kaggle", "fails" if competitions else "warning", finding, str(error))
        return

    async def ask() -> list[Finding]:
        quick = section.model_copy(update={"timeouts": _TIMEOUTS})
        async with open_client(quick, SystemClock(), Tally(), lambda: credentials) as client:
            account = await _account(client, credentials)
            site, now_by = Competitions(client), clock or SystemClock()
            if rehearsal and clock is None:
                async with open_http(_TIMEOUTS) as http:
                    now_by = await extension("clocks", "rehearsal")(http, section.url)
            findings = [await _check_competition(site, *table, now_by, state) for table in competitions.items()]
            return [account, *findings]

    try:
        yield from asyncio.run(ask())
    except KaggleError as error:
        finding, fix = f"the key from {credentials.source} does not work", credentials.hide(str(error))
        yield Finding("kaggle", "fails", finding, fix)
    except SiteUnavailable as error:
        yield Finding("kaggle", "fails", f"{section.url} does not answer", credentials.hide(str(error)))
    except UsageError as error:
        yield Finding("kaggle", "fails", "[kaggle] url is invalid", str(error))


async def _account(client: KaggleClient, credentials: Credentials) -> Finding:
    name = credentials.user or "its user"
    if credentials.user is None and credentials.refresh is None:  # the client renews that one by itself
        with suppress(KaggleError):  # Kaggle does not know the user of some tokens that work
            name = (await who_am_i(client, credentials.secret)).username or name
    slugs = [competition.slug async for competition in Competitions(client).list_entered()]
    names = ", ".join(slugs[:_MAX_NAMES]) + (" and more" if len(slugs) > _MAX_NAMES else "")
    result = f"the key from {credentials.source} works; {name} has entered {plural(len(slugs), 'competition')}"
    return Finding("kaggle", "ok", f"{result} ({names})" if slugs else result)


async def _check_competition(
    site: Competitions, slug: str, settings: CompetitionSettings, clock: Clock, state: Path
) -> Finding:
    try:
        competition = await site.get(slug)
        is_begun = CompetitionData(site.client, slug, competition_folder(state, slug)).is_begun
        room = None if is_begun else free_bytes(state)
        kinds = await kinds_of(site.client, competition, room)
        unsupported_kind = next((kind for kind in kinds if not kind.worked_on), None)
        if unsupported_kind is not None and settings.kind != "csv":
            result = f"{'' if competition.user_has_entered else 'not entered; '}it {unsupported_kind}"
            return Finding(slug, "warning", result, f"the bot cannot compete in it; {IF_WRONG.format(slug=slug)}")
        obstacles = _obstacles(competition, slug, settings, clock)
        finding = next(obstacles, None) or await _check_card(site, slug, settings)
        return replace(finding, result="; it ".join((finding.result, *map(str, kinds))))
    except (NotFound, Forbidden):
        # Kaggle gives the same answer for a wrong name and for some competitions that were not entered.
        fix = f"check [competitions.{slug}] in bot.toml: the name must be the last part of the competition's address"
        fix += f"{await _meant(site, slug)}; or {_enter(slug)}"
        return Finding(slug, "fails", "not found on Kaggle, or you have not entered it", fix)
    except (KaggleError, SiteUnavailable) as error:
        return Finding(slug, "warning", f"cannot check it: {error}", "see the kaggle result above, or try again")


def _obstacles(
    competition: KaggleCompetition, slug: str, settings: CompetitionSettings, clock: Clock
) -> Iterator[Finding]:
    """Yield what keeps the bot from competing, or from using your settings."""
    if not competition.user_has_entered:
        yield Finding(slug, "fails", "not entered, so the bot cannot download data or submit", _enter(slug))
    if competition.deadline is not None and competition.deadline <= clock.now():
        finding = f"the deadline passed on {competition.deadline:%Y-%m-%d %H:%M} UTC"
        yield Finding(slug, "warning", finding, f"remove [competitions.{slug}] from bot.toml if you no longer need it")
    if settings.submit and competition.submissions_disabled:
        yield Finding(slug, "warning", "it does not currently accept submissions", "set submit = false")
    if settings.grader is not None:
        try:
            check_grader(settings.grader)
        except UsageError as error:
            yield Finding(slug, "fails", str(error), f"fix it, or set a different grader under [competitions.{slug}]")
    if settings.notes is not None and not os.access(settings.notes, os.R_OK | os.X_OK):
        fix = f"create it, make it readable by the bot's user, or set a different folder under [competitions.{slug}]"
        yield Finding(slug, "warning", f"cannot read the notes folder {settings.notes}", fix)


async def _check_card(site: Competitions, slug: str, settings: CompetitionSettings) -> Finding:
    missing = derive(await read_evidence(site, slug), METRIC_DIRECTIONS, settings.card).missing
    unknown = [gap for gap in missing if gap.field not in _OF_DATA]
    if not unknown:
        finding = "entered; the task spec is complete" + (", except for details in the data" if missing else "")
        return Finding(slug, "ok", finding)
    if settings.metric is None and {gap.field for gap in unknown} == {"metric"}:
        fix = f"confirm it when the bot asks, or add this to bot.toml: {unknown[0].brief or unknown[0].line}"
        return Finding(slug, "warning", f"entered, but you need to confirm the metric: {unknown[0].reason}", fix)
    reasons = "; ".join(f"{gap.field}: {gap.reason}" for gap in unknown[:_MAX_FIELDS])
    fix = f"add under [competitions.{slug}] in bot.toml: {', '.join(gap.line for gap in unknown)}"
    return Finding(slug, "fails", f"parts of the task spec are uncertain: {reasons}", fix)


async def _meant(site: Competitions, slug: str) -> str:
    """Return the entered competition that was meant, or else all of them; nothing where they cannot be listed."""
    try:
        entered_slugs = [competition.slug async for competition in site.list_entered()]
    except (KaggleError, SiteUnavailable):
        return ""
    return f" (among the ones you have entered: {did_you_mean(slug, entered_slugs)})"


def _enter(slug: str) -> str:
    return f"enter it and accept its rules: https://www.kaggle.com/competitions/{slug}/rules"
