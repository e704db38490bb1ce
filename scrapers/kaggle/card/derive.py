"""The task card of a live competition: what Kaggle's fields, the data and the leaderboard settle, and what a person has said.

No text is understood here. Which metric scores is only ever said by a person, or by whoever has read the pages: Kaggle's field
names the metric, but the pages may add weights, groups or a second stage to it.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence

from scrapers.kaggle.card.board import BoardReading, read_order
from scrapers.kaggle.card.columns import Columns, read_columns
from scrapers.kaggle.card.evidence import Evidence, Tables
from scrapers.kaggle.card.findings import OWNER, DerivedCard, FieldFinding, Missing
from scrapers.kaggle.card.overrides import CardOverrides
from scrapers.kaggle.card.pages import description_of
from scrapers.snapshots.card import OWN_GRADER, Direction, MetricSpec, TaskCard

_WAYS: Mapping[str, Collection[str]] = {
    "rmse": ("root mean squared error", "root mean square error"),
    "rmsle": ("root mean squared logarithmic error", "root mean squared log error"),
    "mae": ("mean absolute error",),
    "mse": ("mean squared error",),
    "msle": ("mean squared logarithmic error", "mean squared log error"),
    "mape": ("mean absolute percentage error",),
    "smape": ("symmetric mean absolute percentage error",),
    "rmspe": ("root mean squared percentage error", "root mean square percentage error"),
    "r2": ("r2 score", "coefficient of determination"),
    "roc_auc": (
        *("auc", "roc auc score", "auc roc", "area under the roc curve", "area under curve"),
        *(
            "area under receiver operating characteristic curve",
            "area under the receiver operating characteristic curve",
        ),
    ),
    "log_loss": ("multiclass loss", "multiclass log loss", "multi class log loss"),
    "mean_columnwise_rmsle": (
        *("mcrmsle", "mean columnwise rmsle", "mean columnwise root mean squared log error"),
        "mean columnwise root mean squared logarithmic error",
    ),
    "mean_columnwise_rmse": ("mcrmse", "mean columnwise rmse", "mean columnwise root mean squared error"),
    "mean_columnwise_log_loss": ("mean columnwise log loss",),
    "accuracy": ("categorization accuracy", "accuracy score"),
    "average_precision": ("average precision score",),
    "cohen_kappa": ("cohens kappa", "cohen kappa score"),
    "gini": ("normalized gini", "normalized gini coefficient", "normalized gini index"),
    "mcc": ("matthews correlation coefficient",),
    "pearson": ("pearson correlation coefficient",),
    "spearman": ("spearman correlation coefficient", "spearmans correlation coefficient"),
    "macro_f1": ("macro f1 score", "f1 score macro"),
    "weighted_f1": ("weighted f1 score",),
    "word_jaccard": ("word level jaccard score",),
    "levenshtein": ("mean levenshtein distance",),
    "dice": ("mean dice coefficient",),
    "global_dice": ("global dice coefficient",),
}
"""What Kaggle calls them, besides the registry's own names; blanks, hyphens and capitals do not matter."""
_COLUMNWISE: Mapping[str, Collection[str]] = {
    "roc_auc": (
        *("mcauc", "mean columnwise auc", "mean columnwise area under the roc curve"),
        "mean columnwise area under receiver operating characteristic curve",
    ),
    "spearman": ("mean columnwise spearmans correlation coefficient",),
}
"""Names that say besides that each column is scored by itself, as ours do."""
_OF_COLUMNS = frozenset(
    (
        *("mae", "mse", "msle", "mape", "smape", "kl_divergence", "lwlrap", "mean_angular_error"),
        *("mean_columnwise_rmse", "mean_columnwise_rmsle", "mean_columnwise_log_loss"),
    )
)
"""Those whose names say how several prediction columns are scored."""
_CUTOFF = re.compile(r"(?:map|mean ?average ?precision) ?@ ?(\d{1,3})", re.IGNORECASE)


