"""`bot config`: check bot.toml, show the settings in effect, or print an example."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli.configuration import settings_file
from bot.cli.options import Config, Json
from bot.cli.output import print_json, print_result, print_table
from bot.configuration import Configuration, read_configuration
from bot.configuration.example import effective_settings, given_settings, keys
from bot.configuration.example import example as example_text
from state.errors import ConfigurationError
from state.words import plural

config_app = typer.Typer(name="config", help="Check, show or create bot.toml.", no_args_is_help=True)

File = Annotated[Path | None, typer.Argument(help="bot.toml to read (default: ./bot.toml if it exists)")]


@config_app.command()
def check(file: File = None, config: Config = None, json: Json = False) -> None:
    """List all mistakes by file and line and exit with 2, or sum up the configuration.

    `bot doctor` also checks whether a competition's own grader can be used.

    Example: bot config check bot.toml
    """
    path = settings_file(file or config)
    try:
        configuration = read_configuration(path)
    except ConfigurationError as error:
        if not json:
            raise
        print_json({"file": str(path), "ok": False, "problems": [asdict(p) for p in error.problems]})
        raise typer.Exit(2) from None
    competitions = configuration.settings.competitions
    summary: dict[str, Any] = {
        "given": {s.key: s.value for s in given_settings(configuration)},
        "keys": keys(configuration),
        "competitions": {slug: {"submit": s.submit, "approve": s.approve} for slug, s in competitions.items()},
    }
    record = {"file": path and str(path), "ok": True, "problems": [], **summary}
    print_result(record, *_lines(configuration, summary), json=json)


@config_app.command()
def show(file: File = None, config: Config = None, json: Json = False) -> None:
    """Show every setting in effect and its source: default, line of the file, or variable."""
    path = settings_file(file or config)
    settings = list(effective_settings(read_configuration(path)))
    if json:
        print_json({"file": path and str(path), "settings": [asdict(s) for s in settings]})
        return
    print_table(("key", "value", "source"), [(s.key, s.text, s.source) for s in settings])


@config_app.command()
def example() -> None:
    """Print a bot.toml with every table and key, its meaning and default.

    Example: bot config example > bot.toml
    """
    typer.echo(example_text(), nl=False)


def _lines(configuration: Configuration, summary: dict[str, Any]) -> Iterator[str]:
    if configuration.file is None:
        yield "no bot.toml here: all settings are at their defaults (`bot config example` prints a bot.toml)"
    else:
        yield f"{configuration.file}: valid; it sets {plural(len(summary['given']), 'key')}"
    for setting in given_settings(configuration):
        yield f"  {setting.key} = {setting.text}"
    for name, is_set in summary["keys"].items():
        yield f"{name}: {'set (not shown)' if is_set else 'not set'}"
    for slug, setting in summary["competitions"].items():
        when_sent = {"auto": "at once", "ask": "when approved"}[setting["approve"]]
        yield f"{slug}: files will {f'be sent to Kaggle {when_sent}' if setting['submit'] else 'not be sent to Kaggle'}"
