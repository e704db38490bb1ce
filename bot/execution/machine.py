"""The machine that scripts run on, as prompts describe it, with the breaking changes of its packages."""

import platform
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import psutil

from sandbox import Limits, SandboxDescription

_ALIASES = {"xgboost-cpu": "xgboost"}
LISTED_PACKAGES = (
    "numpy", "scipy", "pandas", "polars", "pyarrow", "scikit-learn", "joblib", "numba", "statsmodels", "optuna",
    "pillow", "matplotlib", "seaborn", "lightgbm", "xgboost", "xgboost-cpu", "catboost", "category-encoders",
    "imbalanced-learn", "sktime", "torch", "torchvision", "torchaudio", "timm", "transformers",
    "sentence-transformers", "accelerate", "peft", "datasets", "tokenizers", "sentencepiece", "pytorch-lightning",
    "tensorflow", "keras", "opencv-python-headless", "scikit-image", "albumentations", "librosa", "soundfile", "nltk",
    "spacy", "gensim", "networkx", "shap", "umap-learn", "implicit", "pydicom", "rdkit",
)  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """The machine that scripts run on."""

    python: str
    cpus: int
    memory_gib: float
    gpus: int
    packages: tuple[str, ...]
    """`name version` of each installed package of `LISTED_PACKAGES`."""
    weights: tuple[str, ...] = ()
    """Pretrained weights in the script's folder `weights/`: a description of each, and a line that loads it."""
    gpu_models: tuple[str, ...] = ()
    """Name and memory of the GPUs that a script may lease."""
    disk_gb: float = 2.0
    """Gigabytes that a script may write."""
    names: frozenset[str] = frozenset()
    """Names of all packages that scripts find, in lower case with hyphens."""
    breaking_changes: tuple[str, ...] = ()
    """How the packages' versions differ from what most code expects, a sentence each."""

    def describe(self) -> str:
        """Return the description for prompts."""
        models = f" ({' or '.join(self.gpu_models)})" if self.gpu_models else ""
        gpus = f"{self.gpus} GPU{'s' if self.gpus != 1 else ''}{models}" if self.gpus else "no GPU"
        cores = f"{self.cpus} CPU{'s' if self.cpus != 1 else ''}"
        return (
            f"Python {self.python}, {cores}, {self.memory_gib:.0f} GiB of memory, {self.disk_gb:.0f} GB of disk, {gpus}. "
            f"Installed: {', '.join(self.packages)}."
        )


def this_machine(
    limits: Limits,
    sandbox: SandboxDescription,
    gpus: int = 0,
    gpu_models: tuple[str, ...] = (),
    *,
    elsewhere: bool = False,
) -> Machine:
    """Describe this machine within a script's limits, with the packages of the scripts' environment.

    A script leases `gpus` of the `gpu_models`. If scripts run on other machines (`elsewhere`), the memory is the limit's.
    """
    memory = limits.memory_bytes if elsewhere else min(limits.memory_bytes, psutil.virtual_memory().total)
    packages = _installed() if sandbox.packages is None else sandbox.packages
    versions = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in packages.items()}
    listed_packages = tuple(f"{name} {versions[name]}" for name in LISTED_PACKAGES if name in versions)
    return Machine(
        python=sandbox.python or platform.python_version(),
        cpus=limits.cpus,
        memory_gib=memory / 1024**3,
        gpus=gpus,
        packages=listed_packages,
        gpu_models=gpu_models if gpus else (),
        disk_gb=limits.written_bytes / 1e9,
        names=frozenset(versions),
        breaking_changes=breaking_changes(listed_packages),
    )


@cache
def _installed() -> Mapping[str, str]:
    """Return the version of each package beside the bot, by name; read once, as it takes a tenth of a second of a core."""
    package_metadata = (d.metadata for d in metadata.distributions())  # each is read anew by each look
    return {package["Name"]: package["Version"] for package in package_metadata}


@cache
def _changes_by_package() -> dict[str, dict[str, list[str]]]:
    """Return the sentences by package, and by the first version for which they hold."""
    return tomllib.loads(Path(__file__).with_name("breaking_changes.toml").read_text(encoding="utf-8"))


def breaking_changes(packages: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each breaking change in these packages, given as `name version` like `Machine.packages`."""
    installed = {}
    for package in packages:
        name, _, version = package.partition(" ")
        if match := re.match(r"(\d+)(?:\.(\d+))?", version):
            installed[_ALIASES.get(name, name)] = (int(match[1]), int(match[2] or 0))
    return tuple(
        f"{name}: {text}"
        for name, versions in _changes_by_package().items()
        for since, texts in versions.items()
        if name in installed and installed[name] >= tuple(map(int, since.split(".")))
        for text in texts
    )
