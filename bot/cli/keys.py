"""`bot keys`: store a key where the bot reads it, and list the stored keys."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configuration import configured
from bot.cli.options import Config, Json
from bot.cli.output import print_result
from bot.service.files import CREDENTIALS
from state.errors import UsageError
from state.own_keys import DIRECTORY, own_folder, save_key
from state.words import did_you_mean

KAGGLE = "KAGGLE_API_TOKEN"

keys_app = typer.Typer(name="keys", help="Store the bot's keys.", no_args_is_help=True)


@keys_app.command("set")
def set_key(
    name: Annotated[str, typer.Argument(help="KAGGLE_API_TOKEN, OPENAI_API_KEY, or a variable named in bot.toml")],
    service: Annotated[bool, typer.Option("--service", help="store it for the systemd service (needs root)")] = False,
    config: Config = None,
) -> None:
    """Store a key in a file that only you can read.

    Type it (it is not shown) or pipe it in. Kaggle's token goes to ~/.kaggle/access_token, where the kaggle package finds
    it too, all others to ~/.config/kaggle-bot/credentials.

    Example: bot keys set OPENAI_API_KEY
    """
    names = _names(config)
    if name not in names:
        suggestion = did_you_mean(name, names)
        raise UsageError(f"unknown key {name} ({suggestion}); to use a new name, add it to bot.toml first")
    place = CREDENTIALS / name if service else place_of(name)
    save_key(place, ask_for_key(name))
    typer.echo(f"{name}: stored in {place}")
    if os.environ.get(name) and not service:
        typer.echo(f"the environment variable {name} is also set and may take precedence: unset it", err=True)


@keys_app.command("list")
def list_keys(config: Config = None, json: Json = False) -> None:
    """Show where each key is stored, never the key itself."""
    sources = {name: _source(name) for name in _names(config)}
    lines = (f"{name:20} {source or f'not set: bot keys set {name}'}" for name, source in sources.items())
    print_result({"keys": sources}, *lines, json=json)


def ask_for_key(name: str) -> str:
    """Return a key that is typed without being shown, or read from standard input. Raises UsageError: it is not a key."""
    text = typer.prompt(f"{name} (not shown)", hide_input=True) if sys.stdin.isatty() else sys.stdin.read()
    key = str(text).strip()
    if not (key and key.isascii() and key.isprintable()):
        raise UsageError("invalid key: it is empty, spans several lines, or contains invalid characters")
    return key


def place_of(name: str) -> Path:
    """Return the file of a user's key."""
    home = Path(os.environ.get("HOME") or Path.home())
    return home / ".kaggle" / "access_token" if name == KAGGLE else own_folder(os.environ) / name


def _names(config: Path | None) -> tuple[str, ...]:
    settings = configured(config)
    fallbacks = (f.key for f in settings.models.fallback if f.key)
    return tuple(dict.fromkeys((KAGGLE, "OPENAI_API_KEY", *fallbacks, *settings.notify.services)))


def _source(name: str) -> str | None:
    """Return where a key is found, None if nowhere."""
    if name == KAGGLE:
        from scrapers.kaggle.credentials import find_credentials

        try:
            return find_credentials().source
        except UsageError:
            return None
    if os.environ.get(name):
        return f"the variable {name}"
    folder = os.environ.get(DIRECTORY) or str(own_folder(os.environ))
    file = next((path for path in (Path(folder) / name, Path(folder) / name.lower()) if path.is_file()), None)
    return str(file) if file is not None and file.stat().st_size else None
