"""How much a statement of a public script says of the solution, or why it is of no interest."""

import ast
import re
from typing import Literal

Kind = Literal["imports", "installs", "plots", "prints", "setup", "output", "comments", "repetitions"]

_PLOTS = re.compile(r"(?:plt|sns|px|go|fig\w*|axe?s?\d*|pyplot|plotly|seaborn|matplotlib|g|ggplot|venn\w*)")
_PLOT_CALLS = re.compile(
    r"(?:i?plot\w*|hist|show|imshow|boxplot|barplot|countplot|heatmap|scatter\w*|barh?|pie|savefig|draw\w*|subplots|ggplot|legend"
    r"|set_(?:title|xlabel|ylabel|xlim|ylim|xticks|yticks|xticklabels|axis_off)|tight_layout|axhline|axvline|annotate)"
)
_PLOT_NAMES = re.compile(r"\w*(?:plot|draw|visuali[sz]e|show_)\w*", re.IGNORECASE)
_PRINTS = re.compile(
    r"(?:print|pprint|display|head|tail|sample|describe|info|value_counts|nunique|unique|dtypes|shape|columns|summary|"
    r"debug|warning|log|len|listdir|glob|walk|dir|help|type)"
)
_SETUP = re.compile(r"(?:warnings|gc|sys|logging|logger|pd\.options|tqdm|torch\.cuda|os|time|rcParams|display|style)")
_SETUP_CALLS = re.compile(
    r"(?:filterwarnings|simplefilter|set_option|collect|basicConfig|empty_cache|set_style|time|perf_counter)"
)
_IDLE_LINE: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("imports", re.compile(r"(?:import|from)\s+\w.*|\s*(?:suppressMessages\()?(?:library|require)\(.*")),
    ("installs", re.compile(r"\s*(?:[%!].*|install\.packages\(.*)")),
    ("plots", re.compile(r"\s*(?:plt|sns|ggplot|ggsave|labs|ax|fig)[.(].*|\s*\+?\s*(?:geom|theme)_?\w*\(.*")),
    ("prints", re.compile(r"\s*(?:print|cat|head|str|summary|glimpse)\s*[( '\"].*")),
    ("output", re.compile(r"\s*\[image left out\].*|\s*(?:\S+Warning: |.*: \w+Warning: ).*")),
)

# From the most to the least telling; code without its comments.
_MODEL = re.compile(
    r"\b(?:LGBM|XGB|CatBoost|(?:Hist)?GradientBoosting|RandomForest|ExtraTrees|LogisticRegression|LinearSV|Ridge|Lasso|ElasticNet"
    r"|LinearRegression|SGD|SV[CR]\b|NuSV|KernelRidge|KNeighbors|GaussianProcess|MLP|Voting|Stacking|Bagging|AdaBoost|TabPFN|TabNet"
    r"|LinearDiscriminant|QuadraticDiscriminant|DecisionTree|Isotonic|CalibratedClassifier)"
    r"|\b(?:Gaussian|Multinomial|Complement|Bernoulli|Categorical)NB\b|\b(?:lgb|xgb|cb|lightgbm|xgboost)\.(?:train|cv|DMatrix)\b"
    r"|\bnn\.\w+\(|\b(?:Sequential|AutoModel|from_pretrained)|\bkeras\.\w|\bDense\(|\btimm\.|\b(?:make_pipeline|Pipeline)\("
    r"|(?:param|config|hparam|hyper)\w{0,30}\s{0,9}=\s*(?:dict\(|\{)|\bmodels?\s*=|\b(?:ranger|glmnet|randomForest|glm|lm)\("
    r"|\bclass \w{1,80}\([^)\n]{0,200}(?:Module|Model|Estimator|Regressor|Classifier)",
    re.IGNORECASE,
)
_VALIDATION = re.compile(
    r"(?:KFold|ShuffleSplit|TimeSeriesSplit|train_test_split)\b|LeaveOne|cross_val|GridSearch|\boptuna\b|\boof|oof\b"
    r"|\blog1p\b|\bexpm1\b|(?:_score|_loss|rmse|rmsle|mae|auc|squared_error|absolute_error|kappa)\("
    r"|\.fit\(|\.predict(?:_proba)?\(|\bdef \w{0,30}(?:metric|score|loss|eval|valid|cv|fold)|\bblend|\bweights?\s*=|\bminimize\("
)
_FEATURES = re.compile(
    r"\]\s*[-+*/]?=[^=]|transform\(|(?:Vectorizer|Encoder|Scaler|Transformer|PCA|SVD|NMF|KMeans|Imputer|Selector)\b"
    r"|\.(?:groupby|merge|join|map|apply|rolling|shift|assign|fillna|str|dt|agg|pivot\w*|cut)\b|get_dummies"
    r"|\bnp\.(?:log|sqrt|where|hstack|concatenate)\b|features?\s*="
)
_SCORE = re.compile(
    r"\b(?:cv|lb|oof|score|rmsl?e|mae|auc|accuracy|log[- _]?loss|f1|kappa|folds?|public|private"
    r"|improv\w+|better|worse)\b[^\n]*\d",
    re.IGNORECASE,
)
_LOGGED = re.compile(r"^\s*(?:\[\d+\]|epoch|iter|\d+[:/ ]|\d+\s)", re.IGNORECASE)
_REPORTING_VERB = re.compile(
    r"\b(?:because|instead|therefore|why|idea|feature|model|valid|leak|fold|target|metric|encod|blend|stack)",
    re.IGNORECASE,
)
_MOST_LINES = 4
"""Lines with a score that one output keeps, the last ones."""


