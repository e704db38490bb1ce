"""`bot service`: install the bot as a systemd service, show its status, uninstall it."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Annotated

import typer

from bot.service import files
from bot.service.systemd import require_systemd, run_command, service_state

_MACHINE = Path("/")

service_app = typer.Typer(name="service", help="The bot as a systemd service.", no_args_is_help=True)


@service_app.command()
def install(
    root: Annotated[Path, typer.Option(help="write the files under this folder, and do nothing else")] = _MACHINE,
    program: Annotated[
        Path | None, typer.Option(help="`bot` program that the service runs (default: this one)", show_default=False)
    ] = None,
    docker: Annotated[
        bool | None, typer.Option("--docker/--no-docker", help="allow the Docker engine (default: unchanged)")
    ] = None,
    gpu: Annotated[bool | None, typer.Option("--gpu/--no-gpu", help="allow NVIDIA GPUs (default: unchanged)")] = None,
) -> None:
    """Install or update the units, a user, folders and a first bot.toml.

    An existing bot.toml, environment file or credential never changes. Only the timer is started.

    Example: sudo /opt/kaggle-bot/bin/bot service install --docker
    """
    from bot.configuration.example import example

    if root == _MACHINE:
        own_programs = (Path(sysconfig.get_path("scripts")) / "bot", Path(sys.executable))
        files.check_program(*((program,) if program else own_programs))
        require_systemd(root=True)
        program = program or own_programs[0]
    # The first bot.toml names the state folder, so that `bot status` and others find it, too.
    folder = f'dir = "{files.STATE}"'
    configuration = example().replace(f"#{folder}", folder)
    os.umask(0o022)  # the service, an ordinary user, must be able to read its folder
    files.write_files(root, program or files.PROGRAM, {"docker": docker, "gpu": gpu}, configuration)
    if root == _MACHINE:
        run_command("systemd-sysusers", str(files.SYSUSERS))
        run_command("systemctl", "daemon-reload")
        run_command("systemctl", "enable", files.SERVICE, files.TIMER)
        run_command("systemctl", "start", files.TIMER)
        typer.echo(
            f"next: put your keys in {files.CREDENTIALS} and your competitions in {files.CONFIGURATION}/bot.toml"
        )
        typer.echo(f"then: systemctl restart {files.SERVICE}")


@service_app.command()
def uninstall() -> None:
    """Stop, disable and delete the units; configuration, credentials and state are kept.

    Example: sudo /opt/kaggle-bot/bin/bot service uninstall
    """
    require_systemd(root=True)
    if (files.UNITS / files.SERVICE).exists():
        run_command("systemctl", "disable", "--now", files.SERVICE, files.TIMER)
        run_command("systemctl", "stop", files.PRUNE)
    files.delete_units(_MACHINE)
    run_command("systemctl", "daemon-reload")
    typer.echo(
        f"to delete the remaining files: rm -r {files.CONFIGURATION} {files.STATE} /var/cache/kaggle-bot; userdel kaggle-bot"
    )


@service_app.command()
def status() -> None:
    """Show systemd's status of the service, and any other problems.

    Exits with 1 if the service is not running.
    """
    require_systemd(root=False)
    subprocess.run(("systemctl", "status", "--no-pager", "--full", files.SERVICE, files.TIMER), check=False)
    active, problems = service_state() or ("inactive", ["the service is not installed: run `bot service install`"])
    for problem in problems:
        typer.echo(f"problem: {problem}")
    if active != "active":
        raise typer.Exit(1)
