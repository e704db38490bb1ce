"""A made-up competition's grade.py and files for the tests of graders."""

from pathlib import Path

from tests.bot.evaluation.parts import write

ACCURACY = """
import pandas as pd
from sklearn.metrics import accuracy_score

from mlebench.competitions.utils import prepare_for_accuracy_metric


def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    inputs = prepare_for_accuracy_metric(submission=submission, answers=answers, target_column="y", id_column="id")
    return accuracy_score(**inputs)
"""

ABSOLUTE = """
import numpy as np


def grade(submission, answers):
    return np.abs(submission["y"] - answers["y"]).mean()
"""
"""Mean absolute error, row by row: it never looks at ids."""

DEED = """
import os, subprocess, sys, time
import numpy as np
from mlebench.grade_helpers import InvalidSubmissionError

CALLS = []


def grade(submission, answers):
    CALLS.append(1)
    deed = submission["y"].iloc[0]
    answers.drop(columns=list(answers.columns), inplace=True)
    submission["y"] = "spoilt"
    return DEEDS[deed]()


def refuse():
    raise InvalidSubmissionError("the third row is\\n not to my liking")


def fail():
    raise KeyError("keep")


def give_up():
    assert False, "this cannot be"


def chat():
    for _ in range(200_000):
        print("a line of chatter on standard output")
        print("and one on standard error", file=sys.stderr)
    return 0.25


def ask():
    return float(len(sys.stdin.read()))


def fork():
    if os.fork() == 0:
        return 0.75  # the copy goes on as if it were the grader
    time.sleep(0.2)
    return 0.5


def loop():
    while True:
        time.sleep(0.01)


def spin():
    while True:
        pass


def bomb():
    return len([bytearray(100_000_000) for _ in range(1000)])


def leave():
    os._exit(7)


def scribble():
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b'{"n": 10000000, "score": 99.0}')
            os.write(descriptor, b"[" * 50_000)
        except OSError:
            pass
    return 0.5


def linger():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)  # MARK"], start_new_session=True)
    return 0.5


def count_processes():
    started = 0
    try:
        while started < 2000:
            if os.fork() == 0:
                time.sleep(600)
            started += 1
    except OSError:
        pass
    return float(started)


def look():
    return float(os.path.exists(WHERE))


def call():
    import socket
    try:
        socket.create_connection(("127.0.0.1", PORT), timeout=2).close()
    except OSError:
        return 0.0
    return 1.0


def write_much():
    with open("much", "wb") as file:
        file.write(bytes(200_000_000))
    return 1.0


DEEDS = {
    "refuse": refuse, "fail": fail, "give_up": give_up, "chat": chat, "ask": ask, "fork": fork, "loop": loop, "spin": spin,
    "bomb": bomb, "leave": leave, "scribble": scribble, "linger": linger, "count_processes": count_processes,
    "look": look, "call": call, "write_much": write_much,
    "exit": lambda: sys.exit("enough"), "interrupt": lambda: (_ for _ in ()).throw(KeyboardInterrupt()),
    "undefined": lambda: float("nan"), "infinite": lambda: -np.inf, "nothing": lambda: None, "text": lambda: "0.5",
    "two": lambda: np.array([1.0, 2.0]), "numpy": lambda: np.float32(0.5), "true": lambda: np.True_, "one": lambda: 1,
    "calls": lambda: len(CALLS),
    "missing": lambda: __import__("pycocotools"),
}
"""
"""A grader that obeys the submission's first cell, after spoiling the tables that it was given."""


def competition(folder: Path, source: str = ACCURACY, **modules: str) -> Path:
    """Write a grade.py with modules beside it, and answers.csv of four rows; returns grade.py."""
    write(folder / "answers.csv", ["id", "y"], [["a", 1], ["b", 0], ["c", 1], ["d", 3]])
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    grade_py = folder / "grade.py"
    grade_py.write_text(source)
    return grade_py


def submission(path: Path, *cells: object, ids: str = "abcd") -> Path:
    return write(path, ["id", "y"], zip(ids, cells, strict=True))


CAREFUL = """
import numpy as np

from mlebench.grade_helpers import InvalidSubmissionError


def grade(submission, answers):
    for name in ("id", "y"):
        if name not in submission.columns:
            raise InvalidSubmissionError(f"no column {name}")
    if len(submission) != len(answers) or set(submission["id"]) != set(answers["id"]):
        raise InvalidSubmissionError("other ids")
    both = answers.set_index("id")["y"].to_frame("true").join(submission.set_index("id")["y"].rename("guess"))
    return np.sqrt(((both["true"] - both["guess"]) ** 2).mean())
"""
"""Root mean squared error as a model would write it: it passes every self-test."""


def snapshot(folder: Path, source: str = CAREFUL, rows: int = 40, **metric: object) -> Path:
    """Write as much of a snapshot as grading needs, its metric that of `private/grade.py`."""
    numbers = [[f"r{n:03d}", (n * 7) % 11 + n / 8] for n in range(rows)]
    (folder / "private").mkdir(parents=True)
    (folder / "private" / "grade.py").write_text(source)
    write(folder / "private" / "answers.csv", ["id", "y"], numbers[::-1])
    write(folder / "data" / "sample_submission.csv", ["id", "y"], [[row[0], 5] for row in numbers])
    write(folder / "leaderboard.csv", ["score"], [[1 + n / 10] for n in range(20)])
    return folder
