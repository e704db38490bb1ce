"""The techniques that the built-in model knows: how each is said, recognised and switched on."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.models.builtin.config import RecipeConfig

CALENDAR = ("year", "month", "day", "weekday", "hour", "minute")


@dataclass(frozen=True)
class Technique:
    """One technique: its title, a sentence that says it, the words it is known by, and what it changes in a CONFIG."""

    title: str
    how: str
    pattern: str
    models: tuple[str, ...] = ()
    use: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    common: bool = False
    """Whether everybody does it anyway."""

    def found_in(self, text: str) -> bool:
        """Return whether the text speaks of this technique."""
        return re.search(self.pattern, text, re.IGNORECASE) is not None

    def applied(self, config: RecipeConfig) -> RecipeConfig:
        """Return the CONFIG with this technique switched on."""
        models = (*self.models, *config.models)
        return config.changed(models=models, use=(*config.use, *self.use), values=self.values)


TECHNIQUES: tuple[Technique, ...] = (
    Technique(
        "Linear model",
        "Fit a multinomial logistic regression, or ridge for numbers, on standardised columns.",
        r"logistic|(?<!kernel )\bridge\b|standardi[sz]|StandardScaler|linear (model|regression)",
        models=("linear",),
        common=True,
    ),
    Technique(
        "Penalty",
        "Try several strengths of the penalty, weak ones included (C = 1, 10, 40).",
        r"\bC ?= ?\d|penalt|penali[sz]|regulari[sz]",
        models=("linear",),
        values={"C": [1.0, 10.0, 40.0]},
    ),
    Technique(
        "Square roots",
        "Take the square root of counts and shares.",
        r"square[ -]?root|sqrt(?!\((np\.)?(mean|\(|m[as]e))|\broots\b|hellinger",
        use=("sqrt",),
    ),
    Technique(
        "Log of columns",
        "Add a view with the logarithm of the columns.",
        r"log(arithm)?s? of (the |all )?(columns|features|inputs)|log[- ]transform\w* (of )?(the )?(columns|features)",
        use=("log",),
    ),
    Technique(
        "Power calibration",
        "Raise the probabilities to a power fitted on out-of-fold rows, with a floor, and rescale.",
        r"\bpower\b|temperature scal|calibrat|sharpen|soften",
        use=("power",),
    ),
    Technique(
        "Blend",
        "Blend different models with greedy weights.",
        r"\bblend|averag|(?<!sklearn\.)ensembl|\bstack(ing|ed)?\b",
        use=("blend",),
    ),
    Technique(
        "Geometric mean",
        "Combine the models' outputs by their geometric mean.",
        r"geometric|log space|average of (the )?log|\blog[- ]prob",
        use=("blend", "logblend"),
    ),
    Technique(
        "Naive Bayes", "Use multinomial naive Bayes on the words.", r"naive bayes|MultinomialNB|\bNB\b", models=("nb",)
    ),
    Technique(
        "Small alpha",
        "Give the Bayes model an alpha far below the default.",
        r"\balpha\b",
        models=("nb",),
        values={"alpha": [0.03, 0.1]},
    ),
    Technique(
        "Character n-grams",
        "Use character n-grams as a second view of the text.",
        r"char(acter)?s?[ -]*(n-?grams|\d)|analyzer ?= ?.char",
        use=("chars",),
    ),
    Technique(
        "Marks and case",
        "Keep punctuation marks as tokens and keep upper case.",
        r"punctuation|marks as tokens|case (is )?kept|keep(ing)? (the )?(upper )?case|lowercase ?= ?False",
        use=("cased",),
    ),
    Technique(
        "Word pairs",
        "Use pairs of words as well as single words.",
        r"word pairs|pairs of words|bigrams?|ngram_range",
        use=("pairs",),
    ),
    Technique("Sublinear counts", "Use sublinear term counts in tf-idf.", r"sublinear", use=("sublinear",)),
    Technique("Random forest", "Use a random forest.", r"random ?forest|\bforest\b", models=("forest",), common=True),
    Technique("Extra trees", "Use extremely randomised trees (extra trees).", r"extra[ -]?trees", models=("extra",)),
    Technique(
        "Boosting",
        "Use gradient boosting.",
        r"\bboost(ing|ed)|GBM\b|xgboost|GradientBoosting",
        models=("boosting",),
        common=True,
    ),
    Technique(
        "Slow learning rate",
        "Lower the learning rate and grow more rounds.",
        r"learning[_ ]rate|\brate 0\.0",
        models=("boosting",),
        values={"rounds": 400, "rate": 0.04},
    ),
    Technique("More trees", "Grow more trees.", r"more trees|\d{3,} trees|n_estimators", values={"trees": 200}),
    Technique(
        "SVM", "Use a support vector machine with an RBF kernel.", r"\bSV[MCR]\b|support vector", models=("svm",)
    ),
    Technique(
        "Nearest neighbours", "Use the nearest neighbours.", r"\bk-?NN\b|nearest neighbou?r|KNeighbors", models=("knn",)
    ),
    Technique("LDA", "Use linear discriminant analysis.", r"\bLDA\b|discriminant", models=("lda",)),
    Technique("Kernel ridge", "Use kernel ridge.", r"kernel ridge|KernelRidge", models=("kernel",)),
    Technique(
        "Parts of the target",
        "Predict the parts of the target that only train has as two models, and add up.",
        r"two (separate )?(models|targets)|separate (targets|models)|add(s|ed)? (them )?up|adding the predictions",
        use=("components",),
    ),
    Technique(
        "Shares", "Add pairwise ratios x / (x + y) of columns.", r"\bratios?\b|pairwise|shares x", use=("ratios",)
    ),
    Technique("Indicator columns", "One-hot encode whole-number codes.", r"one-?hot|dumm(y|ies)", use=("onehot",)),
    Technique(
        "Models for groups of columns",
        "Fit one model for each group of columns and multiply their probabilities.",
        r"(each|per) (feature )?(group|block)|groups? of columns",
        use=("groups",),
    ),
    Technique(
        "Local contrast",
        "Count differences of neighbouring pixels in histograms (local contrast).",
        r"local contrast|contrast histogram|neighbouring pixels",
        use=("contrast",),
    ),
    Technique(
        "Gradient histograms",
        "Use histograms of gradients (HOG).",
        r"\bHOG\b|histograms? of (oriented )?grad",
        use=("gradients",),
    ),
    Technique(
        "Block frequencies", "Use the cosine transform of image blocks.", r"cosine transform|\bdct\b", use=("dct",)
    ),
    Technique(
        "File size",
        "Use the size of the image file.",
        r"size of the (image )?file|file size|\bbytes\b",
        use=("filesize",),
    ),
    Technique("Mirror images", "Train on mirrored images too.", r"mirror|\bflip", use=("mirror",)),
    Technique("Colour histograms", "Use colour histograms.", r"colou?r histogram", use=("colours",)),
)

APPROACHES = (
    ("Several strengths of one linear model", ("Linear model", "Penalty", "Power calibration")),
    ("Trees of two kinds, blended", ("Extra trees", "Random forest", "Blend")),
    ("Slow gradient boosting", ("Boosting", "Slow learning rate")),
    ("Distances instead of splits", ("SVM", "Nearest neighbours", "Blend")),
    ("Characters and words", ("Naive Bayes", "Character n-grams", "Marks and case")),
)
"""What to draft where no idea is at hand: a name, and the titles of its techniques."""

KINDS = {
    "text": {"nb", "chars", "cased", "pairs", "sublinear", "alpha"},
    "image": {"contrast", "gradients", "dct", "filesize", "mirror", "colours"},
    "table": {"sqrt", "log", "ratios", "onehot", "groups", "components"},
}
"""Switches that make sense for one kind of data alone."""

_DROP = re.compile(
    r"(?:without|drop|remove|no|leav\w+(?: out)?)\s+(?:the\s+)?(?:calendar\s+)?(?:column\s+|feature\s+)?[`*'\"]*(\w+)",
    re.IGNORECASE,
)


_SPEAKS_OF = {
    "image": r"\b(image|photo|picture|pixel)",
    "text": r"\b(text|sentence|word|comment|essay|tweet|excerpt|author|document)",
}


def kind_of(description: str) -> str:
    """Guess from a task's description which kinds of data its techniques may be about; tables always."""
    return "+".join(
        ["table", *(kind for kind, words in _SPEAKS_OF.items() if re.search(words, description, re.IGNORECASE))]
    )


