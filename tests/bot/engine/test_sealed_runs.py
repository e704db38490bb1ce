"""Sealed runs: what is run again on all rows, on which files, and what of it may be used."""

import asyncio
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.coder.lab.playbook import LabPlaybook
from bot.coder.lab.settings import LabSettings
from bot.engine.context import RunContext
from bot.engine.experiment import Experiment, Kind
from bot.engine.fits import PortfolioFits
from bot.engine.sealed_runs import (
    SEALED_RUN,
    TRIAL,
    Retrained,
    SealedRuns,
    _copied_array,
    _copying,
    _first_name,
    _Postponed,
    retrainable_members,
    retrained,
)
from bot.engine.strategy import Strategy
from bot.engine.tree import Tree
from bot.evaluation.answers.experiments import Arrays, ScoredExperiment
from bot.submission.refit import made_on_all_rows, may_be_mixed
from state.clock import ReplayClock
from state.steps import Key, Steps
from state.store import Store
from tests import needs
from tests.bot.coder.lab.scripted import FewLabs, Scripted, lived, sh
from tests.bot.engine.parts import RUN
from tests.bot.replay.scripted_answers import FILES, PREDICT, typed
from tests.state.rows import create_run


def experiment(
    node: int, retrain: str = "python fit.py", sources: Sequence[str] = (), uses: Sequence[str] = ()
) -> Experiment:
    result = ScoredExperiment(Arrays("a", "b", "c"), 0.5, None, None, None)
    kind: Kind = "stack" if uses else "model"
    files = dict.fromkeys(sources, "sha")
    return Experiment(node, f"e{node}", kind, 2, 1, "", tuple(uses), files, retrain, 20.0, result)


CARD = SimpleNamespace(oriented=lambda score: score)
"""Of a metric of which more is better; experiments have 0.5."""


def due(
    known: Sequence[Experiment],
    *,
    weights: Mapping[int, float] | None = None,
    done: Sequence[int] = (),
    at: float = 60.0,
    ensemble_score: float = 0.6,
    labs_ended: bool = False,
    usable: float = 100.0,
) -> int | None:
    """Return what is run next in a run of 100 seconds; experiments are given the best one first."""
    context: Any = SimpleNamespace(
        experiments=SimpleNamespace(all=lambda: list(known), ranking=lambda: list(known), card=CARD),
        budget=SimpleNamespace(elapsed=SimpleNamespace(wall=lambda: at), seconds=100.0, usable=lambda best: usable),
        blend=None
        if weights is None
        else SimpleNamespace(weights=weights, score=SimpleNamespace(value=ensemble_score)),
        steps=SimpleNamespace(all=lambda kind: {Key(node): Retrained(None, "") for node in done}),
    )
    one = SealedRuns(context, labs_ended)._due()
    return None if one is None else one.node


def test_the_ensembles_heaviest_members_come_first_then_the_three_best_each_once() -> None:
    known = [experiment(node) for node in (2, 3, 4, 5, 6)]
    assert due(known, at=10.0) is None, "first experiments are soon replaced"
    assert due([]) is None
    assert due(known) == 2
    assert due(known, weights={5: 0.3, 6: 0.7}) == 6
    assert due(known, weights={5: 0.3, 6: 0.7}, done=[6]) == 5
    assert due(known, weights={5: 0.3, 6: 0.7}, done=[5, 6, 2, 3]) == 4
    assert due(known, weights={6: 1.0}, done=[6, 2, 3, 4]) is None, "the fourth best is not worth it"
    assert due([experiment(2, retrain=""), *known[1:]]) == 3, "nobody said how the best is made again"
    fitted = replace(known[0], kind="portfolio", retrain="")
    assert due([fitted, *known[1:]]) == 2, "the engine knows how models of the portfolio are made"
    assert due(known, weights={99: 1.0}) == 2, "a member that is no experiment cannot be made again"
    assert due(known, at=10.0, labs_ended=True) == 2


def test_a_coder_is_told_which_members_can_be_made_again_and_not_whether_they_were() -> None:
    known = [experiment(2), experiment(3, retrain=""), experiment(4), experiment(5)]
    context: Any = SimpleNamespace(
        experiments=SimpleNamespace(all=lambda: known), blend=SimpleNamespace(weights={2: 0.5, 3: 0.3, 4: 0.2})
    )
    # It has no steps: when a command ends that sees validation labels must reach no coder.
    assert retrainable_members(context) == [known[0], known[2]]
    context.blend = None
    assert retrainable_members(context) == []


