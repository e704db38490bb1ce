"""The community's pools and plans, on a real store with a scripted model."""

from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bot.community.idea_pool import idea_texts, propose_ideas
from bot.community.idea_prompts import IdeasAnswer, ProposedIdea
from bot.community.plan_prompts import DraftPlan, DraftsAnswer, PlanDrafts
from bot.community.planning import draft_row, plain_drafts, plan_drafts
from bot.community.report_pool import keep_report, report_texts, reports_of
from bot.community.shown import ComponentNote, ReportAnswer
from bot.engine.attempts import Attempt
from bot.engine.budget import DraftLeft, RunBudget
from bot.execution.machine import Machine
from bot.execution.stopwatch import Stopwatch
from bot.execution.task import TaskText
from scrapers.snapshots.card import MetricSpec, TaskCard
from state.clock import ReplayClock
from state.community import CommunityView
from state.errors import ModelRefused, Unparsable
from state.progress import create_run
from state.store import Store

LEFT = DraftLeft(scripts=20, seconds=100.0, gainless=2, failed=4)
MACHINE = Machine("3.11", 2, 4.0, 0, ())
CUTOFF = datetime(2020, 3, 1, tzinfo=UTC)
RUN = "r"


def card() -> TaskCard:
    return TaskCard(
        slug="c",
        title="C",
        category="x",
        description="d",
        metric=MetricSpec(name="rmse", direction="minimize"),
        id_column="id",
        prediction_columns=("y",),
        enabled_at=datetime(2020, 1, 1, tzinfo=UTC),
        deadline=CUTOFF,
    )


class Scripted:
    """Answers each kind of prompt from a list, or raises what is in it."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.prompts: list[Any] = []

    async def ask(self, prompt: Any, *, role: str, name: str, node: int | None = None) -> Any:
        """Return the next answer."""
        self.prompts.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def store(tmp_path: Any) -> Iterator[Store]:
    with Store.open(tmp_path / "state.db", ReplayClock(CUTOFF)) as opened:
        with opened.write() as tx:
            create_run(tx, RUN, competition="c", agent="comind", model="m", seed=0, cutoff=CUTOFF)
        yield opened


def context(store: Store, asker: Scripted, community: bool = False) -> Any:
    return SimpleNamespace(
        run_id=RUN,
        card=card(),
        task=TaskText.from_card(card()),
        settings_of=lambda kind: kind(),
        store=store,
        clock=store.clock,
        asker=asker,
        community=CommunityView(store, "c", CUTOFF) if community else None,
        say=lambda text: None,
        preview="",
        machine=MACHINE,
        results=(),
        blender=None,
        blend=None,
        left=(),
        budget=RunBudget(Stopwatch(), 600.0, None),
    )


def asked(count: int) -> PlanDrafts:
    return PlanDrafts(TaskText.from_card(card()), "", MACHINE, (), (), (), (), LEFT, 60.0, count)


def done(node: int, score: float | None) -> Attempt:
    return Attempt(node, "draft", "plan", "code", score, None if score is not None else "broke", "out", 1.0)


def ideas(*texts: str) -> IdeasAnswer:
    return IdeasAnswer(add=tuple(ProposedIdea(text=t) for t in texts))


def plans(*titles: str, codebase: int | None = None) -> DraftsAnswer:
    return DraftsAnswer(
        drafts=tuple(
            DraftPlan(
                title=t,
                description="a long enough plan",
                ideas=(1,) if i == 0 else (),
                codebase=codebase if i == 0 else None,
            )
            for i, t in enumerate(titles)
        )
    )


async def test_the_pool_only_grows_and_a_repeated_idea_is_not_added_twice(store: Store):
    here = context(store, Scripted(ideas("use a forest", "scale"), ideas("Use  a FOREST", "blend")))
    await propose_ideas(here, "propose:1")
    await propose_ideas(here, "propose:2")
    await propose_ideas(here, "propose:2")
    assert sorted(i.text for i in idea_texts(here)) == ["blend", "scale", "use a forest"]


async def test_a_round_is_planned_once_and_a_repeated_title_makes_a_draft_of_its_own(store: Store):
    here = context(store, Scripted(plans("Same", "Same")))
    await plan_drafts(here, 1, 1, 2, LEFT, 60.0)
    await plan_drafts(here, 1, 1, 2, LEFT, 60.0)
    first, second = draft_row(here, 1), draft_row(here, 2)
    assert first is not None
    assert second is not None
    assert (first.title, second.title) == ("Same", "Same (2)")
    assert len(here.asker.prompts) == 1


async def test_a_refused_plan_becomes_plain_drafts_and_the_run_goes_on(store: Store):
    here = context(store, Scripted(ModelRefused("no")))
    keep_report(here, None, "Baseline", ReportAnswer(method="plain"), [done(1, 0.5)], here.card.enabled_at)
    await plan_drafts(here, 1, 1, 2, LEFT, 60.0)
    first, second = draft_row(here, 1), draft_row(here, 2)
    assert first is not None
    assert second is not None
    assert first.codebase_node == 1
    assert second.novel


def test_plain_drafts_share_out_the_ideas(store: Store):
    prompt = asked(3)
    assert len(plain_drafts(prompt).drafts) == 3
    assert len({d.title for d in plain_drafts(prompt).drafts}) == 3


async def test_what_a_report_measured_of_an_idea_counts_and_not_the_score_of_its_draft(store: Store):
    here = context(store, Scripted(ideas("one", "two", "three"), plans("First", "Second")))
    await propose_ideas(here, "propose:1", here.task)
    await plan_drafts(here, 1, 1, 2, LEFT, 60.0)
    parts = (
        ComponentNote(name="one", analysis="it brought nothing", idea=1, gain=-0.01),
        ComponentNote(name="x", analysis="y"),
    )
    keep_report(
        here,
        "1",
        "First",
        ReportAnswer(method="m", components=parts),
        [done(2, 0.4), done(3, None)],
        here.card.enabled_at,
    )
    found = idea_texts(here)
    assert [(i.number, i.times_used, i.gains) for i in found] == [(2, 0, ()), (3, 0, ()), (1, 1, (-0.01,))]
    assert found[-1].support < found[0].support == 5.0


def test_the_best_report_goes_by_the_metrics_direction_and_failures_are_kept(store: Store):
    here = context(store, Scripted())
    for number, score in enumerate((0.5, None, 0.3, 0.4), 1):
        draft = str(number)
        keep_report(here, draft, f"R{number}", ReportAnswer(method="m"), [done(number, score)], here.card.enabled_at)
    assert [r.title for r in report_texts(here)] == ["R3", "R4", "R1", "R2"]
    assert len(reports_of(here)) == 4


def test_reports_that_are_written_side_by_side_have_the_same_numbers_in_whatever_order_they_end(store: Store):
    here = context(store, Scripted())
    for draft in ("3", "1", None, "2"):
        keep_report(here, draft, f"R{draft}", ReportAnswer(method="m"), [done(1, 0.5)], here.card.enabled_at)
    assert [(r.id, r.draft_id) for r in reports_of(here)] == [("1", None), ("2", "1"), ("3", "2"), ("4", "3")]


def test_a_plan_that_breaks_the_rules_says_which():
    prompt = asked(2)
    with pytest.raises(Unparsable, match="exactly 2"):
        prompt.parse('{"drafts": [{"title": "a", "description": "long enough text"}]}')
    with pytest.raises(Unparsable, match="does not exist"):
        prompt.parse(
            '{"drafts": [{"title": "a", "description": "long enough text", "ideas": [7]},'
            '{"title": "b", "description": "long enough text"}]}'
        )
