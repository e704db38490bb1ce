"""`bot web`: the page."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configuration import configured, settings_file
from bot.cli.options import Config
from state.errors import UsageError

_RUNS = Path("runs")


def web(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="run folders, or folders that contain runs (default: runs)", show_default=False),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="port, or 0 for any free port (default: the one in bot.toml)")
    ] = None,
    address: Annotated[bool, typer.Option("--address", help="print the address with its token, and exit")] = False,
    config: Config = None,
) -> None:
    """Serve the web dashboard on this machine.

    It prints the address with its token; docs/web.md explains access from other machines. Ctrl-C stops it.

    Example: bot web

    Example: bot web runs
    """
    if missing := [path for path in paths or () if not path.is_dir()]:
        raise UsageError(f"{missing[0]}: not found; pass a run, or the folder that contains the runs")
    file = settings_file(config)
    settings = configured(file)
    from bot.web.token import address_of, read_token

    token = read_token(settings.daemon.folder)
    web_settings = settings.web if port is None else settings.web.model_copy(update={"port": port})
    if address:
        typer.echo(address_of(web_settings.listen, web_settings.port, token))
        return
    typer.echo("starting the web dashboard", err=True)
    # Imported here: no other command should pay for a web server.
    from bot.web.serving import serve
    from bot.web.sources import Sources

    folders = tuple(paths or ([_RUNS] if _RUNS.is_dir() else []))
    serve(Sources(file, folders), web_settings, token, lambda address: typer.echo(f"web dashboard: {address}"))
