"""Which column is to be predicted, which identifies a row, and which says what rows belong together."""

import re
from collections import Counter

from bot.replay.own_data.asked import Asked, Found
from bot.replay.own_data.table import OwnTable, is_missing
from state.errors import UsageError
from state.words import did_you_mean, plural

NUMBERED = ("row", "row_number", "row_number_of_bot")
"""Names for an id that rows get where they have none; the first that is no column."""
_TARGETS = frozenset(("target", "label", "labels", "class", "y", "outcome", "answer"))
_ID = re.compile(
    r"(?:^|[\W_])(?:id|uuid|guid|key|index|filename|file|image)$|^unnamed: 0$|(?<=[a-z])I[dD]$", re.IGNORECASE
)
_NUMBER = re.compile(r"[A-Za-z]+[-_]?\d+|[0-9a-fA-F-]{32,36}")
"""As people number things: T596485, or a UUID."""
_GROUP = re.compile(
    r"(?:^|[\W_])(?:patient|subject|user|customer|client|group|session|household|person|store|site|device)s?(?:[\W_]?id)?$",
    re.IGNORECASE,
)
_SHOWN = 12
_MEAN_SIZE, _FEWEST = 2.0, 10
"""Rows that a group has on average, and groups that there are, at least."""


def target_of(train: OwnTable, test: OwnTable | None, asked: Asked, found: Found) -> str:
    """Return the column to predict: the one that is named, or the only one that test rows lack, or one that is called so.

    Raises:
        UsageError: it is not in the training table, or nobody says which it is.
    """
    if asked.target is not None:
        return _column("--target", asked.target, train)
    lacking = tuple(name for name in train.header if test is not None and name not in test.header)
    likely = lacking or train.header
    named = [name for name in likely if name.lower() in _TARGETS]
    if test is not None and len(lacking) == 1:
        found.add("target", f"`{lacking[0]}`, the only column that {test.name} lacks")
        return lacking[0]
    if len(named) == 1 and (test is None or named[0] in lacking):
        found.add("target", f"`{named[0]}`, by its name")
        return named[0]
    shown = ", ".join(likely[:_SHOWN]) + (", ..." if len(likely) > _SHOWN else "")
    if test is None:
        raise UsageError(f"which column of {train.name} is to be predicted? Name it with --target: {shown}")
    if lacking:
        raise UsageError(
            f"{test.name} lacks several columns of {train.name}: name the one to predict with --target: {shown}"
        )
    empty = [name for name in train.header if all(is_missing(cell) for cell in test.column(name))]
    if len(empty) == 1:
        found.add("target", f"`{empty[0]}`, which is empty in {test.name}")
        return empty[0]
    raise UsageError(
        f"{test.name} has all columns of {train.name}, so nothing says what to predict: name the column with --target"
    )


def refuse_answers(test: OwnTable, target: str) -> None:
    """Raise UsageError if the test rows hold the target, which scripts would then see; an empty column will do."""
    if target in test.header and any(not is_missing(cell) for cell in test.column(target)):
        raise UsageError(
            f"{test.name} holds the target `{target}`, which scripts would see: remove the column, or leave the file out "
            "and have rows withheld"
        )


def id_of(train: OwnTable, test: OwnTable | None, target: str, asked: Asked, found: Found) -> str | None:
    """Return the column that identifies rows, in both tables; None: rows are to be numbered.

    Raises:
        UsageError: the one that is named is missing, or does not identify rows.
    """
    tables = [train] if test is None else [train, test]
    if asked.id is not None:
        for table in tables:
            if not _identifies(table, _column("--id", asked.id, table)):
                raise UsageError(f"--id {asked.id}: {table.name} has a value of it more than once, or rows without one")
        return asked.id
    for name in train.header:
        likely = name != target and _ID.search(name) is not None and all(name in table.header for table in tables)
        if likely and all(_identifies(table, name) for table in tables):
            found.add("id", f"`{name}`, by its name; no value repeats")
            return name
    numbers = (
        one
        for one in train.header
        if one != target
        and all(one in table.header and _identifies(table, one) for table in tables)
        and all(map(_NUMBER.fullmatch, train.column(one)))
    )
    words = next(numbers, None)
    hint = "" if words is None else f"; `{words}` never repeats: --id {words} takes it"
    found.add("id", f"no column is named like one and never repeats, so rows are numbered{hint}")
    return None


def group_of(train: OwnTable, target: str, asked: Asked, found: Found) -> str | None:
    """Return the column whose groups of rows are not to be parted; None: rows go one by one.

    Raises:
        UsageError: the one that is named is missing, or has too few groups.
    """
    if asked.group == "none":
        return None
    if asked.group is not None:
        sizes = Counter(train.column(_column("--group", asked.group, train)))
        if len(sizes) < _FEWEST:
            raise UsageError(
                f"--group {asked.group}: it has {plural(len(sizes), 'group')}; at least {_FEWEST} are needed"
            )
        return asked.group
    for name in train.header:
        if name != target and _GROUP.search(name):
            sizes = Counter(train.column(name))
            if len(sizes) >= _FEWEST and train.length >= _MEAN_SIZE * len(sizes):
                found.add("groups", f"`{name}`: rows of one stay on one side (--group none, if they need not)")
                return name
    return None


def _identifies(table: OwnTable, name: str) -> bool:
    seen: set[str] = set()
    for cell in table.column(name):
        if is_missing(cell) or cell in seen:
            return False
        seen.add(cell)
    return True


def _column(option: str, name: str, table: OwnTable) -> str:
    """Return the column that an option names; raises UsageError if a table has none of that name."""
    if name not in table.header:
        near = did_you_mean(name, table.header[:100])
        raise UsageError(f"{option} {name}: {table.name} has no such column; {near}")
    return name
