"""Families of models: those that code uses, by its imports and estimators, and those that prose names."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from bot.engine.python_text import code_of

BOOSTING = ("lightgbm", "xgboost", "catboost", "scikit-learn boosting")
_ANY_BOOSTING = "boosted trees"
"""Name for boosting in prose that does not name a library."""
_BLEND = "blend"


class _Family(NamedTuple):
    """A family of models, as patterns; an empty one matches nothing."""

    name: str
    modules: str
    """Packages with no other use."""
    estimators: str
    words: str

    @property
    def prose(self) -> re.Pattern[str]:
        """What matches its names in prose."""
        return re.compile(rf"\b(?:{self.words})\b" if self.words else r"(?!)", re.IGNORECASE)


_FAMILIES = (
    _Family(_BLEND, "", r"(?:Voting|Stacking)(?:Classifier|Regressor)", ""),
    _Family(
        "transformer",
        r"transformers|sentence_transformers|simpletransformers",
        r"AutoModel\w*|TabPFN\w+|FTTransformer|Transformer(?:Encoder|Decoder)(?:Layer)?|MultiheadAttention",
        r"transformers?|\w*bert\w*|llms?|tabpfn",
    ),
    _Family(
        "neural net",
        r"torch|tensorflow|keras|fastai|timm|jax|flax|pytorch_lightning|lightning|pytorch_tabnet|pytabkit|rtdl\w*|tabm",
        r"MLP(?:Classifier|Regressor)",
        r"neural|torch|keras|mlp|cnns?|rnns?|lstms?|grus?|fasttext|tabnet|tabm|realmlp",
    ),
    _Family("lightgbm", r"lightgbm", r"LGBM\w+", r"lightgbm|lgbm?"),
    _Family("xgboost", r"xgboost", r"XGB\w+", r"xgboost|xgb"),
    _Family("catboost", r"catboost", r"CatBoost(?!Encoder)\w*", r"catboost(?! encod)"),
    _Family(
        "scikit-learn boosting",
        "",
        r"(?:Hist)?GradientBoosting(?:Classifier|Regressor)|AdaBoost\w+",
        r"hist(?:ogram)?-?(?:based )?gradient ?boosting\w*|adaboost",
    ),
    _Family(
        "forest",
        r"ranger|randomForest",
        r"(?:RandomForest|ExtraTrees?)(?:Classifier|Regressor)",
        r"(?:random )?forests?|extra[- ]?trees|extremely randomi[sz]ed",
    ),
    _Family(
        "kernel method",
        r"gpytorch",
        r"(?:Nu)?SV[CR]|KernelRidge|GaussianProcess(?:Classifier|Regressor)",
        r"(?<!nb-)(?<!linear )(?<!linear-)sv[mcr]s?|support vector|kernel ridge|gaussian process\w*",
    ),
    _Family(
        "neighbours",
        r"faiss|hnswlib|annoy",
        r"(?:KNeighbors|RadiusNeighbors)\w+|NearestNeighbors",
        r"k-?nn|(?:nearest )?neighbou?rs?",
    ),
    _Family(
        "naive Bayes", "", r"(?:Gaussian|Multinomial|Complement|Bernoulli|Categorical)NB", r"naive bayes|\w*nb|nb-?svm"
    ),
    _Family(
        "discriminant analysis",
        "",
        r"(?:Linear|Quadratic)DiscriminantAnalysis",
        r"(?:linear |quadratic )?discriminant|qda|lda(?![- ]topics?)",
    ),
    _Family(
        "linear",
        r"glmnet|statsmodels",
        r"LogisticRegression\w*|LinearSV[CR]|Ridge(?:CV|Classifier\w*)?|Lasso\w*|ElasticNet\w*|LinearRegression"
        r"|SGD(?:Classifier|Regressor)|BayesianRidge|HuberRegressor|(?:Poisson|Gamma|Tweedie)Regressor|Perceptron",
        r"logistic|ridge(?<!kernel ridge)|lasso|elastic ?net|linear[- ](?:models?|regression|svm|svc|svr)|nb-?svm|sgd\w*",
    ),
)
FAMILIES = tuple(family.name for family in _FAMILIES if family.name != _BLEND)


def families(code: str) -> tuple[str, ...]:
    """Return the families of models that Python code uses, the most often used first; see `families_of`."""
    return families_of({"script.py": code})


def families_of(files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the families of models that an experiment's files use, the most often used first.

    An import counts if it is used. Comments, strings and files that are not code do not count.
    """
    counts = Counter[str]()
    for path, text in files.items():
        if (code := code_of(path, text)) is not None:
            for family in _FAMILIES:
                packages = (module.partition(".")[0] for module in code.modules)
                uses = sum(count for name, count in code.names.items() if re.fullmatch(family.estimators, name))
                uses += sum(re.fullmatch(family.modules, package) is not None for package in packages if package)
                if uses:
                    counts[family.name] += uses
    return tuple(sorted(counts, key=lambda name: -counts[name]))


@lru_cache(maxsize=2048)
def families_in(text: str) -> frozenset[str]:
    """Return the families of models that prose names, "boosted trees" if it names no library."""
    families = {family.name for family in _FAMILIES if family.prose.search(text)}
    if not families & {*BOOSTING} and _BOOSTED.search(text):
        families.add(_ANY_BOOSTING)
    return frozenset(families)


def without_families(text: str) -> str:
    """Return prose without the names of families of models."""
    for mark in (_BOOSTED, *(family.prose for family in _FAMILIES)):
        text = mark.sub(" ", text)
    return text


_BOOSTED = re.compile(r"\b(?:gbdts?|gbms?|boost(?:ing|ed))\b", re.IGNORECASE)


def not_used(names: Iterable[str], used_families: Collection[str]) -> frozenset[str]:
    """Return the families that prose names and that are not used; any boosting counts as "boosted trees"."""
    present = {*used_families, *((_ANY_BOOSTING,) if {*used_families} & {*BOOSTING} else ())}
    return frozenset(names) - present
