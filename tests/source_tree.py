"""The files and modules of the four packages, as they lie in a folder: a checkout or an installation."""

from pathlib import Path

PACKAGES = ("bot", "sandbox", "scrapers", "state")
ROOT = Path(__file__).parents[1]


def files(root: Path) -> list[Path]:
    """Return all files of the packages below a folder, templates and demo data included."""
    found = [path for package in PACKAGES for path in (root / package).rglob("*")]
    return [path for path in found if path.is_file() and path.parent.name != "__pycache__"]


def sources(root: Path) -> list[Path]:
    """Return the files that can be imported; a script in a folder of data cannot."""
    return [path for path in files(root) if path.suffix == ".py" and (path.parent / "__init__.py").exists()]


def modules(root: Path) -> list[str]:
    """Return the names of all modules below a folder, in alphabetical order."""
    names = set()
    for path in sources(root):
        parts = path.relative_to(root).with_suffix("").parts
        names.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return sorted(names)
