import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from bot.evaluation.graders.process import GraderLimits, GraderProcess, Order
from state.errors import GraderFailed, GraderStopped, InvalidSubmission, SnapshotError
from tests import needs
from tests.bot.evaluation.graders.parts import ABSOLUTE, ACCURACY, DEED, competition, submission
from tests.bot.evaluation.parts import write
from tests.chaos.world import wait_until

FAST = GraderLimits(seconds=5.0)
SMALL = GraderLimits(memory_bytes=2 * 1024**3)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deeds")
    competition(folder, DEED)
    return folder


@pytest.fixture(scope="module")
def grader(place: Path) -> Iterator[GraderProcess]:
    """One process for all that does not end it."""
    with closing(GraderProcess(place / "grade.py")) as process:
        yield process


def score_file(grader: GraderProcess, submission: Path, answers: Path) -> float | None:
    """Return the score by grade.py of a file as it is, unordered."""
    return grader.score(grader.load(submission), grader.load(answers))


def deed(grader: GraderProcess, place: Path, name: str) -> float | None:
    return score_file(grader, submission(place / f"{name}.csv", name, 0, 0, 0), place / "answers.csv")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("numpy", 0.5),
        ("true", 1.0),
        ("one", 1.0),
        ("undefined", None),
        ("infinite", None),
        ("chat", 0.25),
        ("ask", 0.0),
    ],
)
def test_a_score_is_a_finite_number_or_none_whatever_else_the_grader_does(
    grader: GraderProcess, place: Path, name: str, score: float | None
) -> None:
    assert deed(grader, place, name) == score


def test_a_refusal_is_passed_on_in_one_line(grader: GraderProcess, place: Path) -> None:
    with pytest.raises(
        InvalidSubmission, match="The grader rejected the submission: the third row is not to my liking"
    ) as found:
        deed(grader, place, "refuse")
    assert not isinstance(found.value, GraderFailed)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fail", "KeyError"),
        ("give_up", "AssertionError"),
        ("exit", "SystemExit"),
        ("interrupt", "KeyboardInterrupt"),
        ("nothing", "TypeError"),
        ("text", "TypeError"),
        ("two", "TypeError"),
        ("write_much", "OSError"),
        ("unheard", "KeyError"),
    ],
)
def test_any_other_end_of_grade_is_no_score_and_names_itself_and_the_line(
    grader: GraderProcess, place: Path, name: str, kind: str
) -> None:
    with pytest.raises(GraderFailed, match=kind) as found:
        deed(grader, place, name)
    assert found.value.kind == kind
    assert (found.value.line is None) == (kind == "TypeError")


def test_one_process_serves_many_scores_and_each_sees_the_tables_unspoilt(grader: GraderProcess, place: Path) -> None:
    before = deed(grader, place, "calls") or 0
    mine = grader.load(submission(place / "calls.csv", "calls", 0, 0, 0))
    answers = grader.load(place / "answers.csv")
    assert [grader.score(mine, answers) for _ in range(3)] == [before + 1, before + 2, before + 3]


def test_a_module_that_is_not_there_is_the_snapshots_fault_and_named(grader: GraderProcess, place: Path) -> None:
    with pytest.raises(SnapshotError, match=r"grade.py:\d+: needs 'pycocotools', which is not available"):
        deed(grader, place, "missing")


def test_a_copy_that_the_grader_forks_off_does_not_answer_for_it(grader: GraderProcess, place: Path) -> None:
    assert [deed(grader, place, name) for name in ("fork", "numpy", "one", "fork", "undefined")] == [
        0.5,
        0.5,
        1.0,
        0.5,
        None,
    ]


def test_nothing_that_it_writes_into_its_descriptors_passes_for_a_score(grader: GraderProcess, place: Path) -> None:
    assert deed(grader, place, "scribble") == 0.5
    assert deed(grader, place, "one") == 1.0


def test_a_file_that_is_no_table_is_an_invalid_submission(grader: GraderProcess, place: Path) -> None:
    (place / "empty.csv").write_bytes(b"")
    (place / "picture.csv").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\xff")
    for name in ("empty.csv", "picture.csv", "nowhere.csv"):
        with pytest.raises(InvalidSubmission, match=f"{name} cannot be read"):
            score_file(grader, place / name, place / "answers.csv")


