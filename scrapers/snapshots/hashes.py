"""SHA-256 of files, and that those of a manifest are right."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from scrapers.snapshots.found import Found
from scrapers.snapshots.inside import escapes, resolve_inside
from scrapers.snapshots.manifest import MANIFEST


def sha256_of(path: Path) -> str:
    """Return the file's SHA-256 as lower-case hexadecimal; the file is read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_hashes(root: Path, hashes: Mapping[str, str], found: Found) -> None:
    """Check that every file that the manifest names by its hash is there, inside the folder, and unchanged."""
    for name, expected in sorted(hashes.items()):
        if escapes(name):
            found.add(MANIFEST, f"`sha256` names {name!r}, which lies outside of the folder")
            continue
        path = resolve_inside(root, name)
        if path is None:
            found.add(name, f"is missing, or lies outside of the folder; {MANIFEST} gives its hash")
            continue
        with found.reading(name):
            actual = sha256_of(path)
            if actual != expected:
                found.add(name, f"has the SHA-256 {actual}, not {expected} as {MANIFEST} says")
