"""What hostile prediction files cost their reader, with a sample of a hundred thousand rows.

Each file is read by a process of its own; printed are the seconds of processor time that reading took, the memory that it
took at most above what the process takes before it, and what was said of the file. The files are as large as the sample
lets them be, unless they are refused for their size.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SECONDS, MEGABYTES = 5.0, 300.0
"""The goals."""
ROWS = 100_000
LARGEST = 107_000_000
"""A little below what the sample allows for numbers and labels."""

_CHILD = """
import resource, sys, time
from pathlib import Path
from bot.evaluation.scoring.prediction_file import read_submission
from state.errors import InvalidSubmission
from tests.bot.evaluation.parts import card
sample, path, task = Path(sys.argv[1]), Path(sys.argv[2]), card("own", predictions=sys.argv[3])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
base, began = peak(), time.process_time()
try:
    read_submission(path, sample, task)
    said = "valid"
except InvalidSubmission as error:
    said = str(error)
print(f"{time.process_time() - began:.2f} {peak() - base:.0f} {said}")
"""


def repeated(piece: bytes, size: int = LARGEST) -> Iterator[bytes]:
    """Yield pieces until they have that size."""
    block = piece * (1_000_000 // len(piece) or 1)
    for _ in range(size // len(block)):
        yield block


def rows(cell: str, last: str = "") -> Iterator[bytes]:
    """Yield a header and a row for each id, all with the same cell."""
    yield b"id,y\n"
    for start in range(0, ROWS, 1000):
        yield "".join(f"{number},{cell}\n" for number in range(start, start + 1000)).encode()
    yield last.encode()


def cases() -> Iterator[tuple[str, str, Iterator[bytes], int]]:
    """Yield for each file what it is, what its predictions are, its content, and the size to which it is stretched."""
    head = iter([b"id,y\n0,"])
    yield "a valid file", "number", rows("0.25"), 0
    yield "two gigabytes, nearly all of them a hole", "number", iter([b"id,y\n0,1\n"]), 2_000_000_000
    yield "a cell of half a gigabyte", "number", head, 500_000_000
    yield "a cell", "number", iter([b"id,y\n0,", *repeated(b"7")]), 0
    yield "a header", "number", repeated(b"x"), 0
    yield "a million columns", "number", iter([b"id,y", *repeated(b",column")]), 0
    yield "half a million columns", "number", iter([b"id,y", *repeated(b",c", 1_000_000)]), 0
    yield "a quote that is never closed", "number", iter([b'id,y\n0,"', *repeated(b"1,0.5\n")]), 0
    yield "blank lines", "number", iter([b"id,y\n", *repeated(b"\n")]), 0
    yield "numbers of a thousand digits", "number", rows("0." + "3" * 1050), 0
    yield "labels of a thousand letters", "label", rows("x" * 1050), 0
    yield "long texts, one wide letter in each", "text", rows("\U0001f600" + "x" * 1900), 0
    yield "one text", "text", iter([b"id,y\n0,", *repeated(b"12 34 "), "\U0001f600".encode()]), 0
    yield "an id that the sample lacks, at the end", "number", rows("0.25", "100000.0,0.25\n"), 0
    yield "an image", "number", iter([b"\x89PNG\r\n\x1a\n", *repeated(b"\x07\xff")]), 0


def measure(folder: Path, sample: Path, kind: str, content: Iterator[bytes], size: int) -> tuple[float, float, str]:
    """Return seconds, megabytes and the sentence for one file."""
    path = folder / "submission.csv"
    with path.open("wb") as file:
        file.writelines(content)
    if size:
        os.truncate(path, size)
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(sample), str(path), kind],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    seconds, megabytes, said = done.stdout.rstrip("\n").split(" ", 2)
    return float(seconds), float(megabytes), said


def main() -> None:
    """Print a line for each file, then the worst against the goals."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sample = folder / "sample_submission.csv"
        sample.write_text("id,y\n" + "".join(f"{number},0.5\n" for number in range(ROWS)))
        worst = [0.0, 0.0]
        for what, kind, content, size in cases():
            seconds, megabytes, said = measure(folder, sample, kind, content, size)
            worst = [max(worst[0], seconds), max(worst[1], megabytes)]
            print(f"{seconds:5.2f} s {megabytes:4.0f} MB  {what} ({kind}): {said[:100]}")
        print(f"worst: {worst[0] / SECONDS:.2f} of {SECONDS:g} s, {worst[1] / MEGABYTES:.2f} of {MEGABYTES:g} MB")


if __name__ == "__main__":
    main()
