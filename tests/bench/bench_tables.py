"""Read each table of a folder as `bot solve` does, and beside it as pandas does: python -m tests.bench.bench_tables FOLDER."""

import sys
from collections import Counter
from pathlib import Path

import pandas as pd

from bot.solve.tables import NA_WORDS, TableError, UserTable, is_table

MOST_BYTES = 3_000_000


def read_by_pandas(table: UserTable) -> pd.DataFrame | None:
    """Return what pandas reads with the separator that was found; None: it cannot."""
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return pd.read_csv(
                table.path, sep=table.delimiter, dtype=str, na_filter=False, encoding=encoding, index_col=False
            )
        except UnicodeDecodeError:
            continue
        except (pd.errors.ParserError, ValueError):
            return None
    return None


def compared(path: Path) -> tuple[str, str]:
    """Return the kind of difference between both readings, and what it is."""
    try:
        table = UserTable.read(path)
        rows = list(table.rows())
    except TableError as error:
        return "refused", str(error)
    frame = read_by_pandas(table)
    if frame is None:
        return "read here alone", "; ".join(table.notes)
    names = [str(name).strip() for name in frame.columns]
    filled = frame[frame.map(lambda cell: cell.strip() != "").any(axis=1)]
    if names != list(table.header) or len(filled) != len(rows):
        return (
            "other columns or rows",
            f"{len(table.header)} by {len(rows)} for {frame.shape}; {'; '.join(table.notes)}",
        )
    changed = Counter[str]()
    for place, name in enumerate(table.header):
        for theirs, row in zip(filled.iloc[:, place], rows, strict=True):
            if theirs.strip() != row[place]:
                kind = "missing" if theirs.strip().lower() in NA_WORDS else type(table.formats.get(name)).__name__
                changed[kind] += 1
    return ("other cells", str(dict(changed))) if changed else ("alike", "")


def main(folder: Path) -> None:
    """Print how many tables are read alike, and each that is not."""
    kinds = Counter[str]()
    for path in sorted(folder.rglob("*")):
        if (
            path.is_file()
            and is_table(path.name)
            and not path.name.startswith("._")
            and 0 < path.stat().st_size < MOST_BYTES
        ):
            kind, what = compared(path)
            kinds[kind] += 1
            if kind != "alike":
                print(f"{kind}: {path.relative_to(folder)}: {what[:200]}")
    print(dict(kinds))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