def named_by_field(
    field: str, metrics: Collection[str], predictions: Sequence[str], *, one_of_classes: bool
) -> tuple[str, dict[str, int]] | None:
    """Return the metric and its parameters that `evaluationMetric` names; None if it names none of `metrics` for certain.

    `one_of_classes` tells that one column of the training data has values that name the predictions.
    """
    if (cutoff := _CUTOFF.fullmatch(field.strip())) is not None:
        return ("map_at_k", {"k": int(cutoff[1])}) if "map_at_k" in metrics else None
    name_text, is_multiple = _squashed(field), len(predictions) > 1
    for name in metrics:
        if name_text in map(_squashed, _COLUMNWISE.get(name, ())):
            return name, {}
        if name_text in map(_squashed, (name, *_WAYS.get(name, ()))) and name != "map_at_k":
            certain = not is_multiple or name in _OF_COLUMNS or (name == "log_loss" and one_of_classes)
            return (name, {}) if certain else None
    return None


def _squashed(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


_PLAIN = ("submission_file", "kind", "enabled_at", "deadline", "max_daily_submissions")
"""Fields that the owner may set and that nothing else depends on."""


def derive(
    evidence: Evidence,
    metrics: Mapping[str, Direction],
    overrides: CardOverrides | None = None,
    read: CardOverrides | None = None,
    source: str = OWNER,
) -> DerivedCard:
    """Derive the task card.

    Where a field is open there is no card, and `missing` says for each such field what the owner may write into bot.toml.
    Without the evidence's tables the columns are never certain. `overrides` (bot.toml) win over `read`, which `source` read on
    the competition's pages.
    """
    overrides = overrides or CardOverrides()
    if read is not None:
        overrides, before = overrides.over(read), overrides
        sources = {name: OWNER if getattr(before, name) is not None else source for name in CardOverrides.model_fields}
    else:
        sources = dict.fromkeys(CardOverrides.model_fields, OWNER)
    findings = _plain_findings(evidence, overrides)
    missing = [
        Missing(evidence.slug, name, "Kaggle does not state it", f"{name} = 2027-01-31T23:59:00Z")
        for name in ("enabled_at", "deadline")
        if findings[name].value is None
    ]
    columns = read_columns(evidence.tables or Tables(), overrides)
    findings |= _column_findings(columns, overrides, sources)
    missing += _missing_columns(evidence, columns)
    metric, of_metric, open_ = _metric(evidence, columns, metrics, overrides, sources["metric"])
    findings["metric"] = of_metric
    missing += open_
    card = None
    if not missing and metric is not None:
        sources = {name: finding.source for name, finding in findings.items()}
        values = {name: finding.value for name, finding in findings.items() if name != "metric"}
        card = TaskCard.model_validate({**values, "metric": metric, "sources": sources})
    return DerivedCard(card, findings, tuple(missing), columns)


def _plain_findings(evidence: Evidence, overrides: CardOverrides) -> dict[str, FieldFinding]:
    kaggle = evidence.fields
    pages = description_of(evidence.pages)
    findings = {
        "slug": FieldFinding(evidence.slug, "the competition's address"),
        "title": FieldFinding(evidence.title, "Kaggle's title" if kaggle.title else "the competition's address"),
        "category": FieldFinding(kaggle.category or "unknown", "Kaggle's category" if kaggle.category else "default"),
        "description": FieldFinding(pages or kaggle.description, "Kaggle's pages" if pages else "Kaggle's description"),
        "submission_file": FieldFinding("submission.csv", "default"),
        "kind": FieldFinding(
            "code" if kaggle.is_kernels_submissions_only else "csv", "Kaggle's isKernelsSubmissionsOnly"
        ),
        "enabled_at": FieldFinding(kaggle.enabled_date, "Kaggle's enabledDate"),
        "deadline": FieldFinding(kaggle.deadline, "Kaggle's deadline"),
        "max_daily_submissions": FieldFinding(kaggle.max_daily_submissions or None, "Kaggle's maxDailySubmissions"),
        "split": FieldFinding(None, "default"),
    }
    owned = {name: value for name in _PLAIN if (value := getattr(overrides, name)) is not None}
    return findings | {name: FieldFinding(value, OWNER) for name, value in owned.items()}


def _column_findings(columns: Columns, overrides: CardOverrides, sources: Mapping[str, str]) -> dict[str, FieldFinding]:
    settled = "; ".join(columns.sources)
    return {
        "id_column": FieldFinding(columns.id_column, sources["id_column"] if overrides.id_column else settled),
        "key_columns": FieldFinding(
            overrides.key_columns or (), sources["key_columns"] if overrides.key_columns else "default"
        ),
        "prediction_columns": FieldFinding(
            columns.predictions, sources["prediction_columns"] if overrides.prediction_columns else settled
        ),
    }


def _missing_columns(evidence: Evidence, columns: Columns) -> list[Missing]:
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
    evidence: Evidence, columns: Columns, metrics: Mapping[str, Direction], overrides: CardOverrides, source: str
) -> tuple[MetricSpec | None, FieldFinding, list[Missing]]:
    """Return the metric, what is found of it, and what is open."""
    board, params = read_order(evidence.board), dict(overrides.metric_params or {})
    if overrides.grader is not None:
        if direction := overrides.direction or board.direction:
            evidence_text = f"{OWNER}: {overrides.grader}; {OWNER if overrides.direction else board.description}"
            return (
                MetricSpec(name=OWN_GRADER, direction=direction, params=params),
                FieldFinding(OWN_GRADER, evidence_text),
                [],
            )
        reason = f"the grader does not state the direction, and {board.description}"
        return None, FieldFinding(None), [Missing(evidence.slug, "direction", reason, 'direction = "maximize"')]
    if overrides.metric is None or overrides.metric not in metrics:
        return None, FieldFinding(None), [_missing_metric(evidence, columns, metrics, overrides, board)]
    if overrides.metric == "map_at_k" and "k" not in params:
        reason = "the k of MAP@k is unknown"
        return None, FieldFinding(None), [Missing(evidence.slug, "metric_params", reason, "metric_params = { k = 5 }")]
    direction = metrics[overrides.metric]
    stated = overrides.direction or board.direction
    if stated not in (None, direction):
        evidence_text = f"bot.toml says {overrides.direction}" if overrides.direction else board.description
        reason = f"{overrides.metric} is {direction}d, but {evidence_text}; change the metric or confirm the direction"
        return (
            None,
            FieldFinding(None),
            [Missing(evidence.slug, "direction", reason, toml_line("direction", direction))],
        )
    evidence_text = f"{source}; {overrides.metric} is {direction}d" + (
        f"; {board.description}" if board.direction else ""
    )
    return (
        MetricSpec(name=overrides.metric, direction=direction, params=params),
        FieldFinding(overrides.metric, evidence_text),
        [],
    )


