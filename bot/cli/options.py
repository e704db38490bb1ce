"""The options and arguments that many commands have."""

from pathlib import Path
from typing import Annotated

import typer

from state.words import slug_of

Config = Annotated[Path | None, typer.Option(help="bot.toml; default: ./bot.toml if it exists")]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]
Fleet = Annotated[
    str | None,
    typer.Option(
        help="a Ray cluster whose nodes run scripts: auto, or ray://HOST:10001; none: this machine; default: the configured "
        "one, of a run that was begun the one it was begun with"
    ),
]
Competition = Annotated[
    str,
    typer.Argument(parser=slug_of, metavar="competition", help="the competition's name, as in its table in bot.toml"),
]
OneCompetition = Annotated[
    str | None,
    typer.Argument(
        parser=slug_of, metavar="competition", help="only this competition; default: all", show_default=False
    ),
]
