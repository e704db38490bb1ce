"""Meta Kaggle's tables, written once, and the snapshot that is made of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bot.research.importers.meta_kaggle.made_export import small_tables, write_export
from tests.needs import duckdb

CODE = {
    "0000/004/4001.ipynb": json.dumps(
        {
            "cells": [
                {
                    "cell_type": "markdown",
                    "source": "By Ada Lovelace, and\nada@example.org:\nLovelace\n@deep, @stranger\nJosé",
                },
                {"cell_type": "code", "source": ["import deep\n", "print('by:\\nLovelace')"]},
                {"cell_type": "code", "source": "fit(deep)"},
            ]
        }
    ),
    "0000/004/4003.ipynb": '{"cells": [{"source": "By Ada Lovelace"',
    "0001/234/1234005.py": "@cache\ndef f(x, w):  # kaggle.com/ada_l/first, me@corp.co.uk\n    return x@w.mean()\n",
}


@pytest.fixture(autouse=True)
def _needs_duckdb() -> None:
    duckdb()


@pytest.fixture(scope="package")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the small export, for tests that change nothing in it."""
    return write_export(tmp_path_factory.mktemp("meta-kaggle"), small_tables())


@pytest.fixture(scope="package")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Meta Kaggle Code."""
    folder = tmp_path_factory.mktemp("meta-kaggle-code")
    for name, text in CODE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of a snapshot."""
    return (json.loads(line) for line in path.read_text().splitlines())
