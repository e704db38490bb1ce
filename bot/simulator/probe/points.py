"""What the bot assumes of Kaggle, point by point, each with how a probe's answers settle it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from bot.simulator.probe.exchange import AnswerT, ProbeExchange

Verdict = Literal["OK", "different", "could not tell"]


@dataclass(frozen=True)
class ProbeFinding:
    """What was seen of one point."""

    verdict: Verdict
    observation: str


class NotAnswered(Exception):
    """A question has no answer that can be read, so a point stays open or differs."""

    def __init__(self, finding: ProbeFinding) -> None:
        self.finding = finding
        super().__init__(finding.observation)


class ProbeAnswers:
    """The answers of a probe, by the name of the question."""

    def __init__(self, exchanges: Sequence[ProbeExchange]) -> None:
        self.all = tuple(exchanges)
        self._by_name = {e.name: e for e in exchanges}

    def exchange(self, name: str) -> ProbeExchange | None:
        """Return a question and its answer, None if it was not put."""
        return self._by_name.get(name)

    def read(self, name: str, kind: type[AnswerT]) -> AnswerT:
        """Return an answer as the client reads it. Raises NotAnswered if there is none that it can read."""
        exchange = self._by_name.get(name)
        if exchange is not None and exchange.answered:
            with suppress(ValidationError):
                return exchange.read(kind)
        raise NotAnswered(self.why_not(name))

    def status(self, name: str) -> int:
        """Return the status of an answer or a refusal. Raises NotAnswered if the site was busy or did not answer."""
        exchange = self._by_name.get(name)
        if exchange is None or exchange.status is None or exchange.status >= 500 or exchange.status == 429:
            raise NotAnswered(self.why_not(name))
        return exchange.status

    def why_not(self, name: str) -> ProbeFinding:
        """Return why a point stays open whose question has no answer."""
        exchange = self._by_name.get(name)
        if exchange is None:
            return unsure("the request was not sent")
        if exchange.status is None:
            return unsure(f"{exchange.method} was not answered")
        if not exchange.answered:
            return unsure(f"{exchange.method} was refused with status {exchange.status}")
        return ProbeFinding("different", f"cannot read the answer to {exchange.method}")


@dataclass(frozen=True)
class Point:
    """One assumption."""

    name: str
    assumed: str
    """What the bot takes for granted, in a sentence."""
    check: Callable[[ProbeAnswers], ProbeFinding]
    settled_by: str = "a probe of a competition with more content"
    """What settles it where this probe could not tell."""

    def judge(self, answers: ProbeAnswers) -> ProbeFinding:
        """Hold a probe's answers against it."""
        try:
            return self.check(answers)
        except NotAnswered as error:
            return error.finding


def finding(holds: bool, observation: str) -> ProbeFinding:
    """Return a finding: the assumption holds, or Kaggle is different."""
    return ProbeFinding("OK" if holds else "different", observation)


def unsure(reason: str) -> ProbeFinding:
    """Return a finding that leaves the point open."""
    return ProbeFinding("could not tell", reason)
