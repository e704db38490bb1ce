"""All that the owner is told, each thing a typed event with a template beside it."""

from bot.notify.events.base import Event
from bot.notify.events.spending import SHARES, BudgetReached, shares_reached
from bot.notify.events.standing import BoardMoved, CompetitionOver, Medal, MedalChanged, NewBest, RankChanged
from bot.notify.events.submissions import (
    ApprovalAsked,
    Choice,
    FinalSelectionProposed,
    ScoresDisagree,
    SubmissionFailed,
    SubmissionRefused,
    SubmissionScored,
)
from bot.notify.events.summary import CompetitionDay, DailySummary, Trial
from bot.notify.events.trouble import (
    DiskLow,
    DockerGone,
    GpuGone,
    GraderUnusable,
    RulesNotAccepted,
    TaskCardIncomplete,
    TokenRefused,
    WorkBroken,
)

__all__ = [
    "EVENTS",
    "KINDS",
    "SHARES",
    "ApprovalAsked",
    "BoardMoved",
    "BudgetReached",
    "Choice",
    "CompetitionDay",
    "CompetitionOver",
    "DailySummary",
    "DiskLow",
    "DockerGone",
    "Event",
    "FinalSelectionProposed",
    "GpuGone",
    "GraderUnusable",
    "Medal",
    "MedalChanged",
    "NewBest",
    "RankChanged",
    "RulesNotAccepted",
    "ScoresDisagree",
    "SubmissionFailed",
    "SubmissionRefused",
    "SubmissionScored",
    "TaskCardIncomplete",
    "TokenRefused",
    "Trial",
    "WorkBroken",
    "shares_reached",
]

EVENTS: tuple[type[Event], ...] = (
    RankChanged,
    MedalChanged,
    BoardMoved,
    NewBest,
    CompetitionOver,
    SubmissionScored,
    SubmissionFailed,
    SubmissionRefused,
    ScoresDisagree,
    BudgetReached,
    RulesNotAccepted,
    TaskCardIncomplete,
    GraderUnusable,
    TokenRefused,
    DiskLow,
    DockerGone,
    GpuGone,
    WorkBroken,
    ApprovalAsked,
    FinalSelectionProposed,
    DailySummary,
)
"""Every one but the trial of a service."""

KINDS: frozenset[str] = frozenset(event.kind for event in EVENTS)
"""By which the configuration sorts."""
