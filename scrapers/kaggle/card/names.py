"""How people write the names of metrics, and which metric each stands for.

A row is a metric and a pattern over comparable text (see `wording`). The metrics that can be computed have the registry's
names; the others are known so that nobody takes them for one of those. Of the registry's, some have no row: their names do not
say for certain what is computed (an F1 may be that of one class, of all, or of each row; a pinball loss that of any quantile).
A metric that the registry learns later is found at once if it goes by the name that it has here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ERROR = r"(?:errors?|deviations?)"
_MSE = rf"mean squared? {_ERROR}"
_LOG = r"log(?:arithmic|arithm)?(?: scaled?)?"
_SCORE = r"(?: ?scores?)?"
_COLUMNWISE = r"column(?:s)? ?wise"

_NAMES: tuple[tuple[str, str], ...] = (
    ("rmsle", rf"root (?:of (?:the )?)?mean squared? {_LOG} {_ERROR}|rmsle"),
    ("rmse", rf"(?:square )?root (?:of (?:the )?)?{_MSE}|root mse|rmse|rmsd"),
    ("mae", rf"mean absolute {_ERROR}|mae"),
    (
        "roc_auc",
        r"area under (?:the )?(?:roc(?: curve)?|receiver operat(?:ing|or)(?: characteristics?)?(?: \(roc\))?(?: curve)?|curve)"
        rf"|auc roc|auroc|(?:roc ?)?auc{_SCORE}",
    ),
    (
        "log_loss",
        r"(?:binary |categorical |multi ?class(?:es)? |multinomial |softmax )?"
        r"(?:log(?:arithmic|arithm)? ?loss(?:es)?|cross ?entropy(?: loss)?)|multi ?class(?:es)? loss",
    ),
    ("accuracy", rf"(?:categori[sz]ation|classification|multi ?class) accuracy{_SCORE}|accuracy{_SCORE}"),
    ("accuracy", r"(?:percent(?:age)?|fraction|proportion|share) of (?:[\w()]+ ){0,8}?correct(?:ly)?(?: \w+)?"),
    ("mcrmsle", rf"mcrmsle|mean {_COLUMNWISE} root mean squared? {_LOG} {_ERROR}"),
    ("mcrmse", rf"mcrmse|mean {_COLUMNWISE} root {_MSE}"),
    ("mcauc", r"mcauc"),
    ("balanced_accuracy", rf"balanced (?:multi ?class )?(?:classification )?accuracy{_SCORE}"),
    ("top_k_accuracy", r"top ?\d+ (?:\w+ )?(?:accuracy|error)(?: rate)?|hit rate"),
    ("error_rate", r"error rate|misclassification (?:rate|error)|classification error|zero one loss|0 1 loss"),
    (
        "pr_auc",
        r"area under (?:the )?(?:precision recall|pr) curve|pr ?auc|auc ?pr|auprc|aucpr|auc (?:of|for) the precision recall",
    ),
    ("average_precision", rf"average precision{_SCORE}"),
    ("partial_auc", r"partial (?:area under (?:the )?(?:roc )?(?:curve)?|(?:roc )?auc)|pauc"),
    ("another_area", r"area under (?:the )?(?:[\w()]+ ){1,4}?curve"),
    ("lwlrap", r"label weighted label ranking average precision(?: \(lwlrap\))?|lwlrap"),
    ("map_at_k", r"map ?@ ?\{?\w+\}?|mean average precision ?(?:@|at) ?\w+|apk|mapk"),
    ("mean_average_precision", r"mean average precision"),
    ("ndcg", r"ndcg(?: ?@ ?\{?\w+\}?)?|(?:normali[sz]ed )?discounted cumulative gain"),
    ("mrr", r"mean reciprocal rank|mrr"),
    ("recall_at_k", r"recall ?@ ?\w+|precision ?@ ?\w+"),
    ("precision", r"precision"),
    ("recall", r"recall|sensitivity|specificity"),
    (
        "quadratic_weighted_kappa",
        r"quadratic(?:ally)? (?:weighted )?(?:cohens? )?kappa(?: \w*score\w*| coefficient)?|qwk",
    ),
    ("cohen_kappa", r"(?:cohens? )?kappa(?: score| coefficient| statistic)?"),
    ("weighted_kappa", r"weighted (?:cohens? )?kappa(?: score| coefficient| statistic)?"),
    ("f1", r"f ?1(?: ?scores?| ?measure)?|f measure|f scores?|mean f scores?"),
    ("macro_f1", r"macro (?:averaged? )?f ?1?(?: ?scores?| ?measure)|macro ?f1|f1 ?macro"),
    ("micro_f1", r"micro (?:averaged? )?f ?1?(?: ?scores?| ?measure)|micro ?f1|f1 ?micro"),
    ("weighted_f1", r"weighted (?:averaged? )?f ?1(?: ?scores?| ?measure)|weighted ?f1|f1 ?weighted"),
    ("probabilistic_f1", r"probabilistic f ?1(?: ?scores?)?(?: \(pf1\))?|pf1"),
    ("f_beta", r"f ?\(?(?:2|0\.5|beta|\u03b2)\)?(?: ?scores?| ?measure)?"),
    ("r2", rf"r ?\^ ?2{_SCORE}|r2{_SCORE}|r squared|coefficient of determination"),
    ("pearson", r"pearsons?(?: r| product moment)?(?: correlation)?(?: coefficient)?|pcc"),
    ("spearman", r"spearmans?(?: rank)?(?: correlation)?(?: coefficient)?"),
    ("kendall", r"kendalls?(?: tau)?"),
    ("correlation", r"correlation(?: coefficient)?"),
    ("mcc", r"matthews?(?: correlation)?(?: coefficient)?(?: \(mcc\))?|mcc|phi coefficient"),
    ("mse", rf"{_MSE}|mse"),
    ("msle", rf"mean squared? {_LOG} {_ERROR}|msle"),
    ("rmspe", r"root mean squared? percent(?:age)? errors?|rmspe"),
    ("mape", r"mean absolute percent(?:age)? errors?|mape"),
    ("wmape", r"weighted mean absolute percent(?:age)? errors?|wmape"),
    ("smape", r"symmetric mean absolute percent(?:age)? errors?|smape"),
    ("male", rf"mean absolute {_LOG} {_ERROR}|log(?: of the)? (?:mae|mean absolute error)"),
    ("median_absolute_error", rf"median absolute {_ERROR}|medae"),
    ("mase", r"mean absolute scaled errors?|mase"),
    ("rmsse", r"(?:weighted )?root mean squared? scaled errors?|w?rmsse"),
    ("nrmse", rf"normali[sz]ed (?:root {_MSE}|rmse)|nrmse"),
    ("wmae", rf"weighted mean absolute {_ERROR}|wmae"),
    ("wrmse", rf"weighted root {_MSE}|wrmse"),
    ("crps", r"(?:continuous(?:ly)? )?ranked probability score|crps"),
    ("quantile_loss", r"(?:weighted )?(?:scaled )?pinball(?: loss)?|quantile loss"),
    ("brier_score", r"brier(?: score| loss)?"),
    ("gini", r"(?:normali[sz]ed )?gini(?: coefficient| index| score)?"),
    ("iou", r"(?:mean )?intersection over union|(?:m ?)?iou"),
    ("word_jaccard", r"word level jaccard(?: index| score| similarity)?"),
    ("jaccard", r"jaccard(?: index| score| similarity)?"),
    ("dice", r"mean (?:s\u00f8rensen |sorensen )?dice(?: similarity)?(?: coefficient| score)"),
    ("global_dice", r"global (?:s\u00f8rensen |sorensen )?dice(?: similarity)?(?: coefficient| score)"),
    ("dice_coefficient", r"(?:s\u00f8rensen |sorensen )?dice(?: similarity)?(?: coefficient| score)"),
    ("hausdorff", r"hausdorff(?: distance)?"),
    ("levenshtein", r"(?:mean|average) (?:levenshtein(?: \w*distance)?|edit distance)"),
    ("edit_distance", r"levenshtein(?: \w*distance)?|edit distance"),
    ("mean_angular_error", r"mean angular errors?"),
    ("word_error_rate", r"(?:word|character|token) error rate|wer|cer"),
    ("bleu", r"(?:sacre ?)?bleu(?: score)?"),
    ("rouge", r"rouge(?: ?[l12])?(?: score)?"),
    ("hamming", r"hamming (?:loss|distance|score)"),
    ("concordance", r"(?:stratified )?(?:concordance|c) index"),
    ("kl_divergence", r"(?:kullback leibler|kl)(?: divergence)?"),
    ("log_likelihood", r"(?:negative )?(?:\w+ )?log likelihood|perplexity"),
    ("huber", r"(?:pseudo )?huber(?: loss)?|log ?cosh"),
    ("deviance", r"(?:poisson|tweedie|gamma) (?:deviance|loss)"),
    ("hinge", r"hinge loss"),
    ("haversine", r"haversine(?: distance)?"),
    ("sharpe", r"sharpe ratio"),
    ("elo", r"elo rating|trueskill|skill rating"),
    ("mean_columnwise_log_loss", rf"mean {_COLUMNWISE} log(?:arithmic)? ?loss"),
)
_SAME = {"mcrmsle": "rmsle", "mcrmse": "rmse", "mcauc": "roc_auc"}
"""Names that say besides that the columns' scores are averaged."""
_PATTERNS = tuple((metric, re.compile(rf"\b(?:{pattern})s?(?!\w)")) for metric, pattern in _NAMES)
_MULTICLASS = re.compile(r"multi ?class|multinomial|categorical|softmax")
_BINARY = re.compile(r"binary")
_WEAK = re.compile(r"accuracy|precision|recall|correlation|area under (?:the )?curve|.*correct.*")
_NEUTRAL = re.compile(
    r"\b(?:the|a|an|score|metric|loss|value|curve|mean of|multi ?class|binary|of|for|sklearn)\b|[()\[\],.:/]"
)


