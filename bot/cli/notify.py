"""`bot notify`: send a test message to each of the owner's services."""

import asyncio
from typing import Annotated, Any

import typer

from bot.cli.configured import configured
from bot.cli.options import Config
from bot.cli.output import print_json
from bot.notify import Notice
from bot.notify.services import AppriseNotifier, open_services
from bot.notify.wording import render
from state.clock import SystemClock
from state.errors import NotificationFailed, UsageError
from state.tables import Letter

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
    settings = configured(config).notify
    if not settings.services:
        raise UsageError('no service to test: name one in bot.toml, [notify] services = ["SLACK_URL"]')
    services = open_services(settings)
    now = SystemClock().now()
    notice = Notice("notify.trial", "", {"at": now})
    title, body = render(notice)
    content: dict[str, Any] = {"key": notice.key, "kind": notice.kind, "title": title, "body": body}
    letter = Letter(service="", **content, created_at=now, due_at=now)
    outcomes = asyncio.run(_try_all(services, letter))
    for name, outcome in outcomes.items():
        kind = services[name].service
        if json:
            print_json({"service": name, "kind": kind, "arrived": outcome is None, "error": outcome})
        else:
            typer.echo(f"{name:20} {kind}: {'accepted' if outcome is None else f'failed: {outcome}'}")
    if any(outcome is not None for outcome in outcomes.values()):
        raise typer.Exit(1)


async def _try_all(services: dict[str, AppriseNotifier], letter: Letter) -> dict[str, str | None]:
    return dict(zip(services, await asyncio.gather(*(_try(s, letter) for s in services.values())), strict=True))


async def _try(service: AppriseNotifier, letter: Letter) -> str | None:
    """Return why the service did not accept it; None: it did."""
    try:
        await service.send(letter)
    except NotificationFailed as error:
        return str(error)
    return None
