"""The community's pools and plans, on a real store with a scripted model."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bot.community.drafts.planning import draft_row, plan_drafts, provenance
from bot.community.drafts.prompts import DraftPlan, DraftsAnswer, OpenDraft, PlanDrafts, Room
from bot.community.ideas.pool import idea_texts, propose_ideas
from bot.community.ideas.prompts import IdeasAnswer, ProposedIdea
from bot.community.prompt_views import ComponentNote, IdeaText, ReportAnswer
from bot.community.report_pool import keep_report, lineage, report_texts, reports_of
from bot.engine.attempts import NodeFeedback
from bot.engine.budget import RunBudget
from bot.engine.tree import TreeCache
from bot.evaluation.answers import NodeScore
from bot.execution.machine import Machine
from bot.execution.stopwatch import Stopwatch
from bot.execution.task import TaskText
from bot.knowledge.retrieval import RetrievedEntries
from bot.knowledge.similarity import WordSimilarity
from bot.models import Item
from scrapers.snapshots.card import MetricSpec, TaskCard
from state.clock import ReplayClock
from state.community import CommunityView
from state.errors import ModelRefused, Unparsable
from state.knowledge import add_reproduction
from state.progress import create_node
from state.steps import Steps
from state.store import Store
from state.tables import Reproduction
from tests.bot.knowledge.parts import entry
from tests.state.rows import create_run

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
        experiments=None,
        remaining_lines=(),
        similarity=WordSimilarity(),
        steps=Steps(store, RUN),
        budget=RunBudget(Stopwatch(), 600.0, None),
    )


def room(most: int = 2) -> Room:
    return Room(most, 0.4, 0.1, 0.5, 60.0, seconds=500.0)


def asked(most: int, **shown: Any) -> PlanDrafts:
    return PlanDrafts(TaskText.from_card(card()), "", MACHINE, (), (), (), (), room(most), **shown)


def done(node: int, score: float | None) -> NodeFeedback:
    own = None if score is None else NodeScore(score)
    return NodeFeedback(node, "draft", "plan", "code", own, None if score is not None else "broke", "out", 1.0)


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
    await plan_drafts(here, 1, 1, room)
    await plan_drafts(here, 1, 1, room)
    first, second = draft_row(here, 1), draft_row(here, 2)
    assert (first.title, second.title) == ("Same", "Same (2)")
    assert len(here.asker.prompts) == 1


async def test_a_refused_plan_becomes_a_plain_draft_and_the_one_beside_it_starts_anew(store: Store):
    here = context(store, Scripted(ModelRefused("no"), ModelRefused("no")))
    keep_report(here, None, "Baseline", ReportAnswer(method="plain"), [done(1, 0.5)], here.card.enabled_at)
    await plan_drafts(here, 1, 1, room)
    await plan_drafts(here, 1, 2, room, other_ids=(1,))
    first, second = draft_row(here, 1), draft_row(here, 2)
    assert first.codebase_node == 1
    assert second.codebase_node is None


async def test_a_refused_plan_leaves_a_draft_that_is_worked_on_as_it_is(store: Store):
    here = context(store, Scripted(plans("A first solution"), ModelRefused("no"), plans("From the posts")))
    await plan_drafts(here, 1, 1, room)
    await plan_drafts(here, 1, 1, room, begun=True)
    assert draft_row(here, 1).title == "A first solution"
    await plan_drafts(here, 1, 1, room, begun=True)
    assert draft_row(here, 1).title == "From the posts"


@pytest.mark.parametrize("parents", [(), (1,)])
async def test_a_plan_is_made_from_entries_of_the_knowledge_base_which_date_the_draft_unless_they_are_younger(
    store: Store, parents: tuple[int, ...]
):
    old, young = datetime(2020, 2, 1, tzinfo=UTC), datetime(2021, 2, 1, tzinfo=UTC)
    found = RetrievedEntries((entry("old", known_at=old), entry("young", known_at=young)))
    here = context(store, Scripted(plans("First")))
    with store.write() as tx:
        create_node(tx, RUN, action="draft", id=1)
    here.tree_cache = TreeCache()
    await plan_drafts(here, 1, 1, room, parents=parents, knowledge=found)
    [prompt] = here.asker.prompts
    said = prompt.messages()[-1].content
    assert "# From the knowledge base" in said
    assert ("Papers on tasks of this kind." in said) == (not parents)
    assert found.text in said
    assert {*found.items} <= {*prompt.items()}
    draft = draft_row(here, 1)
    assert draft is not None, "nothing of a run is dated after its clock"
    assert draft.known_at == old


async def test_a_resumed_run_holds_a_plan_to_the_room_that_it_was_told(store: Store):
    answer = DraftsAnswer(drafts=(DraftPlan(title="T", description="a long enough plan", share=0.2),))
    here = context(store, Scripted(RuntimeError("killed"), answer))
    with pytest.raises(RuntimeError):
        await plan_drafts(here, 1, 1, room)
    await plan_drafts(here, 1, 1, lambda: replace(room(), min_share=0.9, of_run=0.1))
    draft = draft_row(here, 1)
    assert here.asker.prompts[1].room == room()
    assert draft.share == pytest.approx(0.2 * 0.5)


async def test_a_measured_kernel_may_be_built_on_and_dates_the_draft(store: Store):
    known_at = datetime(2020, 2, 1, tzinfo=UTC)
    with store.write() as tx:
        for number, measured in ((10, 0.4), (11, 0.3), (12, None)):
            row = {"id": f"kernel/{number}", "title": "K", "state": "failed" if measured is None else "ran"}
            add_reproduction(tx, Reproduction(run_id=RUN, node=number, measured=measured, known_at=known_at, **row))
    here = context(store, Scripted(plans("On a kernel", codebase=11)))
    await plan_drafts(here, 1, 1, room)
    [prompt] = here.asker.prompts
    assert [one.node for one in prompt.kernels] == [11, 10], "the best measured first; what failed is no start"
    draft = draft_row(here, 1)
    assert draft.codebase_node == 11
    assert draft.known_at >= known_at
    assert Item("kernel/11", known_at) in prompt.items()
    assert provenance(here, draft)[-1] == Item("kernel/11", known_at)
    assert lineage(here, draft) == ["idea/1", "node/11", "kernel/11"]


async def test_what_a_report_measured_of_an_idea_counts_and_not_the_score_of_its_draft(store: Store):
    here = context(store, Scripted(ideas("one", "two", "three"), plans("First", "Second")))
    await propose_ideas(here, "propose:1", here.task)
    await plan_drafts(here, 1, 1, room)
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


def answered(*drafts: dict[str, Any]) -> str:
    plain = {"title": "a", "description": "long enough text"}
    return json.dumps({"drafts": [plain | draft for draft in drafts]})


BESIDE = OpenDraft(Item("draft/9", CUTOFF), "Open", "find a family that the blend lacks", (1, 2), None)
IDEAS = tuple(IdeaText(Item(f"idea/{n}", CUTOFF), n, "try it", 5.0, 0) for n in (1, 2, 3, 4))


@pytest.mark.parametrize(
    ("drafts", "fault"),
    [
        (({}, {}, {}), "1 to 2 drafts"),
        (({"ideas": [7]},), "names unknown ideas"),
        (({"codebase": 5},), "one of"),
        (({"share": 0.02},), "a draft needs at least 0.10"),
        (({"share": 0.7}, {"share": 0.6}), "sum to 1.30"),
        (({"ideas": [1, 2, 3]},), "more than half of their ideas"),
        (({"ideas": [3, 4]}, {"ideas": [4, 3]}), "more than half of their ideas"),
        (({"aim": "Find a family that lacks in the blend"},), "same aim"),
    ],
)
def test_a_plan_that_breaks_a_rule_is_refused_with_the_rule(drafts: tuple[dict[str, Any], ...], fault: str):
    prompt = replace(asked(2), open_drafts=(BESIDE,), ideas=IDEAS)
    with pytest.raises(Unparsable, match=fault):
        prompt.parse(answered(*drafts))


def test_drafts_that_differ_enough_are_taken():
    prompt = replace(asked(2), open_drafts=(BESIDE,), ideas=IDEAS)
    drafts = ({"ideas": [1, 3], "share": 0.5, "aim": "gain on the best"}, {"ideas": [4], "share": 0.5})
    assert [draft.share for draft in prompt.parse(answered(*drafts)).drafts] == [0.5, 0.5]