def unquoted(text: str) -> str:
    """Return a text of ideas of ours without the words of posts that they quote: a quotation may name much else."""
    return re.sub(r' The post: "[^\n]*', "", text)


def recognised(text: str) -> tuple[Technique, ...]:
    """Return the techniques that a text speaks of, in the vocabulary's order."""
    return tuple(t for t in TECHNIQUES if t.found_in(text))


def dropped(text: str, columns: str = "") -> tuple[str, ...]:
    """Return the calendar parts, and the words among `columns` (a preview), that a text wants left out."""
    known = {*CALENDAR, *re.findall(r"\w+", columns)}
    quoted_only = known - set(CALENDAR)
    names = [m[1] for m in _DROP.finditer(text) if m[1] in CALENDAR or (f"`{m[1]}`" in text and m[1] in quoted_only)]
    return tuple(dict.fromkeys(names))


def suits(technique: Technique, kind: str, classes: bool) -> bool:
    """Return whether a technique can change anything for this kind of data (`text`, `image`, `table`, `time+table`)."""
    switches = {*technique.models, *technique.use, *technique.values}
    alien = set().union(*(words for name, words in KINDS.items() if name not in kind))
    if kind == "text":  # word counts are sparse: only linear models and Bayes are quick on them
        alien |= {"forest", "extra", "boosting", "svm", "knn", "lda", "kernel"}
    only_classes, only_numbers = {"power", "logblend", "nb", "lda", "linear"}, {"kernel", "components"}
    return not switches & alien and not switches & (only_numbers if classes else only_classes - {"linear"})
