"""Target in features: a column that reveals the label by itself, if the rows to be predicted have it too."""

import time

from bot.evaluation.answers.findings import Finding, not_run, passed, suspicious
from bot.evaluation.guards.predictability import FEWEST, as_numbers, by_neighbours, by_value
from bot.evaluation.guards.targets import GuardedView

ENOUGH = 0.95
"""Skill of one column by itself; what honest columns know of a target that is worth a competition is far less."""

SECONDS = 60.0


def target_in_features(guard: str, view: GuardedView, seconds: float = SECONDS) -> Finding:
    """Try each column by itself: learn from the training rows, test on the validation rows.

    If some columns are not reached within these seconds and nothing was found, the guard counts as not run.
    """
    began, tried = time.monotonic(), 0
    if len(view.ids) < FEWEST:
        return passed(guard, f"{len(view.ids)} validation rows are too few to try columns on", rows=len(view.ids))
    best, which, what = 0.0, "", ""
    for name in view.features:
        if time.monotonic() - began > seconds:
            break
        tried += 1
        train, asked = view.train[name], view.validation[name]
        numbers, others = as_numbers(train), as_numbers(asked)
        for target in view.targets:
            found = by_value(train.tolist(), asked.tolist(), target)
            if numbers is not None and others is not None:
                found = max(found, by_neighbours(numbers, others, target))
            if found > best:
                best, which, what = found, name, target.name
    if best < ENOUGH and tried < len(view.features):
        return not_run(guard, f"{tried} of {len(view.features)} columns could be tried within {seconds:g} s")
    if best < ENOUGH:
        best_of_all = (
            f"no column foretells a target by itself; the best, {which!r}, has a skill of {best:.2f}" if which else ""
        )
        return passed(guard, best_of_all or "no column says anything by itself", skill=round(best, 4), column=which)
    there = view.test[which].nunique() > 1 if len(view.test) else True
    more = "" if there else f"; the test rows all have the same {which!r}, so that it says nothing of them"
    sentence = f"the column {which!r} by itself foretells {what!r} with a skill of {best:.3f} (1 is always){more}"
    return suspicious(guard, sentence, skill=round(best, 4), column=which)
