"""A run's results so far, for prompts: each script's score, noise, gain, seconds and error, and the newest blend."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import col, select

from bot.engine.run_record import RunRecord
from bot.evaluation.answers import Gain, NodeScore
from bot.evaluation.answers.blends import FittedBlend
from bot.evaluation.answers.experiments import PresentEnsemble
from bot.execution.record import ExecutionRecord
from state.steps import StepKind, Steps, read_steps
from state.store import Store
from state.tables import Event, Node

BLENDED = "blend.fitted"
"""Type of the event with what came of fitting a blend."""
_BEST, _NEWEST = 20, 10
"""Rows shown of a longer table."""
_TITLE = 100


@dataclass(frozen=True)
class Refitted:
    """What came of running a script again on all data."""

    execution: str | None = None
    """Id of the run whose file may be handed in; None: none may."""
    reason: str | None = None
    """Why none may."""


REFIT = StepKind("refit", Refitted)


@dataclass(frozen=True)
class BlendFit:
    """What came of fitting a blend."""

    blend: FittedBlend | None
    """None: blending gains nothing."""
    candidates: tuple[int, ...] = ()
    """The nodes that could be members."""


FITTED_OUT_OF_FOLD = StepKind("ensemble", BlendFit)
"""Steps that fit an ensemble on predictions out of fold, numbered from 1."""
FITTED_ON_HOLDOUT = StepKind("holdout ensemble", BlendFit)
"""Steps that fit one on predictions of the hold-out view, numbered from 1."""


@dataclass(frozen=True)
class Result:
    """One line of the table of a run's results."""

    node: int
    action: str
    title: str
    """Title of its draft, or the first line of its plan."""
    parents: tuple[int, ...]
    score: NodeScore | None
    seconds: float
    """Of its script alone."""
    error: str | None
    families: tuple[str, ...] = ()
    """Families of models that its script uses; none where nobody looked."""


@dataclass(frozen=True)
class BlendSoFar:
    """A blend of the scripts that had a score; scores are cross-fitted, and in the metric's own sign."""

    nodes: tuple[int, ...]
    """The scripts that could take part."""
    weights: Mapping[int, float]
    """Of its members."""
    space: str
    score: NodeScore
    """The gain is over the best member."""

    @property
    def members(self) -> str:
        """The members with their weights, the heaviest first."""
        return members_in_words(self.weights)


def newest_blend(store: Store, run_id: str) -> BlendSoFar | None:
    """Return the newest blend that was fitted; None: none is, or none gains."""
    query = select(Event).where(Event.run_id == run_id, Event.type == BLENDED).order_by(col(Event.seq).desc())
    with store.read() as session:
        event = session.exec(query).first()
    if event is None or not (data := event.data).get("weights"):
        return None
    weights = {int(node): weight for node, weight in data["weights"].items()}
    gain = None if data["gain"] is None else Gain(data["gain"], data["gain_error"])
    return BlendSoFar(tuple(data["of"]), weights, data["space"], NodeScore(data["score"], data["noise"], gain))


def present_ensemble(steps: Steps, withdrawn: Container[int]) -> PresentEnsemble | None:
    """Return the newest ensemble that was fitted out of fold; None: there is none, or a member was withdrawn since."""
    fits = [fit.blend for fit in steps.all(FITTED_OUT_OF_FOLD).values() if fit.blend is not None]
    if not fits or any(node in withdrawn for node in fits[-1].recipe.weights):
        return None
    return PresentEnsemble(fits[-1].recipe, fits[-1].score.oof or "")


def refits_due(store: Store, run_id: str, best: int | None) -> int:
    """Return how many scripts of what would be handed in now were not run on all data yet; 1 before there is any.

    The script `best` stands alone where there is no blend.
    """
    newest = newest_blend(store, run_id)
    scripts = {best} if newest is None else newest.weights.keys()
    return len(scripts - refitted(store, run_id))


def refitted(store: Store, run_id: str) -> set[int]:
    """Return the scripts that were run again on all data, whatever came of it."""
    with store.read() as session:
        return {key.node for key in read_steps(session, run_id, REFIT)}


def members_in_words(weights: Mapping[int, float]) -> str:
    """Return a blend's members with their weights, the heaviest first."""
    by_weight = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    return nodes_in_words([f"{node} ({weight:.2f})" for node, weight in by_weight])


def nodes_in_words(nodes: Sequence[int | str]) -> str:
    """Return nodes by number, such as "nodes 2, 5"."""
    return f"node{'s' if len(nodes) > 1 else ''} {', '.join(map(str, nodes))}"


def results(run: RunRecord) -> tuple[Result, ...]:
    """Return the scripts that have ended, by number; of many, the best and the newest."""
    nodes = [node for node in run.scripts if node.status in ("valid", "buggy")]
    with_score = [node for node in nodes if node.score is not None]
    with_score.sort(key=lambda node: (-run.oriented(node.score or 0.0), node.id))
    shown_ids = {node.id for node in (*with_score[:_BEST], *nodes[-_NEWEST:])}
    return tuple(
        _result(node, run.titles.get(node.draft_id or ""), run.execution_of(node.id))
        for node in nodes
        if node.id in shown_ids
    )


def _result(node: Node, title: str | None, execution: ExecutionRecord | None) -> Result:
    plan = next((line for line in node.plan.splitlines() if line.strip()), "")
    # A lab's script is known by the note that its coder left, which follows the title of the draft.
    words = (title and plan.removeprefix(f"{title}: ") if title and plan.startswith(f"{title}: ") else title) or plan
    return Result(
        node=node.id,
        action=node.action,
        title=words[:_TITLE],
        parents=tuple(node.parents),
        score=score_of(node, execution),
        seconds=0.0 if execution is None else execution.seconds,
        error=node.error,
        families=tuple(node.families),
    )


def score_of(node: Node, execution: ExecutionRecord | None) -> NodeScore | None:
    """Return a node's score, with what is known of it from its last execution; None: it has none."""
    if node.score is None:
        return None
    return NodeScore(node.score) if execution is None or execution.score is None else execution.score