def _missing_metric(
    evidence: Evidence,
    columns: Columns,
    metrics: Mapping[str, Direction],
    overrides: CardOverrides,
    board: BoardReading,
) -> Missing:
    """Ask for the metric: the one that Kaggle's field names, if the leaderboard does not contradict it, else any."""
    if overrides.metric is not None:
        reason = f"{overrides.metric!r} is not a supported metric"
    elif evidence.fields.evaluation_metric:
        kaggle_name = evidence.fields.evaluation_metric
        reason = f"Kaggle calls the metric {kaggle_name!r}, and {board.description}; the evaluation page may say more"
    else:
        reason = f"only Kaggle's evaluation page names the metric; {board.description}"
    if (proposal := proposed_by_field(evidence, columns, metrics)) is not None and overrides.metric is None:
        name, params = proposal
        params_line = f"\n{toml_line('metric_params', params)}" if params else ""
        return Missing(evidence.slug, "metric", reason, toml_line("metric", name) + params_line)
    alternative = f"or the path of a {OWN_GRADER}"
    text = f'metric = "NAME", where NAME is one of {", ".join(sorted(metrics))}, {alternative}'
    brief = f'metric = "NAME", the name of a metric (`bot doctor` lists them), {alternative}'
    return Missing(evidence.slug, "metric", reason, text, brief)


def proposed_by_field(
    evidence: Evidence, columns: Columns, metrics: Mapping[str, Direction]
) -> tuple[str, dict[str, int]] | None:
    """Return the metric and its parameters that Kaggle's field names, if the leaderboard does not contradict it."""
    predictions = columns.predictions or columns.proposed[1:]
    field, classes = evidence.fields.evaluation_metric, columns.one_of_classes
    proposal = named_by_field(field, metrics, predictions, one_of_classes=classes)
    agrees = proposal is not None and read_order(evidence.board).direction in (None, metrics[proposal[0]])
    return proposal if agrees else None


def toml_line(name: str, value: object) -> str:
    """Return a key and its value, such as a text, a list of texts or a table of parameters, as a line of TOML."""
    return f"{name} = {_toml(value)}"


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_toml(item)}' for key, item in value.items())} }}"
    if isinstance(value, float) and value.is_integer():
        return f"{value:g}"
    return json.dumps(value, ensure_ascii=False)
