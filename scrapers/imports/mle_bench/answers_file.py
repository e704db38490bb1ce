"""`private/answers.csv`: the id and the prediction columns, and nothing else of what the answers hold."""

from pathlib import Path

from scrapers.answers import value
from scrapers.imports.mle_bench.columns import Columns
from scrapers.imports.mle_bench.tables import table_rows, written_table
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
        places = [header.index(name) for name in (columns.id_column, *columns.predictions)]
        writer.write([columns.id_column, *columns.predictions])
        count = 0
        for line, cells in rows:
            if len(cells) != len(header):
                what = f"the row has {len(cells)} cells, the header {len(header)}"
                raise SnapshotError([Problem(columns.source.name, line, what)])
            picked = [cells[place] for place in places]
            if spelled is not None:
                picked[0] = spelled[value(picked[0])]
            writer.write(picked)
            count += 1
    return count


def _spellings(columns: Columns, sample: Path) -> dict[float | str, str]:
    with table_rows(sample) as rows:
        place = next(rows)[1].index(columns.id_column)
        return {value(cells[place]): cells[place] for _, cells in rows if len(cells) > place}
