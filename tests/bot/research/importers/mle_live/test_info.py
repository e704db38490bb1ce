"""`info.json`, in both shapes and broken in many ways."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from bot.research.importers.mle_live.info import (
    SCORE,
    TIME,
    VOTES,
    InfoRecord,
    ReasonCounter,
    in_utc,
    read_info,
    title_of,
)


@pytest.mark.parametrize(("value", "votes"), [(3, 3), (-1, -1), ("12", 12), (7.0, 7), (None, None), ("", None)])
def test_votes_are_read_from_numbers_and_text(value: object, votes: int | None):
    assert VOTES.validate_python(value) == votes


@pytest.mark.parametrize(("value", "score"), [(0.5, 0.5), (1, 1.0), ("0.25", 0.25), (float("nan"), None), (None, None)])
def test_scores_are_read_and_nan_is_none(value: object, score: float | None):
    assert SCORE.validate_python(value) == score


@pytest.mark.parametrize(
    ("values", "value"),
    [
        *((VOTES, value) for value in ("many", 2.5, 2**31, "9999999999", [], "1,2")),
        *((SCORE, value) for value in (float("inf"), "-inf", "best", {}, 10**400)),
        *((TIME, value) for value in ("10/25/2017", "yesterday", [])),
    ],
)
def test_what_is_no_such_value_is_refused(values: TypeAdapter[object], value: object):
    with pytest.raises(ValidationError):
        values.validate_python(value)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2017-10-25T14:03:00Z", datetime(2017, 10, 25, 14, 3, tzinfo=UTC)),
        ("2017-10-25T14:03:00.1234567Z", datetime(2017, 10, 25, 14, 3, 0, 123456, tzinfo=UTC)),
        ("2017-10-25T16:03:00+02:00", datetime(2017, 10, 25, 14, 3, tzinfo=UTC)),
        ("2017-10-25 14:03:00", datetime(2017, 10, 25, 14, 3, tzinfo=UTC)),
    ],
)
def test_times_are_read_as_utc(text: str, time: datetime):
    read = TIME.validate_python(text)
    assert read is not None
    assert in_utc(read) == time


def test_a_mere_day_is_known_only_when_it_is_over():
    assert TIME.validate_python("2017-10-25") == datetime(2017, 10, 25, 23, 59, 59)  # noqa: DTZ001 - it names no zone


def test_titles_stand_on_one_line():
    assert title_of(" a\n b\u202e ") == "a b"
    assert title_of("") is None
    assert title_of(7) is None


def read(
    folder: Path, content: object, broken: ReasonCounter | None = None
) -> tuple[dict[str, InfoRecord], list[str], list[str]]:
    """Return the entries, what was left out and what was remarked on."""
    text = (
        content
        if isinstance(content, bytes)
        else (content if isinstance(content, str) else json.dumps(content)).encode()
    )
    (folder / "info.json").write_bytes(text)
    left, remarks = ReasonCounter(), ReasonCounter()
    entries = read_info(folder, "kernels", left, remarks, broken or ReasonCounter())
    return entries, [str(one) for one in left.reasons], [str(one) for one in remarks.reasons]


def test_a_list_has_dates(tmp_path: Path):
    one = {
        "title": " A \n b",
        "votes": 3,
        "id": "12",
        "created_at": "2017-10-25T14:03:00.1234567Z",
        "bestPublicScore": 0.5,
    }
    two = {"title": "B", "votes": "4", "id": 13, "created_at": "2017-10-26T00:00:00Z", "bestPublicScore": None}
    time = datetime(2017, 10, 25, 14, 3, 0, 123456, tzinfo=UTC)
    assert read(tmp_path, [one, two]) == (
        {
            "12": InfoRecord("12", "A b", 3, time, 0.5),
            "13": InfoRecord("13", "B", 4, datetime(2017, 10, 26, tzinfo=UTC)),
        },
        [],
        [],
    )


def test_a_dict_by_id_has_none(tmp_path: Path):
    content = {"12": {"title": "A", "votes": 3, "id": "12", "bestPublicScore": 0.5, "is_lower_better": True}, "13": {}}
    entries, left, remarks = read(tmp_path, content)
    assert entries == {"12": InfoRecord("12", "A", 3, None, 0.5, True), "13": InfoRecord("13")}
    assert left == remarks == []


def test_nan_is_no_score_and_what_cannot_be_read_is_unknown(tmp_path: Path):
    text = (
        '[{"id": "1", "bestPublicScore": NaN, "votes": "many", "created_at": "10/25/2017", "title": 7},'
        ' {"id": "2", "bestPublicScore": Infinity, "created_at": "2017-10-25T14:03:00"}]'
    )
    entries, left, remarks = read(tmp_path, text)
    assert entries == {"1": InfoRecord("1"), "2": InfoRecord("2", created_at=datetime(2017, 10, 25, 14, 3, tzinfo=UTC))}
    assert left == []
    assert remarks == [
        "1 kernels whose time could not be read and is treated as unknown (1)",
        "1 kernels whose vote count could not be read and is treated as unknown (1)",
        "1 kernels whose time has no time zone and is read as UTC (2)",
        "1 kernels whose score could not be read and is treated as unknown (2)",
    ]


def test_the_first_of_two_entries_with_one_id_counts(tmp_path: Path):
    entries, _, remarks = read(tmp_path, [{"id": "1", "votes": 1}, {"id": "1", "votes": 2}])
    assert entries == {"1": InfoRecord("1", votes=1)}
    assert remarks == ["1 kernels listed twice in info.json: only the first entry is used (1)"]


def test_what_names_no_file_is_left_out(tmp_path: Path):
    content = [{"id": "../1"}, {"id": None}, {}, 7, {"id": True}, {"id": "a/b"}, {"id": "ok"}, {"id": 5.0}]
    entries, left, _ = read(tmp_path, content)
    assert list(entries) == ["ok", "5"]
    assert left == ["6 entries for kernels whose id cannot be a file name (../1, None, None …)"]


@pytest.mark.parametrize("content", ["", "[{", "7", "null", "[" * 100_000, '[{"id": ' + "9" * 5000 + "}]"])
def test_a_broken_list_dates_nothing_and_says_so(tmp_path: Path, content: str):
    broken = ReasonCounter()
    assert read(tmp_path, content, broken) == ({}, [], [])
    assert str(broken.reasons[0]).startswith("1 list of kernels that is not a JSON list or object")


@pytest.mark.parametrize("content", ["[]", "{}"])
def test_an_empty_list_is_none_that_is_broken(tmp_path: Path, content: str):
    broken = ReasonCounter()
    assert read(tmp_path, content, broken) == ({}, [], [])
    assert broken.reasons == ()


def test_a_list_that_is_no_file_is_broken(tmp_path: Path):
    (tmp_path / "info.json").mkdir()
    remarks, broken = ReasonCounter(), ReasonCounter()
    assert read_info(tmp_path, "kernels", ReasonCounter(), remarks, broken) == {}
    assert remarks.reasons == ()
    assert str(broken.reasons[0]).startswith("1 list of kernels whose file is not a regular file in its folder")


def test_a_missing_list_is_reported(tmp_path: Path):
    remarks, broken = ReasonCounter(), ReasonCounter()
    assert read_info(tmp_path, "kernels", ReasonCounter(), remarks, broken) == {}
    assert broken.reasons == ()
    assert str(remarks.reasons[0]).startswith("1 list of kernels whose file is missing, so the kernels have no dates")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_titles_are_read_in_other_encodings(tmp_path: Path, encoding: str):
    content = '[{"id": "1", "title": "Grüße"}]'.encode(encoding)
    assert read(tmp_path, content)[0]["1"].title == "Grüße"


def test_a_tally_counts_all_and_keeps_a_few_examples():
    tally = ReasonCounter()
    for id in range(5):
        tally.add("kernels without a text", str(id))
    tally.add("topics that are empty", "x" * 500)
    first, second = tally.reasons
    assert str(first) == "5 kernels without a text (0, 1, 2 …)"
    assert second.count == 1
    assert len(second.examples[0]) < 100