async def test_a_command_that_makes_several_experiments_is_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, other = ("fit.py",), ("other.py",)
    known = [experiment(2, sources=sources), experiment(3, sources=sources), experiment(4, sources=other)]
    known += [experiment(5, retrain="python b.py", sources=sources), experiment(6, sources=sources)]
    for name in ("e2", "e3", "e4"):
        (tmp_path / "work" / ".sealed" / name).mkdir(parents=True)
        (tmp_path / "work" / ".sealed" / name / "test.npy").write_bytes(name.encode())

    async def keep(self: SealedRuns, one: Experiment, file: Path | None) -> Retrained:
        return Retrained(None if file is None else file.read_text(), "")

    monkeypatch.setattr(SealedRuns, "_keep", keep)
    with Store.open(tmp_path / "state.db", ReplayClock(datetime(2020, 3, 1, tzinfo=UTC))) as store:
        with store.write() as tx:
            create_run(tx, RUN, competition="c", agent="comind", model="m", seed=0, cutoff=None)
        context: Any = SimpleNamespace(
            steps=Steps(store, RUN), experiments=SimpleNamespace(all=lambda: known), blend=None
        )
        runs = SealedRuns(context)
        siblings = runs._siblings(known[0])
        assert [one.node for one in siblings] == [3, 4, 6], "5 has another command"
        for one in siblings:
            await runs._take_logged(one, tmp_path)
        assert (retrained(context, 3), retrained(context, 4)) == (Retrained("e3", ""), Retrained("e4", ""))
        assert retrained(context, 6) is None, "the command logged nothing for it, so it is run by itself"
        assert [one.node for one in runs._siblings(known[0])] == [6]


def test_the_last_experiment_of_the_same_code_is_run_for_all_of_them() -> None:
    known = [experiment(2, sources=("a.py", "2.json")), experiment(3, sources=("a.py", "3.json"))]
    known += [experiment(4, sources=("b.py",)), experiment(5, "python b.py", sources=("a.py",))]
    assert due(known, weights={2: 0.9, 4: 0.1}) == 3
    assert due(known, weights={4: 0.9, 2: 0.1}) == 4
    withdrawn = [known[0], replace(known[1], withdrawn=True), *known[2:]]
    assert due(withdrawn, weights={2: 0.5, 3: 0.5}) == 2, "a withdrawn member is in the ensemble until the next one"


def test_a_stack_that_is_better_than_the_ensemble_comes_before_its_members() -> None:
    known = [experiment(node) for node in (2, 3, 4, 5, 6)]
    assert due(known, weights={5: 0.3, 6: 0.7}, ensemble_score=0.4) == 2
    assert due(known, weights={5: 0.3, 6: 0.7}, ensemble_score=0.4, done=[2]) == 6


def test_what_a_stack_is_built_on_comes_before_it_as_far_as_time_is_left() -> None:
    known = [experiment(7, uses=["e6", "e5", "e9", "gone"]), experiment(6, uses=["e4"]), *map(experiment, (5, 4))]
    known.append(experiment(9))
    assert due(known) == 4
    assert due(known, done=[4]) == 6
    assert due(known, done=[4, 6]) == 5
    assert due(known, done=[4, 6, 5]) == 7, "what came after it is no part of it"
    assert due(known, labs_ended=True, usable=45.0) == 4
    assert due(known, labs_ended=True, usable=30.0) == 7
    assert due([experiment(7, "", uses=["e5"]), experiment(5)]) == 5, "as one of the best, not as its member"


