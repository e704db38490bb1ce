"""Small prepared competitions on disk, with MLE-bench's file names and graders of its shape."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 48211\n"

_HEAD = """import numpy as np
import pandas as pd

from mlebench.grade_helpers import InvalidSubmissionError


def _aligned(submission: pd.DataFrame, answers: pd.DataFrame, key: str):
    if key not in submission.columns or len(submission) != len(answers):
        raise InvalidSubmissionError(f"Submission must have the column {key} and {len(answers)} rows")
    submission, answers = submission.sort_values(key), answers.sort_values(key)
    if (submission[key].values != answers[key].values).any():
        raise InvalidSubmissionError("ids do not match")
    return submission, answers


"""
_SIGNATURE = "def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:\n"

RMSE = f"""{_HEAD}{_SIGNATURE}    submission, answers = _aligned(submission, answers, "id")
    return float(np.sqrt(((submission["y"].values - answers["y"].values) ** 2).mean()))
"""
MASKED_MAE = f"""{_HEAD}{_SIGNATURE}    submission, answers = _aligned(submission, answers, "id")
    counted = (answers["u_out"] == 0).values
    return float(np.abs(submission["y"].values - answers["y"].values)[counted].mean())
"""
ACCURACY = f"""{_HEAD}{_SIGNATURE}    submission, answers = _aligned(submission, answers, "id")
    return float((submission["after"].astype(str).values == answers["after"].astype(str).values).mean())
"""
LOG_LOSS = f"""from .classes import CLASSES
{_HEAD}{_SIGNATURE}    submission, answers = _aligned(submission, answers, "id")
    chance = submission[CLASSES].to_numpy(dtype=float)
    if not np.allclose(chance.sum(axis=1), 1, atol=1e-6):
        raise InvalidSubmissionError("rows must sum to one")
    chance = np.clip(chance, np.finfo(float).eps, 1 - np.finfo(float).eps)
    return float(-(answers[CLASSES].to_numpy() * np.log(chance)).sum(axis=1).mean())
"""
SHORT_ANSWERS = """import pandas as pd

from mlebench.grade_helpers import InvalidSubmissionError


def grade(submission: pd.DataFrame, answers: list[dict]) -> float:
    if set(submission["example_id"]) != {row["example_id"] for row in answers}:
        raise InvalidSubmissionError("ids do not match")
    spans = dict(zip(submission["example_id"], submission["PredictionString"]))
    overlaps = []
    for row in answers:
        start, end = (int(part) for part in spans[row["example_id"]].split(":"))
        true = row["annotation"]
        both = max(0, min(end, true["end"]) - max(start, true["start"]))
        overlaps.append(2 * both / max(1, (end - start) + (true["end"] - true["start"])))
    return sum(overlaps) / len(overlaps)
"""

Row = Sequence[object]


def write_table(path: Path, header: Sequence[str], rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def write_competition(
    root: Path,
    slug: str,
    *,
    header: Sequence[str],
    answers: Sequence[Row],
    sample: Sequence[Row],
    grader: str,
    label: str = "metric",
    sample_header: Sequence[str] | None = None,
    sample_in: str = "public",
    lower_is_better: bool = True,
    gold: bool = False,
    answers_name: str = "answers.csv",
    modules: Mapping[str, str] | None = None,
) -> Path:
    """Write `data/<slug>/prepared` and `competitions/<slug>` below a root, and return the former's parent."""
    folder, package = root / "data" / slug, root / "competitions" / slug
    public, private = folder / "prepared/public", folder / "prepared/private"
    if answers_name.endswith(".csv"):
        write_table(private / answers_name, header, answers)
    write_table(folder / "prepared" / sample_in / "sample_submission.csv", sample_header or header, sample)
    public.mkdir(exist_ok=True)
    private.mkdir(exist_ok=True)
    (public / "description.md").write_text(f"# {slug}\n\nAs agents see it.\n")
    package.mkdir(parents=True)
    base = f"{slug}/prepared"
    lines = [
        f"id: {slug}",
        f"name: The {slug} competition",
        "competition_type: simple",
        "awards_medals: true",
        "prizes:\n  - position: 1\n    value: 12000",
        f"description: mlebench/competitions/{slug}/description.md",
        f"dataset:\n  answers: {base}/private/{answers_name}",
        f"  sample_submission: {base}/{sample_in}/sample_submission.csv",
        *([f"  gold_submission: {base}/private/gold_submission.csv"] if gold else []),
        f"grader:\n  name: {label}\n  grade_fn: mlebench.competitions.{slug}.grade:grade",
        f"preparer: mlebench.competitions.{slug}.prepare:prepare",
    ]
    (package / "config.yaml").write_text("\n".join(lines) + "\n")
    (package / "grade.py").write_text(grader)
    (package / "prepare.py").write_text("raise RuntimeError('preparing is over')\n")
    for name, text in (modules or {}).items():
        (package / name).write_text(text)
    (package / "description.md").write_text(f"# {slug}\n\nOf the package.\n")
    write_board(package / "leaderboard.csv", lower_is_better=lower_is_better)
    return folder


