"""The card's metric with its direction and parameters: settled where at least two sources agree and none objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from scrapers.kaggle.card.board import BoardReading, read_order
from scrapers.kaggle.card.columns import ColumnsReading
from scrapers.kaggle.card.evidence import Evidence
from scrapers.kaggle.card.findings import OWNER, Finding, Missing
from scrapers.kaggle.card.metric import MetricReading, contradicted, read_metric, settle
from scrapers.kaggle.card.overrides import CardOverrides
from scrapers.kaggle.card.pages import Block
from scrapers.kaggle.card.parameters import Parameters, read_cutoff, read_parameters
from scrapers.snapshots.card import OWN_GRADER, Direction, MetricSpec

_ENOUGH = 2
"""Sources that must agree."""


@dataclass
class Scoring:
    """Settles how a competition is scored; `findings` and `missing` say how it went."""

    evidence: Evidence
    pages: Sequence[Block]
    columns: ColumnsReading
    metrics: Mapping[str, Direction]
    overrides: CardOverrides
    findings: dict[str, Finding] = field(default_factory=dict)
    missing: list[Missing] = field(default_factory=list)

    def settle(self) -> MetricSpec | None:
        """Return the metric, or None where it is not certain."""
        tables = self.evidence.tables
        columns = tables.columns if tables else frozenset[str]()
        reading = read_metric(self.evidence.fields.evaluation_metric, self.pages, columns, self.evidence.title)
        board = read_order(self.evidence.board)
        if self.overrides.grader is not None:
            return self._graded(reading, board)
        name = self._owners(reading) if self.overrides.metric else self._named(reading, board)
        if name is None:
            return None
        direction = self._direction(name, board)
        params = self._params(name)
        if direction is None or params is None:
            return None
        return MetricSpec(name=name, direction=direction, params=params)

    def _graded(self, reading: MetricReading, board: BoardReading) -> MetricSpec | None:
        """Return the metric that the owner's grader computes, whose direction only the board or the owner can know."""
        self.findings["metric"] = Finding(OWN_GRADER, (f"{OWNER}: {self.overrides.grader}",), reading.conflicts)
        own, params = self.overrides.direction, dict(self.overrides.metric_params or {})
        direction = own or board.direction
        conflicts = () if board.direction in (None, direction) else (board.says,)
        self.findings["direction"] = Finding(direction, (OWNER if own else board.says,), conflicts)
        self.findings["metric_params"] = Finding(params, (OWNER if params else "default",))
        if direction is None:
            self._lacks("direction", f"a grader does not say it, and {board.says}", 'direction = "maximize"')
            return None
        return MetricSpec(name=OWN_GRADER, direction=direction, params=params)

    def _owners(self, reading: MetricReading) -> str | None:
        name = self.overrides.metric or ""
        known = name in self.metrics
        self.findings["metric"] = Finding(name if known else None, (OWNER, *reading.sources), reading.conflicts)
        if not known:
            self._lacks_metric(f"{name!r} is no metric that can be computed")
        return name if known else None

    def _named(self, reading: MetricReading, board: BoardReading) -> str | None:
        name, problem = reading.metric, "; ".join(reading.conflicts)
        predictions = self.columns.predictions or self.columns.proposed[1:]
        if name is None:
            problem = problem or "neither Kaggle's evaluationMetric nor the pages name it in so many words"
        elif predictions:
            settled, problem = settle(reading, predictions, one_of_classes=self.columns.one_of_classes)
            name = settled
        if name is not None:
            problem = self._objection(name, reading, board)
        settled_name = None if problem else name
        self.findings["metric"] = Finding(settled_name, reading.sources, (problem,) if problem else ())
        if problem:
            self._lacks_metric(problem, [name] if name else self._likely(reading, predictions))
        return settled_name

    def _objection(self, name: str, reading: MetricReading, board: BoardReading) -> str:
        """Return why a metric that is named may not be taken, or nothing."""
        if name not in self.metrics:
            sources = " and ".join(reading.sources)
            return (
                f"it is scored by {name}, which cannot be computed yet ({sources}); another would only stand in for it"
            )
        if wrong := contradicted(name, board.low, board.high):
            return wrong
        confirmed = board.direction == self.metrics[name] or self.overrides.direction == self.metrics[name]
        if len(reading.sources) + confirmed < _ENOUGH:
            return f"only one source names it ({reading.sources[0]}), and {board.says}, which confirms no direction"
        return ""

    def _direction(self, name: str, board: BoardReading) -> Direction | None:
        direction, own = self.metrics[name], self.overrides.direction
        sources = (*([OWNER] if own else []), f"{name} is to {direction}")
        problem = ""
        if own is not None and own != direction:
            problem = f"{name} is to {direction}, but bot.toml says {own}"
        elif own is None and board.direction not in (None, direction):
            problem = f"{name} is to {direction}, but {board.says}"
        elif board.direction is not None:
            sources = (*sources, board.says)
        self.findings["direction"] = Finding(None if problem else direction, sources, (problem,) if problem else ())
        if problem:
            self._lacks("direction", f"{problem}; either the metric is another one, or", f'direction = "{direction}"')
        return None if problem else direction

    def _params(self, name: str) -> dict[str, float | bool | str] | None:
        own = self.overrides.metric_params
        if name == "map_at_k" and own is None:
            return self._cutoff()
        read = read_parameters(self.pages) if name == "log_loss" else Parameters(frozenset(), frozenset())
        problem = "" if own is not None or read.agreed else "the pages name different parameters of log loss"
        sources = (OWNER,) if own is not None else (("Kaggle's pages",) if read.values else ("default",))
        self.findings["metric_params"] = Finding(own or read.values, sources, (problem,) if problem else ())
        if problem:
            self._lacks("metric_params", problem, "metric_params = { eps = 1e-15, normalize = true }")
            return None
        return dict(own) if own is not None else dict(read.values)

    def _cutoff(self) -> dict[str, float | bool | str] | None:
        k = read_cutoff(self.evidence.fields.evaluation_metric, self.pages)
        problem = "" if k else "the pages do not name one k of MAP@k"
        self.findings["metric_params"] = Finding(
            {"k": k} if k else {}, ("Kaggle's pages",), (problem,) if problem else ()
        )
        if not k:
            self._lacks("metric_params", problem, "metric_params = { k = 5 }")
            return None
        return {"k": k}

    def _lacks(self, name: str, why: str, line: str) -> None:
        self.missing.append(Missing(self.evidence.slug, name, why, line))

    def _likely(self, reading: MetricReading, predictions: Sequence[str]) -> list[str]:
        """Return the metrics that are named though in doubt, as they are called for these columns."""
        found = []
        for metric in reading.candidates:
            settled, _ = settle(
                replace(reading, metric=metric), predictions, one_of_classes=self.columns.one_of_classes
            )
            found.append(settled or metric)
        return found

    def _lacks_metric(self, why: str, likely: Sequence[str] = ()) -> None:
        """Ask for a metric: of those that are likely, if they can be computed, else of all."""
        proposed = [name for name in likely if name in self.metrics]
        if len(proposed) == 1:
            self._lacks("metric", why, f'metric = "{proposed[0]}"')
            return
        other = f"or the path of a {OWN_GRADER} that scores"
        line = f'metric = "NAME", where NAME is one of {", ".join(proposed or sorted(self.metrics))}, {other}'
        brief = "" if proposed else f'metric = "NAME", the name of a metric (`bot doctor` lists them), {other}'
        self.missing.append(Missing(self.evidence.slug, "metric", why, line, brief))