@pytest.mark.parametrize(("usable", "interrupted", "left"), [(60.0, False, []), (60.0, True, [3]), (0.0, False, [3])])
async def test_what_is_due_when_labs_have_ended_is_waited_for_while_there_is_time(
    usable: float, interrupted: bool, left: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.engine.sealed_runs._PAUSE", 0.01)
    waiting = [experiment(2), experiment(3)]
    context: Any = SimpleNamespace(budget=SimpleNamespace(usable=lambda best: usable))
    runs, event = SealedRuns(context), asyncio.Event()
    monkeypatch.setattr(SealedRuns, "_due", lambda self: waiting[0] if waiting else None)

    async def work() -> None:
        while waiting:
            await asyncio.sleep(0.02)
            waiting.pop(0)
            if interrupted:
                event.set()
                return

    async with asyncio.timeout(10):
        running = asyncio.create_task(work())
        await asyncio.sleep(0.03 if not usable else 0)
        await runs.finish(event)
        seen = [one.node for one in waiting]
        await running
    assert seen == left


@pytest.mark.parametrize(
    ("weight", "withdrawn", "order"), [(0.7, False, [3, 2]), (0.5, False, [2, 3]), (0.5, True, [3, 2])]
)
async def test_a_run_makes_way_for_one_that_counts_twice_as_much_and_ends_when_it_is_withdrawn(
    weight: float, withdrawn: bool, order: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run for a member of weight .3 had the last 200 s of a run on real data, and one of .73 none."""
    monkeypatch.setattr("bot.engine.sealed_runs._PAUSE", 0.01)
    finished, may_end = list[int](), asyncio.Event()
    with Store.open(tmp_path / "state.db", ReplayClock(datetime(2020, 3, 1, tzinfo=UTC))) as store:
        with store.write() as tx:
            create_run(tx, RUN, competition="c", agent="comind", model="m", seed=0, cutoff=None)
        weights = {2: 0.3, 3: weight}
        gone = set[int]()
        experiments = SimpleNamespace(withdrawn=lambda: gone)
        context: Any = SimpleNamespace(
            steps=Steps(store, RUN), blend=SimpleNamespace(weights=weights), experiments=experiments
        )
        runs = SealedRuns(context)
        waiting = [experiment(2)]
        monkeypatch.setattr(SealedRuns, "_due", lambda self: next((e for e in waiting if e.node not in finished), None))

        async def run(one: Experiment, *, is_trial: bool = False) -> Retrained:
            if one.node == 2 and not finished:
                await may_end.wait()
            finished.append(one.node)
            return Retrained(None, "")

        runs._run = run  # type: ignore[method-assign]
        running = asyncio.create_task(runs.keep_running())
        await asyncio.sleep(0.05)
        waiting.insert(0, experiment(3))
        gone.update([2] if withdrawn else [])
        await asyncio.sleep(0.1)
        gone.clear()
        if order[0] == 2:
            assert not finished, "it goes on"
            may_end.set()
        async with asyncio.timeout(10):
            while finished != order:
                await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_run_that_needs_what_labs_have_waits_for_their_end_with_those_of_the_same_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.engine.sealed_runs._PAUSE", 0.01)
    known, finished = [experiment(2), experiment(3, "python b.py"), experiment(4)], list[int]()
    with Store.open(tmp_path / "state.db", ReplayClock(datetime(2020, 3, 1, tzinfo=UTC))) as store:
        with store.write() as tx:
            create_run(tx, RUN, competition="c", agent="comind", model="m", seed=0, cutoff=None)
        context: Any = SimpleNamespace(
            steps=Steps(store, RUN),
            blend=None,
            experiments=SimpleNamespace(all=lambda: known, ranking=lambda: known, card=CARD, withdrawn=set),
            budget=SimpleNamespace(elapsed=SimpleNamespace(wall=lambda: 60.0), seconds=100.0),
        )
        runs = SealedRuns(context)

        async def run(one: Experiment, *, is_trial: bool = False) -> Retrained:
            if one.node == 2 and not runs.labs_ended:
                raise _Postponed
            finished.append(one.node)
            return Retrained(None, "")

        runs._run = run  # type: ignore[method-assign]
        running = asyncio.create_task(runs.keep_running())
        await asyncio.sleep(0.2)
        assert finished == [3] and retrained(context, 2) is None
        runs.labs_ended = True
        async with asyncio.timeout(10):
            while finished != [3, 2, 4]:
                await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def test_work_is_copied_before_an_experiments_own_files_which_no_later_change_of_the_coder_touches() -> None:
    lines = [shlex.split(line) for line in _copying(experiment(2, sources=("fit.py", "a dir/my 'x'.py")))]
    assert lines[0][:3] == ["cp", "-r", "--no-preserve=ownership"]
    assert ["cp", "/lab/experiments/e2/fit.py", "fit.py"] in lines
    assert ["cp", "/lab/experiments/e2/a dir/my 'x'.py", "a dir/my 'x'.py"] in lines
    assert lines.index(["mkdir", "-p", "a dir"]) == lines.index(lines[-2]) - 1
    assert lines[-1] == ["rm", "-rf", ".sealed", "test.npy", "test.csv"], (
        "predictions of old are not taken for new ones"
    )


async def test_test_predictions_are_taken_as_logged_under_the_name_or_beside_the_scripts_and_never_by_a_link(
    tmp_path: Path,
) -> None:
    work, outside = tmp_path / "work", tmp_path / "labels.npy"
    outside.write_bytes(b"labels")

    async def taken(name: str, *, beside_scripts: bool = True) -> bytes | None:
        shutil.rmtree(tmp_path / "taken", ignore_errors=True)
        file = await _copied_array((name, _first_name(name)), tmp_path, beside_scripts=beside_scripts)
        return None if file is None else file.read_bytes()

    (work / ".sealed").mkdir(parents=True)
    assert await taken("trees-2") is None
    (work / "test.npy").symlink_to(outside)
    assert await taken("trees-2") is None
    (work / "test.npy").unlink()
    (work / "test.npy").write_bytes(b"beside")
    assert await taken("trees-2") == b"beside"
    assert await taken("trees-2", beside_scripts=False) is None, "a command that failed may have left an old one"
    (work / ".sealed" / "trees").mkdir()
    (work / ".sealed" / "trees" / "test.csv").write_bytes(b"as logged")
    assert await taken("trees-2") == b"as logged", "in the run it had a number, as the name was taken"
    (work / ".sealed" / "trees-2").mkdir()
    (work / ".sealed" / "trees-2" / "test.npy").write_bytes(b"with its number")
    assert await taken("trees-2") == b"with its number"
    (work / ".sealed" / "trees-3").symlink_to(tmp_path)
    with pytest.raises(NotADirectoryError):
        await taken("trees-3")


@pytest.mark.parametrize(
    ("weights", "refitted", "mixed"),
    [({2: 0.6, 3: 0.4}, [3], False), ({2: 1.4, 3: -0.4}, [3], False), ({2: 1.4, 3: -0.4}, [2], True)],
)
def test_members_are_mixed_where_half_of_the_weights_are_fitted_on_all_rows(
    weights: Mapping[int, float], refitted: Sequence[int], mixed: bool
) -> None:
    assert may_be_mixed(weights, refitted) == mixed


@pytest.mark.parametrize(("refitted", "counts"), [([], False), ([2], False), ([2, 3], True), ([2, 3, 4], True)])
def test_a_stack_counts_as_made_on_all_rows_where_half_of_its_members_were(
    refitted: Sequence[int], counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose members' commands had all failed was handed in for it, and a much better ensemble was not."""
    monkeypatch.setattr("bot.submission.refit.blend_of", lambda *_: None)
    known = [experiment(2), experiment(3), experiment(4), experiment(5, uses=["e2", "e3", "e4"])]
    made = {node: Retrained(f"{node}.npy", "") for node in (*refitted, 5)}
    context: Any = SimpleNamespace(
        store=None,
        run_id=RUN,
        experiments=SimpleNamespace(all=lambda: known),
        steps=SimpleNamespace(find=lambda _, key: made.get(key.node)),
    )
    assert made_on_all_rows(context, 5) == ({5: "5.npy"} if counts else {})
    assert made_on_all_rows(context, 2) == ({2: "2.npy"} if 2 in refitted else {})


async def test_what_came_of_a_sealed_run_is_kept_and_a_failure_is_kept_as_one(tmp_path: Path) -> None:
    with Store.open(tmp_path / "state.db", ReplayClock(datetime(2020, 3, 1, tzinfo=UTC))) as store:
        with store.write() as tx:
            create_run(tx, RUN, competition="c", agent="comind", model="m", seed=0, cutoff=None)
        context: Any = SimpleNamespace(steps=Steps(store, RUN), experiments=None)

        async def fails(one: Experiment, *, is_trial: bool = False) -> Retrained:
            raise OSError("the disk is full")

        runs = SealedRuns(context)
        runs._run = fails  # type: ignore[method-assign]
        assert retrained(context, 2) is None
        await context.steps.once(SEALED_RUN, lambda: runs._step(experiment(2)), Key(2))
        assert retrained(context, 2) == Retrained(None, "its sealed run failed: the disk is full")


@pytest.mark.integration
async def test_predictions_of_all_rows_are_used_where_they_agree_and_nothing_of_them_reaches_a_coder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    monkeypatch.setattr("bot.engine.sealed_runs._FROM", 0.0)
    monkeypatch.setattr("bot.engine.sealed_runs._PAUSE", 0.1)
    monkeypatch.setattr("bot.engine.sealed_runs._BEST", 6)
    # At once, though others keep the machine busy.
    monkeypatch.setattr(
        "bot.engine.sealed_runs._IDLE", 'import os, sys; os.execvp("bash", ["bash", "-c", sys.argv[1]])'
    )
    all_rows = (
        "[ $(wc -l < data/train.csv) = 238 ] && [ $(wc -l < /lab/folds.csv) = 238 ] && [ ! -e /lab/.engine/socket ]"
    )
    few_rows = "[ $(wc -l < data/train.csv) -lt 238 ] && [ $(wc -l < /lab/folds.csv) -lt 238 ]"
    other = "! cmp -s /lab/experiments/good/test.npy logged.npy && cp /lab/experiments/good/test.npy test.npy"
    again = f"{all_rows} && python fit.py 0.92 && lab log good --validation validation.npy --test test.npy && exit 3"
    ids = "cut -d, -f1 data/train.csv data/validation.csv | sort"
    joins = f'[ $(wc -l < data/validation.csv) = 4 ] && [ "$({ids} | uniq -d)" = id ] && cp logged.npy test.npy'
    opposite = PREDICT.replace("-float(sys.argv[1])", "float(sys.argv[1])")
    replies = [
        sh(
            f"{typed('fit.py', PREDICT, typed('other.py', opposite, 'python fit.py 0.9'))}; "
            f"cp test.npy logged.npy; lab log good {FILES} --files fit.py --retrain {shlex.quote(again)}; "
            f"lab log stack {FILES} --uses good --retrain {shlex.quote(f'{few_rows} && {other}')}; "
            f"lab log bad {FILES} --retrain 'python other.py 0.9'; "
            f"lab log broken {FILES} --retrain 'exit 7'; lab log plain {FILES}; echo 'exit(1)' > fit.py; "
            f"lab log joins {FILES} --retrain {shlex.quote(joins)}"
        ),
        sh("for n in $(seq 600); do sleep 0.2; [ -e over ] && break; done; ls -R /lab/experiments; lab board"),
    ]
    model, opened = Scripted(replies), list[RunContext]()

    def agent(context: RunContext) -> Strategy:
        opened.append(context)
        return one_lab(context)

    async def tell() -> None:
        """End the second command once all five have run."""
        while not opened or len(opened[0].steps.all(SEALED_RUN)) < 5:
            await asyncio.sleep(0.2)
        (tmp_path / "run/run/labs/lab2/work/over").touch()

    telling = asyncio.create_task(tell())
    async with asyncio.timeout(400), lived(tmp_path / "run", model, agent=agent) as context:
        await telling
        assert context.experiments is not None
        kept = {one.name: one for one in context.experiments.all()}
        found = {name: retrained(context, one.node) for name, one in kept.items()}
        good, bad, broken = found["good"], found["bad"], found["broken"]
        assert good is not None and good.file is not None, good
        assert (context.executor.folder.bank / good.file).is_file()
        assert good.file != kept["good"].result.arrays.test
        assert bad is not None and bad.file is None and "differ too much from those logged" in bad.reason
        assert broken is not None and broken.file is None and "status 7" in broken.reason
        assert found["stack"] == Retrained(good.file, ""), (
            "it finds the lab's rows, and new test predictions of its member"
        )
        assert found["joins"] is not None and found["joins"].file, "no row is in both tables"
        assert found["plain"] is None
        assert not list((tmp_path / "run/run/labs").glob("sealed*")), "nothing of it stays"
        said = "".join(message.content for message in model.sent[-1])
        assert not any(word in said for word in (good.file, "sealed", "on all rows\n", "differ too much"))


@pytest.mark.integration
async def test_a_coder_is_told_early_which_commands_fail_on_fewer_rows_and_may_replace_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    monkeypatch.setattr("bot.engine.sealed_runs._FROM", 1.0)
    monkeypatch.setattr("bot.engine.sealed_runs._PAUSE", 0.1)
    monkeypatch.setattr("bot.engine.sealed_runs._BEST", 6)
    monkeypatch.setattr(
        "bot.engine.sealed_runs._IDLE", 'import os, sys; os.execvp("bash", ["bash", "-c", sys.argv[1]])'
    )
    opposite = PREDICT.replace("-float(sys.argv[1])", "float(sys.argv[1])")
    same_rows = "[ $(wc -l < data/train.csv) = $(cat rows) ] || { echo rows cached by number >&2; exit 4; }"
    replies = [
        sh(
            f"{typed('fit.py', PREDICT, typed('other.py', opposite, 'python fit.py 0.9'))}; wc -l < data/train.csv > rows; "
            f"lab log good {FILES} --retrain 'python fit.py 0.9 && lab log good --test test.npy'; "
            f"lab log cached {FILES} --retrain {shlex.quote(same_rows)}; lab log opposite {FILES} --retrain 'python other.py 0.9'"
        ),
        sh("for n in $(seq 600); do sleep 0.2; [ -e over ] && break; done"),
        sh(f"rm over; python fit.py 0.9; lab log cached {FILES} --files fit.py --retrain 'python fit.py 0.9'"),
        sh("for n in $(seq 600); do sleep 0.2; [ -e over ] && break; done"),
    ]
    model, opened = Scripted(replies), list[RunContext]()

    def agent(context: RunContext) -> Strategy:
        opened.append(context)
        return one_lab(context)

    async def tell() -> None:
        """End the commands that wait once three commands, and then the one in place of another, were tried."""
        for count in (3, 4):
            while not opened or len(opened[0].steps.all(TRIAL)) < count:
                await asyncio.sleep(0.2)
            (tmp_path / "run/run/labs/lab2/work/over").touch()

    telling = asyncio.create_task(tell())
    async with asyncio.timeout(400), lived(tmp_path / "run", model, agent=agent) as context:
        await telling
        assert context.experiments is not None
        nodes = {one.name: one for one in context.experiments.all() if one.kind == "model"}
        by_name = {
            name: [trial.reason for trial in context.steps.all(TRIAL, one.node).values()] for name, one in nodes.items()
        }
        assert set(by_name) == {"good", "cached", "opposite"}, "logged again, it is the same experiment"
        assert by_name["good"] == [""]
        assert by_name["cached"][1:] == [""], "its new command works"
        assert nodes["cached"].retrain == "python fit.py 0.9" and set(nodes["cached"].sources) == {"fit.py"}
        assert "differ" in by_name["opposite"][0]
        told = "".join(message.content for message in model.sent[2])
        assert "status 4: rows cached by number" in told and "command of opposite" in told
        assert "command of good" not in "".join(message.content for message in model.sent[-1])
        run = retrained(context, nodes["cached"].node)
        assert run is not None and run.file, "the new command is the one that is run on all rows"


@pytest.mark.integration
async def test_fits_of_the_portfolio_end_before_runs_on_all_rows_have_the_rest_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    order = list[str]()

    async def fit(fits: PortfolioFits) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            order.append("fits have ended")

    async def finish(runs: SealedRuns, interrupted: asyncio.Event) -> None:
        order.append("runs on all rows have the rest")

    monkeypatch.setattr(PortfolioFits, "keep_fitting", fit)
    monkeypatch.setattr(SealedRuns, "finish", finish)
    async with asyncio.timeout(200), lived(tmp_path / "run", Scripted([]), agent=one_lab):
        assert order == ["fits have ended", "runs on all rows have the rest"]


def one_lab(context: RunContext) -> Strategy:
    """Return an agent of one lab."""
    few = FewLabs()

    async def finish(tree: Tree) -> None:
        """Do nothing."""

    return Strategy("test", few, {"lab": LabPlaybook(context, few, LabSettings())}, finish)
