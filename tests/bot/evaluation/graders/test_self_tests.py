from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.evaluation.graders.process import GraderLimits
from bot.evaluation.graders.self_tests import Finding, run_self_tests
from scrapers.snapshots.card import TaskCard
from tests.bot.evaluation.graders.parts import CAREFUL, snapshot
from tests.bot.evaluation.parts import card, write

LIMITS = GraderLimits(seconds=60.0)
BOARD = [1.0, 1.5, 2.0]


def tried(
    folder: Path, source: str, task: TaskCard | None = None, board: Sequence[float] = BOARD, **options: int
) -> list[Finding]:
    place = snapshot(folder / "one", source, **options)
    files = folder / "files"
    files.mkdir()
    sample = place / "data" / "sample_submission.csv"
    private = place / "private"
    return run_self_tests(
        private / "grade.py",
        private / "answers.csv",
        sample,
        task or card("described"),
        board,
        files,
        LIMITS,
        must_contain=False,
    )


def failed(findings: list[Finding]) -> set[str]:
    return {finding.name for finding in findings if not finding.passed}


@pytest.mark.integration
def test_a_careful_grader_passes_every_one(tmp_path: Path) -> None:
    findings = tried(tmp_path, CAREFUL)
    assert failed(findings) == set()
    assert len(findings) == 12


KEYED = """
from mlebench.grade_helpers import InvalidSubmissionError

KEY = ["id", "second"]


def grade(submission, answers):
    if not {*KEY, "y"} <= set(submission.columns):
        raise InvalidSubmissionError("a column is missing")
    said, true = (table.sort_values(KEY).reset_index(drop=True) for table in (submission, answers))
    if len(said) != len(true) or (said[KEY].astype(str) != true[KEY].astype(str)).any().any() or said["y"].isna().any():
        raise InvalidSubmissionError("other rows")
    return float((said["y"] - true["y"]).abs().mean())
"""


@pytest.mark.integration
def test_a_grader_of_rows_that_two_columns_tell_apart_is_tried_by_both(tmp_path: Path) -> None:
    header, rows = ("id", "second", "y"), [(f"d{n // 6}", n % 6, (n // 6 * 7 + n % 6 * 3) % 11) for n in range(60)]
    answers = write(tmp_path / "answers.csv", header, rows)
    sample = write(tmp_path / "sample.csv", header, [(*row[:2], 0) for row in rows])
    (tmp_path / "grade.py").write_text(KEYED)
    (tmp_path / "files").mkdir()
    task = card("described").model_copy(update={"key_columns": ("second",)})
    findings = run_self_tests(
        tmp_path / "grade.py", answers, sample, task, BOARD, tmp_path / "files", LIMITS, must_contain=False
    )
    assert {(one.name, one.detail) for one in findings if not one.passed} == set()
    blind = KEYED.replace('KEY = ["id", "second"]', 'KEY = ["id"]')
    (tmp_path / "grade.py").write_text(blind)
    findings = run_self_tests(
        tmp_path / "grade.py", answers, sample, task, BOARD, tmp_path / "files", LIMITS, must_contain=False
    )
    assert failed(findings), "it does not look at the second column"


def changed(before: str, after: str) -> str:
    assert before in CAREFUL
    return CAREFUL.replace(before, after)


SCORE = 'np.sqrt(((both["true"] - both["guess"]) ** 2).mean())'
DIRECTION = "the direction agrees with the leaderboard"
ORDER = "the order of rows is irrelevant"
SAMPLE = "the sample submission is valid"
CHECK = 'if len(submission) != len(answers) or set(submission["id"]) != set(answers["id"]):'


@pytest.mark.integration
@pytest.mark.parametrize(
    ("source", "fails"),
    [
        ("import no_such_module\n", {"loads"}),
        (changed(SCORE, f"1 / (1 + {SCORE})"), {"perfect is best", "shuffled is worse", DIRECTION}),
        (changed(SCORE, f"{SCORE} + 3"), {"no team beats a perfect submission"}),
        (changed(SCORE, "0.5"), {"shuffled is worse", "constant is worse"}),
        (changed(SCORE, 'abs(both["true"].sum() - both["guess"].sum())'), {"shuffled is worse"}),
        (changed(SCORE, f'{SCORE} * both["guess"].std()'), {"constant is worse"}),
        (changed(SCORE, f'float("nan") if both["guess"].std() == 0 else {SCORE}'), set()),
        (changed(SCORE, f"{SCORE} * np.random.default_rng().random()"), {"deterministic"}),
        (changed(SCORE, 'np.abs(submission["y"].to_numpy() - answers["y"].to_numpy()).mean()'), {ORDER}),
        (changed(CHECK, "if False:"), {"wrong ids are refused"}),
        (changed(CHECK, 'if set(submission["id"]) != set(answers["id"]):'), {"wrong ids are refused"}),
        (changed('for name in ("id", "y"):', "for name in ():"), {"a missing column is refused"}),
        (changed(CHECK, CHECK.replace("if ", "if len(answers) < 40 or ")), {"parts can be scored"}),
        (changed(CHECK, CHECK.replace("if ", 'if (submission["y"] == 5).all() or ')), {SAMPLE, "constant is worse"}),
        (changed(SCORE, '(_ for _ in ()).throw(KeyError(str(answers)))'), {"perfect is best"}),
    ],
)  # fmt: skip
def test_each_fires_where_it_must(tmp_path: Path, source: str, fails: set[str]) -> None:
    findings = tried(tmp_path, source)
    assert fails <= failed(findings)
    assert fails or failed(findings) == set()


@pytest.mark.integration
def test_the_direction_must_be_that_of_the_task_and_of_the_leaderboard(tmp_path: Path) -> None:
    findings = tried(tmp_path, CAREFUL, board=BOARD[::-1])
    assert DIRECTION in failed(findings)


@pytest.mark.integration
def test_what_the_grader_says_itself_is_not_passed_on(tmp_path: Path) -> None:
    source = changed(CHECK, 'raise InvalidSubmissionError("SECRET " + str(answers))\n    if False:')
    findings = tried(tmp_path, source)
    assert findings
    assert "SECRET" not in " ".join(finding.sentence for finding in findings)
    findings = tried(_made(tmp_path / "two"), changed(CHECK, 'raise KeyError("SECRET " + str(answers))\n    if False:'))
    assert "KeyError in line" in " ".join(finding.sentence for finding in findings)
    assert "SECRET" not in " ".join(finding.sentence for finding in findings)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
