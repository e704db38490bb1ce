"""The task card of a live competition: what Kaggle's fields, the data and the leaderboard settle, and what a person has said.

No text is understood here. Which metric scores is only ever said by a person, or by whoever has read the pages: Kaggle's field
names the metric, but the pages may add weights, groups or a second stage to it.
"""

import json
from collections.abc import Mapping

from scrapers.kaggle.card.board import BoardReading, read_order
from scrapers.kaggle.card.columns import Columns, read_columns
from scrapers.kaggle.card.evidence import Evidence, Tables
from scrapers.kaggle.card.findings import OWNER, Derived, Finding, Missing
from scrapers.kaggle.card.metric import named_by_field
from scrapers.kaggle.card.overrides import CardOverrides
from scrapers.kaggle.card.pages import description_of
from scrapers.snapshots.card import OWN_GRADER, Direction, MetricSpec, TaskCard

_PLAIN = ("submission_file", "kind", "enabled_at", "deadline", "max_daily_submissions")
"""Fields that the owner may set and that nothing else depends on."""


def derive(
    evidence: Evidence,
    metrics: Mapping[str, Direction],
    own: CardOverrides | None = None,
    read: CardOverrides | None = None,
    source: str = OWNER,
) -> Derived:
    """Derive the task card.

    Where a field is open there is no card, and `missing` says for each such field what the owner may write into bot.toml.

    Args:
        evidence: what is known; without its tables the columns are never certain.
        metrics: the metrics that can be computed, by name, and the direction of each.
        own: the owner's word in bot.toml, which goes before all else.
        read: what else is said of the competition, by whoever read its pages.
        source: who says that.
    """
    own = own or CardOverrides()
    if read is not None:
        own, before = own.over(read), own
        said = {name: OWNER if getattr(before, name) is not None else source for name in CardOverrides.model_fields}
    else:
        said = dict.fromkeys(CardOverrides.model_fields, OWNER)
    findings = _plain_findings(evidence, own)
    missing = [
        Missing(evidence.slug, name, "Kaggle does not say it", f"{name} = 2027-01-31T23:59:00Z")
        for name in ("enabled_at", "deadline")
        if findings[name].value is None
    ]
    columns = read_columns(evidence.tables or Tables(), own)
    findings |= _column_findings(columns, own, said)
    missing += _missing_columns(evidence, columns)
    metric, of_metric, open_ = _metric(evidence, columns, metrics, own, said["metric"])
    findings["metric"] = of_metric
    missing += open_
    card = None if missing or metric is None else _card(findings, metric)
    return Derived(card, findings, tuple(missing), columns)


def _plain_findings(evidence: Evidence, own: CardOverrides) -> dict[str, Finding]:
    kaggle = evidence.fields
    pages = description_of(evidence.pages)
    found = {
        "slug": Finding(evidence.slug, "the competition's address"),
        "title": Finding(evidence.title, "Kaggle's title" if kaggle.title else "the competition's address"),
        "category": Finding(kaggle.category or "unknown", "Kaggle's category" if kaggle.category else "default"),
        "description": Finding(pages or kaggle.description, "Kaggle's pages" if pages else "Kaggle's description"),
        "submission_file": Finding("submission.csv", "default"),
        "kind": Finding("code" if kaggle.is_kernels_submissions_only else "csv", "Kaggle's isKernelsSubmissionsOnly"),
        "enabled_at": Finding(kaggle.enabled_date, "Kaggle's enabledDate"),
        "deadline": Finding(kaggle.deadline, "Kaggle's deadline"),
        "max_daily_submissions": Finding(kaggle.max_daily_submissions or None, "Kaggle's maxDailySubmissions"),
        "split": Finding(None, "default"),
    }
    owned = {name: value for name in _PLAIN if (value := getattr(own, name)) is not None}
    return found | {name: Finding(value, OWNER) for name, value in owned.items()}


def _column_findings(columns: Columns, own: CardOverrides, said: Mapping[str, str]) -> dict[str, Finding]:
    settled = "; ".join(columns.sources)
    return {
        "id_column": Finding(columns.id_column, said["id_column"] if own.id_column else settled),
        "key_columns": Finding(own.key_columns or (), said["key_columns"] if own.key_columns else "default"),
        "prediction_columns": Finding(
            columns.predictions, said["prediction_columns"] if own.prediction_columns else settled
        ),
    }


