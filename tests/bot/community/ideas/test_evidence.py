"""Evidence: what was measured of an idea goes before what its sources are worth, and these before nothing."""

from datetime import UTC, datetime
from typing import Any

from bot.community.ideas.evidence import NEUTRAL_SUPPORT, WHOLE_DRAFT, evidence
from bot.community.prompt_views import ComponentNote
from state.tables import Analysis, Draft, Idea, Report

T = datetime(2020, 1, 1, tzinfo=UTC)


def idea(number: int, *sources: str) -> Idea:
    return Idea(run_id="r", id=number, text="try it", sources=list(sources), known_at=T, created_at=T)


def analysis(item: str, effect: float) -> Analysis:
    return Analysis(run_id="r", id=item, post_kind="message", post_id="1", summary="", effectiveness=effect, known_at=T)


def draft(id: str, *numbers: int) -> Draft:
    made = {"known_at": T, "created_at": T}
    return Draft(run_id="r", id=id, title="", description="", idea_ids=list(numbers), **made)


def report(id: str, draft_id: str, *components: dict[str, Any]) -> Report:
    made = {"title": "", "method": "", "known_at": T, "created_at": T}
    return Report(run_id="r", id=id, draft_id=draft_id, score=0.5, components=list(components), **made)


def whole(gain: float, error: float) -> dict[str, Any]:
    return {"name": WHOLE_DRAFT, "analysis": "", "idea": None, "gain": gain, "gain_error": error}


def part(idea: int | None, gain: float | None) -> dict[str, Any]:
    return {"name": "part", "analysis": "", "idea": idea, "gain": gain, "gain_error": None}


def test_an_idea_is_worth_what_the_best_of_its_sources_is_judged_to_be() -> None:
    ideas = [idea(1), idea(2, "message/1", "message/2"), idea(3, "message/2")]
    analyses = [analysis("message/1", 4.0), analysis("message/2", 9.0)]
    found = evidence(ideas, analyses, [draft("1", 1, 2), draft("2", 2)], [], None)
    assert [(one.idea.id, one.support, one.times_used) for one in found] == [(2, 6.2, 2), (3, 6.2, 0), (1, 5.0, 1)]


def test_a_report_whose_draft_gained_beyond_noise_speaks_for_an_idea_that_cites_it_as_a_good_post_does() -> None:
    reports = [report("1", "1", whole(0.02, 0.01)), report("2", "2", whole(-0.02, 0.01)), report("3", "3")]
    found = evidence([idea(1, "report/1"), idea(2, "report/2"), idea(3, "report/3")], [], [], reports, 0.01)
    assert [(one.idea.id, one.support) for one in found] == [(1, 8.0), (3, NEUTRAL_SUPPORT), (2, 2.0)]


def test_an_idea_that_was_measured_useless_is_not_believed_for_the_company_it_was_in() -> None:
    """Its draft gained much, and a grandmaster praised it: the comparison that differs in it alone says that it is worse."""
    reports = [report("1", "1", whole(0.1, 0.01), part(1, -0.02), part(None, 0.12))]
    (one,) = evidence([idea(1, "message/1")], [analysis("message/1", 10.0)], [draft("1", 1)], reports, 0.01)
    assert (one.gains, one.support) == ((-0.02,), 1.0)


def test_several_measurements_count_by_their_mean_and_a_gain_within_noise_moves_little() -> None:
    reports = [report("1", "1", part(1, 0.03)), report("2", "2", part(1, -0.01), part(2, None))]
    (one,) = evidence([idea(1)], [], [], reports, 0.02)
    assert one.gains == (0.03, -0.01)
    assert NEUTRAL_SUPPORT < one.support < NEUTRAL_SUPPORT + 2


def test_where_no_noise_is_known_the_sign_alone_counts() -> None:
    better, worse = ([report("1", "1", part(1, gain))] for gain in (1e-9, -1e9))
    assert evidence([idea(1)], [], [], better, None)[0].support == 7.0
    assert evidence([idea(1)], [], [], worse, None)[0].support == 3.0


def test_an_idea_that_was_built_is_judged_by_what_it_gained_with_others_or_at_least_called_built() -> None:
    both = ComponentNote(name="node 3", analysis="", ideas=(1, 2), gain=0.2, gain_error=0.01)
    alone = ComponentNote(name="node 4", analysis="", ideas=(3,), gain=None)
    found = evidence([idea(1), idea(3), idea(4)], [], [], [], 0.01, unreported=[both, alone])
    assert [(one.idea.id, one.basis, one.support) for one in found] == [
        (1, "together", 8.0),
        (3, "built", NEUTRAL_SUPPORT),
        (4, "none", NEUTRAL_SUPPORT),
    ]
    reported = report("1", "1", {**part(None, -0.2), "ideas": [4]}, {**part(1, 0.001), "ideas": [1]})
    (first, last) = evidence([idea(1), idea(4)], [], [], [reported], 0.01, unreported=[both])
    assert (first.idea.id, first.basis, first.gains, last.basis, last.support) == (
        1,
        "measured",
        (0.001,),
        "together",
        2.0,
    )
