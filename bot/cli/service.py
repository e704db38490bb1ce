"""`bot service`: install the bot as a systemd service, show its status, uninstall it."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.options import Json
from bot.cli.output import print_json
from bot.service.layout import CREDENTIALS, PROGRAM, SERVICE, Layout
from state.errors import UsageError

if TYPE_CHECKING:
    from bot.service.status import ServiceStatus
    from bot.service.systemd import Systemd

service_app = typer.Typer(name="service", help="The bot as a systemd service.", no_args_is_help=True)

Root = Annotated[
    Path | None, typer.Option(help="write files below this folder, as for a package, and touch nothing else")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="only show what would be done")]


@service_app.command()
def install(
    root: Root = None,
    program: Annotated[
        Path | None, typer.Option(help=f"the `bot` that the service runs; default: this one, or {PROGRAM} with --root")
    ] = None,
    docker: Annotated[
        bool | None, typer.Option("--docker/--no-docker", help="may use the Docker engine; default: as installed")
    ] = None,
    gpu: Annotated[
        bool | None, typer.Option("--gpu/--no-gpu", help="may use NVIDIA's GPUs; default: as installed")
    ] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Install units, a user, folders and a first bot.toml, or update them; safe to run again.

    bot.toml, the environment file and the credentials are created once and never changed. Only the timer is started.

    Example: sudo /opt/kaggle-bot/bin/bot service install --docker
    """
    from bot.service.changes import make
    from bot.service.installing import install as changes
    from bot.service.installing import install_options

    layout = _layout(root)
    named = _program(program, layout)
    systemd = _systemd(layout, dry_run=dry_run)
    options = install_options(layout, named, docker=docker, gpu=gpu)
    done = list(make(changes(layout, options, _configuration(), systemd), dry_run=dry_run))
    _report(done, dry_run=dry_run, json=json)
    if systemd and not json and not dry_run:
        for step in _next_steps(layout, systemd, changed=bool(done)):
            typer.echo(step)


@service_app.command()
def uninstall(
    root: Root = None,
    purge: Annotated[
        bool, typer.Option("--purge", help="remove configuration, credentials, database, data and runs too")
    ] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Stop the service and remove what was installed; configuration and state stay, unless --purge is given.

    Example: sudo /opt/kaggle-bot/bin/bot service uninstall --purge --dry-run
    """
    from bot.service.changes import make
    from bot.service.installing import uninstall as changes

    layout = _layout(root)
    systemd = _systemd(layout, dry_run=dry_run)
    done = list(make(changes(layout, systemd, purge=purge), dry_run=dry_run))
    _report(done, dry_run=dry_run, json=json)
    if not (json or purge) and layout.configuration.is_dir():
        typer.echo(f"{layout.configuration} and {layout.state} stay; --purge removes them as well")


@service_app.command()
def status(json: Json = False) -> None:
    """Show whether the service is installed and runs, and what is wrong. Exits with 1 if it does not run.

    Example: bot service status
    """
    from bot.service.status import service_status
    from bot.service.systemd import Systemd

    systemd = Systemd()
    systemd.check()
    found = service_status(Layout(), systemd)
    if json:
        print_json(asdict(found))
    else:
        for line in _lines(found):
            typer.echo(line)
    if not found.active:
        raise typer.Exit(1)


def _layout(root: Path | None) -> Layout:
    return Layout() if root is None else Layout(root.absolute())


def _program(given: Path | None, layout: Layout) -> Path:
    """Return the program that units name; raises UsageError if the service could not read it."""
    from bot.service.program import check_readable, parts_of_this, this_program

    if not layout.is_machine:
        return given or PROGRAM
    check_readable(parts_of_this() if given is None else (given,))
    return this_program() if given is None else given.absolute()


def _systemd(layout: Layout, *, dry_run: bool) -> "Systemd | None":
    from bot.service.systemd import Systemd

    if not layout.is_machine:
        return None
    systemd = Systemd()
    systemd.check()
    if os.geteuid() != 0 and not dry_run:
        raise UsageError("only root may change a machine's services: run it with sudo, or first with --dry-run")
    return systemd


def _configuration() -> str:
    """Return the first bot.toml; it names the state folder, so that `bot status` and others find it, too."""
    from bot.configuration import Settings
    from bot.configuration.daemon import DaemonSettings
    from bot.configuration.example import example

    return example(Settings(daemon=DaemonSettings(dir=Layout().state)))


def _report(done: Sequence[str], *, dry_run: bool, json: bool) -> None:
    if json:
        print_json({"dry_run": dry_run, "changes": list(done)})
        return
    for sentence in done:
        typer.echo(f"would {sentence}" if dry_run else sentence)
    if not done:
        typer.echo("everything is up to date: nothing to change")


def _next_steps(layout: Layout, systemd: "Systemd", *, changed: bool) -> Iterator[str]:
    if not (layout.credentials / CREDENTIALS[0]).read_bytes().strip():
        yield f"next: put your Kaggle API token in {layout.credentials / CREDENTIALS[0]}, other keys beside it"
        yield f"next: name your competitions in {layout.bot_toml}; `bot config check {layout.bot_toml}` reads it"
    if not systemd.is_active(SERVICE):
        yield f"next: systemctl start {SERVICE}"
    elif changed:
        yield f"next: systemctl restart {SERVICE}, for the changes to take effect"


def _lines(found: "ServiceStatus") -> Iterator[str]:
    if found.installed:
        yield f"{SERVICE}: {found.state}{f' since {found.since}' if found.active else ''}"
    if found.status_text:
        yield f"its status: {found.status_text}"
    if found.active:
        memory = "" if found.memory_bytes is None else f", {found.memory_bytes / 1e6:.0f} MB of memory with its scripts"
        yield f"process {found.process}, restarted {found.restarts} times{memory}"
    if found.installed:
        yield f"{'starts' if found.starts_with_machine else 'does not start'} with the machine"
        yield f"drop-ins: {', '.join(found.drop_ins) or 'none'}"
        yield f"next prune: {found.next_prune or 'never'}"
    for name, filled in (found.credentials or {}).items():
        yield f"credential {name}: {'there' if filled else 'empty'}"
    for problem in found.problems:
        yield f"problem: {problem}"