@dataclass(frozen=True)
class Named:
    """A metric's name in a text."""

    metric: str
    start: int
    end: int
    words: str
    columnwise: bool = False
    """Whether the name says that each column is scored by itself and the scores averaged."""

    @property
    def weak(self) -> bool:
        """Whether the words are also everyday words, so that they may mean no metric at all."""
        return bool(_WEAK.fullmatch(self.words))

    @property
    def multiclass(self) -> bool:
        """Whether the name says that each row has one of several classes."""
        return bool(_MULTICLASS.search(self.words))


def find_names(text: str) -> list[Named]:
    """Return the metrics that a comparable text names, from left to right; of names that overlap the longest."""
    found: list[Named] = []
    for named in sorted(_all(text), key=lambda one: (one.start - one.end, one.start)):
        if all(named.end <= other.start or other.end <= named.start for other in found):
            found.append(named)
    return sorted(found, key=lambda one: one.start)


def whole_name(text: str) -> Named | None:
    """Return the one metric that a comparable text names if it says nothing else, such as Kaggle's field."""
    text = re.sub(rf"\b(?:mean |average )?{_COLUMNWISE}(?: mean| average)?\b", " columnwise ", text)
    text = " ".join(text.split())
    found = find_names(text)
    if len({named.metric for named in found}) != 1:
        return None
    rest = text
    for named in reversed(found):
        rest = rest[: named.start] + " " + rest[named.end :]
    columnwise = "columnwise" in rest or any(named.columnwise for named in found)
    if _NEUTRAL.sub(" ", rest.replace("columnwise", " ")).strip():
        return None
    words = " ".join(named.words for named in found) + (" multiclass" if _MULTICLASS.search(text) else "")
    return Named(found[0].metric, 0, len(text), words, columnwise)


def _all(text: str) -> Iterator[Named]:
    for metric, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            yield Named(_SAME.get(metric, metric), match.start(), match.end(), match[0].strip(), metric in _SAME)
