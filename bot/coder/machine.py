"""What a script runs on, as the coder's prompt describes it."""

import platform
import re
from importlib import metadata

import psutil

from bot.coder import Machine
from bot.coder.surprises import surprises
from sandbox import Limits, SandboxDescription

WORTH_KNOWING = (
    "numpy", "scipy", "pandas", "polars", "pyarrow", "scikit-learn", "joblib", "numba", "statsmodels", "optuna",
    "pillow", "matplotlib", "seaborn", "lightgbm", "xgboost", "xgboost-cpu", "catboost", "category-encoders",
    "imbalanced-learn", "sktime", "torch", "torchvision", "torchaudio", "timm", "transformers",
    "sentence-transformers", "accelerate", "peft", "datasets", "tokenizers", "sentencepiece", "pytorch-lightning",
    "tensorflow", "keras", "opencv-python-headless", "scikit-image", "albumentations", "librosa", "soundfile", "nltk",
    "spacy", "gensim", "networkx", "shap", "umap-learn", "implicit", "pydicom", "rdkit",
)  # fmt: skip


def this_machine(
    limits: Limits, sandbox: SandboxDescription, gpus: int = 0, gpu_models: tuple[str, ...] = ()
) -> Machine:
    """Describe what a script runs on: what it may use, and the packages of the environment that it runs in."""
    packages = sandbox.packages
    if packages is None:
        packages = {found.metadata["Name"]: found.version for found in metadata.distributions()}
    versions = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in packages.items()}
    listed = tuple(f"{name} {versions[name]}" for name in WORTH_KNOWING if name in versions)
    return Machine(
        python=sandbox.python or platform.python_version(),
        cpus=limits.cpus,
        memory_gib=min(limits.memory_bytes, psutil.virtual_memory().total) / 1024**3,
        gpus=gpus,
        packages=listed,
        gpu_models=gpu_models if gpus else (),
        disk_gb=limits.written_bytes / 1e9,
        surprises=surprises(listed),
    )
