"""Rules for graders: metrics that scikit-learn has under the name that a task gives; it declines all others."""

import re
from collections.abc import Mapping

from bot.evaluation.graders.writing import WriteGrader

_NUMBERS: Mapping[str, str] = {
    "median absolute error": "median_absolute_error",
    "max error": "max_error",
    "explained variance": "explained_variance_score",
    "mean squared log error": "mean_squared_log_error",
    "mean poisson deviance": "mean_poisson_deviance",
    "average precision": "average_precision_score",
    "brier score": "brier_score_loss",
}
_LABELS: Mapping[str, str] = {"balanced accuracy": "balanced_accuracy_score", "cohen kappa": "cohen_kappa_score"}
_GRADER = '''\
"""The mean over the prediction columns of scikit-learn's {function}."""

import numpy as np
from sklearn.metrics import {function}

from mlebench.grade_helpers import InvalidSubmissionError

KEY = {key!r}
COLUMNS = {columns!r}


def grade(submission, answers):
    missing = [name for name in (*KEY, *COLUMNS) if name not in submission.columns]
    if missing:
        raise InvalidSubmissionError(f"the submission lacks the columns {{missing}}")
    asked, said = (sorted(map(str, table[KEY].values.tolist())) for table in (answers, submission))
    if asked != said or submission[KEY].duplicated().any():
        raise InvalidSubmissionError("the submission's ids are not those of the answers")
    if submission[COLUMNS].isna().any().any():
        raise InvalidSubmissionError("the submission has empty cells")
    predicted = answers[KEY].merge(submission, on=KEY, how="left")
    try:
        return float(np.mean([{function}(answers[name].to_numpy(), predicted[name].to_numpy()) for name in COLUMNS]))
    except ValueError as error:
        raise InvalidSubmissionError(f"the metric does not take these values: {{error}}") from error
'''


def reply(prompt: WriteGrader) -> str:
    """Return a grader, or the sentence that declines one."""
    known = {"number": _NUMBERS, "label": _LABELS, "text": {}}[prompt.kind]
    words = " ".join(re.findall(r"[a-z0-9]+", prompt.metric.lower()))
    function = known.get(words) or known.get(words.removesuffix(" score"))
    if function is None:
        return f"The built-in model knows the metric {prompt.metric!r} by no name and reads no descriptions: ask another model."
    source = _GRADER.format(
        function=function, key=[prompt.id_column, *prompt.key_columns], columns=list(prompt.prediction_columns)
    )
    return f"It is scikit-learn's {function}, the mean over the columns.\n\n```python\n{source}```\n"
