"""The official metric: what Kaggle's field, the pages and the leaderboard say of it, and whether they agree."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scrapers.kaggle.card.names import Named, whole_name
from scrapers.kaggle.card.pages import Block
from scrapers.kaggle.card.statements import Reading, read_statements
from scrapers.kaggle.card.suspicions import suspicions
from scrapers.kaggle.card.wording import comparable, uncamel

_SHARES = frozenset(
    (
        *("roc_auc", "average_precision", "lwlrap", "probabilistic_f1", "accuracy", "error_rate", "balanced_accuracy"),
        *(
            "macro_f1",
            "micro_f1",
            "weighted_f1",
            "multilabel_micro_f1",
            "multilabel_macro_f1",
            "map_at_k",
            "word_jaccard",
        ),
        *("dice", "global_dice"),
    )
)
_CORRELATIONS = frozenset(("r2", "pearson", "spearman", "gini", "cohen_kappa", "quadratic_weighted_kappa", "mcc"))
_ERRORS = frozenset(
    (
        *(
            "rmse",
            "rmsle",
            "mean_columnwise_rmse",
            "mean_columnwise_rmsle",
            "mae",
            "mse",
            "msle",
            "mape",
            "smape",
            "rmspe",
        ),
        *("median_absolute_error", "log_loss", "mean_columnwise_log_loss", "kl_divergence", "levenshtein"),
        "mean_angular_error",
    )
)
_NEVER_ABOVE_ONE = _SHARES | _CORRELATIONS
_NEVER_NEGATIVE = _SHARES | _ERRORS
_OF_ROWS = frozenset(("kl_divergence", "lwlrap", "mean_angular_error", "mean_columnwise_log_loss"))
"""Each says itself how it takes several prediction columns."""
_POOLED = frozenset(("mae", "mse", "msle", "mape", "smape"))
"""The mean over all cells is that over the columns, too."""
_AVERAGED = frozenset(("roc_auc", "average_precision", "r2", "pearson", "spearman", "gini"))
"""Of several columns their mean, if the text says so."""
_OF_LISTS = {"micro_f1": "multilabel_micro_f1", "macro_f1": "multilabel_macro_f1"}
"""What these are where a row's prediction is a list of labels."""
_LISTS = re.compile(
    r"\bspace (?:separated|delimited)\b|\b(?:separated|delimited) (?:by|with) (?:a |single )?(?:spaces?|blanks?)\b|\bmulti ?label"
)


@dataclass(frozen=True)
class MetricReading:
    """What is said of the metric, before it is known how many columns are predicted."""

    metric: str | None
    """As the sources agree; None: they do not, or say nothing."""
    columnwise: bool = False
    multiclass: bool = False
    """Whether the text says that each row has one of several classes."""
    sources: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    lists: bool = False
    """Whether the text says that a row has a list of labels."""
    told: tuple[str, ...] = ()
    """The sentences that name it, in comparable form."""
    candidates: tuple[str, ...] = ()
    """All that are named as the official one, in doubt or not."""


def read_metric(field: str, blocks: Sequence[Block], columns: frozenset[str], title: str) -> MetricReading:
    """Read Kaggle's field and the pages.

    Args:
        field: Kaggle's `evaluationMetric`, perhaps empty.
        blocks: of all pages.
        columns: names of the data's columns.
        title: of the competition.
    """
    said = whole_name(comparable(uncamel(field))) or whole_name(comparable(field))
    text = read_statements(blocks, columns, title)
    logarithms = _is_rmsle_in_other_words(text, said)
    named = {"rmsle"} if logarithms else {statement.named.metric for statement in text.official}
    candidates = named | ({said.metric} if said else set())
    conflicts = [*_unclear(field, said, text, logarithms=logarithms), *_opposed(said, text, candidates)]
    sources = _sources(field, said, text)
    if len(candidates) != 1:
        return MetricReading(None, sources=sources, conflicts=tuple(conflicts), candidates=tuple(sorted(candidates)))
    (metric,) = candidates
    official = frozenset(statement.sentence for statement in text.official)
    conflicts += suspicions(blocks, columns, metric, official, alone=said is None)
    names = [*([said] if said else []), *(statement.named for statement in text.official)]
    columnwise = any(one.columnwise for one in names) or any(one.columnwise for one in text.official)
    columnwise |= metric in text.columnwise
    multiclass = (text.multiclass or any(one.multiclass for one in names)) and not text.multilabel
    certain = None if conflicts or not sources else metric
    told = tuple(sorted({sentence.text for sentence in (*official, *text.telling)}))
    lists = any(_LISTS.search(comparable(block.text)) for block in blocks if block.kind != "code")
    return MetricReading(certain, columnwise, multiclass, sources, tuple(conflicts), lists, told, (metric,))


