"""The check of configured competitions: has this user entered each, and is its task card certain?"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bot.configuration.competition import CompetitionSettings
from bot.doctor import Check, nearest
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.own_grader import check_grader
from bot.live.kinds import IF_WRONG, kinds_of
from bot.live.shared import competition_folder
from scrapers.kaggle.card.derive import derive
from scrapers.kaggle.card.task import read_evidence
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.competitions import Competition, Competitions
from scrapers.kaggle.data import CompetitionData
from state.clock import Clock
from state.errors import Forbidden, KaggleError, NotFound, SiteUnavailable, UsageError
from state.words import did_you_mean

_MOST_LINES = 3


_OF_DATA = frozenset(("id_column", "key_columns", "prediction_columns", "sample_submission"))
"""Fields that the data settles, which a check does not fetch."""


async def check_competitions(
    client: KaggleClient, competitions: Mapping[str, CompetitionSettings], clock: Clock, state: Path
) -> list[Check]:
    """Ask Kaggle a few questions about each, and change nothing.

    Args:
        client: asks Kaggle.
        competitions: the tables `[competitions.SLUG]` of bot.toml.
        clock: decides which deadlines have passed.
        state: the daemon's folder, where data is fetched to.
    """
    site = Competitions(client)
    return [await _or_why_not(site, slug, settings, clock, state) for slug, settings in competitions.items()]


async def _or_why_not(
    competitions: Competitions, slug: str, settings: CompetitionSettings, clock: Clock, state: Path
) -> Check:
    try:
        found = await competitions.get(slug)
        kinds = await kinds_of(competitions.client, found, _room(competitions.client, slug, state))
        refused = next((one for one in kinds if not one.worked_on), None)
        if refused is not None and settings.kind != "csv":
            fix = f"leave it to people; {IF_WRONG.format(slug=slug)}"
            return Check(slug, "warning", f"{'' if found.user_has_entered else 'not entered; '}it {refused}", fix)
        check = await _check(competitions, found, slug, settings, clock)
        return replace(check, found="; it ".join((check.found, *map(str, kinds))))
    except (NotFound, Forbidden):
        # Kaggle gives the same answer for a wrong name and for some competitions that were not entered.
        fix = f"[competitions.{slug}] in bot.toml must be named by the last part of its address"
        fix += f"{await _meant(competitions, slug)}; or {_enter(slug)}"
        return Check(slug, "fails", "Kaggle has no competition of this name, or it is not entered", fix)
    except (KaggleError, SiteUnavailable) as error:
        return Check(slug, "warning", f"could not be checked: {error}", "see the check of kaggle, or try again")


async def _meant(competitions: Competitions, slug: str) -> str:
    """Return the entered competition that was meant, or else all of them; nothing where they cannot be listed."""
    try:
        entered = [one.slug async for one in competitions.entered()]
    except (KaggleError, SiteUnavailable):
        return ""
    return f" (of those that you have entered: {did_you_mean(slug, entered)})"


def _room(client: KaggleClient, slug: str, state: Path) -> int | None:
    is_begun = CompetitionData(client, slug, competition_folder(state, slug)).is_begun
    return None if is_begun else shutil.disk_usage(nearest(state)).free


async def _check(
    competitions: Competitions, found: Competition, slug: str, settings: CompetitionSettings, clock: Clock
) -> Check:
    if obstacle := _obstacle(found, slug, settings, clock):
        return obstacle
    if settings.grader is not None:
        try:
            check_grader(settings.grader)
        except UsageError as error:
            return Check(slug, "fails", str(error), f"fix it, or name another grader below [competitions.{slug}]")
    if settings.notes is not None and not os.access(settings.notes, os.R_OK | os.X_OK):
        fix = f"create it, or let the bot's user read it, or name another one below [competitions.{slug}]"
        return Check(slug, "warning", f"the folder of notes {settings.notes} cannot be read", fix)
    evidence = await read_evidence(competitions, slug)
    missing = derive(evidence, METRIC_DIRECTIONS, settings.card).missing
    open_ = [one for one in missing if one.field not in _OF_DATA]
    if not open_:
        return Check(
            slug, "ok", "entered; its card is certain" + (" except for what the data will show" if missing else "")
        )
    if settings.metric is None and {one.field for one in open_} == {"metric"}:
        fix = f"confirm it when you are asked, or write into bot.toml: {open_[0].brief or open_[0].line}"
        return Check(slug, "warning", f"entered; how it is scored is to be confirmed: {open_[0].why}", fix)
    lines = "; ".join(f"{one.field}: {one.why}" for one in open_[:_MOST_LINES])
    fix = f"write into bot.toml, below [competitions.{slug}]: {', '.join(one.line for one in open_)}"
    return Check(slug, "fails", f"its card is not certain: {lines}", fix)


def _obstacle(found: Competition, slug: str, settings: CompetitionSettings, clock: Clock) -> Check | None:
    """Return what keeps the bot from competing, if anything does."""
    if not found.user_has_entered:
        return Check(slug, "fails", "not entered: nothing can be downloaded or submitted", _enter(slug))
    if found.deadline is not None and found.deadline <= clock.now():
        fix = f"remove [competitions.{slug}] from bot.toml, or leave it: its work is finished"
        return Check(slug, "warning", f"its deadline was {found.deadline:%Y-%m-%d %H:%M} UTC", fix)
    if settings.submit and found.submissions_disabled:
        return Check(slug, "warning", "it takes nothing now, so no file can be sent", "set submit = false")
    return None


def _enter(slug: str) -> str:
    return f"enter it and accept its rules: https://www.kaggle.com/competitions/{slug}/rules"
