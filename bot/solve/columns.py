"""Detect the target column, the id column and the column of groups."""

import re
import shlex
from collections import Counter
from collections.abc import Sequence, Set
from itertools import islice

from bot.solve.solve_options import DetectedTask, SolveOptions
from bot.solve.tables.cell_formats import NA_WORDS
from bot.solve.tables.user_table import UserTable
from scrapers.snapshots.tables import finite_number
from state.errors import UsageError
from state.words import did_you_mean, plural

NUMBER_COLUMNS = ("row", "row_number", "row_number_of_bot")
"""Names for a new id column; the first that the table does not have is used."""
_TARGETS = frozenset(("target", "label", "labels", "class", "y", "outcome", "answer"))
_ID = re.compile(
    r"(?:^|[\W_])(?:id|uuid|guid|key|index|filename|file|image|nr|no|number|nummer)\W?$|^unnamed: 0$|(?<=[a-z])(?:I[dD]|nr)$",
    re.IGNORECASE,
)
_CODE = re.compile(r"[A-Za-z]+[-_]?\d+|[0-9a-fA-F-]{32,36}")
"""An id: T596485, or a UUID."""
_GROUP = re.compile(
    r"(?:^|[\W_])(?:patient|subject|user|customer|client|group|session|household|person|store|site|device)s?(?:[\W_]?id)?$",
    re.IGNORECASE,
)
_MAX_SHOWN = 12
_HEAD_ROWS, _ROWS_OF_COPY = 5000, 10
"""Rows in which copies of the target are looked for, and minimum rows per value, or on a line."""
_MEAN_SIZE, _FEWEST = 2.0, 10
"""Minimum rows per group on average, and minimum groups."""


def target_of(train: UserTable, test: UserTable | None, options: SolveOptions, detected: DetectedTask) -> str:
    """Return the column to predict: the one named by the option, the only one that test rows lack, or one named like a target.

    Raises UsageError: it is not in the training table, or cannot be detected.
    """
    if options.target is not None:
        return _column("--target", options.target, train)
    not_in_test = tuple(
        name for name in train.header if test is not None and name not in test.header and not _numbers_rows(train, name)
    )
    likely = not_in_test or train.header
    target_like = [name for name in likely if name.lower() in _TARGETS]
    if test is not None and len(not_in_test) == 1:
        detected.add("target", f"`{not_in_test[0]}`, the only column missing from {test.name}")
        return not_in_test[0]
    if len(target_like) == 1 and (test is None or target_like[0] in not_in_test):
        detected.add("target", f"`{target_like[0]}`, chosen because of its name", "likely")
        return target_like[0]
    empty = [] if test is None or not_in_test else [n for n in train.header if not _holds_values(test, n)]
    if len(empty) == 1:
        detected.add("target", f"`{empty[0]}`, which is empty in {test.name}", "likely")  # type: ignore[union-attr]
        return empty[0]
    if options.yes and (test is None or not_in_test):
        guess = target_like[0] if target_like else likely[-1]
        detected.add(
            "target",
            f"`{guess}`, the most likely target among {plural(len(likely), 'column')} (use --target to choose another)",
            "likely" if target_like else "a guess",
        )
        return guess
    candidates = ", ".join(likely[:_MAX_SHOWN]) + (", ..." if len(likely) > _MAX_SHOWN else "")
    reason = (
        f"cannot detect the target in {train.name}{'' if train.has_header else ', whose columns have no names'}"
        if test is None
        else f"{test.name} {'lacks several columns' if not_in_test else 'has every column'} of {train.name}"
    )
    raise UsageError(f"{reason}: for example, pass --target {shlex.quote(likely[-1])} (candidates: {candidates})")


def copies_of(train: UserTable, target: str) -> dict[str, str]:
    """Return, by column, a clause on how it gives the target away in the first rows: as a copy, or by gaps."""
    rows = [row for row in islice(train.rows(), _HEAD_ROWS) if row[train.header.index(target)]]
    place = train.header.index(target)
    clauses: dict[str, str] = {}
    for number, name in enumerate(train.header):
        pairs = [(row[number], row[place]) for row in rows if row[number]]
        if number == place:
            continue
        if _is_copy({*pairs}, len(pairs)):
            clauses[name] = "duplicates"
        elif _ROWS_OF_COPY <= len(pairs) <= len(rows) - _ROWS_OF_COPY:
            with_value, without = {value for _, value in pairs}, {row[place] for row in rows if not row[number]}
            if with_value.isdisjoint(without) and len(with_value | without) <= _FEWEST:
                clauses[name] = "has values only for some classes of"
    return clauses


