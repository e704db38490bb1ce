"""Ideas are atomic and new; drafts are distinct and say all that they mean."""

from dataclasses import replace

from bot.agents.builtin.techniques import named_in
from bot.community.ideas.prompts import Failure
from bot.models import Item
from tests.bot.agents.builtin.parts import (
    HOURS,
    NOW,
    TASK,
    analysis,
    answer,
    idea,
    open_draft,
    plan_drafts,
    propose_ideas,
    report,
)

TREES = 'Use extremely randomised trees (extra trees). The post: "With LDA and an SVM, 0.12."'
TREES_IDEA = "Use extremely randomised trees (extra trees)."
ROOTS = "Take the square root of counts and shares."


async def test_an_idea_is_one_technique_with_all_its_sources_best_supported_first() -> None:
    prompt = propose_ideas((analysis(1, 5, ROOTS), analysis(2, 8, TREES), analysis(3, 6, TREES, ROOTS)), (), ())
    ideas = (await answer(prompt)).add
    assert [i.text for i in ideas] == [TREES_IDEA, ROOTS]
    assert [i.sources for i in ideas] == [("message/2", "message/3"), ("message/3", "message/1")]


async def test_what_the_pool_has_is_not_proposed_again() -> None:
    prompt = propose_ideas((analysis(1, 8, TREES, ROOTS),), (idea(1, "Try extra trees with 500 trees."),), ())
    assert [i.text for i in (await answer(prompt)).add] == [ROOTS]


async def test_a_poor_analysis_is_not_believed() -> None:
    assert (await answer(propose_ideas((analysis(1, 1, TREES),), (), ()))).add == ()


async def test_next_steps_of_reports_become_ideas() -> None:
    found = (await answer(propose_ideas((), (), (report(4, 0.2, next_steps=f"{ROOTS}\nRest."),)))).add
    assert [(i.text, i.sources) for i in found] == [(ROOTS, ("report/4",))]


async def test_an_idea_that_cannot_matter_to_the_task_is_passed_over() -> None:
    analyses = (analysis(1, 8, "Count local contrast.", "Raise the probabilities to a power.", TREES),)
    assert [i.text for i in (await answer(propose_ideas(analyses, (), (), HOURS))).add] == [TREES_IDEA]


async def test_one_draft_extends_the_best_report_and_another_is_new() -> None:
    ideas = (idea(1, ROOTS, 9), idea(2, TREES, 8, used=1), idea(3, "Use linear discriminant analysis.", 7))
    reports = (report(1, 0.5), report(2, 0.1, method=ROOTS))
    plans = (await answer(plan_drafts(ideas, reports, 2))).drafts
    assert [p.codebase for p in plans] == [2, None]
    assert 1 not in plans[0].ideas
    assert not set(plans[0].ideas) & set(plans[1].ideas)
    assert 2 not in plans[1].ideas


async def test_a_description_carries_its_ideas_for_a_coder_who_sees_nothing_else() -> None:
    plan = (await answer(plan_drafts((idea(7, TREES),), (), 1))).drafts[0]
    assert TREES in plan.description
    assert named_in(plan.description) == ("extra trees",)


async def test_without_ideas_the_drafts_are_plain_and_distinct() -> None:
    plans = (await answer(plan_drafts((), (), 4))).drafts
    assert len({p.description for p in plans}) == 4


async def test_a_draft_beside_one_that_extends_the_best_is_new_and_takes_other_ideas() -> None:
    ideas = (idea(1, ROOTS),)
    reports = (report(1, 0.5), report(2, 0.6))
    one = (await answer(plan_drafts(ideas, reports, 1))).drafts[0]
    beside = (open_draft(1, 1, *one.ideas),)
    two = (await answer(plan_drafts(ideas, reports, 1, beside=beside))).drafts[0]
    assert (one.codebase, two.codebase) == (1, None)
    assert (one.ideas, two.ideas) == ((1,), ())


async def test_more_is_better_where_the_metric_says_so() -> None:
    task = TASK.__class__(**{**vars(TASK), "direction": "maximize"})
    plans = (await answer(plan_drafts((idea(1, ROOTS),), (report(1, 0.5), report(2, 0.9)), 2, task))).drafts
    assert plans[0].codebase == 2


async def test_the_pool_is_kept_in_order_repetitions_merged_failures_retired_and_further_posts_credited() -> None:
    pool = (
        idea(1, TREES),
        idea(2, "Extra trees, 500 of them."),
        replace(idea(3, ROOTS), has_no_gain=True),
        idea(4, "Use LDA."),
    )
    failure = Failure(Item("report/1", NOW), "unit length, gain -0.1: worse")
    analyses = (analysis(1, 8, "Use linear discriminant analysis.", "Divide each row by its length."),)
    found = await answer(propose_ideas(analyses, pool, (), failures=(failure,)))
    assert [merge.ideas for merge in found.merge] == [(1, 2)]
    assert [retire.idea for retire in found.retire] == [3]
    assert [(credit.idea, credit.sources) for credit in found.credit] == [(4, ("message/1",))]
    assert [(one.idea, one.why) for one in found.dropped] == [("unit length", "measured without a gain")]
    assert found.add == ()
    assert len(found.paths) >= 4


async def test_a_draft_takes_the_ideas_that_are_proposed_for_it() -> None:
    ideas = (idea(1, ROOTS, 9), replace(idea(2, TREES, 5), proposed=(1,)), idea(3, "Use LDA.", 8))
    first, second = (await answer(plan_drafts(ideas, (), 2))).drafts
    assert first.ideas[0] == 2
    assert second.ideas == () or 2 not in second.ideas
