"""Techniques that ideas name in prose, each with what shows its use in code."""

import re
from collections.abc import Iterator

_INSTEAD = re.compile(
    r"\b(?:instead of|in place of|rather than|without|unlike|not|no|drop|over|than|versus|vs\.?|compared (?:to|with))\s"
    r"(?:[^,.;:()]|\.\d){0,40}",
    re.IGNORECASE,
)
"""What an idea names only to contrast itself with it."""

_FIGURES = re.compile(r":\s*[-+]?\d*\.\d|[;.]\s(?=[^.;]*\d*\.\d)")
"""Where an idea continues with its measurements."""

# In prose (any case), in code without comments (as it stands).
_TECHNIQUES: dict[str, tuple[str, str]] = {
    "character n-grams": (
        r"char(?:acter)?s?(?:[- ]level)?[- ](?:\d\W{0,3}\d?[- ])?(?:n-?)?grams?",
        r"[\"']char(?:_wb)?[\"']",
    ),
    "word n-grams": (r"(?:word[- ](?:\d\W{0,3}\d?[- ])?n-?|uni|bi|tri)[- ]?grams?", r"ngram_range|n_?grams?\b"),
    "TF-IDF": (r"tf-?\s?idf\w*", r"\bTfidf\w+"),
    "word counts": (r"bag[- ]of[- ]words|count vector\w*|word counts", r"\b(?:Count|Hashing)Vectorizer\b"),
    "SVD": (r"(?:truncated )?svd|latent semantic|lsa", r"\bTruncatedSVD\b|\bsvds?\("),
    "PCA": (r"pca|principal components?", r"\w*PCA\b"),
    "topics": (r"topic models?|latent dirichlet|nmf", r"\bLatentDirichletAllocation\b|\bNMF\b|gensim"),
    "clusters": (r"k-?means|clusters?|clustering", r"KMeans|DBSCAN|GaussianMixture|AgglomerativeClustering"),
    "target encoding": (
        r"(?:target|mean|likelihood|impact)[- ](?:mean[- ])?encod\w*",
        r"\b(?:Target|LeaveOneOut|CatBoost|JamesStein|MEstimate)Encoder\b|(?i:(?:target|mean)_?enc)|[\"'](?:\w+_)?(?:te|enc)_"
        r"|groupby\([^\n]*\)\[[^\]\n]*(?:target|label|\by\b)[^\]\n]*\]\.(?:agg|mean|transform)",
    ),
    "frequency encoding": (
        r"(?:frequency|count)[- ]encod\w*",
        r"\bCountEncoder\b|(?i:(?:freq\w*|count)_?enc)|\.map\([^\n]*value_counts",
    ),
    "one-hot": (r"one[- ]hot|dummies|dummy variables?", r"\bOneHotEncoder\b|get_dummies|one_hot"),
    "log of the target": (
        r"log(?:1p|arithm)?(?![- ]?(?:loss|istic))(?:[- ](?:transform\w*|scale\w*|space))?\b[^.;]{0,25}"
        r"\b(?:targets?|labels?|y|counts?|response)"
        r"|(?:targets?|labels?)\b[^.;]{0,25}\b(?:log1p|logarithm|log(?![- ]?loss|istic)\b)",
        r"\bexpm1\b|TransformedTargetRegressor|\b\w*(?:y|target|label)\w*\s*=\s*(?:np\.)?log1?p?\(",
    ),
    "power transform": (r"box-?cox|yeo-?johnson|power transform\w*", r"PowerTransformer|boxcox|yeojohnson"),
    "quantile transform": (r"quantile[- ]transform\w*|rank-?gauss\w*", r"QuantileTransformer|(?i:rank_?gauss)"),
    "scaling": (r"standardi[sz]\w*|z-?scores?|min-?max|standard scal\w*", r"(?:Standard|Robust|MinMax|MaxAbs)Scaler"),
    "interactions": (
        r"interactions?|polynomial|products of|ratios? (?:of|between)",
        r"PolynomialFeatures|\] ?[*/] ?\w+\[",
    ),
    "cyclic encoding": (r"cyclic\w*|sin(?:e)?(?:/| and )cos(?:ine)?", r"\bsin\([^\n]*\bpi\b|\bpi\b[^\n]*\bsin\("),
    "calendar": (
        r"hours? of (?:the )?day|days? of (?:the )?week|weekdays?|calendar|date (?:parts|features)",
        r"\.(?:dt\.|)(?:hour|day_?of_?week|weekday|month|is_month_end)\b",
    ),
    "lags": (r"lags?|lagged", r"\.shift\("),
    "rolling windows": (r"rolling|moving[- ](?:average|mean|window)s?", r"\.rolling\(|\.ewm\("),
    "aggregates by group": (
        r"(?:group(?:ed|wise|[- ]level)?|per[- ]\w+) (?:aggregat\w*|statistics?|means?|medians?)|group-?by",
        r"\.groupby\(",
    ),
    "missing values": (
        r"missing(?:ness)?[- ](?:value[- ])?(?:indicators?|flags?)",
        r"add_indicator|MissingIndicator|is(?:na|null)\(\)",
    ),
    "pseudo-labels": (r"pseudo-?\s?label\w*", r"(?i:pseudo)"),
    "stacking": (
        r"stack(?:ing|ed|er)?|second[- ]level|meta[- ](?:model|learner|feature|classifier)s?",
        r"\bStacking(?:Classifier|Regressor)\b|(?i:\bmeta_?\w*(?:model|learn|feat|x)|stack(?:er|ing|ed)\b|level_?(?:2|two)|second_level)"
        r"|(?:column_stack|hstack|concatenate)\([^\n]*oof",
    ),
    "blending": (
        r"blend\w*|weighted (?:average|mean)s? of|averag\w+ (?:\w+ )?(?:models|predictions)",
        r"(?i:blend)|\baverage\([^\n]*weights",
    ),
    "rank averaging": (r"rank[- ]averag\w*|averag\w+ (?:of )?(?:the )?ranks", r"\brankdata\b|\.rank\("),
    "several seeds": (
        r"(?:several|many|multiple|\d+) (?:random )?seeds|seed[- ](?:averag|bagg|ensembl)\w*",
        r"for \w*seed\w* in|(?:seed|random_state)\s*=\s*\w*(?:seed|\bs\b)",
    ),
    "calibration": (
        r"calibrat\w*|isotonic|platt|temperature scal\w*",
        r"CalibratedClassifier\w*|IsotonicRegression|(?i:temperature|calibrat)",
    ),
    "class weights": (
        r"class[- ]weights?|balanced weights|sample[- ]weights?|reweigh\w*",
        r"class_weight|scale_pos_weight|sample_weight",
    ),
    "resampling": (r"smote|over-?sampl\w*|under-?sampl\w*", r"SMOTE|Random(?:Over|Under)Sampler|\bresample\("),
    "label smoothing": (r"label[- ]smoothing", r"label_?smooth\w*"),
    "focal loss": (r"focal", r"(?i:focal)"),
    "mixing": (r"mix-?up|cut-?mix", r"(?i:mix_?up|cut_?mix)"),
    "augmentation": (
        r"augment\w*|flips?|rotations?",
        r"(?i:augment|albumentations|flip|rot90|RandomCrop|RandomAffine)",
    ),
    "test-time augmentation": (r"tta|test[- ]time augment\w*", r"(?i:\btta|_tta|test_time)"),
    "parameter search": (
        r"optuna|hyper-?parameter (?:search|tun\w*|optimi\w*)|bayesian optimi\w*|(?:grid|random) search",
        r"\boptuna\b|GridSearchCV|RandomizedSearchCV|BayesSearchCV|hyperopt|skopt",
    ),
    "feature selection": (
        r"feature[- ]selection|select\w* (?:the )?(?:best |top )?features|boruta|permutation importance",
        r"SelectKBest|SelectFromModel|SelectPercentile|\bRFE(?:CV)?\b|permutation_importance|(?i:boruta)|VarianceThreshold",
    ),
    "adversarial validation": (r"adversarial validation", r"(?i:adversarial)"),
    "grouped folds": (
        r"group(?:ed)?[- ]?k-?folds?|grouped (?:folds|validation|splits?)",
        r"\b(?:Stratified)?GroupK?\w*Fold\b|LeaveOneGroupOut|GroupShuffleSplit",
    ),
    "text embeddings": (
        r"(?:sentence|text|word|document)[- ]embeddings?|word2vec|glove|fasttext|doc2vec|mini-?lm|sbert",
        r"SentenceTransformer|Word2Vec|KeyedVectors|(?i:fasttext|glove)|Doc2Vec|TextEmbedding",
    ),
    "fine-tuning": (r"fine-?tun\w*", r"\bTrainer\(|AutoModelFor\w+|from_pretrained|\.backward\(\)"),
    "pretrained image networks": (
        r"resnet\w*|efficientnet\w*|convnext\w*|pre-?trained (?:cnns?|vision|image)",
        r"(?i:resnet|efficientnet|convnext|densenet|mobilenet)\w*|\btimm\b",
    ),
    "text statistics": (
        r"(?:text|sentence|word)[- ]lengths?|punctuation|stylometr\w*|capitali[sz]\w*|readability",
        r"\.str\.(?:len|count)\(|\bpunctuation\b|len\(\w+\.split",
    ),
    "parts of speech": (r"pos[- ]tags?|parts?[- ]of[- ]speech", r"pos_tag|\bspacy\b|\.pos_\b"),
    "log-count ratios": (r"nb-?svm|log[- ]count ratios?", r"(?i:nb_?svm|log_?(?:count_?)?ratio)"),
    "thresholds": (r"thresholds?|cut[- ]?points?", r"(?i:threshold|cut_?points?)"),
    "rounding": (r"round(?:ing|ed|s)?", r"\b(?:np\.)?(?:round|rint)\(|\.round\("),
    "clipping": (r"clip(?:s|ped|ping)?", r"\bclip\("),
    "autoencoder": (r"auto-?encoders?", r"(?i:auto_?encoder|\bdae\b)"),
    "averaged weights": (r"stochastic weight averag\w*|swa|ema", r"AveragedModel|(?i:\bswa|\bema)"),
    "monotone constraints": (r"monoton\w*", r"monoton\w*"),
    "count objectives": (r"poisson|tweedie", r"(?i:poisson|tweedie)"),
    "ranking objectives": (
        r"lambda-?(?:rank|mart)|pairwise rank\w*",
        r"lambdarank|rank:\w+|rank_xendcg|YetiRank|XGBRanker|LGBMRanker",
    ),
    "chains": (r"(?:classifier|regressor)[- ]chains?", r"(?:Classifier|Regressor)Chain"),
    "residuals": (r"residuals?", r"(?i:resid)"),
}
_MARKS = {
    name: (re.compile(rf"\b(?:{prose})(?!\w)", re.IGNORECASE), re.compile(code))
    for name, (prose, code) in _TECHNIQUES.items()
}


def named_in(idea: str) -> frozenset[str]:
    """Return the techniques that an idea names."""
    return frozenset(name for name, (prose, _) in _MARKS.items() if prose.search(idea))


def own_words(idea: str) -> str:
    """Return an idea without what it only contrasts itself with, and without its measurements."""
    return _INSTEAD.sub(" ", _FIGURES.split(idea, maxsplit=1)[0])


def seen_in(code: str) -> Iterator[str]:
    """Yield the techniques that code without comments shows."""
    return (name for name, (_, mark) in _MARKS.items() if mark.search(code))
