"""Languages of code by one name each, whatever a kernel, a notebook or a file's suffix calls them."""

import re
from pathlib import PurePosixPath

_NAMES = {
    **dict.fromkeys(
        ("python", "python2", "python3", "ipython", "ipython3", "py", "conda-root-py", "xpython"), "python"
    ),
    **dict.fromkeys(("r", "ir", "rmd", "rmarkdown", "rscript", "xr"), "r"),
    **dict.fromkeys(("julia", "jl"), "julia"),
    **dict.fromkeys(("sql", "sqlite", "xsqlite"), "sql"),
}
_SUFFIXES = {".py": "python", ".r": "r", ".rmd": "r", ".irnb": "r", ".jl": "julia", ".sql": "sql", ".sqlite": "sql"}


def language_named(name: object) -> str | None:
    """Return the language that some source names so, in lower case; None for what is no name, such as `ipynb`."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+#.-]{0,30}", name):
        return None
    lower = name.lower()
    known = _NAMES.get(lower) or _NAMES.get(re.sub(r"[-0-9.]+$", "", lower))
    return known or (
        lower if re.fullmatch(r"[a-z+#]{1,20}", lower) and lower not in ("ipynb", "notebook", "script") else None
    )


def language_of_file(name: str) -> str | None:
    """Return the language that a file's suffix tells, None where it tells none."""
    return _SUFFIXES.get(PurePosixPath(name.replace("\\", "/")).suffix.lower())
