"""What a kernel needs that is not here, as its code shows before it is run."""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath

from state.errors import UnsupportedKernel

_INPUT = re.compile(r"(?:\.\./input|/kaggle/input)/([^/'\"{}*\s]+)(/?)([^'\"\s]*)")
TABLE = re.compile(
    r"\.(?:csv|tsv|json|parquet|feather|h5|hdf5|pkl|pickle|npy|npz|zip|gz|7z|txt|bin|vec)$", re.IGNORECASE
)
_OTHERS_FILE = re.compile(
    r"(?:sub(?:mission)?s?|blend|stack|ensemble|lb|best|pred(?:iction)?s?)[^/]*\.csv$|\d\.\d{2,}[^/]*\.csv$",
    re.IGNORECASE,
)
_NETWORK = frozenset(
    {
        "urlopen", "urlretrieve", "requests.get", "requests.post", "requests.Session", "wget.download", "gdown.download",
        "load_dataset", "hf_hub_download", "snapshot_download", "load_state_dict_from_url", "hub.load", "hub.KerasLayer",
        "dataset_download",
    }
)  # fmt: skip
_PACKAGES = frozenset(
    {
        "bayes_opt", "catboost", "category_encoders", "cv2", "eli5", "fastai", "fasttext", "gensim", "h2o", "hyperopt",
        "imblearn", "keras", "lightgbm", "mlxtend", "nltk", "optuna", "pytorch_lightning", "shap", "skimage", "spacy",
        "statsmodels", "tensorflow", "textblob", "tf_keras", "timm", "torch", "torchvision", "tpot", "transformers", "umap",
        "vecstack", "xgboost",
    }
)  # fmt: skip
"""What kernels import most that is not on every machine, by the name in an import."""
_PROVIDED_BY = {
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "imblearn": ("imbalanced-learn",),
    "keras": ("keras", "tensorflow"),
    "skimage": ("scikit-image",),
    "umap": ("umap-learn",),
    "xgboost": ("xgboost", "xgboost-cpu"),
    "bayes_opt": ("bayesian-optimization",),
}
_SHELL_NETWORK = re.compile(r"^[!%]\s*(?:sudo\s+)?(wget|curl|git\s+clone|kaggle|gdown|apt-get|apt|conda)\b")
_INSTALL = re.compile(r"^[!%]\s*(?:python3? -m )?pip3?\s+install\b(.*)")
_WRITES = re.compile(r"\.to_csv\b|\bsavetxt\b|\bwriter?\(|\.write_csv\b|['\"]w[bt+]*['\"]|>\s*\w+\.csv")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def check_needs(
    code: str, dropped: Sequence[str], files: Collection[str], competition: str, packages: Collection[str]
) -> None:
    """Check that a kernel needs nothing that is not here.

    `dropped` are the notebook's commands that were left out of the code; files are paths below the data folder, which Kaggle
    mounts under the competition's slug.

    Raises:
        UnsupportedKernel: it needs the network or files that are not there, or writes no file; the message names them.
    """
    missing = dict.fromkeys(_missing(code, files, competition))
    if theirs := [one for one in missing if _OTHERS_FILE.search(one)]:
        raise UnsupportedKernel(f"it blends submission files of other people: {_listed(theirs)}")
    if missing:
        sets = list(dict.fromkeys(one.split("/")[0] for one in missing))
        raise UnsupportedKernel(f"it reads what is not among the competition's files: {_listed(sets)}")
    for command in dropped:
        if found := _SHELL_NETWORK.match(command):
            raise UnsupportedKernel(f"it needs the network: {found[1]}")
        if (found := _INSTALL.match(command)) and (absent := list(_absent(found[1], packages))):
            raise UnsupportedKernel(f"it installs what is not here: {_listed(absent)}")
    tree = ast.parse(code)
    if lacking := list(dict.fromkeys(_lacking(tree, packages))):
        raise UnsupportedKernel(f"it needs packages that are not here: {_listed(lacking)}")
    if call := next(_network_calls(tree), None):
        raise UnsupportedKernel(f"it needs the network: {call}")
    if not _WRITES.search(code):
        raise UnsupportedKernel("it writes no submission")


def _missing(code: str, files: Collection[str], competition: str) -> Iterator[str]:
    """Yield paths below Kaggle's input folder that are neither the competition's nor one of its files or folders."""
    known = {part for path in files for part in stems(path)}
    for node in ast.walk(ast.parse(code)):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        for first, slash, rest in _INPUT.findall(node.value):
            if first == competition and rest:
                first, slash, rest = PurePosixPath(rest).parts[0], "/", "/".join(PurePosixPath(rest).parts[1:])
                if not TABLE.search(first):
                    continue
            if first != competition and first.removesuffix(".zip") not in known and (slash or TABLE.search(first)):
                yield f"{first}/{rest}".rstrip("/")


def stems(path: str) -> Iterator[str]:
    """Yield the first part of a path, with and without the endings of archives, and the names of tables without theirs."""
    first = PurePosixPath(path).parts[0]
    yield first
    while first != (first := re.sub(r"\.(?:zip|gz|7z|tar|tgz|bz2|xz)$", "", first)):
        yield first
    yield PurePosixPath(first).stem


def _lacking(tree: ast.Module, packages: Collection[str]) -> Iterator[str]:
    """Yield the packages that a kernel imports without an alternative, and that are not here."""
    plain = {_plain(one) for one in packages}
    for node in tree.body:
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
        for root in (name.split(".")[0] for name in names):
            if root in _PACKAGES and not plain & set(_PROVIDED_BY.get(root, (_plain(root),))):
                yield root


def _plain(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def _absent(arguments: str, packages: Collection[str]) -> Iterator[str]:
    plain = {_plain(one) for one in packages}
    for argument in arguments.split():
        if argument.startswith(("-", ">", "2>", "#")):
            continue
        named = _NAME.match(argument.split("/")[-1])
        name = _plain(named[0]) if named else argument
        if name not in plain and name not in ("pip", "setuptools", "wheel"):
            yield name


def _network_calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""
        last = name.split(".")[-1]
        if last in _NETWORK or ".".join(name.split(".")[-2:]) in _NETWORK:
            yield name
        elif any(_downloads(one) for one in node.keywords) or (
            last == "from_pretrained" and node.args and _is_hub_name(node.args[0])
        ):
            yield f"{name} downloads weights"


def _is_hub_name(argument: ast.expr) -> bool:
    return isinstance(argument, ast.Constant) and isinstance(argument.value, str) and "input" not in argument.value


def _downloads(keyword: ast.keyword) -> bool:
    value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
    return (keyword.arg == "pretrained" and value is True) or (keyword.arg == "weights" and value == "imagenet")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(name[:80] for name in names[:3]) + more
