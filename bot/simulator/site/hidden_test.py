"""The part of a test set that a competition for notebooks publishes; submitted notebooks run again on the whole of it."""

import csv
import random
from pathlib import Path

from scrapers.snapshots.files import walk
from scrapers.snapshots.linking import link_or_copy
from scrapers.snapshots.snapshot import Snapshot
from state.errors import UsageError

SAMPLE = "sample_submission.csv"


def publish(snapshot: Snapshot, folder: Path, *, share: float, seed: int) -> None:
    """Write a competition's data into a new folder as participants get it: a share of the test rows, drawn by seed.

    A CSV file is one of test rows if it: no other ids than the sample submission. All other files, such as pictures and
    archives, stay whole.

    Raises:
        UsageError: there is no sample submission with ids.
    """
    key = snapshot.card.id_column
    ids = _ids(snapshot.data / SAMPLE, key)
    if not ids:
        raise UsageError(f"{snapshot.card.slug}: cannot hide test rows: no {SAMPLE} has the column {key}")
    all_ids = list(ids)
    shown_ids = set(random.Random(f"{seed}/shown").sample(all_ids, max(1, round(share * len(all_ids)))))  # noqa: S311 - nothing secret
    for path in walk(snapshot.data):
        target = folder / path.relative_to(snapshot.data)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".csv" and (file_ids := _ids(path, key)) and file_ids.keys() <= ids.keys():
            _reduce(path, target, key, shown_ids)
        else:
            link_or_copy(path, target)
    for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        place.chmod(0o755)  # scripts may run as another user


def _ids(path: Path, key: str) -> dict[str, None]:
    """Return the values of a CSV file's column in order, each once; none if there is no such column."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        return {row[key]: None for row in csv.DictReader(file) if row.get(key) is not None}


def _reduce(path: Path, target: Path, key: str, shown_ids: set[str]) -> None:
    text = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}
    with path.open(**text) as source, target.open("w", **text) as file:  # type: ignore[call-overload]  # open's own keywords
        rows, writer = csv.reader(source), csv.writer(file, lineterminator="\n")
        header = next(rows)
        place = [name.removeprefix("\ufeff") for name in header].index(key)
        writer.writerow(header)
        writer.writerows(row for row in rows if len(row) > place and row[place] in shown_ids)
    target.chmod(0o644)
