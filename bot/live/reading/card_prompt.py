"""The prompt by which a model reads how a competition is scored."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS, nearest_metric
from bot.live.reading.quotes import ReadPage, not_found
from bot.models import Item
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt
from scrapers.kaggle.card.board import read_order
from scrapers.kaggle.card.evidence import Evidence
from state.errors import Unparsable

_LONGEST = 30_000
"""Characters of a page."""
_BETTER = {"minimize": "lower", "maximize": "higher", None: ""}
ALL_OTHERS = "*"
"""As the prediction columns: all that the others do not name."""
_LEFT_OUT = ("rules", "prizes", "timeline", "citation")
"""Pages that say nothing of scoring."""


class CardReading(BaseModel):
    """How a competition is scored, by its pages."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: str | None = None
    params: dict[str, float | bool | str] = {}
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
    longest: int = _LONGEST

    @classmethod
    def of(cls, evidence: Evidence, read_at: datetime) -> "ReadCard":
        """Ask about a competition."""
        tables = evidence.tables
        return cls(
            title=evidence.title,
            field=evidence.fields.evaluation_metric,
            better=_BETTER[read_order(evidence.board).direction],
            sample=tables.sample.header if tables and tables.sample else (),
            train=(tables and tables.train) or (),
            test=(tables and tables.test) or (),
            pages=tuple(ReadPage(page.name, page.content) for page in evidence.pages if page.name not in _LEFT_OUT),
            read_at=read_at,
        )

    def items(self) -> tuple[Item, ...]:
        """Return the pages, known since they were read."""
        return tuple(Item(f"page/{page.name}", self.read_at) for page in self.pages)

    def parse(self, text: str) -> CardReading:
        """Read the reply; raises Unparsable, too, where a quote stands on no page, or a metric or column does not exist."""
        found = json_answer(text, CardReading)
        if found.metric is not None and found.metric not in METRIC_DIRECTIONS:
            raise Unparsable(f"{found.metric!r} is none of the metrics listed; {nearest_metric(found.metric)}")
        if found.metric is not None and not found.quotes:
            raise Unparsable("`quotes` is empty: quote the sentences that name the metric, or answer null")
        if missing := not_found(found.quotes, self.pages):
            raise Unparsable(f"this does not stand on the pages word for word: {missing[0]!r}")
        if found.prediction_columns == (ALL_OTHERS,):
            given = {found.id_column, *found.key_columns}
            others = tuple(name for name in self.sample if name not in given)
            found = found.model_copy(update={"prediction_columns": others if found.id_column else ()})
        columns = (*((found.id_column,) if found.id_column else ()), *found.key_columns, *found.prediction_columns)
        if self.sample and (wrong := [name for name in columns if name not in self.sample]):
            raise Unparsable(f"{wrong[0]!r} is no column of the sample submission")
        return found
