"""`bot coder`: your own coding agents, tried out in a lab."""

import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configuration import settings_file
from bot.cli.options import Config, Json
from bot.cli.output import print_result
from sandbox import BackEndChoice

coder_app = typer.Typer(name="coder", help="Check your own coding agents.", no_args_is_help=True)


@coder_app.callback()
def _coder() -> None:
    """Make `check` a subcommand, though it is the only one."""


@coder_app.command()
def check(
    name: Annotated[str, typer.Argument(help="preset, such as codex, or NAME of a table [coders.NAME]")],
    sandbox: Annotated[BackEndChoice, typer.Option(help="sandbox for the lab")] = "auto",
    config: Config = None,
    json: Json = False,
) -> None:
    """Test a coding agent in a short lab with a scripted model; no key needed.

    The agent must run a command, log an experiment, log a better one, and end with `lab done`; otherwise exits with 1.

    Example: bot coder check codex
    """
    say = partial(typer.echo, err=True)
    say(f"trying {name} in a lab, which takes about a minute")
    from bot.simulator.coder_check import check_coder  # here: the help needs none of it

    with tempfile.TemporaryDirectory(prefix="bot-coder-") as folder:
        items, last_output = check_coder(name, settings_file(config), sandbox, Path(folder), say)
    ok = all(i.ok for i in items)
    record = {"coder": name, "ok": ok, "seen": [asdict(i) for i in items], "printed": last_output}
    lines = (f"{'ok' if i.ok else 'fails':6} {i.title:24} {i.finding}" for i in items)
    print_result(record, *lines, json=json)
    if not ok:
        if not json:
            say(f"The agent's last output:\n{last_output}")
        raise typer.Exit(1)
