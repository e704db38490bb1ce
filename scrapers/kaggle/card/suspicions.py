"""Signs that submissions are not scored by the plain metric that the pages name: weights, penalties, groups, formulas, code."""

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
from scrapers.kaggle.card.statements import Sentence, sentences_of
from scrapers.kaggle.card.wording import formulas

__all__ = ["suspicions"]

_DEFINES = re.compile(r"^\s*def \w+\(|^\s*return\b", re.MULTILINE)

_LOG = re.compile(r"\\(?:log|ln|operatorname\{log)|log1p|\blog\b|\bln\b")
_ROOT = re.compile(r"\\sqrt|\^\s*\{?\s*(?:1/2|0?\.5|\\frac\{?1\}?\{?2)")
_SQUARE = re.compile(r"\^\s*\{?\s*2")
_WEIGHT = re.compile(r"(?<![a-zA-Z\\])w(?:_|\b)|\\omega|\bweight")


def suspicions(
    blocks: Sequence[Block], columns: frozenset[str], metric: str, official: Sequence[Sentence], *, alone: bool
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
        for sentence in sentences_of(concerned, columns)
        if _is_suspect(sentence.text, metric, alone=alone and sentence not in official)
    ]
    if alone:
        asides = sentences_of(form, columns)
        found += [f"{aside.quote} may change the metric" for aside in asides if ASIDE.search(aside.text)]
    found += [
        f'page "{block.page}" scores by a program of its own'
        for block in concerned
        if block.kind == "code" and _DEFINES.search(block.text)
    ]
    written = [formula for block in concerned if block.kind != "code" for formula in formulas(block.text)]
    if written and (reason := _unlike(metric, " ".join(written))):
        found.append(f"a formula of the pages {reason}, unlike {metric}")
    return found


def _is_suspect(text: str, metric: str, *, alone: bool) -> bool:
    if metric == "log_loss" and OF_LOG_LOSS.search(text) and not WEIGHING.search(text):
        return False
    if metric not in ("rmsle", "log_loss") and LOGARITHMS.search(text):
        return True
    names = find_names(text)
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
    if _WEIGHT.search(formula):
        return "has weights"
    log, root, square = (bool(pattern.search(formula)) for pattern in (_LOG, _ROOT, _SQUARE))
    if metric in ("log_loss", "rmsle") and not log:
        return "has no logarithm"
    if metric in ("rmse", "mae") and log:
        return "has a logarithm"
    if metric in ("rmse", "rmsle") and not root:
        return "has no root"
    if metric in ("mae", "log_loss") and (root or square):
        return "has a root or a square"
    return None
