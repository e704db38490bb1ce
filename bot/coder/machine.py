"""What a script runs on, as the coder is told."""

import os
import platform
from importlib import metadata

import psutil

from bot.coder import Machine

WORTH_KNOWING = (
    "numpy", "scipy", "pandas", "scikit-learn", "pillow", "matplotlib", "lightgbm", "xgboost", "catboost",
    "torch", "torchvision", "transformers", "sentence-transformers", "tensorflow", "statsmodels", "opencv-python-headless",
)  # fmt: skip


def this_machine(cpus: int, memory_bytes: int) -> Machine:
    """Describe the sandbox's machine: its limits, and the packages of the environment that scripts run in."""
    packages = []
    for name in WORTH_KNOWING:
        try:
            packages.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    memory = min(memory_bytes, psutil.virtual_memory().total)
    return Machine(platform.python_version(), cpus, memory / 1024**3, 0, tuple(packages))


def usable_cpus() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
