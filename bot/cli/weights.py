"""`bot weights`: pretrained weights for the sandbox, downloaded by the owner from a pinned list."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli.configuration import configured
from bot.cli.options import Config, Json
from bot.cli.output import Say, print_json, print_result, print_table, progress_line
from bot.weights.catalog import WeightFile, Weights
from bot.weights.folder import WeightsFolder
from scrapers.http.download import public_opener
from state.errors import BotError, UsageError

_LINE = 60.0
"""Seconds between two progress lines if there is no terminal."""

weights_app = typer.Typer(
    name="weights", help="Pretrained weights that scripts can read in weights/.", no_args_is_help=True
)


@weights_app.command("list")
def list_weights(config: Config = None, json: Json = False) -> None:
    """List the weights: what is downloaded, sizes, release dates.

    Example: bot weights list
    """
    folder = _folder(config)
    if json:
        print_json({"dir": str(folder.path), "weights": [_record(folder, weights) for weights in folder.catalog]})
        return
    rows = [
        (w.name, folder.state(w), f"{w.bytes / 1e6:.0f} MB", str(w.released), w.licence, w.about)
        for w in folder.catalog
    ]
    print_table(("name", "state", "size", "released", "licence", "description"), rows, title=str(folder.path))


@weights_app.command()
def pull(
    names: Annotated[list[str] | None, typer.Argument(help="names of the weights to download")] = None,
    all_: Annotated[bool, typer.Option("--all", help="download all weights in the list")] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Download weights, and check every file by its hash.

    An interrupted download is resumed. Exits with 1 if something could not be downloaded.

    Example: bot weights pull resnet50 all-minilm-l6-v2
    """
    folder = _folder(config)
    if bool(names) == all_:
        raise UsageError("pass either the names to download (`bot weights list` shows them) or --all")
    chosen_weights = list(folder.catalog) if all_ else [folder.find(name) for name in names or ()]
    failed = asyncio.run(_pull(folder, chosen_weights))
    for name, error in failed.items():
        typer.echo(f"{name}: {error}", err=True)
    records = [_record(folder, weights) | {"error": failed.get(weights.name)} for weights in chosen_weights]
    lines = (f"{weights.name}: {folder.state(weights)}" for weights in chosen_weights)
    print_result({"dir": str(folder.path), "weights": records}, *lines, json=json)
    raise typer.Exit(1 if failed else 0)


async def _pull(folder: WeightsFolder, chosen_weights: Sequence[Weights]) -> dict[str, str]:
    """Download weights; return the errors by name."""
    failed = {}
    async with public_opener() as open_:
        with progress_line(_LINE) as say:
            for weights in chosen_weights:
                try:
                    await folder.pull(open_, weights, partial(_show, say, weights.name))
                except (BotError, OSError) as error:
                    failed[weights.name] = str(error)
    return failed


def _folder(config: Path | None) -> WeightsFolder:
    return WeightsFolder(configured(config).weights.folder)


def _record(folder: WeightsFolder, weights: Weights) -> dict[str, Any]:
    return weights.model_dump(mode="json") | {"state": folder.state(weights), "bytes": weights.bytes}


def _show(say: Say, name: str, file: WeightFile, loaded_bytes: int) -> None:
    say(f"{name}/{file.name}: {loaded_bytes / 1e6:.0f} of {file.bytes / 1e6:.0f} MB", loaded_bytes / file.bytes)
