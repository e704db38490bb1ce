"""Gains: the best over time and over money, and the time to a bronze medal."""

from typing import Any

from bot.engine.run_record import RunRecord
from bot.evaluation.answers import GradeReport, HiddenScore
from bot.report.gains import NewBestNode, figures_of, gains
from state.progress import create_node, end_node
from state.spending import charge
from state.store import Store
from tests.bot.report.finished_runs import BARE
from tests.state.conftest import StandingClock, clock, run_id, store

__all__ = ["clock", "run_id", "store"]

HIDDEN = {1: HiddenScore(0.50, 0.2), 3: HiddenScore(0.30, 0.8), 4: HiddenScore(0.25, 0.9)}
"""Of the nodes that are gains; rmse, so that lower is better."""


def worked(store: Store, clock: StandingClock, run: str, costs: tuple[float | None, ...]) -> list[NewBestNode]:
    """Have a node end every ten seconds, after a call of the model at this cost; the second and the fifth are no gain."""
    scores = (0.5, 0.6, 0.4, 0.3, 0.35)
    for number, (score, cost) in enumerate(zip(scores, costs, strict=True), 1):
        with store.write() as tx:
            create_node(tx, run, id=number, action="draft")
        clock.pass_by(10)
        with store.write() as tx:
            charge(tx, run, "tokens", role="coder", prompt_tokens=5, completion_tokens=5, cost_usd=cost)
            end_node(tx, run, number, "valid", score=score)
    with store.read() as session:
        return gains(RunRecord.load(session, run), HIDDEN, {1, 2, 3, 4, 5})


def grade(bronze: float | None) -> GradeReport:
    fields: dict[str, Any] = {name: BARE[name] for name in GradeReport.model_fields if name in BARE}
    more = {"competition_id": "wine", "score": 0.3, "win_rate": 0.8, "n_teams": 9, "is_lower_better": True}
    return GradeReport(
        **fields | more | {"bronze_threshold": bronze, "submission_exists": True, "valid_submission": True}
    )


def test_a_gain_has_the_time_the_money_and_the_grade_of_its_node(
    store: Store, clock: StandingClock, run_id: str
) -> None:
    found = worked(store, clock, run_id, (0.0, 0.25, 0.25, 1.0, 9.0))
    told = figures_of(found, grade(bronze=0.3), 60.0)
    assert told["best_over_time"] == [(10.0, 0.5, 0.2), (30.0, 0.4, 0.8), (40.0, 0.3, 0.9)]
    assert told["best_over_money"] == [(0.0, 0.2), (0.5, 0.8), (1.5, 0.9)]
    assert told["seconds_to_bronze"] == 30.0, "the threshold itself is worth the medal"


def test_nothing_is_said_of_money_from_a_call_of_unknown_price_on(
    store: Store, clock: StandingClock, run_id: str
) -> None:
    found = worked(store, clock, run_id, (0.5, 0.5, None, 0.5, 0.5))
    assert figures_of(found, grade(bronze=None), 60.0)["best_over_money"] == [(0.5, 0.2)]


def test_a_run_that_never_reached_bronze_has_no_time_to_it(store: Store, clock: StandingClock, run_id: str) -> None:
    found = worked(store, clock, run_id, (0.0,) * 5)
    assert figures_of(found, grade(bronze=0.1), 60.0)["seconds_to_bronze"] is None
    assert figures_of(found, grade(bronze=None), 60.0)["seconds_to_bronze"] is None


def test_a_medal_of_what_was_submitted_counts_from_the_runs_end(
    store: Store, clock: StandingClock, run_id: str
) -> None:
    """An ensemble, or a file made on all rows, may be worth a medal that no node was."""
    medal = grade(bronze=0.1).model_copy(update={"any_medal": True, "bronze_medal": True})
    assert figures_of(worked(store, clock, run_id, (0.0,) * 5), medal, 60.0)["seconds_to_bronze"] == 60.0


def test_what_may_not_be_submitted_is_no_gain(store: Store, clock: StandingClock, run_id: str) -> None:
    worked(store, clock, run_id, (0.0,) * 5)
    with store.read() as session:
        found = gains(RunRecord.load(session, run_id), HIDDEN, {2, 3})
    assert [one.validation for one in found] == [0.6, 0.4]
