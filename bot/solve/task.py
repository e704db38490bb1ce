"""The kind of task for a target, its metric, and its prediction columns."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from bot.evaluation.metrics.registry import METRICS, Metric, nearest_metric
from bot.solve.columns import NUMBER_COLUMNS
from bot.solve.solve_options import DetectedTask
from bot.solve.tables.user_table import UserTable
from scrapers.snapshots.tables import finite_number
from state.errors import UsageError
from state.words import plural

Kind = Literal["two classes", "classes", "quantity"]

_USUAL: Mapping[Kind, str] = {"two classes": "roc_auc", "classes": "log_loss", "quantity": "rmse"}
_MAX_COLUMNS = 50
"""With more classes, labels are predicted instead of probabilities."""
_MAX_WHOLE, _MIN_MEAN_ROWS = 20, 5
"""Whole numbers are classes if there are at most so many distinct ones, with at least so many rows on average."""
_MAX_WORDS_SHARE = 0.1
"""Maximum share of rows in which a quantity holds words by mistake."""
_VARIANT_RATIO, _MIN_SIMILARITY = 20, 0.85
"""How many times as frequent the right spelling of a class is at least, and how similar (1: equal)."""
_CODE_ROWS = 3
_TRUTH = frozenset({"0", "1", "true", "false"})
_YES = frozenset({"yes", "y", "true", "t", "ja", "j", "oui", "si", "sí", "positive", "pos"})
"""Names, in lower case, of the positive class of two."""
_MAX_SHOWN = 5


@dataclass(frozen=True)
class PredictionTask:
    """What is predicted for a row, and how it is scored."""

    kind: Kind
    metric: Metric
    columns: tuple[str, ...]
    """The prediction columns."""
    default: tuple[str, ...]
    """Their values in the sample submission."""
    classes: tuple[str, ...] = ()
    """The class whose probability each prediction column holds; empty: columns hold values of the target."""
    target: tuple[str, ...] = ()
    """The columns of the training table that hold the truth, if there is a sample and they are known."""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By column of the training table: 1 and 0 for two classes of words, of which one probability is predicted."""


