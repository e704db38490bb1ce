"""`private/answers.csv`: the id, the rest of the key and the labels, and nothing else of what the answers hold."""

from pathlib import Path

from scrapers.imports.mle_bench.columns import Columns
from scrapers.imports.mle_bench.tables import table_rows, written_table
from scrapers.snapshots.answers import Value, value
from state.errors import Problem, SnapshotError


def write_answers(columns: Columns, sample: Path, target: Path) -> int:
    """Write the true values in the source's order, and return the number of rows.

    Cells are written as they are read; ids as the sample spells them.

    Raises:
        SnapshotError: a row has more or fewer cells than the header.
    """
    spelled = _spellings(columns, sample) if columns.respelled else None
    with table_rows(columns.source) as rows, written_table(target) as writer:
        header = next(rows, (0, []))[1]
        wanted = (*columns.rows, *columns.labels)
        places = [header.index(name) for name in wanted]
        writer.write(wanted)
        count = 0
        for line, cells in rows:
            if len(cells) != len(header):
                what = f"the row has {len(cells)} cells, the header {len(header)}"
                raise SnapshotError([Problem(columns.source.name, line, what)])
            picked = [cells[place] for place in places]
            if spelled is not None:
                width = len(columns.rows)
                picked[:width] = spelled[tuple(map(value, picked[:width]))]
            writer.write(picked)
            count += 1
    return count


def _spellings(columns: Columns, sample: Path) -> dict[tuple[Value, ...], list[str]]:
    with table_rows(sample) as rows:
        header = next(rows)[1]
        places = [header.index(name) for name in columns.rows]
        asked = ([cells[place] for place in places] for _, cells in rows if len(cells) > max(places))
        return {tuple(map(value, key)): key for key in asked}
