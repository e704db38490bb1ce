"""Having a model write a grader from the metric's description, and admitting it only if it passes the self-tests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from bot.evaluation.directions import PredictionKind, prediction_kind
from bot.evaluation.graders.self_tests import Finding
from bot.models import CallLimits, Completion, Model, Prompt
from bot.models.parsing import one_code_block
from bot.models.repair import Repair
from bot.models.template import TemplatePrompt
from scrapers.snapshots.card import TaskCard
from state.errors import GraderNotAdmitted, ModelRefused, Unparsable

AnswerT = TypeVar("AnswerT")

TRIES = 3
"""Graders that are tested before it is given up."""
_REPAIRS = 2
_SAMPLE_LINES = 4
_DESCRIPTION_CHARACTERS = 30_000


@dataclass(frozen=True)
class WriteGrader(TemplatePrompt[str]):
    """Ask for the file that computes a competition's metric, or for its repair; it holds nothing of the answers."""

    template: ClassVar[str] = "write_grader.j2"

    title: str
    metric: str
    direction: str
    params: str
    description: str
    id_column: str
    key_columns: tuple[str, ...]
    prediction_columns: tuple[str, ...]
    kind: PredictionKind
    sample: str
    """The first lines of the sample submission."""
    board: str
    """A sentence on the leaderboard's scores."""
    attempt: str = ""
    faults: tuple[str, ...] = ()

    @classmethod
    def of(cls, card: TaskCard, sample: Sequence[str], board: Sequence[float]) -> "WriteGrader":
        """Fill it from a task card, the sample submission's lines and the leaderboard's scores, best first."""
        middle = board[len(board) // 2]
        return cls(
            title=card.title,
            metric=card.metric.name,
            direction=card.metric.direction,
            params=str(card.metric.params) if card.metric.params else "",
            description=card.description[:_DESCRIPTION_CHARACTERS],
            id_column=card.id_column,
            key_columns=card.key_columns,
            prediction_columns=card.prediction_columns,
            kind=prediction_kind(card),
            sample="\n".join(line[:500] for line in sample[:_SAMPLE_LINES]),
            board=f"Of {len(board)} teams the best has {board[0]}, the middle one {middle}, the last {board[-1]}.",
        )

    def parse(self, text: str) -> str:
        """Return the file; raises Unparsable when there is none that compiles and defines `grade`."""
        if "```" not in text and "~~~" not in text and text.strip():
            raise ModelRefused(f"the model wrote no grader: {' '.join(text.split())[:300]}")
        code = one_code_block(text)
        try:
            compile(code, "grade.py", "exec")
        except (SyntaxError, ValueError) as error:
            raise Unparsable(f"the file does not compile: {error}; send the whole file again") from error
        if "def grade(" not in code:
            raise Unparsable("the file defines no function grade(submission, answers)")
        return code


@dataclass(frozen=True)
class Written:
    """A grader that was admitted."""

    source: str
    findings: tuple[Finding, ...]
    model: str
    tries: int


async def write_grader(
    prompt: WriteGrader, model: Model, test: Callable[[str], Sequence[Finding]], *, tries: int = TRIES
) -> Written:
    """Ask for a grader until one passes every self-test.

    Args:
        prompt: the first question.
        model: who is asked.
        test: runs the self-tests on a file's text; it blocks, and runs the text in a process of its own.
        tries: graders that are tested.

    Raises:
        GraderNotAdmitted: none passed; the text names the self-tests that the last one failed.
        ModelError: the model does not answer, or says that it cannot.
        Unparsable: its replies hold no file.
        InfrastructureFailure: a grader's process does not start.
    """
    findings: Sequence[Finding] = ()
    for tried in range(1, tries + 1):
        completion = await _ask(prompt, model)
        findings = test(completion.answer)
        failed = [finding for finding in findings if not finding.passed]
        if not failed:
            return Written(completion.answer, tuple(findings), completion.model, tried)
        prompt = replace(prompt, attempt=completion.answer, faults=tuple(finding.sentence for finding in failed))
    failed_names = "; ".join(finding.sentence for finding in findings if not finding.passed)
    raise GraderNotAdmitted(f"No grader was admitted in {tries} tries; the last one failed: {failed_names}")


async def _ask(prompt: Prompt[AnswerT], model: Model) -> Completion[AnswerT]:
    """Ask, and ask again for replies that cannot be read."""
    question: Prompt[AnswerT] = prompt
    for _ in range(_REPAIRS):
        try:
            return await model.complete(question, role="grader", limits=CallLimits())
        except Unparsable as error:
            question = Repair(prompt, str(getattr(error.reply, "text", "")), str(error))
    return await model.complete(question, role="grader", limits=CallLimits())
