"""Databases of earlier versions."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import URL, Connection
from sqlmodel import create_engine

import state

FIRST = "0001"


@contextmanager
def migrating(path: Path) -> Iterator[tuple[Config, Connection]]:
    """Give what alembic needs to bring a database to another revision, and a connection to it."""
    engine = create_engine(URL.create("sqlite", database=str(path)))
    config = Config()
    config.set_main_option("script_location", str(Path(state.__file__).parent / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        yield config, connection
    engine.dispose()


def take_back(path: Path) -> None:
    """Make a database one of the first version."""
    with migrating(path) as (config, _):
        command.downgrade(config, FIRST)
