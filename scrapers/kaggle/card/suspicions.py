"""Signs that submissions are not scored by the plain metric that the pages name: weights, penalties, groups, formulas, code."""

import itertools
import re
from collections.abc import Sequence

from scrapers.kaggle.card.cues import BEFORE, COLUMNWISE, ELSEWHERE, OTHER_CONTEST
from scrapers.kaggle.card.names import find_names
from scrapers.kaggle.card.pages import Block
from scrapers.kaggle.card.signs import (
    ALTERS,
    ASIDE,
    HARMLESS_WEIGHTS,
    LOGARITHMS,
    OF_LOG_LOSS,
    SIGNS,
    UNDERSTOOD,
    WEIGHING,
)
from scrapers.kaggle.card.statements import MOST_SENTENCES, Sentence, sentences_of
from scrapers.kaggle.card.wording import formulas

_COMPUTES = re.compile(r"\w\(.*\)|^\s*(?:def|return|import|from)\b|\s=\s|[*+/]\s*\(|\*\*", re.MULTILINE)

_LOG = re.compile(r"\\(?:log|ln|operatorname\{log)|log1p|\blog\b|\bln\b")
_ROOT = re.compile(r"\\sqrt|\^\s*\{?\s*(?:1/2|0?\.5|\\frac\{?1\}?\{?2)")
_SQUARE = re.compile(r"\^\s*\{?\s*2")
_EXTREMES = re.compile(r"\\(?:max|min|sup|inf|operatorname\{?(?:max|min|median))|\bmedian\b")
_FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{|\d\s*(?=\w))")
_COUNT = re.compile(r"\\?[nNmMtTkKcCjJqQsSlL](?:_\{?\w{1,6}\}?)?|2")
"""What errors are divided by: a number of rows or columns, or 2 in an exponent."""
_WITHOUT_QUOTIENTS = frozenset(("rmse", "rmsle", "mae", "log_loss", "roc_auc", "accuracy", "mse", "msle"))
"""Whose formulas are understood; those of the others are not, but for their weights."""
_OF_KAPPA = re.compile(r"\b(?:matrix|matrices|histograms?)\b")
"""Sentences that say how kappa's weights come about, which are its own."""
_WEIGHT = re.compile(r"(?<![a-zA-Z\\])w(?:_|\b)|\\omega|\bweight")


def suspicions(
    blocks: Sequence[Block], columns: frozenset[str], metric: str, official: frozenset[Sentence], *, alone: bool
) -> list[str]:
    """Return why it may be another metric than the one that is named, in words for a person.

    Args:
        blocks: of all pages.
        columns: names of the data's columns.
        metric: as the pages or Kaggle's field name it.
        official: the sentences that name it, which are judged elsewhere.
        alone: whether nobody but the pages names it, so that whatever is not understood is suspected.
    """
    concerned = [block for block in blocks if block.topic == "evaluation"]
    form = [block for block in blocks if block.topic == "submission"]
    found = [
        f"{sentence.quote} may change the metric"
        for sentence in itertools.islice(sentences_of(concerned, columns), MOST_SENTENCES)
        if _is_suspect(sentence.text, metric, alone=alone and sentence not in official)
    ]
    if alone:
        asides = itertools.islice(sentences_of(form, columns), MOST_SENTENCES)
        found += [f"{aside.quote} may change the metric" for aside in asides if ASIDE.search(aside.text)]
    found += [
        f'page "{block.page}" scores by a program of its own'
        for block in concerned
        if block.kind == "code" and _COMPUTES.search(block.text)
    ]
    written = [formula for block in concerned if block.kind != "code" for formula in formulas(block.text)]
    if written and (reason := _unlike(metric, " ".join(written))):
        found.append(f"a formula of the pages {reason}, unlike {metric}")
    return found


def _is_suspect(text: str, metric: str, *, alone: bool) -> bool:
    if metric == "log_loss" and OF_LOG_LOSS.search(text) and not WEIGHING.search(text):
        return False
    if metric == "quadratic_weighted_kappa" and _OF_KAPPA.search(text):
        return False
    if metric not in ("rmsle", "msle", "log_loss", "mean_columnwise_log_loss", "kl_divergence") and LOGARITHMS.search(
        text
    ):
        return True
    names = find_names(text)
    for named in reversed(names):
        text = f"{text[: named.start]}metric{text[named.end :]}"
    text = HARMLESS_WEIGHTS.sub(" ", text)
    columnwise = bool(names) and any(pattern.search(text) for pattern in COLUMNWISE)
    for pattern in COLUMNWISE if columnwise else ():
        text = pattern.sub(" ", text)
    if SIGNS.search(text):
        return True
    if not alone or columnwise:
        return False
    if any(named.metric == metric for named in names):
        return bool(ALTERS.search(text))
    if names and (BEFORE.search(text) or ELSEWHERE.search(text) or OTHER_CONTEST.search(text)):
        return False
    return UNDERSTOOD.search(text) is None


def _unlike(metric: str, formula: str) -> str | None:
    """Say what in a formula does not belong to a metric."""
    if metric == "quadratic_weighted_kappa":
        return None
    if _WEIGHT.search(formula):
        return "has weights"
    if metric not in _WITHOUT_QUOTIENTS:
        return None
    log, root, square = (bool(pattern.search(formula)) for pattern in (_LOG, _ROOT, _SQUARE))
    if any(_COUNT.fullmatch(below) is None for below in _denominators(formula)):
        return "divides by more than a number of rows"
    if metric != "log_loss" and _EXTREMES.search(formula):
        return "has an extreme or a median"
    if metric in ("log_loss", "rmsle", "msle") and not log:
        return "has no logarithm"
    if metric in ("rmse", "mae", "mse") and log:
        return "has a logarithm"
    if metric in ("rmse", "rmsle") and not root:
        return "has no root"
    if metric in ("mae", "log_loss") and (root or square):
        return "has a root or a square"
    if metric in ("mse", "msle") and (root or not square):
        return "has a root or no square"
    return None


def _denominators(formula: str) -> list[str]:
    """Return what stands below the line of each fraction, without blanks; of one that is cut short, what is there."""
    found = []
    for match in _FRACTION.finditer(formula):
        place = match.end()
        if match[0].endswith("{"):
            place = _closing(formula, place) + 1
        rest = formula[place:].lstrip()
        below = rest[1 : _closing(rest, 1)] if rest.startswith("{") else rest[:1]
        found.append(re.sub(r"\s|\\[,;!]", "", below))
    return found


def _closing(text: str, place: int) -> int:
    """Return where the brace is closed that was opened before a place."""
    depth = 1
    for at in range(place, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)
