"""Missing needs of a kernel, as its code shows before it is run."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from state.errors import UnsupportedKernel

_INPUT = re.compile(
    r"(?:\.\./input|/kaggle/input)/(?:competitions/|datasets/[^/'\"{}*\s]+/)?([^/'\"{}*\s]+)(/?)([^'\"\s]*)"
)
"""Kaggle mounts data sets by their names, and since 2025 also below their owners'."""
TABLE = re.compile(
    r"\.(?:csv|tsv|json|parquet|feather|h5|hdf5|pkl|pickle|npy|npz|zip|gz|7z|txt|bin|vec|pth?|ckpt|cbm|joblib|safetensors)$",
    re.IGNORECASE,
)
_OTHERS_FILE = re.compile(
    r"(?<![a-z])(?:sub(?:mission)?s?|blend|stack|ensemble|lb|best|preds?|predictions)(?![a-z])[^/]*\.csv$|\d\.\d{2,}[^/]*\.csv$",
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
"""Packages that kernels often import and that are not on every machine, by the name in an import."""
DRAWING = (
    "matplotlib", "mpl_toolkits", "pylab", "seaborn", "plotly", "bokeh", "altair", "wordcloud", "missingno", "IPython",
    "plotnine", "ggplot", "cufflinks", "holoviews", "folium", "squarify", "pandas_profiling", "ydata_profiling", "sweetviz",
    "ipywidgets", "chart_studio",
)  # fmt: skip
"""Packages that only draw: empty ones stand in for them."""
REMOVED_MODULES = (
    "cPickle", "StringIO", "Queue", "urllib2", "cStringIO", "ConfigParser", "HTMLParser", "distutils", "imp",
)  # fmt: skip
"""Modules of older Pythons, whose names a repair changes."""
_PROVIDED_BY = {
    "PIL": ("pillow",),
    "bs4": ("beautifulsoup4",),
    "pkg_resources": ("setuptools",),
    "sklearn": ("scikit-learn",),
    "yaml": ("pyyaml",),
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "imblearn": ("imbalanced-learn",),
    "keras": ("keras", "tensorflow"),
    "skimage": ("scikit-image",),
    "umap": ("umap-learn",),
    "xgboost": ("xgboost", "xgboost-cpu"),
    "bayes_opt": ("bayesian-optimization",),
}
_SHELL_NETWORK = re.compile(r"^[!%]\s*(?:sudo\s+)?(wget|curl|git\s+clone|kaggle|gdown|apt-get|apt|conda)\b")
_WRITES = re.compile(r"\.to_csv\b|\bsavetxt\b|\bwriter?\(|\.write_(?:csv|text)\b|['\"]w[bt+]*['\"]|>\s*\w+\.csv")
_TRAINS, _PREDICTS = re.compile(r"\.(?:fit|fit_generator|train)\("), re.compile(r"\.predict\w*\(")
_ANSWERS = re.compile(r"sub|pred|answer|result|output|final|solution|ans\b|\d\.\d{2,}", re.IGNORECASE)
"""In the name of a file that holds predictions."""
_READS = re.compile(r"read_\w+|load|loadtxt|genfromtxt|fromfile|imread|load_model|open|ZipFile|File")
_STORES = re.compile(r"to_\w+|save\w*|dump|write\w*|copy\w*|move|rename|makedirs|mkdir")
_PLAIN_PATH = re.compile(r"[^_.-][^*{}%\n]*|\.{1,2}/[^*{}%\n]*")
"""A file's name or path, but not a pattern or the end of a composed name."""


def check_needs(
    code: str, dropped_commands: Sequence[str], files: Collection[str], competition: str, packages: Collection[str]
) -> None:
    """Check that a kernel needs nothing that is not here.

    `dropped_commands` are the notebook's commands that were removed from the code; files are paths below the data folder,
    which Kaggle mounts under the competition's slug.

    Raises:
        UnsupportedKernel: it needs the network, missing packages or files, or makes no predictions; the message names them
            after a colon.
    """
    tree = ast.parse(code)
    missing = list(dict.fromkeys(_missing(tree, files, competition)))
    if addresses := [file for file in missing if "://" in file]:
        raise UnsupportedKernel(f"it needs the network: {_in_words(addresses)}")
    if submission_files := [file for file in missing if "/" in file and _OTHERS_FILE.search(file)]:
        raise UnsupportedKernel(f"it blends other people's submission files: {_in_words(submission_files)}")
    if missing:
        sets = list(dict.fromkeys(file.split("/")[0] for file in missing))
        raise UnsupportedKernel(f"it reads files from outside the competition: {_in_words(sets)}")
    for command in dropped_commands:
        if command_match := _SHELL_NETWORK.match(command):
            raise UnsupportedKernel(f"it needs the network: {command_match[1]}")
    unused = unused_packages(tree)
    if absent := [package for package in dict.fromkeys(_missing_packages(tree, packages)) if package not in unused]:
        raise UnsupportedKernel(f"it needs packages that are not installed: {_in_words(absent)}")
    if call := next(_network_calls(tree), None):
        raise UnsupportedKernel(f"it needs the network: {call}")
    if not (writes_predictions(tree, code) or trains(tree, code)):
        raise UnsupportedKernel("it does not write a submission")


def trains(tree: ast.AST, code: str) -> bool:
    """Return whether a kernel trains a model that could predict the test rows, which it reads."""
    return bool(_TRAINS.search(code) and _PREDICTS.search(code)) and any("test" in text for text in _texts(tree))


def writes_predictions(tree: ast.AST, code: str) -> bool:
    """Return whether a kernel writes a file that may be a submission, by its name if it has one."""
    if not _WRITES.search(code):
        return False
    names = [text for text in _stored_texts(tree) if TABLE.search(text) and _PLAIN_PATH.fullmatch(text)]
    return not names or bool(_TRAINS.search(code)) or any(_ANSWERS.search(name) for name in names)


def unused_packages(tree: ast.AST) -> set[str]:
    """Return the packages that a kernel imports and does not use: anything may stand in for them."""
    use_counts = Counter(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    )
    names: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names.setdefault(_root(alias.name), []).append(alias.asname or _root(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.setdefault(_root(node.module), []).extend(alias.asname or alias.name for alias in node.names)
    return {root for root, bound in names.items() if not any(use_counts[name] or name == "*" for name in bound)}


def _root(module: str) -> str:
    return module.partition(".")[0]


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _texts(tree: ast.AST) -> Iterator[str]:
    return (text for text in map(_text, ast.walk(tree)) if text is not None)


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _stores(call: ast.Call) -> bool:
    """Return whether a call writes, creates or moves a file."""
    name = _called(call)
    arguments = (*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode"))
    modes = [str(mode.value) for mode in arguments if isinstance(mode, ast.Constant)]
    is_open = name in ("open", "ZipFile", "File") and any(mode.startswith(("w", "a", "x")) for mode in modes)
    return is_open or bool(_STORES.fullmatch(name))


def _stored_texts(tree: ast.AST) -> Iterator[str]:
    return (text for call in _calls(tree) if _stores(call) for text in _texts(call))


def match_file(path: str, files: Collection[str]) -> bool:
    """Return whether a path ends in a competition's file or folder, or its name is that of just one file."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    paths, names = _index(tuple(files))
    is_unique = bool(parts) and (names[parts[-1]] == 1 or names[_key(parts[-1])] == 1)
    return is_unique or any("/".join(parts[start:]) in paths for start in range(len(parts)))


def _key(name: str) -> tuple[str]:
    """Return a file's name without case and separators, in a tuple: `sample_submission.csv` is also `sampleSubmission.csv`."""
    return (re.sub(r"[-_ ]", "", name).lower(),)


@lru_cache(maxsize=4)
def _index(files: tuple[str, ...]) -> tuple[frozenset[str], Counter[str | tuple[str]]]:
    """Return the paths by which files can be read, and the number of files by name and by `_key`."""
    forms = [set(_forms(PurePosixPath(path).name)) for path in files]
    names: Counter[str | tuple[str]] = Counter(name for of_file in forms for name in of_file | {*map(_key, of_file)})
    return frozenset(form for path in files for form in _forms(path)), names


def _forms(path: str) -> Iterator[str]:
    """Yield the paths by which a kernel may read a file: packed, unpacked, or a table of an archive's name."""
    *_, plain = forms = list(paths_unpacked(path))
    yield from {*forms, f"{plain}.zip", f"{plain}.gz", plain if plain == path or "." in plain else f"{plain}.csv"}


def paths_unpacked(path: str) -> Iterator[str]:
    """Yield a path, then with its archive suffixes removed one by one."""
    yield path
    while path != (path := _ARCHIVE.sub("", path)):
        yield path


def _missing(tree: ast.Module, files: Collection[str], competition: str) -> Iterator[str]:
    """Yield what a kernel reads that is not here: addresses, files, and data sets beside the competition's.

    A folder alone is the competition's, whatever its name, unless the kernel names tables that are not here.
    """
    written_names = {PurePosixPath(text).name for text in _stored_texts(tree)}
    tables = [text for text in _texts(tree) if TABLE.search(text) and PurePosixPath(text).name not in written_names]
    strange = any(not match_file(table, files) and _PLAIN_PATH.fullmatch(table) for table in tables)
    known_stems = {part for path in files for part in stems(path)}
    for text in _texts(tree):
        if re.match(r"https?://", text) and TABLE.search(text):
            yield text
        for first, slash, remainder in _INPUT.findall(text):
            is_pattern = "*" in remainder and first in (competition, *known_stems)
            if is_pattern or PurePosixPath(remainder or first).name in written_names:
                continue
            if TABLE.search(remainder or first):
                if "%" not in f"{first}{remainder}" and not match_file(f"{first}/{remainder}", files):
                    yield f"{first}/{remainder}".rstrip("/").removeprefix(f"{competition}/")
                continue
            is_foreign = slash and strange and first not in (competition, *known_stems)
            if is_foreign and not (remainder and match_file(remainder, files)):
                yield f"{first}/{remainder}".rstrip("/")
    # Names that are assigned a folder's path, with its slash.
    folders = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and str(node.value.value).endswith("/")
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in _calls(tree):
        if call.args and _READS.fullmatch(_called(call)) and not _stores(call):
            yield from (text for text in _texts(call.args[0]) if "://" in text)
            for text in _last_text(call.args[0], folders):
                name = PurePosixPath(text).name
                is_table = TABLE.search(name) and _PLAIN_PATH.fullmatch(name)
                if is_table and not (name in written_names or match_file(text, files) or _INPUT.search(text)):
                    yield name


def _last_text(argument: ast.expr, folders: Collection[str]) -> Iterator[str]:
    """Yield the end of a path that a call is given, where that end is whole: alone, or after a folder."""
    match argument:
        case ast.Constant(value=str() as text):
            yield text
        case (
            ast.BinOp(op=ast.Add(), left=before, right=ast.Constant(value=str() as text))
            | ast.JoinedStr(values=[ast.FormattedValue(value=before), ast.Constant(value=str() as text)])
        ):
            if text.startswith("/") or (isinstance(before, ast.Name) and before.id in folders):
                yield text
        case (
            ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="format"), args=[before, *_])
            | ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str() as text), right=before)
        ):
            end = re.split(r"}|%s", text)[-1]
            if end.startswith("/") or (isinstance(before, ast.Name) and before.id in folders):
                yield end
        case ast.BinOp(op=ast.Div(), right=right):
            yield from _last_text(right, folders)
        case ast.Call(args=[*_, last]) if _called(argument) in ("join", "Path"):
            yield from _last_text(last, folders)