def kind_of(text: str, statement: ast.stmt | None) -> Kind | None:
    """Return why a statement, or without one a line of another language, is of no interest; None: it is of some."""
    if statement is None:
        return next((kind for kind, mark in _IDLE_LINE if mark.fullmatch(text)), None)
    match statement:
        case ast.Import() | ast.ImportFrom():
            return "imports"
        case ast.Delete() | ast.Pass():
            return "setup"
        case ast.Expr(value=ast.Constant()):
            return "comments"
        case ast.Expr(value=value):
            return _kind_of_value(value, text)
        case ast.Assign(value=ast.Call() as value):
            root, called = _root(value), _called(value)
            if _PLOTS.fullmatch(root) and _PLOT_CALLS.fullmatch(called):
                return "plots"
            return "setup" if _SETUP.fullmatch(root) and _SETUP_CALLS.fullmatch(called) else None
        case ast.FunctionDef(name=name) if _PLOT_NAMES.fullmatch(name) and not _MODEL.search(text):
            return "plots"
        case ast.Try(body=body):
            kinds = [kind_of(text, inner) for inner in body]
            return kinds[0] if all(kinds) else None
        case ast.For() | ast.With() | ast.If() | ast.While() | ast.FunctionDef():
            kinds = [kind_of(text, inner) for inner in (*statement.body, *getattr(statement, "orelse", ()))]
            return ("plots" if "plots" in kinds else kinds[0]) if all(kinds) else None
    return None


def _kind_of_value(value: ast.expr, text: str) -> Kind | None:
    """Return why an expression statement is of no interest; what a notebook displays counts as a print."""
    if not isinstance(value, ast.Call):
        return "prints"
    root, called = _root(value), _called(value)
    if _PLOTS.fullmatch(root) or _PLOT_CALLS.fullmatch(called) or _PLOT_NAMES.fullmatch(called):
        return "plots"
    if _SETUP.fullmatch(root) or _SETUP_CALLS.fullmatch(called):
        return "setup"
    if _PRINTS.fullmatch(called):
        return None if _MODEL.search(text) or re.search(r"cross_val|\.fit\(", text) else "prints"
    return None


def _root(node: ast.expr) -> str:
    """Return the first name of a chain of calls, attributes and subscripts."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def worth_of(text: str, statement: ast.stmt | None = None) -> int:
    """Return how much a statement says of a solution: 5 a model, 4 validation, target or metric, 3 features, 1 the rest."""
    bare = re.sub(r"#[^\n]*", "", text)
    if _MODEL.search(bare):
        return 5
    if _VALIDATION.search(bare):
        return 4
    return 3 if _FEATURES.search(bare) or isinstance(statement, ast.FunctionDef) else 1


def worth_of_prose(text: str) -> int:
    """Return how much a paragraph says: 4 with a score, 2 with an explanation, 1 the rest, 0 a heading."""
    if text.startswith("#") and "\n" not in text:
        return 0
    return 4 if _SCORE.search(text) else 2 if _REPORTING_VERB.search(text) and len(text.split()) > 5 else 1


def telling_lines(output: str) -> str:
    """Return the last lines of an output that hold a score, without those of a training log."""
    lines = output.split("\n")
    telling = [n for n, line in enumerate(lines) if _SCORE.search(line) and not _LOGGED.match(line) and len(line) < 200]
    shown_lines, last = list[str](), None
    for n in telling[-_MOST_LINES:]:
        shown_lines += ["[…]", lines[n]] if last is not None and n > last + 1 else [lines[n]]
        last = n
    return "\n".join(shown_lines)
