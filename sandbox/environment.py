"""The clean environment that a script starts with; nothing of the bot's own gets in."""

from pathlib import Path

from sandbox import ExecutionRequest
from sandbox.gpu import library_folders

__all__ = ["clean_environment", "path_of"]

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


def path_of(python: Path) -> str:
    """Return the PATH on which this Python comes first."""
    return f"{python.parent}:/usr/local/bin:/usr/bin:/bin"


def clean_environment(request: ExecutionRequest, *, tmp: str, cpus: int, path: str) -> dict[str, str]:
    """Return the whole environment of a script.

    Args:
        request: Its limits are told to the script, and its own variables are added last.
        tmp: Folder for temporary files as the script sees it, which is its home too.
        cpus: Cores that it may use, at most those of its limits.
        path: Its PATH.
    """
    environment = {
        "PATH": path,
        "HOME": tmp,
        "TMPDIR": tmp,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONNOUSERSITE": "1",
        "MPLBACKEND": "Agg",
        "HF_HUB_OFFLINE": "1",
        "BOT_TIME_LIMIT": f"{request.limits.seconds:.3f}".rstrip("0").rstrip("."),
        "BOT_CPUS": str(cpus),
        "BOT_GPUS": str(len(request.lease.gpus)),
        "CUDA_VISIBLE_DEVICES": ",".join(request.lease.gpus),
    }
    environment.update(dict.fromkeys(_THREAD_VARIABLES, str(cpus)))
    if request.lease.gpus and (libraries := library_folders()):
        environment["LD_LIBRARY_PATH"] = ":".join(map(str, libraries))
    environment.update(request.environment)
    return environment
