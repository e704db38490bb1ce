"""Values and keys in TOML, on one line each."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel


def toml_key(name: str) -> str:
    """Return a key, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def toml_value(value: object) -> str:
    """Return a value; for a table the keys that differ from their defaults.

    Raises:
        TypeError: TOML cannot express it, as with None.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | Path):
        return _text(str(value))
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, BaseModel):
        return toml_value(value.model_dump(exclude_defaults=True))
    if isinstance(value, Mapping):
        pairs = (f"{toml_key(str(name))} = {toml_value(item)}" for name, item in value.items())
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    raise TypeError(f"TOML has no {type(value).__name__}")


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but that TOML wants one for the last control character as well.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
