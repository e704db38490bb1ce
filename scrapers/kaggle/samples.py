"""Finds a competition's sample submission among its files, as hosts name it in many ways."""

import re
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

SAMPLE = "sample_submission.csv"
"""Its standard name in a folder of data."""

_WAYS = (
    re.compile(r"samplesubmissions?"),
    re.compile(r".*sample.*(?:submi|subm|entry).*|.*(?:submi|entry).*sample.*"),
    re.compile(
        r".*(?:example|dummy|random|benchmark|template|format|null).*submi.*|.*submi.*(?:example|template|format|null).*"
    ),
    re.compile(r".*submissions?"),
)
"""Patterns of names in lower case without suffix and punctuation, the most certain first."""


def find_samples(names: Collection[str]) -> tuple[str, ...]:
    """Return the files that may be the sample submission: one if that is certain, several if a person must choose.

    Among all CSV files, those matching the most certain pattern count, and of these the ones in the shallowest folder.
    """
    if SAMPLE in names:
        return (SAMPLE,)
    for way in _WAYS:
        matches = [name for name, stem in _stems(names) if way.fullmatch(stem)]
        if matches:
            depth = min(name.count("/") for name in matches)
            return tuple(sorted(name for name in matches if name.count("/") == depth))
    return ()


def _stems(names: Collection[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        path = PurePosixPath(name)
        if path.suffix.lower() == ".csv":
            yield name, re.sub(r"[\W_]+", "", path.stem).lower()
