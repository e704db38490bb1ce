import pytest

from bot.research.grading.submission_list import SubmissionListItem, read_list
from state.errors import UsageError


def written(folder, *lines):
    path = folder / "list.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_a_list_is_read_as_mle_bench_reads_it(tmp_path):
    path = written(
        tmp_path,
        "# a comment",
        '{"competition_id": "a", "submission_path": "one/submission.csv", "logs_path": "x", "code_path": null}',
        "",
        '  // {"competition_id": "b", "submission_path": "left/out.csv"}',
        '{"competition_id": "b", "submission_path": null}',
        '{"competition_id": "a", "submission_path": "/elsewhere/two.csv"}',
    )
    one, none, two = read_list(path)
    assert one == SubmissionListItem(2, "a", tmp_path / "one/submission.csv")
    assert (none.competition_id, none.path) == ("b", None)
    assert str(two.path) == "/elsewhere/two.csv"


def test_all_wrong_lines_are_named_at_once(tmp_path):
    path = written(
        tmp_path,
        "{",
        "[]",
        '{"competition_id": "../private", "submission_path": null}',
        '{"competition_id": "a"}',
        '{"competition_id": "a", "submission_path": 3}',
        '{"submission_path": null}',
        "[" * 100_000,
    )
    with pytest.raises(UsageError) as caught:
        read_list(path)
    lines = str(caught.value).splitlines()
    assert [line.split(":")[:2] for line in lines] == [["list.jsonl", str(number)] for number in range(1, 8)]
    assert "no JSON object" in lines[1] and "a competition's name" in lines[2] and "or null" in lines[3]


@pytest.mark.parametrize("content", ["", "# nothing\n"])
def test_a_list_of_nothing_is_refused(tmp_path, content):
    with pytest.raises(UsageError, match="lists no submissions"):
        read_list(written(tmp_path, content))


def test_a_list_that_is_not_there_or_no_text_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_list(tmp_path / "none.jsonl")
    (tmp_path / "list.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        read_list(tmp_path / "list.jsonl")