def write_board(path: Path, *, lower_is_better: bool = True, dated: bool = True) -> None:
    scores = [0.1 + 0.05 * place for place in range(12)]
    if not lower_is_better:
        scores.reverse()
    rows = [
        (score, 100 + place, True, f"2019-0{1 + place % 3}-1{place % 9} 10:20:30" if dated else "", score, True)
        for place, score in enumerate(scores)
    ]
    write_table(path, ("scoreNullable", "teamId", "hasTeamName", "submissionDate", "score", "hasScore"), rows)


def numbers(slug: str, root: Path, **other: object) -> Path:
    """A regression that its configuration calls by another metric's name."""
    answers = [(f"n{place:03d}", round(3 + place * 0.37 % 5 + place % 7, 3)) for place in range(80)]
    settings: dict[str, object] = {"label": "mean_absolute_error", "grader": RMSE}
    folder = write_competition(
        root,
        slug,
        header=("id", "y"),
        answers=answers,
        sample=[(row[0], 0) for row in answers],
        **{**settings, **other},  # type: ignore[arg-type]
    )
    train = [(f"t{place}", place % 5, place * 0.1) for place in range(30)]
    write_table(folder / "prepared/public/train.csv", ("id", "x", "y"), train)
    write_table(folder / "prepared/public/test.csv", ("id", "x"), [(row[0], 1) for row in answers])
    return folder


def authors(slug: str, root: Path) -> Path:
    """Three classes of probabilities; its grader imports from a module beside it."""
    classes = ("EAP", "HPL", "MWS")
    answers = [(f"a{place:03d}", *(int(place * 7 % 3 == one) for one in range(3))) for place in range(90)]
    sample = [(row[0], 0.4, 0.3, 0.3) for row in answers]
    module = {"classes.py": f"CLASSES = {list(classes)!r}\n"}
    folder = write_competition(
        root,
        slug,
        header=("id", *classes),
        answers=answers,
        sample=sample,
        grader=LOG_LOSS,
        label="accuracy",
        modules=module,
    )
    write_table(folder / "prepared/public/train.csv", ("id", "text", "author"), [("t1", "It was, it is", "EAP")])
    return folder


def spoken(slug: str, root: Path) -> Path:
    """Words as predictions; the sample submission lies beside the answers."""
    words = ("one", "two, three", "four", "five and six")
    answers = [(f"{place}_0", words[place * 5 % 4]) for place in range(60)]
    sample = [(row[0], "one") for row in answers]
    return write_competition(
        root,
        slug,
        header=("id", "after"),
        answers=answers,
        sample=sample,
        grader=ACCURACY,
        sample_in="private",
        lower_is_better=False,
    )


def breaths(slug: str, root: Path) -> Path:
    """Only rows where `u_out` is 0 count, a column that no submission has."""
    answers = [(place, round(place * 1.7 % 9, 2), int(place % 3 == 0)) for place in range(1, 101)]
    return write_competition(
        root,
        slug,
        header=("id", "y", "u_out"),
        sample_header=("id", "y"),
        answers=answers,
        sample=[(row[0], 0.0) for row in answers],
        grader=MASKED_MAE,
        label="dice",
    )


def questions(slug: str, root: Path) -> Path:
    """Answers as JSON lines, and a gold submission in the sample's columns."""
    spans = [(f"q{place:02d}", place % 11, place % 11 + 4 + place % 5) for place in range(40)]
    folder = write_competition(
        root,
        slug,
        header=("example_id", "PredictionString"),
        answers=[],
        sample=[(name, "0:1") for name, _, _ in spans],
        grader=SHORT_ANSWERS,
        answers_name="test.jsonl",
        gold=True,
        lower_is_better=False,
    )
    private = folder / "prepared/private"
    lines = [{"example_id": name, "annotation": {"start": start, "end": end}} for name, start, end in spans]
    (private / "test.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    gold = [(name, f"{start}:{end}") for name, start, end in spans]
    write_table(private / "gold_submission.csv", ("example_id", "PredictionString"), gold)
    return folder