def _is_copy(pairs: Set[tuple[str, str]], rows: int) -> bool:
    """Whether values correspond one to one, in many rows per value or on a straight line."""
    if len(pairs) < 2 or len({a for a, _ in pairs}) < len(pairs) or len({b for _, b in pairs}) < len(pairs):
        return False
    if rows >= _ROWS_OF_COPY * len(pairs):
        return True
    numbers = [(finite_number(a), finite_number(b)) for a, b in pairs]
    points = sorted((a, b) for a, b in numbers if a is not None and b is not None)
    if len(points) < max(len(pairs), _ROWS_OF_COPY):
        return False
    (first_x, first_y), (last_x, last_y) = points[0], points[-1]
    slope = (last_y - first_y) / (last_x - first_x)
    return all(abs(first_y + slope * (a - first_x) - b) <= 1e-6 * abs(last_y - first_y) for a, b in points)


def refuse_answers(test: UserTable, target: str) -> None:
    """Raise UsageError if the test rows hold the target, which scripts would then see; an empty column is allowed."""
    if target in test.header and _holds_values(test, target):
        raise UsageError(
            f"{test.name} contains the target `{target}`, which scripts would see: remove the column, or omit the file "
            "to have training rows withheld instead"
        )


def _holds_values(table: UserTable, name: str) -> bool:
    """Whether a column has any values, other than the same word for a missing one in all rows."""
    values = {cell.lower() for cell in table.column(name)} - {""}
    return bool(values) and not (len(values) == 1 and values <= NA_WORDS)


def _numbers_rows(table: UserTable, name: str) -> bool:  # as pandas writes it
    return name.startswith("Unnamed: ") and all(cell == str(row) for row, cell in enumerate(table.column(name)))


def id_of(
    train: UserTable, test: UserTable | None, target: str, options: SolveOptions, detected: DetectedTask
) -> str | None:
    """Return the column that identifies rows in both tables; None: rows must be numbered.

    Raises UsageError: the column named by the option is missing, or does not identify rows.
    """
    tables = [train] if test is None else [train, test]
    if options.id is not None:
        for table in tables:
            if not _identifies(table, _column("--id", options.id, table)):
                raise UsageError(f"--id {options.id}: {table.name} has repeated or empty values in this column")
        return options.id
    for name in train.header:
        likely = name != target and _ID.search(name) is not None and all(name in table.header for table in tables)
        if likely and all(_identifies(table, name) for table in tables):
            detected.add("id", f"`{name}`, chosen because of its name; its values are distinct", "likely")
            return name
    shared = [name for name in train.header if name != target and all(name in table.header for table in tables)]
    for table in tables:
        shared = _code_columns(table, shared)
    column = next(iter(shared), None)
    hint = "" if column is None else f"; to use `{column}`, whose values are distinct, pass --id {column}"
    detected.add("id", f"no column looks like an id, so rows are numbered{hint}", "likely" if column else "sure")
    return None


def group_of(train: UserTable, target: str, options: SolveOptions, detected: DetectedTask) -> str | None:
    """Return the column whose groups of rows must stay together; None: rows are split one by one.

    Raises UsageError: the column named by the option is missing, or has too few groups.
    """
    if options.group == "none":
        return None
    if options.group is not None:
        sizes = Counter(train.column(_column("--group", options.group, train)))
        if len(sizes) < _FEWEST:
            few_groups = f"only {plural(len(sizes), 'group')}; at least {_FEWEST} are needed"
            raise UsageError(f"--group {options.group}: {few_groups}")
        return options.group
    for name in train.header:
        if name != target and _GROUP.search(name):
            sizes = Counter(train.column(name))
            if len(sizes) >= _FEWEST and train.length >= _MEAN_SIZE * len(sizes):
                sentence = f"`{name}`: rows of the same group stay together (use --group none to split groups)"
                detected.add("groups", sentence, "likely")
                return name
    return None


def _identifies(table: UserTable, name: str) -> bool:
    values: set[str] = set()
    for cell in table.column(name):
        if not cell or cell in values:
            return False
        values.add(cell)
    return True


def _code_columns(table: UserTable, names: Sequence[str]) -> list[str]:
    """Return the columns whose cells are codes, such as A12, that never repeat, in one pass over the table."""
    values: dict[int, set[str]] = {place: set() for place in range(len(names))}
    for cells in table.columns(names) if names else ():
        for place in list(values):
            cell = cells[place]
            if cell in values[place] or not _CODE.fullmatch(cell):
                del values[place]
            else:
                values[place].add(cell)
        if not values:
            break
    return [names[place] for place in values]


def _column(option: str, name: str, table: UserTable) -> str:
    """Return the column that an option names; raises UsageError if a table has none of that name."""
    if name not in table.header:
        suggestion = did_you_mean(name, table.header[:100])
        raise UsageError(f"{option} {name}: {table.name} has no such column; {suggestion}")
    return name
