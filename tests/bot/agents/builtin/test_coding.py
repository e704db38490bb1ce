"""Scripts: a draft's techniques switched on, failures made cheaper, nothing tried twice."""

from collections.abc import Sequence

import pytest

from bot.agents.builtin.config import FEW_FOLDS, RecipeConfig, config_in, plain_config, script
from bot.engine.attempts import NodeFeedback
from bot.execution.task import TaskText
from tests.bot.agents.builtin.parts import HOURS, TASK, TEXTS, answer, attempt, write_script


def using(*titles: str, task: TaskText = TASK) -> RecipeConfig:
    return plain_config(task).using(titles)


async def config_for(action: str, attempts: Sequence[NodeFeedback] = (), seed: int = 0, **fields: str) -> RecipeConfig:
    prompt = write_script(action, attempts=attempts, **fields)  # type: ignore[arg-type]  # strings all of them
    config = config_in((await answer(prompt, seed)).code)
    assert config is not None
    return config


async def test_a_draft_switches_on_what_its_text_names() -> None:
    config = await config_for("draft", draft="Take square roots, use an SVM with several penalties, drop the month.")
    assert set(config.use) == {"linear model", "penalty strengths", "SVM", "square roots", "without month"}


async def test_the_words_of_a_quoted_post_switch_nothing_on() -> None:
    config = await config_for("draft", draft='Use LDA. The post: "extra trees are worse than LDA"')
    assert config.families == ("linear model", "LDA")


async def test_a_draft_keeps_the_plain_model_to_compare_with() -> None:
    assert (await config_for("draft", draft="Take square roots.")).use == ("linear model", "square roots")


async def test_a_draft_that_names_nothing_takes_what_earlier_solutions_lack() -> None:
    memory, seen = "", set()
    for _ in range(3):
        done = await answer(write_script(draft="", memory=memory))
        config = config_in(done.code)
        seen.add(config.families)
        memory += f"- node 1, score 0.1: {done.plan}\n"
    assert len({family for families in seen for family in families}) >= 5


async def test_a_draft_on_texts_that_names_nothing_uses_what_suits_texts() -> None:
    assert set((await config_for("draft", draft="Be different.", preview=TEXTS)).families) <= {
        "linear model",
        "naive bayes",
    }


async def test_a_draft_builds_on_its_codebase() -> None:
    config = await config_for("draft", codebase=script(using("linear model", "square roots")))
    assert config.use == ("linear model", "extra trees", "square roots")


async def test_somebody_elses_codebase_is_no_obstacle() -> None:
    assert "extra trees" in (await config_for("draft", codebase="CONFIG = {\n'lr': 1\n}\nimport torch\n")).use


async def test_a_script_that_took_too_long_becomes_cheaper() -> None:
    config = using("linear model", "extra trees", "SVM", "ratios", "square roots")
    repaired = await config_for("debug", [attempt(script(config), None, "timed out after 60 s", "")])
    assert repaired.use == ("linear model", "extra trees", "square roots", FEW_FOLDS)


async def test_an_unknown_failure_falls_back_to_the_safest_model() -> None:
    failed = attempt(script(using("SVM", "ratios", task=HOURS)), None, "exit status 1", "ValueError: NaN")
    prompt = write_script("debug", attempts=[failed], task=HOURS)
    repaired = config_in((await answer(prompt)).code)
    assert repaired.use == ("random forest",)


async def test_an_improvement_drops_models_that_no_blend_chose() -> None:
    config = using("linear model", "LDA", "SVM", "square roots", "blend")
    improved = await config_for("improve", [attempt(script(config))])
    assert "linear model" in improved.use
    assert not {"LDA", "SVM"} & set(improved.use)
    assert len(improved.use) > 3


async def test_an_improvement_of_a_text_model_adds_only_what_suits_texts() -> None:
    improved = await config_for("improve", [attempt(script(plain_config(TASK)))], preview=TEXTS)
    assert set(improved.families) <= {"linear model", "naive bayes"}


async def test_an_improvement_starts_from_the_best_script_shown() -> None:
    good, bad = using("linear model", "square roots"), using("nearest neighbours")
    shown = [attempt(script(good), 0.1, output="", node=1), attempt(script(bad), 0.7, output="", node=2)]
    assert {"square roots", "linear model"} <= set((await config_for("improve", shown)).use)


async def test_an_improvement_that_an_earlier_solution_was_is_not_repeated() -> None:
    plans: list[str] = []
    for _ in range(4):
        prompt = write_script("improve", attempts=[attempt(script(plain_config(TASK)))], memory="\n".join(plans))
        plans.append((await answer(prompt)).plan)
    assert len(set(plans)) == 4


@pytest.mark.integration
@pytest.mark.parametrize(("action", "score", "error"), [("improve", 0.1, None), ("debug", None, "timed out")])
async def test_no_config_is_ever_tried_twice(action: str, score: float | None, error: str | None) -> None:
    attempts = [attempt(script(plain_config(TASK)), score, error)]
    for node in range(2, 20):
        done = await answer(write_script(action, attempts=attempts))
        attempts.append(attempt(done.code, score and score - node / 1000, error, node=node))
    assert len({a.code for a in attempts}) == 19


async def test_times_in_outputs_change_no_script() -> None:
    codes = set()
    for seconds in ("1.2", "97.0"):
        shown = attempt(script(plain_config(TASK)), output=f"linear model C=1 on table    0.20000   {seconds}")
        codes.add((await answer(write_script("improve", attempts=[shown]))).code)
    assert len(codes) == 1


async def test_seeds_and_titles_vary_the_drafts() -> None:
    assert (await config_for("draft")).seed != (await config_for("draft", seed=1)).seed
    assert (await config_for("draft")).seed != (await config_for("draft", title="Another")).seed