@pytest.mark.integration
def test_it_sees_no_file_of_ours_and_no_network(place: Path) -> None:
    needs.bubblewrap()
    with socket.create_server(("127.0.0.1", 0)) as server:
        named = f"WHERE = {str(place / 'answers.csv')!r}\nPORT = {server.getsockname()[1]}\n"
        grade_py = competition(place / "inside", named + DEED)
        with closing(GraderProcess(grade_py)) as contained:
            assert [deed(contained, place, name) for name in ("look", "call")] == [0.0, 0.0]
            assert contained.contained


@pytest.mark.integration
def test_rows_are_brought_into_the_answers_order_by_id_and_parts_can_be_scored(tmp_path: Path) -> None:
    answers = competition(tmp_path, ABSOLUTE).with_name("answers.csv")
    (tmp_path / "turned.csv").write_text("y,id\n7,d\n1,c\n0,b\n1,a\n")
    with closing(GraderProcess(tmp_path / "grade.py")) as grader:
        assert score_file(grader, tmp_path / "turned.csv", answers) == pytest.approx((6 + 1 + 1 + 2) / 4)
        truth = grader.load(answers, key=("id",))
        order = Order(truth, ("id", "y"))
        mine = grader.load(tmp_path / "turned.csv", key=("id",), order=order)
        assert grader.ordered(mine)
        assert grader.score(mine, truth) == 1.0
        assert grader.score(mine, truth, [0, 1, 2]) == 0.0
        other = grader.load(submission(tmp_path / "other.csv", 1, 0, 1, 7, ids="abcx"), key=("id",), order=order)
        assert not grader.ordered(other)
        grader.close()
        assert grader.score(mine, truth, [3]) == 4.0


SUMS = """
from mlebench.grade_helpers import InvalidSubmissionError


def grade(submission, answers):
    if list(submission["id"]) != list(answers["id"]) or list(submission["part"]) != list(answers["part"]):
        raise InvalidSubmissionError("each row in its place, and once")
    if submission.duplicated(["id", "part"]).any():
        raise InvalidSubmissionError("each row once")
    return float((submission["y"] * 100 + answers["y"]).sum())
"""
"""Reports which prediction stood in which row, and takes none that is not in its place."""


