"""The view of data that cannot be split, and what can be checked without labels."""

import shutil
from pathlib import Path

from bot.evaluation.layout import read_sample
from bot.evaluation.self_reported import write_reason
from bot.evaluation.shared_files import data_files, share
from bot.evaluation.submission_file import read_submission
from scrapers.snapshots.card import TaskCard


def share_everything(data_dir: Path, card: TaskCard, reason: str, out_dir: Path, labels_dir: Path) -> None:
    """Build a view that withholds nothing.

    Args:
        data_dir: the competition's files; only read.
        card: the task.
        reason: why its labels cannot be withheld; kept in `labels_dir`.
        out_dir: becomes the view's `data` folder, and is there only when complete.
        labels_dir: where labels would be.

    Raises:
        UnsupportedLayout: not even a sample submission is there.
    """
    read_sample(data_dir, card)
    staging = out_dir.with_name(f".{out_dir.name}.partial")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    for path in data_files(data_dir):
        share(data_dir / path, staging / path)
    write_reason(labels_dir, reason)
    if out_dir.exists():
        shutil.rmtree(out_dir)
    staging.rename(out_dir)


def check_form(submission_path: Path, view_dir: Path, card: TaskCard) -> None:
    """Check that a file could be handed in.

    Raises:
        InvalidSubmission: it could not; the text says why.
    """
    read_submission(submission_path, view_dir / "sample_submission.csv", card)
