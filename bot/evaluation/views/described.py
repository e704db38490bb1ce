"""How the rows of a task will be withheld, in a sentence, before anything is built."""

from pathlib import Path

from bot.evaluation.layouts.reader import read_layout
from bot.evaluation.views.build import VERSION
from bot.evaluation.views.split import split_rows
from scrapers.snapshots.card import TaskCard


def describe_split(data_dir: Path, card: TaskCard, seed: int) -> str:
    """Return how many rows are withheld to score by, and how they are chosen, in a clause.

    Args:
        data_dir: the data as agents get it.
        card: the task.
        seed: of the split.

    Raises:
        UnsupportedLayout: labels cannot be withheld from this data; the text gives the reason.
    """
    split = split_rows(read_layout(data_dir, card), seed, VERSION)
    withheld, all_rows = len(split.rows("holdout", "final")), len(split.parts)
    unlike = "".join(f"; {sentence}" for sentence in split.unlike)
    return f"{withheld:,} of {all_rows:,} training rows are withheld: {split.note}{unlike}"
