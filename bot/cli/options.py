"""The options that many commands have."""

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[Path | None, typer.Option(help="bot.toml; default: ./bot.toml if it exists")]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]