def _unclear(field: str, said: Named | None, text: Reading, *, logarithms: bool) -> Iterator[str]:
    """Say what is not understood."""
    if field and said is None:
        yield f"Kaggle calls the metric {field!r}, which is not known here"
    if text.cut_short:
        yield "the pages are too long to be read to their end"
    for sentence in text.unknown:
        yield f"{sentence.quote} names a measure that is not known"
    for one in text.official:
        if (one.changed or not (said or one.clean)) and not (logarithms and one.of_logarithms):
            yield f"{one.sentence.quote} may mean something else than plain {one.named.metric}"
    in_place = any(statement.sentence.block.topic == "evaluation" for statement in text.official)
    if text.official and not in_place and (text.announced or said is None):
        yield f"{text.official[0].sentence.quote} is not where evaluation is described"


def _opposed(said: Named | None, text: Reading, candidates: set[str]) -> Iterator[str]:
    """Say what speaks for another metric, or against the one that is named."""
    if len(candidates) > 1:
        yield f"more than one metric is named: {', '.join(sorted(candidates))}"
    taken_back = text.retracted if text.official else text.retracted | text.excluded
    for metric in sorted(candidates & taken_back):
        yield f"the pages also name {metric} as something else than what scores"
    others = text.mentioned - candidates
    if others and (said is None or not (text.official or said.metric in text.mentioned)):
        yield f"the pages speak of {', '.join(sorted(others))} besides"


def settle(reading: MetricReading, predictions: Sequence[str], *, one_of_classes: bool) -> tuple[str | None, str]:
    """Return the metric's name for these prediction columns, or None and why it is open.

    Args:
        reading: with a metric.
        predictions: the prediction columns.
        one_of_classes: whether training data has one column whose values name them.
    """
    metric, many = reading.metric or "", len(predictions) > 1
    if not many:
        if metric == "log_loss" and reading.multiclass:
            return None, "the pages speak of several classes, but there is one prediction column"
        return (_OF_LISTS.get(metric, metric) if reading.lists else metric), ""
    columns = [comparable(name) for name in predictions]
    for sentence in reading.told:
        if 0 < sum(re.search(rf"\b{re.escape(name)}\b", sentence) is not None for name in columns) < len(columns):
            return None, "the pages speak of some of the prediction columns alone"
    if metric == "log_loss":
        if reading.columnwise and (reading.multiclass or one_of_classes):
            return None, "the pages speak of a mean over columns, but each row has one of several classes"
        if reading.columnwise:
            return "mean_columnwise_log_loss", ""
        if reading.multiclass or one_of_classes:
            return metric, ""
        return None, "nothing says whether each row has one of several classes or may have many"
    if metric in _POOLED | _OF_ROWS:
        return metric, ""
    if metric in ("rmse", "rmsle", *_AVERAGED):
        if reading.columnwise:
            return {"rmse": "mean_columnwise_rmse", "rmsle": "mean_columnwise_rmsle"}.get(metric, metric), ""
        return None, f"nothing says how {metric} goes over {len(predictions)} prediction columns"
    return None, f"nothing is known of {metric} over {len(predictions)} prediction columns"


def contradicted(metric: str, low: float | None, high: float | None) -> str | None:
    """Return why scores between these cannot be of that metric; None if they can."""
    if high is not None and high > 1 and metric in _NEVER_ABOVE_ONE:
        return f"the leaderboard has the score {high:g}, more than {metric} can have"
    if low is not None and low < 0 and metric in _NEVER_NEGATIVE:
        return f"the leaderboard has the score {low:g}, less than {metric} can have"
    return None


def _is_rmsle_in_other_words(text: Reading, said: Named | None) -> bool:
    """Whether Kaggle says RMSLE and the pages speak of the RMSE of logarithms."""
    metrics = {statement.named.metric for statement in text.official}
    logs = all(one.of_logarithms for one in text.official if one.named.metric == "rmse")
    return bool(said and said.metric == "rmsle" and text.official and logs and metrics <= {"rmse", "rmsle"})


def _sources(field: str, said: Named | None, text: Reading) -> tuple[str, ...]:
    """Return who names the metric; a text whose words may also be everyday words counts beside Kaggle's field only."""
    found = [f"Kaggle's evaluationMetric: {field!r}"] if said else []
    sure = [one for one in text.official if one.sure or said]
    if sure:
        found.append(sure[0].sentence.quote)
    return tuple(found)
