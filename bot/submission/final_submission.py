"""The final submission: a node is selected, run again on all data, and its file put in place."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from sqlmodel import col, select

from bot.engine.attempts import load_tree
from bot.engine.blending import Blending
from bot.engine.context import RunContext
from bot.engine.tree import NodeView, Tree
from bot.evaluation.client.worker import Worker
from bot.submission import Quota
from bot.submission.exactly_once import ExactlyOnce, copy_durably
from bot.submission.final_selection import select_final
from bot.submission.refit import MadeFile, PredictionSource, refit
from state.closed_model import ClosedModel
from state.errors import BotError, BudgetExceeded, SiteUnavailable
from state.files import replacing, sha256_of, sync, write_whole
from state.tables import Submission

LOCK = ".submission.lock"
"""Beside the file; held while a file is placed."""
_RECORD_NAME = ".submission.json"
_STOPPED_SECONDS = 5.0
"""Seconds that a stopped run may take to write its ensemble's file."""


class _PlacedFile(ClosedModel):
    """The file placed last: its tag and sha256 (hex)."""

    tag: str
    sha256: str


class ReplaySubmitter:
    """Places a file where the run's result is graded; a later one replaces the earlier one."""

    def __init__(self, destination: Path) -> None:
        """Place files at `destination`, whose folder must exist; a record of what was placed goes beside it."""
        self._destination = destination
        self._record = destination.with_name(_RECORD_NAME)

    async def quota(self) -> Quota:
        """Return that there is no limit."""
        return Quota(remaining=None)

    # It never awaits, so that a cancelled call cannot put its file in place after a later one.
    async def submit(self, file: Path, tag: str) -> str:
        """Place a copy, completely or not at all, even if the power fails; returns the file's name and hash.

        Raises SiteUnavailable: it could not be copied.
        """
        try:
            with replacing(self._destination) as partial:
                sha = copy_durably(file, partial)
                # The record first: it means nothing until a file with its hash is there.
                write_whole(self._record, _PlacedFile(tag=tag, sha256=sha).model_dump_json(), durable=True)
            sync(self._destination.parent)
        except OSError as error:
            raise SiteUnavailable(f"{self._destination.name} could not be written: {error}") from error
        return self._ref(sha)

    async def find(self, tag: str) -> str | None:
        """Return what `submit` returned, if the file in place is the one with this tag.

        Raises SiteUnavailable: the file cannot be read.
        """
        try:
            record = _PlacedFile.model_validate_json(self._record.read_bytes())
            sha_on_disk = sha256_of(self._destination)
        except (FileNotFoundError, ValidationError):
            return None
        except OSError as error:
            raise SiteUnavailable(f"{self._destination.name} could not be read: {error}") from error
        return self._ref(sha_on_disk) if (record.tag, record.sha256) == (tag, sha_on_disk) else None

    async def score(self, ref: str) -> float | None:
        """Return None: a replay is graded after its run, and the run never learns the score."""
        return None

    def _ref(self, sha: str) -> str:
        return f"{self._destination.name}@{sha}"


@dataclass(frozen=True)
class FinalSubmission:
    """What was submitted."""

    node: int | None
    source: PredictionSource | None
    """None: nothing was submitted."""
    note: str
    """Why this file, in one sentence."""
    risky_pick: int | None = None
    """What might be best of all else that could be submitted; what was submitted is the safest."""


async def make_final_submission(
    context: RunContext,
    blending: Blending | None,
    destination: Path,
    worker: Worker,
    *,
    hurried: bool,
    own: bool = False,
    over: bool = False,
) -> FinalSubmission:
    """Select a script or an ensemble (see `final_selection`), refit it, and submit its file.

    It may be called again: a run that was stopped submits, is resumed, and submits again.

    Args:
        hurried: the run was stopped: nothing more is run, and the scored file is submitted.
        own: the agent made the file itself: it is submitted as it was left, scored or not.
        over: the search has ended for good, so that candidates may be compared on the internal test too.

    Raises:
        SubmissionInDoubt: the file could not be put in place.
        OSError: there is no file of that node.
    """
    # A stopped run has no time to fit an ensemble, or for the local check of its notebook.
    if blending is not None and not (hurried and context.takes_notebooks):
        with suppress(BotError, TimeoutError):
            async with asyncio.timeout(_STOPPED_SECONDS if hurried else None):
                await blending.as_node(may_fit=not hurried, over=over)
    tree = load_tree(context)
    if own:
        valid_nodes = (node for node in reversed(tree.nodes) if node.state == "valid" and not node.baseline)
        best = next(valid_nodes, None)
    else:
        best = await select_final(context, worker, over=over)
    if best is None:
        reason = "the coding agent left no valid file" if own else "no node has a score, so there is nothing to submit"
        return FinalSubmission(None, None, reason)
    if context.experiments is not None:
        await context.experiments.write_submissions(worker, (best.id,))
    scored_file = context.executor.submission_of(best.id, "holdout")
    if own:
        made_file = MadeFile(scored_file, "as-left", "the file as the coding agent left it")
    elif best.score is None:
        made_file = MadeFile(scored_file, "holdout", "the first valid file, because no script printed a score")
    elif hurried:
        made_file = MadeFile(scored_file, "holdout", "the scored file, because the run was stopped before a refit")
    else:
        made_file = await refit(context, best.id, worker)
    site, lock = ReplaySubmitter(destination), destination.with_name(LOCK)
    # Our own disk lists at once what it has taken.
    once = ExactlyOnce(context.store, context.run_id, site, context.clock, lock, grace=0.0)
    try:
        async with context.spending.reserve(submissions=1) as reservation:
            await once.submit(made_file.file, node=best.id, source=made_file.source)
            reservation.spend(submissions=1)
    except BudgetExceeded as error:
        return _earlier(context, error)
    risky_pick = None if own else _risky_pick(context, best, tree)
    return FinalSubmission(best.id, made_file.source, made_file.note, risky_pick)


def _risky_pick(context: RunContext, selected: NodeView, tree: Tree) -> int | None:
    """Return the best candidate by its score and one standard error, of those that predict something else than the chosen one."""
    executions = {node.id: context.executor.kept_execution(node.id) for node in (selected, *tree.candidates())}
    scores = {node: execution.score for node, execution in executions.items() if execution is not None}
    base, bold = scores.get(selected.id), {}
    for candidate in tree.candidates():
        score = scores.get(candidate.id)
        if score is not None and not candidate.spoiled and (base is None or score.submission != base.submission):
            bold[candidate.id] = candidate.fitness + (score.std_error or 0.0)
    return max(bold, key=lambda node: (bold[node], -node), default=None)


def _earlier(context: RunContext, error: BudgetExceeded) -> FinalSubmission:
    """Return what was submitted before the run was resumed, as the budget allows nothing more."""
    with context.store.read() as session:
        query = select(Submission).where(Submission.run_id == context.run_id, Submission.status == "confirmed")
        last = session.exec(query.order_by(col(Submission.at).desc())).first()
    if last is None:
        return FinalSubmission(None, None, f"nothing was submitted: {error}")
    source: PredictionSource = "refit" if last.prediction_source == "refit" else "holdout"
    return FinalSubmission(last.node, source, f"the file submitted before the run was resumed, because {error}")
