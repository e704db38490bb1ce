"""`bot coder`: your own coding agents, tried out in a lab."""

import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configured import settings_file
from bot.cli.options import Config, Json
from bot.cli.output import print_result
from bot.simulator.coder_check import check_coder
from sandbox import BackEndChoice

coder_app = typer.Typer(
    name="coder", help="Your own coding agents, the tables [coders.NAME] of bot.toml.", no_args_is_help=True
)


@coder_app.callback()
def _coder() -> None:
    """Make `check` a subcommand, though it is the only one."""


@coder_app.command()
def check(
    name: Annotated[str, typer.Argument(help="name of its table in bot.toml")],
    sandbox: Annotated[BackEndChoice, typer.Option(help="sandbox of its lab")] = "auto",
    config: Config = None,
    json: Json = False,
) -> None:
    """Try a coding agent in a lab for a minute, with a scripted model and without a key.

    It has to run a command, log an experiment, log a better one, and end with `lab done`. Exits with 1 if it does not.

    Example: bot coder check codex
    """
    say = partial(typer.echo, err=True)
    with tempfile.TemporaryDirectory(prefix="bot-coder-") as folder:
        items, last_output = check_coder(name, settings_file(config), sandbox, Path(folder), say)
    ok = all(i.ok for i in items)
    record = {"coder": name, "ok": ok, "seen": [asdict(i) for i in items], "printed": last_output}
    lines = (f"{'ok' if i.ok else 'fails':6} {i.title:24} {i.finding}" for i in items)
    print_result(record, *lines, json=json)
    if not ok:
        if not json:
            say(f"What it printed last:\n{last_output}")
        raise typer.Exit(1)
