"""Reading tables and logging, as graders ask for them."""

import logging
from pathlib import Path
from typing import Any

import pandas as pd


def get_logger(name: str) -> logging.Logger:
    """Return the logger of that name."""
    return logging.getLogger(name)


def read_csv(*arguments: Any, **options: Any) -> pd.DataFrame:
    """Read a CSV file with floats exactly as they are written."""
    frame: pd.DataFrame = pd.read_csv(*arguments, **{"float_precision": "round_trip", **options})
    return frame


def read_jsonl(path: str | Path) -> list[Any]:
    """Read JSON Lines."""
    import json

    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
