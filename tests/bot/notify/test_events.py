"""Events: each has a template, a stable key of its own, and two forms that hold all of its facts."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from bot.budgets.kinds import Kind
from bot.notify.events import (
    KINDS,
    ApprovalAsked,
    BoardMoved,
    BudgetReached,
    Choice,
    CompetitionDay,
    CompetitionKind,
    CompetitionOver,
    DailySummary,
    DataReplaced,
    DiskLow,
    Event,
    FinalSelectionProposed,
    GraderUnusable,
    MedalChanged,
    NewBest,
    NotebookFailed,
    NotebookPushed,
    QuotaUnknown,
    RankChanged,
    RulesNotAccepted,
    RulesToConfirm,
    SamplesToModel,
    ScoresDisagree,
    SubmissionDelayed,
    SubmissionFailed,
    SubmissionRefused,
    SubmissionScored,
    TaskCardIncomplete,
    Trial,
    WorkBroken,
    shares_reached,
)

T = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
NASTY = "<!channel> [x](http://evil.example) **b** `c` @everyone \u202egnp\x1b[31m ```"
CHOICES = (Choice("a", 1, 0.25, 0.375), Choice("b", 2, None, 0.5))
DAY = CompetitionDay("wine", 3, 100, 0.4, 5, 2, None, 3.5, (0.125, 0.25))
LINES = ('metric = "rmse"  # or "rmsle": the page names both', 'url = "https://example.org/a?b=c&d"')
ALL: tuple[Event, ...] = (
    RankChanged("wine", 5, 3, 100, 0.125, T, 4, (NASTY, "b")),
    MedalChanged("wine", "gold", None, 3, 100, T),
    BoardMoved("wine", 0.25, 0.125, None, 0.5, None, None, None, T),
    NewBest("wine", "wine-aide", 4, 0.5, None, NASTY),
    CompetitionOver("wine", "wine-aide", 0.25, False, 3, 100, "gold", "/runs/wine/report.html"),
    SubmissionScored("wine", "wine-1-ab", 7, 0.25, None),
    SubmissionFailed("wine", "wine-1-ab", 7, NASTY),
    SubmissionRefused("wine", "wine-1-ab", 7, NASTY),
    SubmissionDelayed("wine", 7, NASTY, date(2026, 1, 2)),
    QuotaUnknown("wine", "wine-1-ab", 7),
    NotebookPushed("wine", "wine-1-ab", 7, "ann/bot-wine-ab", 1),
    NotebookFailed("wine", 7, NASTY, f"Traceback\n{NASTY}"),
    ScoresDisagree("wine", "wine-aide", 6, NASTY),
    BudgetReached("day", "2026-01-02", Kind.MONEY, 100, 5.0, 5.0),
    RulesNotAccepted("wine", "https://www.kaggle.com/competitions/wine/rules"),
    CompetitionKind("wine", "simulation", "is a simulation: the bot only reads", NASTY, worked_on=False),
    TaskCardIncomplete("wine", "cards/wine.toml", LINES),
    RulesToConfirm(
        "wine",
        "https://www.kaggle.com/competitions/wine/rules",
        "bot approve wine --rules",
        (NASTY,),
        True,
        ("sharing",),
    ),
    SamplesToModel("wine", "models.example:8000"),
    DataReplaced("wine", "/var/lib/bot/wine", T, 3, 1000, 4, 1200),
    GraderUnusable("wine", f"grade.py is no Python: {NASTY}"),
    DiskLow(T, "/var/lib/bot", 1.25, 10.0),
    WorkBroken(T, "wine", NASTY),
    ApprovalAsked("wine", "wine-1-ab", 7, "4", 0.25, NASTY),
    FinalSelectionProposed("wine", CHOICES, T, "https://www.kaggle.com/c/wine"),
    DailySummary(date(2026, 1, 2), (DAY, DAY), ("accept the rules",)),
)


def test_every_event_is_tried_here_and_has_a_kind() -> None:
    assert {event.kind for event in (*ALL, Trial(T))} == KINDS
    assert len({event.kind for event in ALL}) == len(ALL)


@pytest.mark.parametrize("event", [*ALL, Trial(T)], ids=lambda event: type(event).__name__)
def test_both_forms_hold_all_facts(event: Event) -> None:
    notice = event.notice("r")
    assert (notice.key, notice.kind, notice.run_id, notice.urgent) == (event.key, event.kind, "r", event.urgent)
    assert 0 < len(notice.title) <= 200
    assert "\n" not in notice.title
    for text in (notice.title, notice.body, notice.markdown):
        assert text
        assert not re.search(r"[{}]|\bNone\b|Undefined|object at|\x1b|\u202e", text)
    numbers = set(re.findall(r"\d+(?:\.\d+)?", notice.body.replace("\u200b", "")))
    assert (
        numbers - set(re.findall(r"\d+(?:\.\d+)?", notice.markdown + notice.body * (event.kind == "summary.daily")))
        == set()
    )


@pytest.mark.parametrize("event", ALL, ids=lambda event: type(event).__name__)
def test_foreign_words_mention_nobody_and_link_nowhere_in_markdown(event: Event) -> None:
    text = event.notice().markdown
    assert "<" not in text
    assert "!channel" not in text
    assert "@everyone" not in text
    assert "http://evil" not in text
    assert "](" not in text


def test_keys_differ_and_are_the_same_for_the_same_event() -> None:
    keys = [event.key for event in ALL]
    assert len(set(keys)) == len(keys)
    assert [replace(event).key for event in ALL] == keys
    assert all("\n" not in key and len(key) < 200 for key in keys)


def test_a_key_depends_on_the_event_not_on_when_it_was_read() -> None:
    rank = RankChanged("wine", 3, 5, 100, 0.125, T)
    assert replace(rank, earlier=9).key == rank.key
    assert replace(rank, at=T + timedelta(seconds=1)).key != rank.key
    assert replace(rank, competition="beer").key != rank.key
    chosen = FinalSelectionProposed("wine", CHOICES, T, "u")
    assert replace(chosen, choices=CHOICES[::-1]).key == chosen.key
    assert replace(chosen, choices=CHOICES[:1]).key != chosen.key
    card = TaskCardIncomplete("wine", "f", LINES)
    assert replace(card, lines=LINES[:1]).key != card.key
    spent = BudgetReached("day", "2026-01-02", Kind.MONEY, 80, 4.0, 5.0)
    assert replace(spent, spent=4.5).key == spent.key
    assert len({replace(spent, **changed).key for changed in ({}, {"share": 50}, {"cap": 9.0}, {"period": "x"})}) == 4


def test_a_rank_names_the_earlier_one_and_its_leaderboard() -> None:
    up = RankChanged("wine", 3, 5, 100, 0.125, T).notice()
    assert (up.title, "up from 5" in up.body) == ("wine: rank 5 → 3 of 100", True)
    assert "Passed" not in up.body
    assert "Public leaderboard of 2026-01-02 03:04 UTC." in up.body
    down = RankChanged("wine", 5, 3, 100, 0.125, T, 4, ("a", "b")).notice()
    assert "Passed by a, b and 2 more." in down.body
    first = RankChanged("wine", 3, None, 100, None, T, private=True).notice()
    assert first.title == "wine: rank 3 of 100 in the end"
    assert "its first place" in first.body
    assert "Private leaderboard of" in first.markdown
    medal = MedalChanged("wine", None, "gold", 30, 100, T, private=True).notice()
    assert "which decides" in medal.body


def test_the_lines_of_a_task_card_can_be_copied_as_they_are() -> None:
    notice = TaskCardIncomplete("wine", "cards/wine.toml", LINES).notice()
    for text in (notice.body, notice.markdown):
        assert [line.strip() for line in text.splitlines() if line.strip() in LINES] == list(LINES)


def test_a_summary_draws_the_scores_in_text() -> None:
    notice = DailySummary(date(2026, 1, 2), (DAY, replace(DAY, scores=()))).notice()
    assert "▁█ 0.125 → 0.25" in notice.body
    assert "▁█" in notice.markdown
    assert "5 nodes, 2 submissions" in notice.body
    one = DailySummary(date(2026, 1, 2), (replace(DAY, nodes=1, submissions=1),)).notice()
    assert one.title.endswith("1 competition")
    assert all("1 node, 1 submission," in text for text in (one.body, one.markdown))
    assert "No competition is watched." in DailySummary(date(2026, 1, 2), ()).notice().body


@pytest.mark.parametrize(
    ("spent", "cap", "shares"),
    [(0, 10, ()), (4.999, 10, ()), (5, 10, (50,)), (8, 10, (50, 80)), (10, 10, (50, 80, 100)), (0, 0, (50, 80, 100))],
)
def test_shares_of_a_budget_are_reached_to_the_point(spent: float, cap: float, shares: tuple[int, ...]) -> None:
    assert shares_reached(spent, cap) == shares
