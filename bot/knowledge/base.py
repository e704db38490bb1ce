"""All entries of a bot: those that come with it, and those of the owner's folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bot.knowledge.entry import Entry, format_entry, read_entry
from state.errors import FileProblems, Problem
from state.files import write_whole

SHIPPED = Path(__file__).with_name("entries")


@dataclass(frozen=True)
class KnowledgeBase:
    """Entries by id."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What is wrong with files that are left out."""

    @classmethod
    def read(cls, *folders: Path) -> "KnowledgeBase":
        """Read the entries that come with the bot, and those of further folders, as far as these exist.

        An entry in a later folder replaces one with its id. A file that is no entry is left out, and named in `problems`.
        """
        entries_by_id: dict[str, Entry] = {}
        problems: list[Problem] = []
        for folder in (SHIPPED, *folders):
            entries, wrong = read_folder(folder)
            entries_by_id |= {entry.id: entry for entry in entries}
            problems += wrong
        return cls(tuple(entries_by_id[id] for id in sorted(entries_by_id)), tuple(problems))

    def visible(self, competition: str, as_of: datetime | None) -> list[Entry]:
        """Return what may be shown to whoever works on a competition: nothing that was drawn from it, nothing younger.

        Without a clock entries are shown whatever their age.
        """
        foreign = (entry for entry in self.entries if not entry.drawn_from(competition))
        return [entry for entry in foreign if as_of is None or entry.known_at <= as_of]


def read_folder(folder: Path) -> tuple[Sequence[Entry], Sequence[Problem]]:
    """Return the entries of a folder's Markdown files, or of one file, in order of names, and all that is wrong with others."""
    entries_by_id: dict[str, Entry] = {}
    problems: list[Problem] = []
    for path in [folder] if folder.is_file() else sorted(folder.glob("*.md")):
        try:
            entry = read_entry(path)
        except FileProblems as error:
            problems += error.problems
            continue
        except OSError as error:
            problems.append(Problem(str(path), None, f"cannot be read: {error}"))
            continue
        if path.stem != entry.id:
            problems.append(Problem(str(path), None, f"must be named {entry.id}.md to match its id"))
            continue
        entries_by_id[entry.id] = entry
    return list(entries_by_id.values()), problems


def write_entry(folder: Path, entry: Entry) -> Path:
    """Write an entry, completely or not at all, over one with its id; return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{entry.id}.md"
    write_whole(path, format_entry(entry))
    return path
