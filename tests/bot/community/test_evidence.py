"""Evidence: the mean of what sources were judged, and the best of what came of an idea's drafts."""

from datetime import UTC, datetime

from bot.community.evidence import NEUTRAL_SUPPORT, evidence
from state.tables import Analysis, Draft, Idea, Report

T = datetime(2020, 1, 1, tzinfo=UTC)


def idea(number: int, *sources: str) -> Idea:
    return Idea(run_id="r", id=number, text="try it", sources=list(sources), known_at=T, created_at=T)


def analysis(item: str, effect: float) -> Analysis:
    return Analysis(run_id="r", id=item, post_kind="message", post_id="1", summary="", effectiveness=effect, known_at=T)


def draft(id: str, *numbers: int) -> Draft:
    made = {"known_at": T, "created_at": T}
    return Draft(run_id="r", id=id, title="", description="", idea_ids=list(numbers), **made)


def report(id: str, draft_id: str, score: float | None) -> Report:
    return Report(run_id="r", id=id, draft_id=draft_id, title="", method="", score=score, known_at=T, created_at=T)


def test_ideas_come_best_supported_first_with_the_best_of_what_came_of_them() -> None:
    ideas = [idea(1, "report/1"), idea(2, "message/1", "message/2", "report/1"), idea(3, "message/2")]
    analyses = [analysis("message/1", 4.0), analysis("message/2", 9.0)]
    drafts = [draft("1", 1, 2), draft("2", 2), draft("3", 2)]
    reports = [report("1", "1", 0.5), report("2", "2", 0.25), report("3", "3", None)]
    found = evidence(ideas, analyses, drafts, reports, lambda score: -score)
    assert [(one.idea.id, one.support, one.times_used, one.best_score) for one in found] == [
        (3, 9.0, 0, None),
        (2, 6.5, 3, 0.25),
        (1, NEUTRAL_SUPPORT, 1, 0.5),
    ]


def test_where_nobody_knows_which_way_scores_point_none_is_best() -> None:
    (one,) = evidence([idea(1)], [], [draft("1", 1)], [report("1", "1", 0.5)], None)
    assert (one.times_used, one.best_score) == (1, None)