@pytest.mark.integration
def test_predictions_of_other_rows_stand_in_the_place_of_rows_whose_key_stays(tmp_path: Path) -> None:
    grade_py = competition(tmp_path, SUMS)
    header, keys = ("id", "part", "y"), [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    answers = write(tmp_path / "truth.csv", header, [(*key, n) for n, key in enumerate(keys)])
    turned = write(tmp_path / "turned.csv", header, [(*key, n + 1) for n, key in reversed(list(enumerate(keys)))])
    with closing(GraderProcess(grade_py)) as grader:
        key = ("id", "part")
        truth = grader.load(answers, key=key)
        mine = grader.load(turned, key=key, order=Order(truth, header))
        assert grader.score(mine, truth) == 100 * (1 + 2 + 3 + 4) + (0 + 1 + 2 + 3)
        assert grader.score(mine, truth, [3, 1]) == 100 * (4 + 2) + (3 + 1)
        assert grader.score(mine, truth, [3, 1], [0, 0]) == 100 * (1 + 1) + (3 + 1)
        with pytest.raises(InvalidSubmission, match="once"):
            grader.score(mine, truth, [1, 1])


@pytest.mark.integration
def test_modules_beside_grade_py_are_there_for_it_to_import(tmp_path: Path) -> None:
    relative = ACCURACY.replace("def grade", "from .classes import CLASSES\nimport classes\n\n\ndef grade")
    grade_py = competition(tmp_path, relative, classes="CLASSES = [0, 1]\n")
    with closing(GraderProcess(grade_py)) as grader:
        assert score_file(grader, submission(tmp_path / "s.csv", 1, 0, 0, 3), tmp_path / "answers.csv") == 0.75


@pytest.mark.integration
def test_a_pool_of_as_many_processes_as_there_are_cores_is_within_the_limit_on_any_machine(tmp_path: Path) -> None:
    source = (
        "import multiprocessing\n\n\ndef grade(submission, answers):\n    assert multiprocessing.cpu_count() <= 4\n"
    )
    source += "    with multiprocessing.Pool() as pool:\n        return float(sum(pool.map(abs, [-1, 2])))\n"
    with closing(GraderProcess(competition(tmp_path, source))) as grader:
        assert score_file(grader, submission(tmp_path / "s.csv", 1, 0, 0, 3), tmp_path / "answers.csv") == 3.0


@pytest.mark.integration
def test_edit_distances_are_there_where_levenshtein_is_not_installed(tmp_path: Path) -> None:
    source = "from Levenshtein import distance\n\n\ndef grade(submission, answers):\n    return distance('kitten', 'sitting')\n"
    with closing(GraderProcess(competition(tmp_path, source))) as grader:
        assert score_file(grader, submission(tmp_path / "s.csv", 1, 0, 0, 3), tmp_path / "answers.csv") == 3.0


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import torchmetrics_of_old\n", "grade.py:1: needs 'torchmetrics_of_old', which is not available"),
        ("from mlebench.competitions.utils import no_such_name\n", "needs 'mlebench.competitions.utils'.*no_such_name"),
        ("def grade(:\n", "grade.py:1: cannot be loaded: SyntaxError"),
        ("x = 1\n", "cannot be loaded: AttributeError"),
        ("raise SystemExit\n", "grade.py:1: cannot be loaded: SystemExit"),
    ],
)
@pytest.mark.integration
def test_a_grade_py_that_cannot_be_loaded_is_the_snapshots_fault(tmp_path: Path, source: str, words: str) -> None:
    with closing(GraderProcess(competition(tmp_path, source))) as grader, pytest.raises(SnapshotError, match=words):
        score_file(grader, tmp_path / "answers.csv", tmp_path / "answers.csv")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "words", "contain"),
    [
        ("loop", "longer than 5 s", True),
        ("spin", "longer", False),
        ("bomb", "out of memory", True),
        ("bomb", "out of memory", False),
        ("leave", "ended without a result", True),
        ("leave", "ended without a result", False),
    ],
)
def test_a_grader_that_runs_away_is_stopped_and_the_next_score_gets_a_fresh_process(
    place: Path, name: str, words: str, contain: bool
) -> None:
    if contain:
        needs.bubblewrap()
    limits = FAST if name in ("loop", "spin") else SMALL
    with closing(GraderProcess(place / "grade.py", limits, contain=contain)) as grader:
        assert deed(grader, place, "one") == 1.0
        with pytest.raises(GraderStopped, match=words):
            deed(grader, place, name)
        assert deed(grader, place, "calls") == 1.0


@pytest.mark.integration
@pytest.mark.parametrize("contain", [True, False])
def test_nothing_that_it_starts_outlives_it(tmp_path: Path, contain: bool) -> None:
    if contain:
        needs.bubblewrap()
    mark = tmp_path.name
    grade_py = competition(tmp_path, DEED.replace("MARK", mark))
    with closing(GraderProcess(grade_py, contain=contain)) as grader:
        assert deed(grader, tmp_path, "linger") == 0.5
        assert wait_until(lambda: len(_with_mark(mark)) == 1, 10.0)  # a new process has no command line for a moment
    assert _with_mark(mark) == []


@pytest.mark.integration
def test_it_cannot_have_many_processes(place: Path) -> None:
    needs.bubblewrap()
    with closing(GraderProcess(place / "grade.py", GraderLimits(processes=20))) as grader:
        started = deed(grader, place, "count_processes")
    assert started is not None
    assert 3 <= started < 20


@pytest.mark.integration
def test_it_runs_without_bubblewrap_where_that_is_not_installed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with closing(GraderProcess(place / "grade.py")) as grader:
        assert deed(grader, place, "one") == 1.0
        assert grader.contained is False


@pytest.mark.integration
def test_one_that_ends_while_it_is_loaded_is_not_tried_again_without_containment(tmp_path: Path) -> None:
    needs.bubblewrap()
    grade_py = competition(tmp_path, "import os\nos._exit(3)\n")
    with closing(GraderProcess(grade_py)) as grader, pytest.raises(GraderStopped, match="ended without a result"):
        score_file(grader, tmp_path / "answers.csv", tmp_path / "answers.csv")


def _with_mark(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        if any(mark in part and "sleep" in part for part in command):
            found.append(process)
    return found
