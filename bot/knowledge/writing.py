"""Writing entries into the owner's folder."""

from pathlib import Path

from bot.knowledge.entry import Entry, format_entry
from state.files import write_whole


def write_entry(folder: Path, entry: Entry) -> Path:
    """Write an entry, completely or not at all, over one with its id; return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{entry.id}.md"
    write_whole(path, format_entry(entry))
    return path