def task_of(train: UserTable, target: str, metric: str | None, detected: DetectedTask) -> PredictionTask:
    """Return the task for a target; the default metric is the usual one for the target's kind.

    Raises UsageError: the target is empty, has one value, or does not suit the metric; or the metric is unknown.
    """
    values = count_values(train.column(target))
    kind = kind_of(values, train.name, target, metric_name=metric)
    chosen_metric = metric_of(metric, kind, values, target)
    is_sure = metric is not None or kind != "classes" or any(finite_number(value) is None for value in values)
    detected.add("task", f"`{target}` has {_describe(kind, values)}", "sure" if is_sure else "likely")
    if kind == "quantity":
        _note_codes(values, target, detected)
    elif variants := _variants(values):
        pairs = ", ".join(f"{rare} ({values[rare]:,}) for {usual}" for rare, usual in variants[:_MAX_SHOWN])
        detected.add("caution", f"`{target}` has classes that may be misspelled: {pairs}; if so, merge them", "a guess")
    _add_metric(chosen_metric, metric, detected)
    if chosen_metric.input_kind != "number":
        return PredictionTask(kind, chosen_metric, (target,), (values.most_common(1)[0][0],))
    if kind == "quantity" or not chosen_metric.of_classes:
        middle = sorted(float(cell) for cell in values.elements())[values.total() // 2]
        return PredictionTask(kind, chosen_metric, (target,), (repr(middle),))
    if kind == "two classes" and {cell.lower() for cell in values} <= _TRUTH:
        return PredictionTask(kind, chosen_metric, (target,), ("0.5",))
    labels = tuple(sorted(values, key=_in_order))
    # Columns have the names of classes, unless a table has a column of such a name.
    columns = tuple(f"{target}_{c}" for c in labels) if {*labels} & {*train.header, *NUMBER_COLUMNS} else labels
    return PredictionTask(kind, chosen_metric, columns, (repr(1 / len(labels)),) * len(labels), labels)


def _variants(values: Counter[str]) -> list[tuple[str, str]]:
    """Return pairs of a class and a more frequent one: they differ only in case, or in a letter or so if the first is rare."""
    by_frequency = [value for value, _ in values.most_common()]
    variants = []
    for place, value in enumerate(by_frequency):
        usual = [label for label in by_frequency[:place] if values[label] >= _VARIANT_RATIO * values[value]]
        by_case = [label for label in by_frequency[:place] if label.lower() == value.lower()]
        if value.isalpha() and (close := by_case or get_close_matches(value, usual, 1, _MIN_SIMILARITY)):
            variants.append((value, close[0]))
    return variants


def _note_codes(values: Counter[str], target: str, detected: DetectedTask) -> None:
    """Add a caution if a repeated number is far from all others, like -999 for a missing value."""
    numbers = sorted(float(cell) for cell in values)
    for code, nearest in ((numbers[0], numbers[1]), (numbers[-1], numbers[-2])):
        rows = sum(count for cell, count in values.items() if float(cell) == code)
        spread = numbers[-2] - numbers[1]
        if rows >= _CODE_ROWS and spread > 0 and abs(code - nearest) > 2 * spread:
            sentence = f"`{target}` is {code:g} in {rows:,} rows, far from all other values: "
            detected.add("caution", f"{sentence}if it stands for missing values, empty these cells", "a guess")


def count_values(cells: Iterable[str]) -> Counter[str]:
    """Count the values of a column, without missing ones."""
    return Counter(filter(None, cells))


def kind_of(values: Counter[str], name: str, target: str, *, metric_name: str | None) -> Kind:
    """Return the kind of a target by its values, counted without missing ones.

    If numbers may be classes or quantities, the named metric decides.

    Raises UsageError: there are no values, there is only one, or they look like free text.
    """
    if not values:
        raise UsageError(f"the target `{target}` is empty in every row of {name}")
    if len(values) == 1:
        (value,) = values
        raise UsageError(f"the target `{target}` has only the value {value!r} in {name}: there is nothing to learn")
    numbers = [finite_number(cell) for cell in values]
    named_metric = None if metric_name is None else METRICS.get(metric_name)
    is_of_quantities = named_metric and named_metric.input_kind == "number" and not named_metric.of_classes
    if None not in numbers and is_of_quantities:
        return "quantity"
    if len(values) == 2:
        return "two classes"
    if None not in numbers:
        if named_metric is not None:
            return "classes"
        are_integers = all(number == int(number) for number in numbers if number is not None)
        has_few = len(values) <= _MAX_WHOLE and values.total() >= _MIN_MEAN_ROWS * len(values)
        return "classes" if are_integers and has_few else "quantity"
    words = [value for value, number in zip(values, numbers, strict=True) if number is None]
    word_rows = sum(values[value] for value in words)
    are_many = len(values) - len(words) > _MAX_WHOLE or any(number % 1 for number in numbers if number is not None)
    if are_many and word_rows <= _MAX_WORDS_SHARE * values.total():
        raise UsageError(
            f"the target `{target}` is numeric, but has values such as {words[0]!r} in {plural(word_rows, 'row')} of {name}: "
            "remove these rows, or leave the cells empty to have them predicted"
        )
    if metric_name is None and values.total() < 2 * len(values):
        raise UsageError(f"the target `{target}` looks like free text, not classes: choose a metric with --metric")
    return "classes"


def metric_of(metric_name: str | None, kind: Kind, values: Counter[str], target: str) -> Metric:
    """Return the named metric, or the usual one.

    Raises UsageError: it is unknown, or does not suit the target.
    """
    if metric_name is None:
        return METRICS["accuracy" if kind == "classes" and len(values) > _MAX_COLUMNS else _USUAL[kind]]
    if metric_name not in METRICS:
        raise UsageError(f"--metric {metric_name}: unknown metric; {nearest_metric(metric_name)}")
    metric = METRICS[metric_name]
    if metric.input_kind == "number" and not metric.of_classes:
        word = next((cell for cell in values if finite_number(cell) is None), None)
        if word is not None:
            raise UsageError(f"--metric {metric_name} requires numbers, but the target `{target}` contains {word!r}")
    if metric.of_classes and len(values) * 2 > values.total():
        raise UsageError(
            f"--metric {metric_name} scores classes, but the target `{target}` has {len(values):,} different values in "
            f"{plural(values.total(), 'row')}"
        )
    return metric


def task_of_sample(
    train: UserTable,
    test: UserTable | None,
    sample: UserTable,
    key: tuple[str, ...],
    metric: str | None,
    detected: DetectedTask,
) -> PredictionTask:
    """Return the task of a sample submission: its key identifies rows, the other columns are predicted.

    The training table may lack the labels if other files hold them; then the metric must be named.

    Raises UsageError: as for `task_of`, or the sample has too few columns.
    """
    columns = tuple(name for name in sample.header if name not in key)
    if not columns:
        raise UsageError(f"{sample.name} has only one column: a sample submission needs an id and a prediction")
    first = dict(zip(sample.header, next(sample.rows()), strict=True))
    default = tuple(first[name] for name in columns)
    not_in_test = [name for name in train.header if name not in key and (test is None or name not in test.header)]
    targets = [name for name in columns if name in train.header]
    if len(columns) > 1 and len(targets) == len(columns):
        return _of_several(train, columns, default, metric, detected)
    if len(columns) == 1:
        target = next(iter(targets or (not_in_test if len(not_in_test) == 1 else ())), None)
    else:
        target = next((name for name in not_in_test if classes_named(count_values(train.column(name)), columns)), None)
    labels: Mapping[str, Mapping[str, str]] = {}
    if target is None:
        if metric is None:
            raise UsageError(
                f"no column of {train.name} contains the values that {sample.name} asks for: choose a metric with --metric"
            )
        detected.add("target", f"{', '.join(columns[:_MAX_SHOWN])}, as in {sample.name}; labels may be in any file")
        kind: Kind = "quantity"
        chosen_metric = metric_of(metric, kind, Counter(), columns[0])
    else:
        values = count_values(train.column(target))
        kind = kind_of(values, train.name, target, metric_name=metric)
        chosen_metric = metric_of(metric or _as_shown(sample, values, kind), kind, values, target)
        detected.add("task", f"`{target}` has {_describe(kind, values)}")
        if len(columns) == 1 and kind == "two classes" and chosen_metric.input_kind == "number":
            labels = _class_numbers(target, values, detected)
    _add_metric(chosen_metric, metric, detected)
    target_columns = () if target is None else (target,)
    return PredictionTask(kind, chosen_metric, columns, default, target=target_columns, labels=labels)


def _class_numbers(target: str, values: Iterable[str], detected: DetectedTask) -> Mapping[str, Mapping[str, str]]:
    """Return 1 and 0 for two classes of words, of which a sample asks for one probability; empty if they are numbers.

    1 is the usual word for yes, or else the last in order, as in scikit-learn.
    """
    if {value.lower() for value in values} <= _TRUTH or all(finite_number(value) is not None for value in values):
        return {}
    no, yes = sorted(values, key=lambda value: (value.lower() in _YES, *_in_order(value)))
    detected.add(
        "labels",
        f"`{yes}` becomes 1 and `{no}` becomes 0, also in the tables for scripts; predictions are the probability of 1",
        "likely" if yes.lower() in _YES else "a guess",
    )
    return {target: {yes: "1", no: "0"}}


def _of_several(
    train: UserTable, columns: tuple[str, ...], default: tuple[str, ...], metric: str | None, detected: DetectedTask
) -> PredictionTask:
    by_column = {name: count_values(train.column(name)) for name in columns}
    values = sum(by_column.values(), Counter[str]())
    of_words = [name for name in columns if any(finite_number(cell) is None for cell in by_column[name])]
    kind: Kind = "two classes" if {cell.lower() for cell in values} <= _TRUTH else "classes" if of_words else "quantity"
    metric_name = "mean_columnwise_accuracy" if kind == "classes" and metric is None else metric
    chosen_metric = metric_of(metric_name, kind, values, (of_words or columns)[0])
    names_shown = f"{', '.join(columns[:_MAX_SHOWN])}{', ...' if len(columns) > _MAX_SHOWN else ''}"
    detected.add("task", f"{len(columns)} targets: {names_shown}")
    _add_metric(chosen_metric, metric, detected)
    return PredictionTask(kind, chosen_metric, columns, default, target=columns)


def _as_shown(sample: UserTable, values: Counter[str], kind: Kind) -> str | None:
    """Return the metric that a sample's cells suggest: accuracy if they are labels; None: the usual one."""
    if kind == "quantity" or len(sample.header) > 2:
        return None
    cells = set(sample.column(sample.header[1]))
    return "accuracy" if cells <= set(values) and not (kind == "two classes" and cells == {"0"}) else None


def _add_metric(metric: Metric, metric_name: str | None, detected: DetectedTask) -> None:
    sentence = f"{metric.name}, {'lower' if metric.direction == 'minimize' else 'higher'} is better"
    usual = "; this is the usual metric for this kind of target (use --metric to choose another)"
    detected.add("metric", sentence if metric_name else sentence + usual, "sure" if metric_name else "likely")


def _describe(kind: Kind, values: Counter[str]) -> str:
    if kind == "quantity":
        numbers = [float(cell) for cell in values]
        return f"numbers from {min(numbers):g} to {max(numbers):g}"
    class_words = [f"{value} ({count:,})" for value, count in values.most_common(_MAX_SHOWN)]
    return f"{len(values)} classes: {', '.join(class_words)}{', ...' if len(values) > _MAX_SHOWN else ''}"


def _in_order(value: str) -> tuple[bool, float, str]:
    number = finite_number(value)
    return (number is None, number or 0.0, value)


def classes_named(values: Iterable[str], columns: Sequence[str]) -> bool:
    """Return whether each value is the name of a column, perhaps after a prefix that all share (`Status_C`)."""
    labels = list(values)
    prefixes = {column[: len(column) - len(labels[0])] for column in columns if labels and column.endswith(labels[0])}
    return any({f"{prefix}{value}" for value in labels} <= set(columns) for prefix in prefixes)
