"""Settling a task card: by fields and data, by what the owner confirmed, or by a proposal that the owner is asked to confirm."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from pydantic import Field

from bot.configuration.competition import CompetitionSettings
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS, METRICS, nearest_metric
from bot.live.models import open_reader
from bot.live.reading.proposals import CardProposal, confirm, confirmed, propose
from bot.live.reading.quotes import ReadPage, not_found
from bot.live.services import Shared
from bot.models import Item
from bot.models.fingerprint import prompt_hash
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt
from scrapers.kaggle.card.board import read_order
from scrapers.kaggle.card.derive import derive, proposed_by_field
from scrapers.kaggle.card.evidence import Evidence
from scrapers.kaggle.card.findings import DerivedCard, Missing
from scrapers.snapshots.card import TaskCard
from state.closed_model import ClosedModel
from state.errors import BudgetExceeded, ModelError, Unparsable

_MAX_PAGE_CHARACTERS = 30_000
"""Characters of a page."""
_BETTER = {"minimize": "lower", "maximize": "higher", None: ""}
ALL_OTHERS = "*"
"""As the prediction columns: all that the others do not name."""
_EXCLUDED_PAGES = ("rules", "prizes", "timeline", "citation")
"""Pages that say nothing of scoring."""


class CardReading(ClosedModel):
    """How a competition is scored, by its pages."""

    metric: str | None = None
    params: Mapping[str, float | bool | str] = {}
    id_column: str | None = None
    key_columns: tuple[str, ...] = ()
    prediction_columns: tuple[str, ...] = ()
    quotes: tuple[str, ...] = Field(default=(), max_length=10)
    doubt: str = ""


@dataclass(frozen=True)
class ReadCard(TemplatePrompt[CardReading]):
    """Asks how submissions are scored, and which columns are predicted."""

    template: ClassVar[str] = "read_card.j2"

    title: str
    field: str
    """Kaggle's `evaluationMetric`."""
    better: str
    """`lower` or `higher`, by the leaderboard's order; empty: it shows neither."""
    sample: tuple[str, ...]
    train: tuple[str, ...]
    test: tuple[str, ...]
    pages: tuple[ReadPage, ...]
    read_at: datetime
    known_metrics: tuple[str, ...] = tuple(METRIC_DIRECTIONS)
    longest: int = _MAX_PAGE_CHARACTERS

    @classmethod
    def from_evidence(cls, evidence: Evidence, read_at: datetime) -> "ReadCard":
        """Ask about a competition."""
        tables = evidence.tables
        return cls(
            title=evidence.title,
            field=evidence.fields.evaluation_metric,
            better=_BETTER[read_order(evidence.board).direction],
            sample=tables.sample.header if tables and tables.sample else (),
            train=(tables and tables.train) or (),
            test=(tables and tables.test) or (),
            pages=tuple(
                ReadPage(page.name, page.content) for page in evidence.pages if page.name not in _EXCLUDED_PAGES
            ),
            read_at=read_at,
        )

    def items(self) -> tuple[Item, ...]:
        """Return the pages, known since they were read."""
        return tuple(Item(f"page/{page.name}", self.read_at) for page in self.pages)

    def parse(self, text: str) -> CardReading:
        """Read the reply; raises Unparsable, too, where a quote stands on no page, or a metric or column does not exist."""
        reading = json_answer(text, CardReading)
        if reading.metric is not None and reading.metric not in METRIC_DIRECTIONS:
            raise Unparsable(f"{reading.metric!r} is not one of the listed metrics; {nearest_metric(reading.metric)}")
        if reading.metric is not None and not reading.quotes:
            raise Unparsable("`quotes` is empty: quote the sentences that name the metric, or answer null")
        if missing := not_found(reading.quotes, self.pages):
            raise Unparsable(f"not quoted word for word from the pages: {missing[0]!r}")
        if reading.prediction_columns == (ALL_OTHERS,):
            key_names = {reading.id_column, *reading.key_columns}
            prediction_columns = tuple(name for name in self.sample if name not in key_names)
            reading = reading.model_copy(update={"prediction_columns": prediction_columns if reading.id_column else ()})
        columns = (
            *((reading.id_column,) if reading.id_column else ()),
            *reading.key_columns,
            *reading.prediction_columns,
        )
        if self.sample and (wrong := [name for name in columns if name not in self.sample]):
            raise Unparsable(f"{wrong[0]!r} is not a column of the sample submission")
        return reading


