"""Scripts: a draft's techniques switched on, failures made cheaper, nothing tried twice."""

from bot.models.builtin.config import config_in, plain_config, script
from tests.bot.models.builtin.parts import HOURS, OUTPUT, TASK, answer, attempt, write_script


async def test_a_draft_switches_on_what_its_text_names() -> None:
    done = await answer(write_script(draft="Take square roots, use an SVM with several penalties, drop the month."))
    config = config_in(done.code)
    assert config is not None
    assert set(config.models) == {"linear", "svm"}
    assert (config.use, config.drop) == (("sqrt",), ("month",))
    assert "svm" in done.plan


async def test_the_words_of_a_quoted_post_switch_nothing_on() -> None:
    done = await answer(write_script(draft='Use LDA. The post: "extra trees are worse than LDA"'))
    config = config_in(done.code)
    assert config is not None
    assert config.models == ("lda",)


async def test_drafts_that_name_nothing_take_the_usual_approaches_one_after_another() -> None:
    earlier = ""
    models = []
    for _ in range(4):
        done = await answer(write_script(draft="Propose something else.", earlier=earlier))
        config = config_in(done.code)
        assert config is not None
        models.append(config.models)
        earlier += f"- node 1, score 0.1: {done.plan}\n"
    assert len(set(models)) == 4


async def test_an_improvement_that_an_earlier_solution_was_is_not_repeated() -> None:
    attempts = [attempt(script(plain_config(TASK)), output="")]
    plans: list[str] = []
    for _ in range(4):
        plans.append((await answer(write_script("improve", attempts=attempts, earlier="\n".join(plans)))).plan)
    assert len(set(plans)) == 4


async def test_a_draft_builds_on_its_codebase() -> None:
    base = plain_config(TASK).changed(use=("sqrt",))
    config = config_in((await answer(write_script(codebase=script(base)))).code)
    assert config is not None
    assert (set(config.models), config.use) == ({"extra", "linear"}, ("sqrt",))


async def test_somebody_elses_codebase_is_no_obstacle() -> None:
    assert config_in((await answer(write_script(codebase="import torch\n"))).code) is not None


async def test_a_script_that_took_too_long_becomes_cheaper() -> None:
    config = plain_config(TASK).changed(models=("svm", "extra", "linear"), use=("groups", "sqrt"), folds=6)
    failed = attempt(script(config), None, "timed out after 60 s", "")
    repaired = config_in((await answer(write_script("debug", attempts=[failed]))).code)
    assert repaired is not None
    assert (repaired.models, repaired.use, repaired.folds) == (("extra", "linear"), ("sqrt",), 3)


async def test_an_unknown_failure_falls_back_to_the_safest_model() -> None:
    config = plain_config(HOURS).changed(models=("svm",), use=("ratios",))
    failed = attempt(script(config), None, "exit status 1", "ValueError: NaN")
    repaired = config_in((await answer(write_script("debug", attempts=[failed], task=HOURS))).code)
    assert repaired is not None
    assert (repaired.models, repaired.use) == (("forest",), ())


async def test_an_improvement_drops_what_no_blend_chose_when_time_was_short() -> None:
    config = plain_config(TASK).changed(models=("linear", "lda", "svm"), use=("sqrt", "blend"))
    improved = config_in((await answer(write_script("improve", attempts=[attempt(script(config))]))).code)
    assert improved is not None
    assert improved.models[0] == "linear"
    assert not {"lda", "svm"} & set(improved.models)


async def test_an_improvement_of_a_text_model_adds_only_what_suits_texts() -> None:
    output = OUTPUT.replace("kind=table", "kind=text")
    prompt = write_script("improve", attempts=[attempt(script(plain_config(TASK)), output=output)])
    improved = config_in((await answer(prompt)).code)
    assert improved is not None
    assert set(improved.models) <= {"linear", "nb"}


async def test_an_improvement_starts_from_the_best_script_shown() -> None:
    good, bad = plain_config(TASK).changed(use=("sqrt",)), plain_config(TASK).changed(models=("knn",))
    shown = [attempt(script(good), 0.1, output="", node=1), attempt(script(bad), 0.7, output="", node=2)]
    improved = config_in((await answer(write_script("improve", attempts=shown))).code)
    assert improved is not None
    assert "sqrt" in improved.use
    assert "linear" in improved.models


async def test_no_config_is_ever_tried_twice() -> None:
    attempts = [attempt(script(plain_config(TASK)))]
    for node in range(2, 18):
        done = await answer(write_script("improve", attempts=attempts))
        attempts.append(attempt(done.code, 0.1 - node / 1000, node=node))
    assert len({config_in(a.code).model_dump_json() for a in attempts if config_in(a.code)}) == 17  # type: ignore[union-attr]  # filtered


async def test_no_repair_repeats_a_config_either() -> None:
    attempts = [attempt(script(plain_config(TASK)), None, "timed out", "")]
    for node in range(2, 12):
        done = await answer(write_script("debug", attempts=attempts))
        attempts.append(attempt(done.code, None, "timed out", "", node=node))
    assert len({a.code for a in attempts}) == 11
