"""MLE-Live folders written by hand, in both layouts and both shapes, and the task that they belong to."""

import json
from pathlib import Path
from typing import Any

from tests.scrapers.small import write_small

SLUG = "small"
DISCUSSIONS = {
    "101": "# Scaling\n(Ann (A.) <TIER: 3>) Scale the columns:\n\n    + all of them\n    + (Bob <TIER: N/A>) Why?\n"
    "        + (Ann (A.) <TIER: 3>) Trees do not care,\nothers do.\n    + (Cat <TIER: 0>) Thanks",
    "102": "# Leak?\n(Dan <TIER: 2>) No.",
}
NOTEBOOK = "\n# Means\n```\nimport pandas as pd\n```\nDone"
SCRIPT = "```\nimport os\nprint('hello')\n\n```\n"
KERNELS = {"201": NOTEBOOK, "202": SCRIPT}
DISCUSSION_LIST: list[dict[str, Any]] = [
    {"title": "Scaling", "votes": 5, "id": "101", "created_at": "2020-01-05T10:00:00.1234567Z"},
    {"title": "Leak?", "votes": 0, "id": "102", "created_at": "2020-02-01T10:00:00Z"},
]
KERNEL_LIST: list[dict[str, Any]] = [
    {"title": "Means", "votes": 7, "id": "201", "created_at": "2020-01-06T10:00:00Z", "bestPublicScore": 0.25},
    {"title": "Hello", "votes": 1, "id": "202", "created_at": "2020-03-05T10:00:00Z", "bestPublicScore": None},
]


def by_id(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return entries in the older shape, which has no dates."""
    return {
        entry["id"]: {name: value for name, value in entry.items() if name != "created_at"} | {"is_lower_better": True}
        for entry in entries
    }


def write_kind(folder: Path, info: object, texts: dict[str, str]) -> None:
    """Write a folder of kernels or discussions; without an `info` it has no info.json."""
    folder.mkdir(parents=True)
    if info is not None:
        (folder / "info.json").write_text(json.dumps(info, indent=4), encoding="utf-8")
    for id, text in texts.items():
        (folder / f"{id}.txt").write_text(text, encoding="utf-8")


def write_newer(root: Path, slug: str = SLUG) -> Path:
    """Write one competition in the newer layout, its entries as lists; return the root."""
    folder = root / slug
    write_kind(folder / "discussions", DISCUSSION_LIST, DISCUSSIONS)
    write_kind(folder / "kernels", KERNEL_LIST, KERNELS)
    (folder / "description.md").write_text("# Small\n", encoding="utf-8")
    (folder / "input").mkdir()
    return root


def write_older(root: Path, slug: str = SLUG) -> Path:
    """Write one competition in the older layout, its entries by id; return the root."""
    folder = root / "docs" / slug / "docs"
    write_kind(folder / "discussions", by_id(DISCUSSION_LIST), DISCUSSIONS)
    write_kind(folder / "kernels", by_id(KERNEL_LIST), KERNELS)
    return root


def write_tasks(folder: Path) -> Path:
    """Write a folder of tasks with one snapshot, which has a community of its own; return the folder."""
    write_small(folder / SLUG)
    return folder
