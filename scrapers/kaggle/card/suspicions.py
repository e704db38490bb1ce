"""Signs that submissions are not scored by the plain metric that the pages name: weights, penalties, formulas, code."""

import re
from collections.abc import Sequence

from scrapers.kaggle.card.cues import COLUMNWISE
from scrapers.kaggle.card.names import find_names
from scrapers.kaggle.card.pages import Block
from scrapers.kaggle.card.statements import sentences_of
from scrapers.kaggle.card.wording import formulas

__all__ = ["suspicions"]

_SIGNS = re.compile(
    r"\bweight(?:s|ed|ing|ings)?\b|\bpenalt(?:y|ies)\b|\bbonus\w*|\bmultipl(?:ied|ier)\b|\bmodified\b|\bvariant of\b|\badapted\b|\bcustomi[sz]ed\b"
    r"|\bcustom (?:\w+ )?(?:metrics?|scores?|scoring|functions?|evaluation|implementation)\b"
    r"|\b(?:scores?|metric|errors?|loss|values?|predictions?|targets?) (?:is|are|will be|gets?) (?:\w+ ){0,2}?(?:scaled|normali[sz]ed|weighted|capped"
    r"|divided|multiplied|averaged|transformed|logged|raised|subtracted|adjusted|grouped|squared|combined|summed|rounded|thresholded|binned|converted)\b"
    r"|\b(?:score|metric|error|loss)s? (?:is|are|will be) (?:then |first )?(?:computed|calculated|evaluated) (?:separately|individually|independently|per|for each|by group|within)\b"
    r"|\bbefore (?:being )?scor(?:ed|ing)\b"
    r"|\b(?:harmonic|geometric) mean\b|\bcombin(?:ation|ed|es|ing)\b|\bmean of the (?:two|three|four)\b|\baverage of the (?:two|three|four)\b"
    r"|\b(?:minus|divided by|multiplied by|times) the\b"
)
_LOGARITHMS = re.compile(
    r"\blog(?:arithm)?s? of (?:the |your )?(?:predict|target|actual|observed|true|sale|price|real)\w*|\blog transform\w*|\blog scale\b|\btaking (?:the )?log"
)
_RESCALING = re.compile(
    r"rescaled|row sum|sum to one|sum to 1|divided by the (?:row )?sum|normali[sz]ed (?:so|to|by)|probabilities (?:are|will be) (?:automatically )?normali[sz]ed"
)
"""Log loss's own way with probabilities, which is read elsewhere."""
_HARMLESS = re.compile(
    r"\bweights? (?:must|should|files?)\b|\bmodel weights\b|\bpre ?trained weights\b|\bequal(?:ly)? weight(?:ed|s)?\b|\bsubmission weight\w*"
)
_WEIGHING = re.compile(r"weight|penalt|bonus|multipl")
_DEFINES = re.compile(r"^\s*def \w+\(|^\s*return\b", re.MULTILINE)

_LOG = re.compile(r"\\(?:log|ln|operatorname\{log)|log1p|\blog\b|\bln\b")
_ROOT = re.compile(r"\\sqrt|\^\s*\{?\s*(?:1/2|0?\.5|\\frac\{?1\}?\{?2)")
_SQUARE = re.compile(r"\^\s*\{?\s*2")
_WEIGHT = re.compile(r"(?<![a-zA-Z\\])w(?:_|\b)|\\omega|\bweight")


def suspicions(blocks: Sequence[Block], columns: frozenset[str], metric: str) -> list[str]:
    """Return why it may be another metric than the one that is named, in words for a person.

    Args:
        blocks: of all pages.
        columns: names of the data's columns.
        metric: as the pages or Kaggle's field name it.
    """
    concerned = [block for block in blocks if block.topic == "evaluation"]
    found = []
    for sentence in sentences_of(concerned, columns):
        text = sentence.text
        if metric == "log_loss" and _RESCALING.search(text) and not _WEIGHING.search(text):
            continue
        for pattern in COLUMNWISE:
            text = pattern.sub(" ", text) if find_names(text) else text
        logs = metric not in ("rmsle", "log_loss") and _LOGARITHMS.search(text)
        if logs or _SIGNS.search(_HARMLESS.sub(" ", text)):
            found.append(f"{sentence.quote} may change the metric")
    found += [
        f'page "{block.page}" scores by a program of its own'
        for block in concerned
        if block.kind == "code" and _DEFINES.search(block.text)
    ]
    written = [formula for block in concerned if block.kind != "code" for formula in formulas(block.text)]
    if written and (reason := _unlike(metric, " ".join(written))):
        found.append(f"a formula of the pages {reason}, unlike {metric}")
    return found


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
