"""The last choice: finalists are raced on folds, the rows of final are read once."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.engine.attempts import load_tree
from bot.engine.race import race
from bot.execution.guarding import node_findings
from bot.execution.record import kept_execution
from bot.submission.last_choice import last_choice, selection_of
from state.tables import Execution
from tests.bot.engine.parts import RUN
from tests.bot.submission.raced import WRONG, run_of


@pytest.mark.integration
async def test_finalists_are_raced_and_chosen_among_by_all_rows(tmp_path: Path) -> None:
    async with run_of(tmp_path) as context:
        worker = context.blender
        assert worker is not None
        raced = await race(context, worker)
        assert set(raced.finalists) == {1, 2, 3, 4}, "the fifth is worse beyond noise"
        assert raced.note.startswith("raced: nodes "), raced.note
        assert raced.folds[0] == "fold 1/5"
        chosen = await last_choice(context, worker, over=True)
        found = selection_of(context)
        assert chosen is not None and found is not None
        first = found.candidates[0]
        assert first.node == chosen.id
        assert first.folds_run == len(raced.folds), "the winner of the race is chosen, as who lost it has fewer rows"
        assert {one.folds_run for one in found.candidates[2:]} == {1}
        with context.store.read() as session:
            runs = session.exec(Execution.__table__.select()).all()  # type: ignore[attr-defined]
            scored = kept_execution(session, RUN, chosen.id, "fold 1/5")
        assert scored is not None and scored.score is not None and scored.score.predictions is not None
        assert (context.executor.folder.bank / scored.score.predictions).is_file()
        again = await last_choice(context, worker, over=True)
        assert again == chosen
        with context.store.read() as session:
            assert len(session.exec(Execution.__table__.select()).all()) == len(runs)  # type: ignore[attr-defined]
        if first.folds_run >= 3:
            guard = next(one for one in node_findings(context.store, RUN, chosen.id) if one.guard == "folds")
            assert guard.sentence.startswith("fold "), guard


@pytest.mark.integration
async def test_a_run_that_may_go_on_is_chosen_for_by_the_hold_out_alone(tmp_path: Path) -> None:
    async with run_of(tmp_path, wrong=WRONG[:2]) as context:
        worker = context.blender
        assert worker is not None
        best = max(load_tree(context).valid(), key=lambda one: one.fitness)
        for how in (context, replace(context, blender=None)):
            assert await last_choice(how, worker, over=how is not context) == best
            assert selection_of(context) is None


@pytest.mark.integration
@pytest.mark.parametrize(
    ("seconds", "wrong", "races", "why"),
    [
        (600.0, (0.3, 9.0), True, "no other script is within noise of the best"),
        (0.5, (0.3, 0.31), True, "two finalists on one fold would take"),
        (600.0, (0.3, 0.31), False, "this run goes without a race"),
    ],
)
async def test_a_race_that_cannot_pay_or_is_not_wanted_is_left_out_with_the_reason(
    tmp_path: Path, seconds: float, wrong: tuple[float, ...], races: bool, why: str
) -> None:
    async with run_of(tmp_path, wrong=wrong) as context:
        worker = context.blender
        assert worker is not None
        short = replace(context, budget=replace(context.budget, seconds=seconds), races=races)
        assert await last_choice(short, worker, over=True) is not None
        found = selection_of(short)
        assert found is not None
        assert found.race.startswith("not raced: ") and why in found.race
        assert all(one.folds_run == 0 and one.final is not None for one in found.candidates)
        with context.store.read() as session:
            views = {row.view for row in session.exec(Execution.__table__.select())}  # type: ignore[attr-defined]
        assert views == {"holdout"}
