"""What a script runs on, as the coder's prompt describes it."""

import platform
import re
from dataclasses import dataclass
from importlib import metadata

import psutil

from bot.execution.surprises import surprises
from sandbox import Limits, SandboxDescription

WORTH_KNOWING = (
    "numpy", "scipy", "pandas", "polars", "pyarrow", "scikit-learn", "joblib", "numba", "statsmodels", "optuna",
    "pillow", "matplotlib", "seaborn", "lightgbm", "xgboost", "xgboost-cpu", "catboost", "category-encoders",
    "imbalanced-learn", "sktime", "torch", "torchvision", "torchaudio", "timm", "transformers",
    "sentence-transformers", "accelerate", "peft", "datasets", "tokenizers", "sentencepiece", "pytorch-lightning",
    "tensorflow", "keras", "opencv-python-headless", "scikit-image", "albumentations", "librosa", "soundfile", "nltk",
    "spacy", "gensim", "networkx", "shap", "umap-learn", "implicit", "pydicom", "rdkit",
)  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """What a script runs on."""

    python: str
    cpus: int
    memory_gib: float
    gpus: int
    packages: tuple[str, ...]
    """`name version` of each installed package worth knowing."""
    weights: tuple[str, ...] = ()
    """Pretrained weights in the script's folder `weights/`: what each is, and a line that loads it."""
    gpu_models: tuple[str, ...] = ()
    """Name and memory of the GPUs that a script may be lent."""
    disk_gb: float = 2.0
    """What a script may write."""
    surprises: tuple[str, ...] = ()
    """What the packages' versions do otherwise than most code expects, a sentence each."""

    def describe(self) -> str:
        """Say what it is, as a prompt does."""
        models = f" ({' or '.join(self.gpu_models)})" if self.gpu_models else ""
        gpus = f"{self.gpus} GPU{'s' if self.gpus != 1 else ''}{models}" if self.gpus else "no GPU"
        cores = f"{self.cpus} CPU{'s' if self.cpus != 1 else ''}"
        return (
            f"Python {self.python}, {cores}, {self.memory_gib:.0f} GiB of memory, {self.disk_gb:.0f} GB of disk, {gpus}. "
            f"Installed: {', '.join(self.packages)}."
        )


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
