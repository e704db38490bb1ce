"""The registry of guards: the function of each by name; importable without numpy."""

from collections.abc import Mapping

VIEW_GUARDS: Mapping[str, str] = {
    "duplicate rows": "bot.evaluation.guards.duplicates:duplicates_of_training",
    "ids": "bot.evaluation.guards.ids:labels_by_id",
    "row order": "bot.evaluation.guards.row_order:labels_by_row_order",
    "time": "bot.evaluation.guards.times:trained_on_the_future",
    "split": "bot.evaluation.guards.split:split_unlike_the_test",
    "target in features": "bot.evaluation.guards.features:target_in_features",
}
"""Guards of the competition and its split: run once per view, each takes a `GuardedView`."""

EXECUTION_GUARDS: Mapping[str, str] = {
    "too good": "bot.evaluation.guards.too_good:too_good",
    "better on duplicates": "bot.evaluation.guards.duplicates:better_on_duplicates",
    "constant": "bot.evaluation.guards.constant:constant_predictions",
    "copied": "bot.evaluation.guards.copied:copied_submission",
    "printed score": "bot.evaluation.guards.printed:printed_otherwise",
    "folds": "bot.evaluation.guards.folds:fold_far_from_others",
}
"""Guards of one execution: run on the traces of each hold-out run, each takes `Traces`."""
