"""Leaks to be planted in a competition's rows: each takes all rows, training rows first, and returns them changed."""

import numpy as np

from tests.bot.evaluation.guards.parts import TEST_ROWS, Row


def repeated_rows(table: list[Row], rng: np.random.Generator) -> list[Row]:
    """Have a fifth of the rows, the test's among them, repeat training rows, so that a split at random is like the test's."""
    again = rng.permutation(len(table))[: len(table) // 5].tolist()
    firsts = [at for at in range(len(table) - TEST_ROWS) if at not in set(again)]
    copies = {at: {**table[int(rng.choice(firsts))], "id": table[at]["id"]} for at in again}
    return [copies.get(at, row) for at, row in enumerate(table)]


def two_rows_repeated(table: list[Row], rng: np.random.Generator) -> list[Row]:
    """Have a quarter of the training rows repeat two of them, which are too many of each for one side of a split."""
    train = len(table) - TEST_ROWS
    again = {int(at): number % 2 for number, at in enumerate(2 + rng.permutation(train - 2)[: train // 4])}
    return [{**table[again[at]], "id": row["id"]} if at in again else row for at, row in enumerate(table)]


def repeated_in_test(table: list[Row], rng: np.random.Generator) -> list[Row]:
    """Have a tenth of the test rows, and a few training rows, repeat training rows."""
    train, test = table[:-TEST_ROWS], table[-TEST_ROWS:]
    many = TEST_ROWS // 10
    test = [{**train[at], "id": row["id"]} for at, row in enumerate(test[:many])] + test[many:]
    train = train[:-many] + [{**train[at], "id": row["id"]} for at, row in enumerate(train[-many:])]
    return train + test


def ids_by_label(table: list[Row], rng: np.random.Generator) -> list[Row]:
    """Number the rows in the order of their labels."""
    order = sorted(range(len(table)), key=lambda at: (table[at]["y"], rng.random()))
    numbers = {at: number for number, at in enumerate(order)}
    return [{**row, "id": f"r{numbers[at]}"} for at, row in enumerate(table)]


def ids_with_the_class(table: list[Row], rng: np.random.Generator) -> list[Row]:
    """Have ids begin with a word that goes with the class, nine times of ten."""
    words = ["north", "south"]
    return [
        {**row, "id": f"{words[int(row['y']) if rng.random() < 0.9 else 1 - int(row['y'])]}_{row['id']}"}
        for row in table
    ]


def sorted_by_label(table: list[Row], rng: np.random.Generator) -> list[Row]:
    """Sort training rows, and test rows, by their labels."""
    train, test = table[:-TEST_ROWS], table[-TEST_ROWS:]
    return sorted(train, key=lambda row: row["y"]) + sorted(test, key=lambda row: row["y"])


def test_later(table: list[Row], rng: np.random.Generator) -> list[Row]:
    """Give rows a day as a number, test rows the last days, so that the split by dates does not see it."""
    train = len(table) - TEST_ROWS
    return [
        {**row, "day": 1 + (at * 90 // train if at < train else 90 + (at - train) // 10)}
        for at, row in enumerate(table)
    ]


def target_copied(table: list[Row], rng: np.random.Generator) -> list[Row]:
    """Add a column that is the label, moved and with a little noise."""
    return [{**row, "z": round(3 - 2 * row["y"] + 0.01 * rng.normal(), 4)} for row in table]


def target_encoded(table: list[Row], rng: np.random.Generator) -> list[Row]:
    """Add a column of codes, four for each class, that are right nearly always."""
    return [{**row, "code": f"k{(int(row['y']) * 4 + int(rng.integers(4))) * 7 % 8}"} for row in table]
