"""`bot init`: write and check a bot.toml for one competition."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.configuration import model_settings
from bot.cli.doctor import all_checks, show_findings
from bot.cli.keys import KAGGLE, ask_for_key, place_of
from bot.configuration import Settings, read_settings
from bot.configuration.example import FirstFile
from bot.models import Usage
from bot.models.pricing import Pricing
from bot.models.settings import ModelChoice
from sandbox import BackEndChoice
from sandbox.choose import choose
from sandbox.environments import chosen_environment
from scrapers.kaggle.client import open_client
from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.credentials import Credentials, find_credentials
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.settings import KAGGLE as SITE
from scrapers.kaggle.settings import KaggleSection
from state.clock import SystemClock
from state.errors import UsageError
from state.own_keys import save_key
from state.words import did_you_mean, slug_of

if TYPE_CHECKING:
    from scrapers.kaggle.competitions import KaggleCompetition

_MAX_COST_PER_DAY = 5.0
"""USD; the cap on a model that has a price, unless another is named."""
_REHEARSAL = Path("rehearsal")


def init(
    competition: Annotated[
        str | None,
        typer.Argument(
            parser=slug_of,
            metavar="competition",
            help="name of the competition (default: your only one; asks if you have several)",
            show_default=False,
        ),
    ] = None,
    config: Annotated[Path, typer.Option(help="file to write")] = Path("bot.toml"),
    url: Annotated[str, typer.Option(help="address of Kaggle or of `bot rehearse`")] = SITE,
    model: Annotated[
        str | None, typer.Option(help="builtin or openai:NAME (default: openai if its key is set)", show_default=False)
    ] = None,
    max_cost_per_day: Annotated[
        float | None,
        typer.Option(min=0, help="daily spending cap in USD (default: 5 if the model has a price)", show_default=False),
    ] = None,
    env: Annotated[
        bool | None,
        typer.Option("--env/--no-env", help="install packages for scripts (default: ask)", show_default=False),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask: use options and defaults")] = False,
) -> None:
    """Write and check a bot.toml for a competition that you have entered.

    Submissions wait for your approval (`approve = "ask"`). On a terminal, it asks for values that the options do not give.
    Exits with 1 if a check fails; the file is written anyway.

    Example: bot init spooky-author-identification --model openai:gpt-5-mini --yes
    """
    if config.exists():
        raise UsageError(f"{config} already exists: edit it, or pass a different file with --config")
    asks = sys.stdin.isatty() and not yes
    is_rehearsal = url != SITE
    key = _credentials(asks=asks and not is_rehearsal)
    choice = _model(model, asks=asks)
    competitions = asyncio.run(_entered_competitions(KaggleSection(url=url), key))
    slug = _choose_competition(competition, competitions, url, asks=asks)
    if max_cost_per_day is None and choice.kind == "openai" and choice.name is not None:
        is_priced = Pricing().cost(choice.name, Usage(prompt_tokens=1, completion_tokens=1))
        max_cost_per_day = _MAX_COST_PER_DAY if is_priced else None
    first = FirstFile(
        competition=slug,
        model=choice.name if choice.kind == "openai" else "builtin",
        money_a_day=max_cost_per_day,
        sandbox=_sandbox(choice),
        site=url if is_rehearsal else None,
        state=_REHEARSAL if is_rehearsal else None,
    )
    config.write_text(first.text(), encoding="utf-8")
    typer.echo(f"{config}:\n\n{first.text()}")
    _make_environment(config, env, asks=asks)
    is_fine = show_findings(all_checks(Path("runs"), config.resolve()))
    if key.variables is not None and not is_rehearsal:
        typer.echo(
            f"\nthe Kaggle key comes from this shell's {key.variables}: set it for `bot run` too, or run `bot keys set {KAGGLE}`"
        )
    option = "" if config == Path("bot.toml") else f" --config {config}"
    typer.echo(f"\nnext: {'' if is_fine else 'fix the failed checks, then '}bot run{option}")
    typer.echo(f"then, in another shell: bot status{option}, and bot approve for each file awaiting approval")
    if not is_fine:
        raise typer.Exit(1)


def _credentials(*, asks: bool) -> Credentials:
    try:
        return find_credentials()
    except UsageError as error:
        if not asks:
            raise UsageError(f"{error} `bot keys set {KAGGLE}` stores it for you.") from None
    typer.echo("No Kaggle key yet: create one at kaggle.com/settings/api.")
    save_key(place_of(KAGGLE), ask_for_key(KAGGLE))
    return find_credentials()


async def _entered_competitions(section: KaggleSection, credentials: Credentials) -> "list[KaggleCompetition]":
    """Return the competitions that this user has entered and that still run, the next deadline first."""
    async with open_client(section, SystemClock(), Tally(), lambda: credentials) as client:
        competitions = [c async for c in Competitions(client).list_entered()]
    running = [c for c in competitions if not (c.deadline and c.served_at and c.deadline <= c.served_at)]
    return sorted(running, key=lambda c: (c.deadline is None, str(c.deadline)))


def _choose_competition(slug: str | None, competitions: "list[KaggleCompetition]", url: str, *, asks: bool) -> str:
    slugs = [c.slug for c in competitions]
    if slug is not None:
        if slug not in slugs:
            raise UsageError(
                f"{slug} is not one of the active competitions that you have entered ({did_you_mean(slug, slugs)}): "
                f"enter it and accept its rules at {KaggleSection(url=url).page_of(slug, 'rules')}"
            )
        return slug
    if not slugs:
        raise UsageError("you have not entered any active competition: enter one on kaggle.com and accept its rules")
    if len(slugs) == 1:
        return slugs[0]
    if not asks:
        raise UsageError(f"choose one of your competitions: {', '.join(slugs)}")
    for number, competition in enumerate(competitions, 1):
        end = f"{competition.deadline:%Y-%m-%d}" if competition.deadline else "no deadline"
        typer.echo(f"{number:3}  {end}  {competition.slug}")
    number = 0
    while not 1 <= number <= len(slugs):
        number = typer.prompt(f"which competition (1 to {len(slugs)})", type=int)
    return slugs[number - 1]


def _model(name: str | None, *, asks: bool) -> ModelChoice:
    """Return the model: the one that is named, else that of the environment."""
    models = model_settings(Settings())
    try:
        choice = models.resolve(name)
    except UsageError as error:
        if name is not None or not asks:
            raise
        typer.echo(str(error))
        choice = models.resolve(f"openai:{typer.prompt('model name')}")
    if choice.kind == "recorded":
        raise UsageError("--model must be builtin or openai:NAME: a recording cannot compete")
    return choice


def _sandbox(choice: ModelChoice) -> BackEndChoice:
    """Return the first back end that works here; `auto` where none does, which the doctor then explains."""
    try:
        return choose("auto", trusted=choice.kind == "builtin").describe().name
    except UsageError:
        return "auto"


def _make_environment(config: Path, is_wanted: bool | None, *, asks: bool) -> None:
    settings = read_settings(config.resolve()).sandbox
    if chosen_environment(settings.environments_folder, settings.environment) is not None:
        return
    if is_wanted is None and asks:
        is_wanted = typer.confirm("Install packages for scripts (LightGBM, XGBoost and others; takes minutes)?")
    if not is_wanted:
        typer.echo("until you run `bot env create`, scripts use the bot's own packages\n")
        return
    from bot.cli.env import create

    create(config=config)
