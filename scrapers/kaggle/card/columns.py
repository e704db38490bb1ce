"""Which column of a submission names its rows, and which hold the predictions, as far as the data settles it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrapers.kaggle.card.evidence import Sample, Tables
from scrapers.kaggle.card.overrides import CardOverrides


@dataclass(frozen=True)
class Columns:
    """The columns, as far as they are certain."""

    id_column: str | None = None
    predictions: tuple[str, ...] | None = None
    one_of_classes: bool = False
    """Whether one column of train.csv has classes that the prediction columns are named by."""
    sources: tuple[str, ...] = ()
    open: str = ""
    """Why they are not certain."""
    proposed: tuple[str, ...] = ()
    """The id and the predictions in order, where there is anything to propose from."""
    proposed_key: tuple[str, ...] = ()
    """What may say with the id which row is meant, where that repeats."""


def read_columns(tables: Tables, overrides: CardOverrides) -> Columns:
    """Tell id and predictions apart; what a person says of them in `own` is taken as it is."""
    sample, key = tables.sample, overrides.key_columns or ()
    if sample is None:
        reason = "no sample submission"
        if tables.candidates:
            reason = f"the sample submission could be any of {', '.join(tables.candidates)}"
        return Columns(overrides.id_column, overrides.prediction_columns, open=reason)
    header = sample.header
    if len(set(header)) != len(header) or "" in header or len(header) < 2:
        return Columns(open=f"the header of {sample.name} is not usable: {', '.join(header)!r}")
    names = (overrides.id_column, *key, *(overrides.prediction_columns or ()))
    if invalid_names := [name for name in names if name and (name not in header or names.count(name) > 1)]:
        return Columns(open=f"{invalid_names[0]!r} is named twice or is not a column of {sample.name}", proposed=header)
    free = [name for name in header if name not in key and name not in (overrides.prediction_columns or ())]
    why_id, why_predictions = "", ""
    identifier = overrides.id_column or (free[0] if overrides.prediction_columns and len(free) == 1 else None)
    sources = [f"{sample.name}: {_first(header)}"]
    if identifier is None:
        why_id, source = _identifies(sample, tables.test)
        identifier = None if why_id else header[0]
        sources.append(source)
    columns = tuple(name for name in header if name not in (identifier, *key))
    predictions = overrides.prediction_columns or columns
    classes = has_classes(tables.labels, predictions)
    if identifier is not None and overrides.prediction_columns is None:
        why_predictions, source = _are_predicted(predictions, tables, sample, classes=classes)
        sources.append(source)
    extra = () if key else sample.key_columns
    return Columns(
        identifier,
        None if identifier is None or why_predictions else predictions,
        classes,
        tuple(source for source in sources if source),
        why_id or why_predictions,
        (
            overrides.id_column or header[0],
            *(name for name in header if name not in (overrides.id_column or header[0], *key, *extra)),
        ),
        extra,
    )


def _identifies(sample: Sample, test: Sequence[str] | None) -> tuple[str, str]:
    """Return why the first column may not name the rows, or else what says that it does."""
    first, *columns = sample.header
    if first not in sample.unique and sample.rows:
        problem = f"{first!r}, the first column of {sample.name}, has repeated values"
        return f"{problem}: name the id column and the other key columns", ""
    shared = [name for name in sample.header if name in (test or ())]
    if shared == [first]:
        return "", f"test.csv has only {first!r} of these columns"
    if shared:
        return f"test.csv shares the columns {_first(shared)} with {sample.name}", ""
    if sample.rows > 1 and not any(name in sample.unique and name not in sample.numeric for name in columns):
        return "", f"only {first!r} has unique values"
    return f"only its position suggests that {first!r} identifies the rows", ""


def _are_predicted(predictions: Sequence[str], tables: Tables, sample: Sample, *, classes: bool) -> tuple[str, str]:
    """Return why all other columns may not be predictions, or else what besides the sample says that they are."""
    train, test = tables.train, tables.test
    if classes:
        return "", "a column of train.csv contains these classes"
    if train is not None and all(name in train for name in predictions):
        return "", "train.csv has them" + (", but test.csv does not" if test is not None else "")
    if len(predictions) == 1:
        return "", "there is no other column"
    return f"it is unclear whether all other columns of {sample.name} are predictions", ""


def has_classes(labels: Mapping[str, frozenset[str]], predictions: Sequence[str]) -> bool:
    """Whether a training column's values are the prediction columns' names, perhaps after one prefix before all."""
    names = set(predictions)
    for values in labels.values():
        nonempty = {value for value in values if value.strip()}
        longest = max(nonempty, key=len, default="")
        if len(nonempty) < 2 or len(names) < 2:
            continue
        for name in names:
            prefix = name.removesuffix(longest)
            if prefix != name and {prefix + value for value in nonempty} == names:
                return True
    return False


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