FIELD = "Kaggle's field"
AGREED = "Kaggle's field and the model"
_USUAL = {"eps": 1e-15, "normalize": True}
"""A log loss's own parameters: to name them changes nothing."""
_COLUMNS = frozenset(("id_column", "key_columns", "prediction_columns"))
_NO_PROPOSAL = CardProposal(values={}, reader="")


@dataclass(frozen=True)
class Question:
    """What the owner is asked of a task."""

    derived: DerivedCard
    """What is open, with the lines for bot.toml."""
    proposal: CardProposal = _NO_PROPOSAL
    """What `bot approve COMPETITION --card` confirms; without values, the owner must choose or write the lines."""
    agreed: bool = False
    """Whether Kaggle's field and the reading of the pages agree on all that was open: then nobody is asked."""
    note: str = ""
    """What the reader was in doubt of, or why nothing is proposed."""


async def settle(shared: Shared, settings: CompetitionSettings, evidence: Evidence) -> TaskCard | Question:
    """Return the card if it is certain, else what the owner is asked; raises UsageError as `open_reader` does."""
    slug = evidence.slug
    derived = derive(evidence, METRIC_DIRECTIONS, settings.card)
    if derived.card is not None:
        return derived.card
    with shared.store.read() as session:
        proposal = confirmed(session, slug)
    if proposal is not None and is_supported(proposal, evidence):
        by_known = _derived(evidence, settings, proposal)
        if by_known.card is not None:
            return by_known.card
    reading, reader, note = await _read(shared, settings, evidence)
    question = question_of(evidence, settings, derived, reading, reader)
    question = replace(question, note=question.note or note)
    choices = _choices(evidence, settings, derived, reading)
    with shared.store.write() as tx:
        propose(tx, slug, question.proposal.model_copy(update={"note": _note(question, evidence), "choices": choices}))
        if question.agreed:
            # Kept, so that another reading of the same pages changes nothing.
            confirm(tx, slug, AGREED)
    card = question.derived.card if question.agreed else None
    return card or question


def _choices(
    evidence: Evidence, settings: CompetitionSettings, derived: DerivedCard, reading: CardReading | None
) -> dict[str, dict[str, Any]]:
    """Return all answers that settle the task, by their names, with the columns as they were read or the sample suggests."""
    open_, columns = {missing.field for missing in derived.missing}, dict[str, Any]()
    if derived.columns.proposed:
        columns = tomllib.loads("\n".join(missing.line for missing in derived.missing if missing.field in _COLUMNS))
        columns |= {name: value for name in columns if (value := getattr(reading, name, None))}
    answers: dict[str, dict[str, Any]] = {}
    if "direction" in open_:
        answers = {f"{_BETTER[way]} is better": {"direction": way} for way in ("maximize", "minimize")}
    elif "metric" in open_:
        params = {} if reading is None or reading.metric is None else {reading.metric: _unusual(reading)}
        names = [*params, *(name for name in sorted(METRICS) if not _objection(name, evidence))]
        answers = {
            n: {"metric": n, "metric_params": params.get(n, {}), "direction": METRIC_DIRECTIONS[n]} for n in names
        }
    proposals = {name: CardProposal(values=columns | values, reader="") for name, values in answers.items()}
    return {name: offer.values for name, offer in proposals.items() if _derived(evidence, settings, offer).card}


def _note(question: Question, evidence: Evidence) -> str:
    """Return what is uncertain of a proposal, and what the pages and the leaderboard say."""
    notes = [question.note]
    if not question.proposal.values:
        missing = question.derived.missing
        notes += [f"{m.reason} ({m.line})" if m.field in _COLUMNS else m.reason for m in missing]
        notes += [f'the pages say: "{quote}"' for quote in question.proposal.quotes]
    board = read_order(evidence.board).description
    return "; ".join(filter(None, (*notes, "" if board in " ".join(notes) else board)))


