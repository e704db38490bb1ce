"""Reports and reviews: only figures that were measured, and no times."""

from bot.agents.builtin.config import plain_config, script
from bot.agents.builtin.reports import chosen
from bot.coder.prompts import ReviewRun
from bot.community.drafts.reporting import WriteReport
from tests.bot.agents.builtin.parts import OUTPUT, TASK, answer, attempt, propose_ideas, report

CODE = script(plain_config(TASK).using(("square roots", "blend", "linear model", "LDA")))


def test_the_experiments_that_a_blend_chose_are_read_back() -> None:
    assert chosen(OUTPUT) == ("linear model C=10 on square roots", "linear model C=1 on table")
    assert chosen("epoch 1 loss 0.3\nok 0.1 0.2") == ()


async def test_a_report_names_components_numbers_and_next_steps() -> None:
    attempts = (attempt(CODE, 0.11), attempt("broken", None, "exit status 1", "", node=2))
    told = await answer(WriteReport(TASK, "Roots", "Take roots.", attempts))
    assert "square root" in told.method
    assert [c.name for c in told.components][1] == "linear model C=10 on square roots"
    assert "not chosen" in told.components[2].analysis
    assert "node 2 had no score (exit status 1)" in told.limitations


async def test_next_steps_of_a_report_are_ideas_that_its_script_lacks() -> None:
    told = await answer(WriteReport(TASK, "Roots", "Take roots.", (attempt(CODE, 0.11),)))
    prompt = propose_ideas((), (), (report(1, 0.11, told.method, told.next_steps),))
    ideas = (await answer(prompt)).add
    assert ideas
    assert not any("square root" in i.text for i in ideas)


async def test_a_draft_without_a_score_is_reported_as_such() -> None:
    told = await answer(WriteReport(TASK, "Roots", "Take roots.", (attempt("x", None, "exit status 1", ""),)))
    assert "no script" in told.method
    assert "exit status 1" in told.limitations


async def test_a_review_says_what_a_run_showed() -> None:
    assert "0.11" in (await answer(ReviewRun(TASK, attempt(CODE, 0.11), ()))).summary
    failed = await answer(ReviewRun(TASK, attempt(CODE, None, "exit status 1", "Traceback\nKeyError: 'x'"), ()))
    assert "KeyError: 'x'" in failed.summary
