"""Surprises of the installed packages: common code that newer versions refuse, or run with another result."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_SAME = {"xgboost-cpu": "xgboost"}


@cache
def _surprises() -> dict[str, dict[str, list[str]]]:
    """Return the sentences by package, and by the first version for which they hold."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def surprises(packages: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each surprise in these packages, given as `name version` like `Machine.packages`."""
    installed = {}
    for package in packages:
        name, _, version = package.partition(" ")
        if match := re.match(r"(\d+)(?:\.(\d+))?", version):
            installed[_SAME.get(name, name)] = (int(match[1]), int(match[2] or 0))
    return tuple(
        f"{name}: {text}"
        for name, versions in _surprises().items()
        for since, texts in versions.items()
        if name in installed and installed[name] >= tuple(map(int, since.split(".")))
        for text in texts
    )