async def _read(
    shared: Shared, settings: CompetitionSettings, evidence: Evidence
) -> tuple[CardReading | None, str, str]:
    prompt = ReadCard.from_evidence(evidence, shared.clock.now())
    async with open_reader(shared, evidence.slug, settings) as asker:
        if asker is None or not prompt.pages:
            return None, "", ""
        try:
            return await asker.ask(prompt, role="analyst", name=f"card {prompt_hash(prompt)[:16]}"), "the model", ""
        except (ModelError, BudgetExceeded) as error:
            return None, "", f"the model could not read the pages: {error}"


def question_of(
    evidence: Evidence, settings: CompetitionSettings, derived: DerivedCard, reading: CardReading | None, reader: str
) -> Question:
    """Return what is proposed of all that is open, and whether to ask the owner; `reading` is None if nobody read the pages."""
    field_proposal = proposed_by_field(evidence, derived.columns, METRIC_DIRECTIONS)
    open_ = {missing.field for missing in derived.missing}
    if reading is None:
        if field_proposal is None:
            return Question(derived)
        metric, params = field_proposal
        reading, reader = CardReading(metric=metric, params=dict(params)), FIELD
    if reading.metric is not None and "metric" in open_ and (objection := _objection(reading.metric, evidence)):
        return Question(derived, CardProposal(values={}, quotes=reading.quotes, reader=reader), note=objection)
    question = _proposed(evidence, settings, derived, reading, reader)
    agreed = reader != FIELD and field_proposal == (reading.metric, _unusual(reading))
    return replace(question, agreed=agreed and open_ == {"metric"} and not reading.doubt)


def _proposed(
    evidence: Evidence, settings: CompetitionSettings, derived: DerivedCard, reading: CardReading, reader: str
) -> Question:
    """Propose what is open, as it was read; with a gap left there is no proposal, and the lines say all that is open."""
    open_, values = {field.field for field in derived.missing}, dict[str, Any]()
    if "metric" in open_ and reading.metric is not None:
        values = {"metric": reading.metric, "metric_params": _unusual(reading)}
    if open_ & _COLUMNS:
        values |= {name: getattr(reading, name) for name in _COLUMNS}
    values = {name: value for name, value in values.items() if value}
    proposal = CardProposal(values=values, quotes=reading.quotes, reader=reader)
    derived_card = _derived(evidence, settings, proposal)
    if values and derived_card.card is not None:
        return Question(derived_card, proposal, note=reading.doubt)
    read = [Missing(evidence.slug, line.partition(" = ")[0], proposal.source, line) for line in proposal.lines]
    derived_card = replace(derived_card, missing=(*read, *derived_card.missing))
    return Question(derived_card, proposal.model_copy(update={"values": {}}), note=reading.doubt)


def _derived(evidence: Evidence, settings: CompetitionSettings, proposal: CardProposal) -> DerivedCard:
    return derive(evidence, METRIC_DIRECTIONS, settings.card, proposal.overrides, proposal.source)


def is_supported(proposal: CardProposal, evidence: Evidence) -> bool:
    """Return whether what a proposal quotes still stands on the pages; if there is no page at all, the answer is wrong."""
    return not evidence.pages or not not_found(
        proposal.quotes, [ReadPage(page.name, page.content) for page in evidence.pages]
    )


def _objection(metric: str, evidence: Evidence) -> str:
    """Return why the leaderboard's scores cannot be of a metric that was read; nothing: they can."""
    board, facts = read_order(evidence.board), METRICS[metric]
    if board.direction not in (None, facts.direction):
        return f"the metric read from the pages is {metric}, which is {facts.direction}d, but {board.description}"
    for score in (board.low, board.high):
        if score is not None and not facts.minimum <= score <= facts.maximum:
            return f"the metric read from the pages is {metric}, which cannot give the leaderboard's score of {score:g}"
    return ""


def _unusual(reading: CardReading) -> dict[str, object]:
    return {name: value for name, value in reading.params.items() if _USUAL.get(name) != value}
