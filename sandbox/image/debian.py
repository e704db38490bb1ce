"""A minimal Debian as a tar, made by debootstrap once and then kept in the cache: what images start from without a registry."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from sandbox.image.engine import EngineError

RELEASE = "bookworm"


def debian_archive(packages: Sequence[str]) -> Path:
    """Return the tar of a root folder with these packages, and what Debian cannot do without.

    Raises:
        EngineError: It is not in the cache, and cannot be made here.
        subprocess.CalledProcessError: debootstrap failed.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kaggle-bot" / "image"
    listed = ",".join(packages)
    archive = cache / f"{RELEASE}-{sha256(listed.encode()).hexdigest()[:12]}.tar"
    if archive.is_file():
        return archive
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise EngineError(
            "Without a registry the base is made by debootstrap (Debian package), which only root can run."
        )
    cache.mkdir(parents=True, exist_ok=True)
    print("making a minimal Debian: a minute or two the first time", flush=True)
    with tempfile.TemporaryDirectory(prefix="bot-image-", dir=cache) as folder:
        root = Path(folder) / "root"
        options = ["--variant=minbase", f"--include={listed}", RELEASE, str(root), *_package_source()]
        subprocess.run(["debootstrap", *options], check=True, stdout=subprocess.DEVNULL)
        for package in (root / "var/cache/apt/archives").glob("*.deb"):
            package.unlink()
        partial = Path(folder) / "partial.tar"
        subprocess.run(["tar", "-C", str(root), "-cf", str(partial), "."], check=True)
        partial.replace(archive)
    return archive


def _package_source() -> list[str]:
    """Return where this machine's own apt takes that release from, as its default may not answer here."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Identifier: Packages"]
    try:
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return next(([address] for address, codename in map(str.split, found.splitlines()) if codename == RELEASE), [])
