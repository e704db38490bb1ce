"""Numbers, times, links and the verdict in words."""

from typing import Any

import pytest

from bot.report import words
from bot.report.result import RunResult
from tests.bot.report.finished_runs import BARE

BASE: dict[str, Any] = BARE | {
    "run_id": "r",
    "competition_id": "wine",
    "agent": "aide",
    "model": "builtin",
    "seed": 0,
    "cutoff": "2020-01-01T00:00:00Z",
    "isolation": "bubblewrap",
    "is_lower_better": True,
    "n_teams": 10,
    "submission_exists": True,
    "valid_submission": True,
    "score": 0.25,
    "win_rate": 1.0,
    "chosen_node": 1,
}


DOUBT = {"node": 1, "guard": "copies", "verdict": "suspicious", "sentence": "it is a public file"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"silver_medal": True}, "Scored 0.25: a silver medal, strictly better than 100.0% of 10 teams."),
        ({"above_median": True}, "Scored 0.25: above the median, no medal, strictly better than 100.0% of 10 teams."),
        ({"win_rate": 0.0}, "Scored 0.25: not above the median, no medal, strictly better than 0.0% of 10 teams."),
        ({"n_teams": 1, "gold_medal": True}, "Scored 0.25. There is no comparison because the leaderboard has 1 team."),
        (
            {"gold_medal": True, "guards": [DOUBT]},
            "Scored 0.25, strictly better than 100.0% of 10 teams. "
            "It does not count for a medal: a guard raised a warning (copies).",
        ),
        (
            {"status": "running", "score": None, "validation_score": 0.3, "nodes": 2},
            "The run is in progress: the best so far is node 1 with a validation score of 0.3, after 2 scripts. "
            "It will be graded at the end.",
        ),
        (
            {"valid_submission": False, "score": None, "message": "row 2 is missing."},
            "The submission is invalid and has no score: row 2 is missing.",
        ),
        (
            {
                "valid_submission": False,
                "submission_exists": False,
                "score": None,
                "chosen_node": None,
                "prediction_note": "there is no submission",
            },
            "Nothing was submitted: there is no submission.",
        ),
    ],
)
def test_the_verdict_is_one_sentence(changes: dict[str, Any], sentence: str):
    assert words.verdict(RunResult.model_validate(BASE | changes)) == sentence


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (4.21, "4.2 s"),
        (59.97, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3599.9, "1 h 00 min"),
        (9000, "2 h 30 min"),
        (2 * 86_400 - 60, "47 h 59 min"),
        (3 * 86_400 + 4 * 3600, "3 d 4 h"),
    ],
)
def test_a_duration_has_a_unit_that_fits(seconds: float | None, text: str):
    assert words.duration(seconds) == text


@pytest.mark.parametrize(("usd", "text"), [(None, "unknown"), (0.0, "$0.00"), (0.0123, "$0.0123"), (12.3456, "$12.35")])
def test_an_unknown_price_is_not_zero(usd: float | None, text: str):
    assert words.money(usd) == text


def test_only_a_web_address_is_a_link():
    assert words.web_link(" https://example.org/a?b=c ") == "https://example.org/a?b=c"
    for url in (None, "", "JaVaScRiPt:alert(1)", "data:text/html,x", "//evil.example", "http:", "http://[", "/etc"):
        assert words.web_link(url) is None


def test_a_cut_text_says_how_much_is_missing():
    assert words.shortened("abcdef", 4) == "abcd\n[… 2 more characters]"
    assert words.shortened("abcd", 4) == "abcd"


def test_the_last_line_of_a_traceback_tells_what_went_wrong():
    assert words.last_line("Traceback:\n  File x\nKeyError: 'a'\n\n", 80) == "KeyError: 'a'"
    assert words.last_line(" \n", 80) == ""


@pytest.mark.parametrize(
    ("reason", "written"),
    [
        ("timed_out", "timed out"),
        ("killed_by_rule", "killed by rule"),
        ("gpu_out_of_memory", "out of GPU memory"),
        ("infrastructure", "engine failed"),
        (None, "unfinished"),
    ],
)
def test_an_exit_reason_is_written_in_words(reason: str | None, written: str) -> None:
    assert words.reason(reason) == written


@pytest.mark.parametrize(
    ("changes", "expected"),
    [({}, "gold"), ({"guards": [DOUBT]}, None), ({"guards": [DOUBT | {"node": 2}]}, "gold"), ({"n_teams": 1}, None)],
)
def test_a_medal_is_spoken_of_where_the_score_is_believed_and_others_compete(
    changes: dict[str, Any], expected: str | None
) -> None:
    assert words.medal(RunResult.model_validate(BASE | {"gold_medal": True} | changes)) == expected


LIVE = {"pace": "live", "cutoff": None, "n_teams": 900, "rank": 12, "score_kind": "public"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"gold_medal": True},
            "Rank 12 of 900 teams on the current public leaderboard with a score of 0.25: a gold medal.",
        ),
        ({"score_kind": "private"}, "Rank 12 of 900 teams on the private leaderboard with a score of 0.25: no medal."),
        ({"rank": None}, "No rank yet on the current public leaderboard with a score of 0.25: no medal."),
        ({"rank": None, "score": None, "message": "it waits"}, "No score yet: it waits"),
        ({"submission_exists": False, "prediction_note": "submit is off"}, "Nothing was submitted: submit is off."),
    ],
)
def test_the_verdict_on_a_live_run_is_of_the_leaderboard(changes: dict[str, Any], sentence: str):
    assert words.verdict(RunResult.model_validate(BASE | LIVE | changes)) == sentence


@pytest.mark.parametrize(("kind", "is_told"), [("public", True), ("private", False)])
def test_a_public_score_comes_with_a_remark(kind: str, is_told: bool):
    remarks = words.remarks(RunResult.model_validate(BASE | LIVE | {"score_kind": kind}))
    assert ("Private scores decide the result" in " ".join(remarks)) is is_told
