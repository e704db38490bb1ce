"""The task card of a live competition, derived by rules from what its sources agree on; no model is asked."""

import json
from collections.abc import Mapping, Sequence

from scrapers.kaggle.card.columns import ColumnsReading, headers_in, read_columns
from scrapers.kaggle.card.evidence import Evidence, Tables
from scrapers.kaggle.card.findings import OWNER, Derived, Finding, Missing
from scrapers.kaggle.card.overrides import CardOverrides
from scrapers.kaggle.card.pages import blocks, description_of
from scrapers.kaggle.card.scoring import Scoring
from scrapers.snapshots.card import Direction, MetricSpec, TaskCard

_PLAIN = ("submission_file", "kind", "enabled_at", "deadline", "max_daily_submissions")
"""Fields that the owner may set and that nothing else depends on."""


def derive(evidence: Evidence, metrics: Mapping[str, Direction], overrides: CardOverrides | None = None) -> Derived:
    """Derive the task card.

    A field is certain where its sources agree; where they do not, or there are too few, there is no card, and `missing`
    says for each such field what the owner may write into bot.toml. What is written there goes before all else.

    Args:
        evidence: what is known; without its tables the columns are never certain.
        metrics: the metrics that can be computed, by name, and the direction of each.
        overrides: the owner's word.
    """
    own = overrides or CardOverrides()
    pages = [block for page in evidence.pages for block in blocks(page)]
    tables = evidence.tables or Tables()
    findings = _plain_findings(evidence, own)
    missing = [
        Missing(evidence.slug, name, "Kaggle does not say it", f"{name} = 2027-01-31T23:59:00Z")
        for name in ("enabled_at", "deadline")
        if findings[name].value is None
    ]
    columns = read_columns(tables, headers_in(pages), own.id_column, own.prediction_columns, own.key_columns or ())
    findings |= _column_findings(columns, own)
    missing += _missing_columns(evidence.slug, findings, columns, tables)
    scoring = Scoring(evidence, pages, columns, metrics, own)
    metric = scoring.settle()
    findings |= scoring.findings
    missing += scoring.missing
    card = None if missing or metric is None else _card(findings, metric)
    return Derived(card, findings, tuple(missing))


def _plain_findings(evidence: Evidence, own: CardOverrides) -> dict[str, Finding]:
    kaggle = evidence.fields
    pages = description_of(evidence.pages)
    found = {
        "slug": Finding(evidence.slug, ("the competition's address",)),
        "title": Finding(evidence.title, ("Kaggle's title" if kaggle.title else "the competition's address",)),
        "category": Finding(kaggle.category or "unknown", ("Kaggle's category" if kaggle.category else "default",)),
        "description": Finding(pages or kaggle.description, ("Kaggle's pages" if pages else "Kaggle's description",)),
        "submission_file": Finding("submission.csv", ("default",)),
        "kind": Finding(
            "code" if kaggle.is_kernels_submissions_only else "csv", ("Kaggle's isKernelsSubmissionsOnly",)
        ),
        "enabled_at": Finding(kaggle.enabled_date, ("Kaggle's enabledDate",)),
        "deadline": Finding(kaggle.deadline, ("Kaggle's deadline",)),
        "max_daily_submissions": Finding(kaggle.max_daily_submissions or None, ("Kaggle's maxDailySubmissions",)),
        "split": Finding(None, ("default",)),
    }
    owned = {name: value for name in _PLAIN if (value := getattr(own, name)) is not None}
    return found | {name: Finding(value, (OWNER,)) for name, value in owned.items()}


def _column_findings(columns: ColumnsReading, own: CardOverrides) -> dict[str, Finding]:
    found = {"key_columns": Finding(own.key_columns or (), (OWNER if own.key_columns else "default",))}
    for name, read, said in (
        ("id_column", columns.id_column, own.id_column),
        ("prediction_columns", columns.predictions, own.prediction_columns),
    ):
        if said is not None:
            found[name] = Finding(said, (OWNER,), columns.conflicts)
        else:
            found[name] = Finding(read, columns.sources, columns.conflicts)
    return found


def _missing_columns(
    slug: str, findings: Mapping[str, Finding], columns: ColumnsReading, tables: Tables
) -> list[Missing]:
    """Say which columns are open, or what is wrong with those that the owner named."""
    if tables.candidates:
        why = f"any of {', '.join(tables.candidates)} may be the sample submission"
        return [Missing(slug, "sample_submission", why, _line("sample_submission", tables.candidates[0]))]
    proposed = columns.proposed or ("id", "target")
    lines = {
        "id_column": _line("id_column", proposed[0]),
        "prediction_columns": _line("prediction_columns", proposed[1:]),
    }
    why = "; ".join(columns.conflicts)
    if columns.proposed_key and findings["id_column"].value is None:
        lines = {"id_column": lines["id_column"], "key_columns": _line("key_columns", columns.proposed_key), **lines}
    missing = [Missing(slug, name, why, line) for name, line in lines.items() if not findings[name].value]
    if missing:
        return missing
    identifier, predictions = findings["id_column"].value, findings["prediction_columns"].value
    keys = findings["key_columns"].value
    wanted = [identifier, *(keys if isinstance(keys, tuple) else ())]
    wanted += predictions if isinstance(predictions, tuple) else ()
    header = tables.sample.header if tables.sample else wanted
    if wrong := [name for name in wanted if name not in header or wanted.count(name) > 1]:
        told = f"{wrong[0]!r} is said twice, or is no column of the sample submission"
        return [Missing(slug, "prediction_columns", told, lines["prediction_columns"])]
    return []


def _card(findings: Mapping[str, Finding], metric: MetricSpec) -> TaskCard:
    told = {name: finding.source for name, finding in findings.items() if name in TaskCard.model_fields}
    told["metric"] = "; ".join(findings[name].source for name in ("metric", "direction"))
    values = {name: findings[name].value for name in told if name != "metric"}
    return TaskCard.model_validate({**values, "metric": metric, "sources": told})


def _line(name: str, value: str | Sequence[str]) -> str:
    return f"{name} = {json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)}"
