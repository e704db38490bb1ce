"""`bot snapshot import`: make snapshots of what other projects prepared."""

import typer

from bot.cli.snapshot_import_bench import mle_bench

import_app = typer.Typer(name="import", help="Make snapshots of what other projects prepared.", no_args_is_help=True)
import_app.command("mle-bench")(mle_bench)


@import_app.callback()
def _several() -> None:
    """Make snapshots of what other projects prepared."""
