"""`bot coder`: your own coding agents, tried out in a lab."""

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configured import settings_file
from bot.cli.options import Config, Json
from bot.cli.output import print_json
from bot.replay.coder_check import check_coder
from bot.replay.run import Show
from sandbox import BackEndChoice

coder_app = typer.Typer(
    name="coder", help="Your own coding agents, the tables [coders.NAME] of bot.toml.", no_args_is_help=True
)


@coder_app.callback()
def _coder() -> None:
    """Your own coding agents, the tables [coders.NAME] of bot.toml."""


@coder_app.command()
def check(
    name: Annotated[str, typer.Argument(help="of its table in bot.toml")],
    sandbox: Annotated[BackEndChoice, typer.Option(help="where its lab is")] = "auto",
    config: Config = None,
    json: Json = False,
) -> None:
    """Have a coding agent work in a lab for a minute: its model is a script on this machine, so no key is needed.

    It is to run a command, have a script scored by `lab score`, improve it, and end by `lab done`. Exits with 1 if it does not.

    Example: bot coder check codex
    """
    show = Show(lambda line: typer.echo(line, err=True), lambda context, stopwatch: None)
    with tempfile.TemporaryDirectory(prefix="bot-coder-") as folder:
        checked = check_coder(name, settings_file(config), sandbox, Path(folder), show)
    ok = all(one.ok for one in checked.seen)
    if json:
        print_json({"coder": name, "ok": ok, "seen": [asdict(one) for one in checked.seen], "printed": checked.printed})
    else:
        for one in checked.seen:
            typer.echo(f"{'ok' if one.ok else 'fails':6} {one.what:20} {one.found}")
        if not ok:
            typer.echo(f"What it printed last:\n{checked.printed}", err=True)
    if not ok:
        raise typer.Exit(1)