def _missing_columns(evidence: Evidence, columns: Columns) -> list[Missing]:
    """Say which columns are open."""
    candidates = evidence.tables.candidates if evidence.tables else ()
    if candidates:
        return [
            Missing(evidence.slug, "sample_submission", columns.open, toml_line("sample_submission", candidates[0]))
        ]
    identifier, *predictions = columns.proposed or ("id", "target")
    lines = {}
    if columns.id_column is None:
        lines["id_column"] = toml_line("id_column", identifier)
        if columns.proposed_key:
            lines["key_columns"] = toml_line("key_columns", columns.proposed_key)
    if not columns.predictions:
        lines["prediction_columns"] = toml_line("prediction_columns", predictions)
    return [Missing(evidence.slug, name, columns.open, text) for name, text in lines.items()]


def _metric(
    evidence: Evidence, columns: Columns, metrics: Mapping[str, Direction], own: CardOverrides, source: str
) -> tuple[MetricSpec | None, Finding, list[Missing]]:
    """Return the metric, what is found of it, and what is open."""
    board, params = read_order(evidence.board), dict(own.metric_params or {})
    if own.grader is not None:
        if direction := own.direction or board.direction:
            says = f"{OWNER}: {own.grader}; {OWNER if own.direction else board.says}"
            return MetricSpec(name=OWN_GRADER, direction=direction, params=params), Finding(OWN_GRADER, says), []
        why = f"a grader does not say it, and {board.says}"
        return None, Finding(None), [Missing(evidence.slug, "direction", why, 'direction = "maximize"')]
    if own.metric is None or own.metric not in metrics:
        return None, Finding(None), [_missing_metric(evidence, columns, metrics, own, board)]
    if own.metric == "map_at_k" and "k" not in params:
        why = "nothing says the k of MAP@k"
        return None, Finding(None), [Missing(evidence.slug, "metric_params", why, "metric_params = { k = 5 }")]
    direction = metrics[own.metric]
    other = own.direction or board.direction
    if other not in (None, direction):
        says = f"bot.toml says {own.direction}" if own.direction else board.says
        why = f"{own.metric} is to {direction}, but {says}; either the metric is another one, or"
        return None, Finding(None), [Missing(evidence.slug, "direction", why, toml_line("direction", direction))]
    says = f"{source}; {own.metric} is to {direction}" + (f"; {board.says}" if board.direction else "")
    return MetricSpec(name=own.metric, direction=direction, params=params), Finding(own.metric, says), []


def _missing_metric(
    evidence: Evidence, columns: Columns, metrics: Mapping[str, Direction], own: CardOverrides, board: BoardReading
) -> Missing:
    """Ask for the metric: the one that Kaggle's field names, if the leaderboard does not contradict it, else any."""
    if own.metric is not None:
        why = f"{own.metric!r} is no metric that can be computed"
    elif evidence.fields.evaluation_metric:
        why = (
            f"Kaggle calls it {evidence.fields.evaluation_metric!r} and {board.says}; its evaluation page may say more"
        )
    else:
        why = f"no field of Kaggle's names it, only its evaluation page does; {board.says}"
    if (named := proposed_by_field(evidence, columns, metrics)) is not None and own.metric is None:
        name, params = named
        more = f"\n{toml_line('metric_params', params)}" if params else ""
        return Missing(evidence.slug, "metric", why, toml_line("metric", name) + more)
    other = f"or the path of a {OWN_GRADER} that scores"
    text = f'metric = "NAME", where NAME is one of {", ".join(sorted(metrics))}, {other}'
    brief = f'metric = "NAME", the name of a metric (`bot doctor` lists them), {other}'
    return Missing(evidence.slug, "metric", why, text, brief)


def proposed_by_field(
    evidence: Evidence, columns: Columns, metrics: Mapping[str, Direction]
) -> tuple[str, dict[str, int]] | None:
    """Return the metric and its parameters that Kaggle's field names, if the leaderboard does not contradict it."""
    predictions = columns.predictions or columns.proposed[1:]
    field, classes = evidence.fields.evaluation_metric, columns.one_of_classes
    named = named_by_field(field, metrics, predictions, one_of_classes=classes)
    agrees = named is not None and read_order(evidence.board).direction in (None, metrics[named[0]])
    return named if agrees else None


def _card(findings: Mapping[str, Finding], metric: MetricSpec) -> TaskCard:
    told = {name: finding.source for name, finding in findings.items()}
    values = {name: finding.value for name, finding in findings.items() if name != "metric"}
    return TaskCard.model_validate({**values, "metric": metric, "sources": told})


def toml_line(name: str, value: object) -> str:
    """Return a key and its value, such as a text, a list of texts or a table of parameters, as a line of TOML."""
    return f"{name} = {_toml(value)}"


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_toml(one)}' for key, one in value.items())} }}"
    if isinstance(value, float) and value.is_integer():
        return f"{value:g}"
    return json.dumps(value, ensure_ascii=False)
