"""What a script runs on, as the coder is told."""

import os
import platform
import re
from importlib import metadata

import psutil

from bot.coder import Machine
from sandbox import SandboxDescription

WORTH_KNOWING = (
    "numpy", "scipy", "pandas", "polars", "pyarrow", "scikit-learn", "joblib", "numba", "statsmodels", "optuna",
    "pillow", "matplotlib", "seaborn", "lightgbm", "xgboost", "xgboost-cpu", "catboost", "category-encoders",
    "imbalanced-learn", "sktime", "torch", "torchvision", "torchaudio", "timm", "transformers",
    "sentence-transformers", "accelerate", "peft", "datasets", "tokenizers", "sentencepiece", "pytorch-lightning",
    "tensorflow", "keras", "opencv-python-headless", "scikit-image", "albumentations", "librosa", "soundfile", "nltk",
    "spacy", "gensim", "networkx", "shap", "umap-learn", "implicit", "pydicom", "rdkit",
)  # fmt: skip


def this_machine(cpus: int, memory_bytes: int, sandbox: SandboxDescription, gpus: int = 0) -> Machine:
    """Describe the sandbox's machine: its limits, and the packages of the environment that scripts run in."""
    packages = _own_packages() if sandbox.packages is None else sandbox.packages
    versions = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in packages.items()}
    listed = tuple(f"{name} {versions[name]}" for name in WORTH_KNOWING if name in versions)
    memory = min(memory_bytes, psutil.virtual_memory().total)
    return Machine(sandbox.python or platform.python_version(), cpus, memory / 1024**3, gpus, listed)


def _own_packages() -> dict[str, str]:
    found = {}
    for name in WORTH_KNOWING:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def usable_cpus() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
