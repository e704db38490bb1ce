"""Settling a task card: by fields and data, by what the owner confirmed, or by a proposal that the owner is asked to confirm."""

from dataclasses import dataclass, replace
from typing import Any

from bot.configuration.competition import CompetitionSettings
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS, METRICS
from bot.live.models import open_reader
from bot.live.reading.card_prompt import CardReading, ReadCard
from bot.live.reading.proposals import CardProposal, confirm, confirmed, propose
from bot.live.reading.quotes import ReadPage, not_found
from bot.live.shared import Shared
from bot.models.fingerprint import prompt_hash
from scrapers.kaggle.card.board import read_order
from scrapers.kaggle.card.derive import derive, proposed_by_field
from scrapers.kaggle.card.evidence import Evidence
from scrapers.kaggle.card.findings import Derived, Missing
from scrapers.snapshots.card import TaskCard
from state.errors import BudgetExceeded, ModelError

FIELD = "Kaggle's field"
AGREED = "Kaggle's field, with the model,"
_USUAL = {"eps": 1e-15, "normalize": True}
"""A log loss's own parameters: to name them changes nothing."""
_COLUMNS = frozenset(("id_column", "key_columns", "prediction_columns"))


@dataclass(frozen=True)
class Question:
    """What the owner is asked of a task."""

    derived: Derived
    """What is open, with the lines for bot.toml."""
    proposal: CardProposal | None = None
    """What `bot approve COMPETITION --card` confirms; None: the lines must be written."""
    agreed: bool = False
    """Whether Kaggle's field and the reading of the pages agree on all that was open: then nobody is asked."""
    note: str = ""
    """What the reader was in doubt of, or why nothing is proposed."""


async def settle(shared: Shared, own: CompetitionSettings, evidence: Evidence) -> TaskCard | Question:
    """Return the card if it is certain, else what the owner is asked; raises UsageError as `open_reader` does."""
    slug = evidence.slug
    derived = derive(evidence, METRIC_DIRECTIONS, own.card)
    if derived.card is not None:
        return derived.card
    with shared.store.read() as session:
        known = confirmed(session, slug)
    if known is not None and stands(known, evidence):
        by_known = _derived(evidence, own, known)
        if by_known.card is not None:
            return by_known.card
    reading, by, note = await _read(shared, own, evidence)
    found = question_of(evidence, own, derived, reading, by)
    if found.proposal is not None:
        with shared.store.write() as tx:
            propose(tx, slug, found.proposal)
            if found.agreed:
                # Kept, so that another reading of the same pages changes nothing.
                confirm(tx, slug, AGREED)
    card = found.derived.card if found.agreed else None
    return card or replace(found, note=found.note or note)


async def _read(shared: Shared, own: CompetitionSettings, evidence: Evidence) -> tuple[CardReading | None, str, str]:
    """Return what the model reads on the pages and its name, or None and why there is nothing."""
    prompt = ReadCard.of(evidence, shared.clock.now())
    async with open_reader(shared, evidence.slug, own) as asker:
        if asker is None or not prompt.pages:
            return None, "", ""
        try:
            return await asker.ask(prompt, role="analyst", name=f"card {prompt_hash(prompt)[:16]}"), "the model", ""
        except (ModelError, BudgetExceeded) as error:
            return None, "", f"the model could not read the pages: {error}"


def question_of(
    evidence: Evidence, own: CompetitionSettings, derived: Derived, reading: CardReading | None, by: str
) -> Question:
    """Return what is proposed of all that is open, and whether the owner need be asked.

    Args:
        evidence: what is known.
        own: the owner's word.
        derived: what these settle.
        reading: of the pages; None: nobody has read them, so that Kaggle's field is all there is.
        by: who has read them.
    """
    named = proposed_by_field(evidence, derived.columns, METRIC_DIRECTIONS)
    if reading is None:
        if named is None or _objection(named[0], evidence):
            return Question(derived)
        return _proposed(evidence, own, derived, CardReading(metric=named[0], params=dict(named[1])), FIELD)
    open_ = {one.field for one in derived.missing}
    if reading.metric is not None and "metric" in open_ and (objection := _objection(reading.metric, evidence)):
        return Question(derived, note=objection)
    found = _proposed(evidence, own, derived, reading, by)
    agreed = named == (reading.metric, _unusual(reading)) and open_ == {"metric"} and not reading.doubt
    return replace(found, agreed=agreed)


def _proposed(
    evidence: Evidence, own: CompetitionSettings, derived: Derived, reading: CardReading, by: str
) -> Question:
    """Propose what is open, as it was read; with a gap left there is no proposal, and the lines say all that is open."""
    open_, says = {one.field for one in derived.missing}, dict[str, Any]()
    if "metric" in open_ and reading.metric is not None:
        says = {"metric": reading.metric, "metric_params": _unusual(reading)}
    if open_ & _COLUMNS:
        says |= {name: getattr(reading, name) for name in _COLUMNS}
    proposal = CardProposal(says={name: said for name, said in says.items() if said}, quotes=reading.quotes, by=by)
    if not proposal.says:
        return Question(derived, note=reading.doubt)
    found = _derived(evidence, own, proposal)
    if found.card is not None:
        return Question(found, proposal, note=reading.doubt)
    read = [Missing(evidence.slug, line.partition(" = ")[0], proposal.source, line) for line in proposal.lines]
    return Question(replace(found, missing=(*read, *found.missing)), note=reading.doubt)


def _derived(evidence: Evidence, own: CompetitionSettings, proposal: CardProposal) -> Derived:
    return derive(evidence, METRIC_DIRECTIONS, own.card, proposal.overrides, proposal.source)


def stands(proposal: CardProposal, evidence: Evidence) -> bool:
    """Return whether what a proposal quotes still stands on the pages; if there is no page at all, the answer is wrong."""
    return not evidence.pages or not not_found(
        proposal.quotes, [ReadPage(page.name, page.content) for page in evidence.pages]
    )


def _objection(metric: str, evidence: Evidence) -> str:
    """Return why the leaderboard's scores cannot be of a metric that was read; nothing: they can."""
    board, facts = read_order(evidence.board), METRICS[metric]
    if board.direction not in (None, facts.direction):
        return f"the pages were read as {metric}, which is to {facts.direction}, but {board.says}"
    for score in (board.low, board.high):
        if score is not None and not facts.least <= score <= facts.most:
            return f"the pages were read as {metric}, which never scores {score:g}, as the leaderboard does"
    return ""


def _unusual(reading: CardReading) -> dict[str, object]:
    return {name: value for name, value in reading.params.items() if _USUAL.get(name) != value}
