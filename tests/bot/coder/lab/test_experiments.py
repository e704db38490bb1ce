"""Logged experiments: scored, compared and kept once, whatever is logged again, and whenever the bot is killed."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bot.coder.lab.calls import LabCall, Withdraw
from bot.coder.lab.cards import board, ensemble_line
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.experiment import Experiment
from bot.engine.experiments import MOST_BLAMES
from bot.engine.results import BlendSoFar, results
from bot.engine.run_record import RunRecord
from bot.engine.tree import BASELINE
from bot.evaluation.answers import NodeScore
from bot.execution.record import SCORED_EXPERIMENT
from state.experiments import replace_result
from state.tables import ExperimentRow, Run
from tests.bot.coder.lab.experimenting import experiments, lab, log, predictions, two_labs
from tests.bot.engine.parts import RUN, opened

pytestmark = pytest.mark.integration


async def test_a_model_is_compared_with_models_as_a_stack_beats_nearly_all_that_it_is_made_of(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        model = await log(two, "model", 0.3)
        stack = await log(two, "stack", 1.0, uses=("model",))
        later = await log(two, "later", 0.5)
        second = await log(two, "second", 0.9, sources={"stack.py": "np.load('/lab/experiments/model/oof.npy')"})
        scores = {one.name: one.result.score for one in experiments(context).all()}
    assert model.data is not None and stack.data is not None and later.data is not None and second.data is not None
    assert stack.data.gain == pytest.approx(scores["model"] - scores["stack"])
    assert later.data.gain == pytest.approx(scores["model"] - scores["later"])
    assert second.data.gain == pytest.approx(scores["stack"] - scores["second"])


async def test_a_stored_model_is_not_taken_for_a_source_so_that_no_retraining_finds_it_damaged(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        answer = await log(two, "lgb", 0.9, sources={"fit.py": "print(1)", "model.pkl": b"\x80\x04\x95 model"})
        (experiment,) = experiments(context).all()
        files = [path.name for path in (experiments(context).folder / "lgb").iterdir()]
    assert answer.status == 0
    assert list(experiment.sources) == ["fit.py"]
    assert "fit.py" in files and "model.pkl" not in files
    assert "'model.pkl'" in answer.text


async def test_an_experiment_is_compared_with_the_best_of_all_labs_or_with_a_named_one(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        two, three = await two_labs(context)
        first = await log(two, "plain", 0.3, note="the first", sources={"fit.py": "print(1)"}, retrain="python fit.py")
        worse = await log(three, "worse", 0.01)
        best = await log(two, "best", 1.0)
        named = await log(three, "named", 0.5, compare_to="worse")
        refused = [
            await log(three, "lost", 0.5, compare_to="nobody"),
            await log(three, "lost", 0.5, uses=("plain", "nobody")),
        ]
        kept, lines = experiments(context).all(), board(context)
        nodes = {node.id: node for node in load_tree(context).nodes}
        folder = experiments(context).folder
        with (folder / "index.csv").open(newline="") as file:
            index = list(csv.DictReader(file))
        scores = {one.name: one.result.score for one in kept}
        assert [(one.node, one.name, one.lab, one.kind) for one in kept] == [
            (2, "plain", 2, "model"),
            (3, "worse", 3, "model"),
            (4, "best", 2, "model"),
            (5, "named", 3, "model"),
        ]
        assert (kept[0].note, kept[0].retrain, list(kept[0].sources)) == ("the first", "python fit.py", ["fit.py"])
        assert {node: (nodes[node].state, nodes[node].score) for node in (2, 3, 4, 5)} == {
            one.node: ("valid", one.result.score) for one in kept
        }
        assert sorted(path.name for path in (folder / "plain").iterdir()) == [
            "fit.py",
            "oof.npy",
            "test.npy",
            "validation.npy",
        ]
        assert np.array_equal(np.load(folder / "best" / "oof.npy"), (await predictions(context, 1.0))["oof"])
    assert {one.status for one in (first, worse, best, named)} == {0}
    assert first.data is not None and best.data is not None and worse.data is not None and named.data is not None
    assert (first.data.name, first.data.gain) == ("plain", None)
    assert f"{scores['plain']:.6g}" in first.text and "paired" not in first.text
    assert worse.data.gain == pytest.approx(scores["plain"] - scores["worse"]) and worse.data.gain < 0
    assert "against plain, paired" in worse.text and "against plain, paired" in best.text
    assert best.data.gain is not None and best.data.gain > 0 and (best.data.std_error or 0) > 0
    assert "against worse, paired" in named.text
    assert [one.status for one in refused] == [1, 1] and all("'nobody'" in one.text for one in refused)
    assert [row["name"] for row in index] == ["best", "named", "plain", "worse"]
    assert index[2]["note"] == "the first" and float(index[0]["score"]) == pytest.approx(scores["best"], rel=1e-5)
    assert [line.partition(" ")[0] for line in lines[1:5]] == ["best", "named", "plain", "worse"]


async def test_what_is_logged_again_is_free_and_other_arrays_under_its_name_are_another_experiment(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        two, three = await two_labs(context)
        answers = [
            await log(two, "trees", 0.3),
            await log(two, "trees", 0.3, note="after a kill"),
            await log(three, "trees", 0.4),
            await log(three, "trees", 0.4),
            await log(two, "trees", 0.3),
            await log(two, "late", 0.5, without=("test",)),
            await log(two, "late", 0.5),
            await log(two, "late", 0.5, without=("test",)),
            await log(two, "deep", 0.6, without=("oof",)),
            await log(two, "blind", 0.6, without=("validation",)),
        ]
        kept = {one.name: one for one in experiments(context).all()}
        folder = experiments(context).folder
        assert (folder / "late" / "test.npy").is_file()
        assert not list(folder.glob(".*")), "nothing is left half-way"
        assert experiments(context).logged_at(kept["trees"].node) is not None
    names = [one.data and one.data.name for one in answers]
    assert names[:7] == ["trees", "trees", "trees-2", "trees-2", "trees", "late", "late"]
    assert answers[0].text == answers[1].text == answers[4].text
    assert list(kept) == ["trees", "trees-2", "late", "deep"]
    assert "log it again with --test" in answers[5].text and "log it again" not in answers[6].text
    assert kept["late"].complete and names[7] == "late"
    assert answers[8].data is not None and answers[8].data.score is None, "a score on validation rows is not told"
    assert repr(kept["deep"].result.score) not in answers[8].text
    assert answers[9].status == 1


async def test_what_is_built_on_others_is_a_stack_and_is_no_reference(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        await log(two, "base", 0.5)
        await log(two, "named", 0.8, uses=("base",))
        read = await log(two, "read", 0.9, sources={"stack.py": "np.load('/lab/experiments/base/oof.npy')"})
        assert "stack.py" in read.text, "its coder learns why"
        await log(two, "model", 0.7, sources={"fit.py": "import lightgbm"})
        kept = {one.name: one for one in experiments(context).all()}
        reference = experiments(context)._reference(list(kept.values()))
        assert {name: one.kind for name, one in kept.items()} == {
            "base": "model",
            "named": "stack",
            "read": "stack",
            "model": "model",
        }
        assert kept["named"].uses == ("base",) and kept["named"].fitted_on_others
        assert reference is not None and not reference.fitted_on_others


async def test_a_kill_between_row_and_folder_loses_nothing_and_leaves_nothing_unknown(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        await log(two, "first", 0.5)
        await log(two, "second", 0.8)
        (folder, node) = experiments(context).folder, experiments(context).by_name("second").node
    (folder / "second").rename(folder / f".{node}")
    (folder / "index.csv").unlink()
    (folder / ".77").mkdir()
    async with opened(tmp_path, 5, labs=True) as context:
        assert sorted(path.name for path in folder.iterdir()) == ["first", "index.csv", "second"]
        assert (folder / "second" / "oof.npy").is_file()
        assert "second" in (folder / "index.csv").read_text()
        again = await log(lab(context, 2), "second", 0.8)
        assert again.data is not None and again.data.name == "second"
        assert len(experiments(context).all()) == 2


async def test_arrays_of_the_worst_give_way_but_never_those_that_others_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.engine.experiments._KEPT_LEAST", 1)
    monkeypatch.setattr("bot.engine.experiments._KEPT_BEST", 1)
    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        for name, strength in (("used", 0.01), ("member", 0.02), ("worst", 0.03), ("worse", 0.5), ("best", 1.0)):
            await log(two, name, strength, sources={"fit.py": "print(1)"})
        await log(two, "newest", 0.1, uses=("used",))
        shelf, member = experiments(context), experiments(context).by_name("member").node

        def whole() -> set[str]:
            return {path.parent.name for path in shelf.folder.glob("*/oof.npy")}

        shelf.trim(frozenset({member}))
        assert len(whole()) == 6, "there is room"
        size = sum(path.stat().st_size for path in (shelf.folder / "best").glob("*.npy"))
        shelf.trim(frozenset({member}), 5 * size)
        assert whole() == {"used", "member", "worse", "best", "newest"}
        shelf.trim(frozenset({member}), 0)
        assert whole() == {"used", "member", "best", "newest"}
        assert (shelf.folder / "worst" / "fit.py").is_file() and len(shelf.all()) == 6


async def test_checks_that_blame_end_before_they_tell_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[bool] = []

    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        score = experiments(context).worker.score_experiment

        async def spied(*arguments: Any, **named: Any) -> Any:
            checked.append(named["check"])
            return await score(*arguments, **named)

        monkeypatch.setattr(experiments(context).worker, "score_experiment", spied)
        for number in range(MOST_BLAMES + 1):
            await log(two, f"blamed-{number}", 0.1 + number / 10)
            blame(context, experiments(context).by_name(f"blamed-{number}"))
    assert checked == [True] * MOST_BLAMES + [False]


def blame(context: RunContext, one: Experiment) -> None:
    """Let the check against leaks have blamed an experiment."""
    result = SCORED_EXPERIMENT.dump_python(one.result, mode="json") | {"check": "gains less than its folds suggest"}
    with context.store.write() as tx:
        replace_result(tx, RUN, one.node, result)


async def test_results_name_experiments_and_only_the_best_of_the_portfolio(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        for number in range(5):
            await log(two, f"m{number}", 0.1 * number, note="a formula")
        with context.store.write() as tx:
            tx.session.get_one(Run, RUN).config = {"card": context.card.model_dump(mode="json")}
            for experiment in experiments(context).all()[:4]:
                tx.session.get_one(ExperimentRow, (RUN, experiment.node)).kind = "portfolio"
        with context.store.read() as session:
            titles = [result.title for result in results(RunRecord.load(session, RUN))]
    assert titles[1:] == [f"m{number}: a formula" for number in (1, 2, 3, 4)]


async def test_a_withdrawn_experiment_stays_on_the_board_and_is_chosen_for_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        two, three = await two_labs(context)
        await log(two, "honest", 0.3)
        await log(two, "leaky", 1.0)
        told = await three(LabCall(Withdraw("leaky", "the target is in it")))
        again = await three(LabCall(Withdraw("leaky")))
        unknown = await three(LabCall(Withdraw("nobody")))
        baseline = await three(LabCall(Withdraw("baseline", "it breaks a rule")))
        later = await log(three, "later", 0.5)
        best = experiments(context).best()
        weights = {one.node: 0.5 for one in experiments(context).all()}
        ensemble = ensemble_line(context, BlendSoFar(tuple(weights), weights, "mean", NodeScore(0.4)))
        lines = board(context)
        complete = {node.id for node in load_tree(context).nodes if node.complete}
        nodes = {one.name: one.node for one in experiments(context).all()}
    assert (told.status, again.status, unknown.status, baseline.status) == (0, 0, 1, 0)
    assert BASELINE not in complete
    assert best is not None and best.name == "later"
    assert "against honest, paired" in later.text
    assert any(line.startswith("leaky") and "withdrawn" in line for line in lines)
    assert ensemble == "the engine's ensemble is being refitted without leaky"
    assert nodes["leaky"] not in complete and {nodes["honest"], nodes["later"]} <= complete
