"""`bot snapshot import`: snapshots of past competitions that lie on a disk in other formats."""

import typer

import_app = typer.Typer(name="import", help="Make snapshots of past competitions on a disk.", no_args_is_help=True)