_ARCHIVE = re.compile(r"\.(?:zip|gz|7z|tar|tgz|bz2|xz)$")


def stems(path: str) -> Iterator[str]:
    """Yield the first part of a path, with and without the endings of archives, and the names of tables without theirs."""
    *_, plain_name = names = list(paths_unpacked(PurePosixPath(path).parts[0]))
    yield from (*names, PurePosixPath(plain_name).stem)


def _missing_packages(tree: ast.Module, packages: Collection[str]) -> Iterator[str]:
    """Yield the missing packages that a kernel imports without an alternative, its author's modules too."""
    plain = {_plain(package) for package in packages}
    own_modules = {PurePosixPath(text).stem for text in _stored_texts(tree) if text.endswith(".py")}
    present = (*sys.stdlib_module_names, *DRAWING, *REMOVED_MODULES, *own_modules)
    for node in tree.body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        names += ["." * node.level + (node.module or "")] if isinstance(node, ast.ImportFrom) and node.level else []
        for root in map(_root, names):
            if root not in present and not _is_provided(root, plain):
                yield root or "its author's modules"


def _is_provided(root: str, packages: set[str]) -> bool:
    if root in _PACKAGES or root in _PROVIDED_BY:
        return not packages.isdisjoint(_PROVIDED_BY.get(root, (_plain(root),)))
    # A package may be named otherwise than its module, such as python-dateutil.
    return bool(root) and any(_plain(root) in name for name in packages)


def _plain(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def _network_calls(tree: ast.AST) -> Iterator[str]:
    for call in _calls(tree):
        name = ast.unparse(call.func) if isinstance(call.func, ast.Name | ast.Attribute) else ""
        last = name.split(".")[-1]
        if last in _NETWORK or ".".join(name.split(".")[-2:]) in _NETWORK:
            yield name
            continue
        options = [(k.arg, k.value.value) for k in call.keywords if isinstance(k.value, ast.Constant)]
        hub_names = [text for text in map(_text, call.args[:1]) if text is not None and "input" not in text]
        if (
            ("pretrained", True) in options
            or ("weights", "imagenet") in options
            or (last == "from_pretrained" and hub_names)
        ):
            yield f"{name} downloads weights"


def _in_words(names: Sequence[str]) -> str:
    return ", ".join(name[:80] for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
