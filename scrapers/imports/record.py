"""`import.json` in a snapshot: what it was made from, and how it was left, so that an import knows its own work again."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapers.snapshots.inside import walk

RECORD = "import.json"


@dataclass(frozen=True)
class ImportRecord:
    """What an import leaves in a snapshot."""

    importer: str
    """Such as `mle-live`."""
    inputs: str
    """Digest of all that went in, options included."""
    left: str
    """Digest of the snapshot's files as they were left."""
    came: dict[str, Any]
    """What the import's table says of it."""

    def write(self, snapshot: Path) -> None:
        """Write it into a snapshot's folder."""
        content = {"importer": self.importer, "inputs": self.inputs, "left": self.left, "came": self.came}
        (snapshot / RECORD).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_record(snapshot: Path) -> ImportRecord | None:
    """Return what an import has left in a folder; None where none has, or it cannot be read."""
    try:
        content = json.loads((snapshot / RECORD).read_text(encoding="utf-8"))
        record = ImportRecord(**content)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    texts = (record.importer, record.inputs, record.left)
    return record if all(isinstance(text, str) for text in texts) and isinstance(record.came, dict) else None


def files_digest(folder: Path) -> str:
    """Return a digest of the names, sizes and times of change of a folder's files, the record left out.

    Raises:
        OSError: a folder cannot be listed.
    """
    return digest(_facts(folder))


def digest(parts: Iterable[object]) -> str:
    """Return the SHA-256 of parts in their order."""
    found = hashlib.sha256()
    for part in parts:
        found.update(f"{part!r}\n".encode(errors="backslashreplace"))
    return found.hexdigest()


def _facts(folder: Path) -> Iterable[object]:
    for path in walk(folder):
        name = path.relative_to(folder).as_posix()
        if name != RECORD:
            facts = path.lstat()
            yield name, facts.st_mode, facts.st_size, facts.st_mtime_ns
