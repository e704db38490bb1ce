"""What the owner is asked of a competition before the bot works on it or submits: its rules, and how it is scored."""

from dataclasses import dataclass
from typing import Literal

from sqlmodel import Session

from bot.live.reading.proposals import confirmed, proposed
from bot.status.problems import current
from bot.submission.rules import lines_read, to_confirm
from scrapers.kaggle.settings import KaggleSection


@dataclass(frozen=True)
class OwnerQuestion:
    """A question that one click answers."""

    kind: Literal["rules", "task"]
    statements: tuple[tuple[str, str], ...]
    """What was read, each with the quoted sentence of the page that says so; an empty quote: no page does."""
    reader: str
    """Who read it."""
    address: str
    """Of the page that it is read on."""


def questions(session: Session, competition: str, kaggle: KaggleSection) -> list[OwnerQuestion]:
    """Return the questions on a competition that are not answered yet."""
    open_keys = {problem.key for problem in current(session)}
    open_questions = []
    if to_confirm(competition) in open_keys:
        statements = tuple((line.short, line.quote) for line in lines_read(session, competition))
        open_questions.append(OwnerQuestion("rules", statements, "the model", kaggle.page_of(competition, "rules")))
    proposal = proposed(session, competition)
    if f"card/{competition}" in open_keys and proposal is not None and proposal != confirmed(session, competition):
        statements = ((", ".join(proposal.lines), " … ".join(proposal.quotes)),)
        open_questions.append(
            OwnerQuestion("task", statements, proposal.by, kaggle.page_of(competition, "overview/evaluation"))
        )
    return open_questions
