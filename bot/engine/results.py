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
"""Type of the event with the result of fitting a blend."""
_BEST, _NEWEST = 20, 10
"""Rows shown of a longer table."""
_BEST_OF_PORTFOLIO = 3
"""Rows of models that the engine fits."""
_TITLE = 100


@dataclass(frozen=True)
class Refitted:
    """The result of running a script again on all data."""

    execution: str | None = None
    """Id of the run whose file may be submitted; None: none may."""
    reason: str | None = None


REFIT = StepKind("refit", Refitted)


@dataclass(frozen=True)
class BlendFit:
    """The result of fitting a blend."""

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
    error: str | None
    families: tuple[str, ...] = ()
    """Families of models that its script uses; none if unknown."""


@dataclass(frozen=True)
class BlendSoFar:
    """A blend of the scripts that had a score; scores are cross-fitted, and in the metric's own sign."""

    nodes: tuple[int, ...]
    """The scripts that could take part."""
    weights: Mapping[int, float]
    space: str
    score: NodeScore
    """The gain is over the best member."""

    @property
    def members(self) -> str:
        """The members with their weights, the heaviest first."""
        return members_in_words(self.weights)


def newest_blend(store: Store, run_id: str) -> BlendSoFar | None:
    """Return the newest fitted blend; None: there is none, or it gains nothing."""
    query = select(Event).where(Event.run_id == run_id, Event.type == BLENDED).order_by(col(Event.seq).desc())
    with store.read() as session:
        event = session.exec(query).first()
    if event is None or not (data := event.data).get("weights"):
        return None
    weights = {int(node): weight for node, weight in data["weights"].items()}
    gain = None if data["gain"] is None else Gain(data["gain"], data["gain_error"])
    return BlendSoFar(tuple(data["of"]), weights, data["space"], NodeScore(data["score"], data["noise"], gain))


def present_ensemble(steps: Steps, withdrawn: Container[int]) -> PresentEnsemble | None:
    """Return the newest ensemble fitted out of fold; None: there is none, or a member was withdrawn since."""
    fits = [fit.blend for fit in steps.all(FITTED_OUT_OF_FOLD).values() if fit.blend is not None]
    if not fits or any(node in withdrawn for node in fits[-1].recipe.weights):
        return None
    return PresentEnsemble(fits[-1].recipe, fits[-1].score.oof or "")


def refits_due(store: Store, run_id: str, best: int | None) -> int:
    """Return how many scripts of the present submission were not run on all data yet; 1 before there is any.

    Without a blend that is the script `best`.
    """
    newest = newest_blend(store, run_id)
    scripts = {best} if newest is None else newest.weights.keys()
    return len(scripts - refitted(store, run_id))


def refitted(store: Store, run_id: str) -> set[int]:
    """Return the scripts that were run again on all data, with or without success."""
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
    """Return the scripts and experiments that have ended, by number; of many, the best and the newest."""
    experiments = {experiment.node: experiment for experiment in run.experiments}
    portfolio = [e for e in experiments.values() if e.kind == "portfolio"]
    portfolio.sort(key=lambda e: (-run.oriented(e.result.score), e.node))
    omitted_nodes = {experiment.node for experiment in portfolio[_BEST_OF_PORTFOLIO:]}
    nodes = [node for node in run.scripts if node.status in ("valid", "buggy") and node.id not in omitted_nodes]
    with_score = [node for node in nodes if node.score is not None]
    with_score.sort(key=lambda node: (-run.oriented(node.score or 0.0), node.id))
    shown_ids = {node.id for node in (*with_score[:_BEST], *nodes[-_NEWEST:])}
    lines = []
    for node in (node for node in nodes if node.id in shown_ids):
        title, execution = run.titles.get(node.draft_id or "", ""), run.execution_of(node.id)
        plan = next((line for line in node.plan.splitlines() if line.strip()), "")
        if (experiment := experiments.get(node.id)) is not None:
            title = ": ".join(filter(None, (experiment.name, experiment.note)))
        # The title of a lab's script is its coder's note, which follows that of the draft.
        elif title and plan.startswith(f"{title}: "):
            title = plan.removeprefix(f"{title}: ")
        result = Result(
            node=node.id,
            action=node.action,
            title=(title or plan)[:_TITLE],
            parents=tuple(node.parents),
            score=score_of(node, execution),
            seconds=0.0 if execution is None else execution.seconds,
            error=node.error,
            families=tuple(node.families),
        )
        lines.append(result)
    return tuple(lines)


def score_of(node: Node, execution: ExecutionRecord | None) -> NodeScore | None:
    """Return a node's score, with the details of its last execution; None: it has none."""
    if node.score is None:
        return None
    return NodeScore(node.score) if execution is None or execution.score is None else execution.score
