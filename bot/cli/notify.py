"""`bot notify`: send a test message to each of the owner's services."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.configured import configured
from bot.cli.options import Config
from bot.cli.output import print_json
from state.clock import SystemClock
from state.errors import NotificationFailed, UsageError

if TYPE_CHECKING:
    from bot.notify import Notice
    from bot.notify.services import AppriseNotifier

notify_app = typer.Typer(name="notify", help="Messages to the owner.", no_args_is_help=True)


@notify_app.callback()
def _notify() -> None:
    """Messages to the owner."""


@notify_app.command()
def test(
    config: Config = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object per service")] = False,
) -> None:
    """Send one message to each service in the table `notify`, and show which accepted it. Exits with 1 if one did not.

    Example: bot notify test
    """
    # Imported here: no other command should pay for these imports.
    from bot.notify.events import Trial
    from bot.notify.services import open_services

    settings = configured(config).notify
    if not settings.services:
        raise UsageError('there is no service to test: name one in bot.toml, [notify] services = ["SLACK_URL"]')
    services = open_services(settings)
    notice = Trial(SystemClock().now()).notice()
    outcomes = asyncio.run(_try_all(services, notice))
    for name, outcome in outcomes.items():
        shown = services[name].shown
        if json:
            print_json({"service": name, "address": shown, "arrived": outcome is None, "error": outcome})
        else:
            typer.echo(f"{name:20} {shown}: {'accepted' if outcome is None else f'failed: {outcome}'}")
    if any(outcome is not None for outcome in outcomes.values()):
        raise typer.Exit(1)


async def _try_all(services: "dict[str, AppriseNotifier]", notice: "Notice") -> dict[str, str | None]:
    return dict(zip(services, await asyncio.gather(*(_try(one, notice) for one in services.values())), strict=True))


async def _try(service: "AppriseNotifier", notice: "Notice") -> str | None:
    """Return why the service did not accept it; None: it did."""
    try:
        await service.send(notice)
    except NotificationFailed as error:
        return str(error)
    return None
