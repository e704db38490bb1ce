"""`bot notify`: send a test message to each of the owner's services."""

import asyncio
from typing import Any

import typer

from bot.cli.configuration import configured
from bot.cli.options import Config, Json
from bot.cli.output import print_json
from bot.notify import Notice
from bot.notify.services import AppriseNotifier, open_services
from bot.notify.wording import render
from state.clock import SystemClock
from state.errors import NotificationFailed, UsageError
from state.tables import Letter

notify_app = typer.Typer(name="notify", help="Test your notification services.", no_args_is_help=True)


@notify_app.callback()
def _notify() -> None:
    """Test your notification services."""


@notify_app.command()
def test(
    config: Config = None,
    json: Json = False,
) -> None:
    """Send a message to each configured service, and show which accepted it.

    Exits with 1 if a service did not.
    """
    settings = configured(config).notify
    if not settings.services:
        raise UsageError('no service to test: add one under [notify] in bot.toml, such as services = ["SLACK_URL"]')
    services = open_services(settings)
    now = SystemClock().now()
    notice = Notice("notify.trial", "", {"at": now})
    title, body = render(notice)
    content: dict[str, Any] = {"key": notice.key, "kind": notice.kind, "title": title, "body": body}
    letter = Letter(service="", **content, created_at=now, due_at=now)

    async def send(service: AppriseNotifier) -> str | None:
        try:
            await service.send(letter)
        except NotificationFailed as error:
            return str(error)
        return None

    async def send_to_all() -> list[str | None]:
        return await asyncio.gather(*map(send, services.values()))

    errors = asyncio.run(send_to_all())
    for (name, service), error in zip(services.items(), errors, strict=True):
        if json:
            print_json({"service": name, "kind": service.service, "arrived": error is None, "error": error})
        else:
            typer.echo(f"{name:20} {service.service}: {'accepted' if error is None else f'failed: {error}'}")
    if any(errors):
        raise typer.Exit(1)
