"""Makes the image that containers run in: `python -m sandbox.image.build`."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from docker import DockerClient
from docker.errors import DockerException, ImageNotFound

from sandbox.environments import PYTHON, VERSIONS
from sandbox.image import IMAGE
from sandbox.image.engine import ENGINE_FAILURES, EngineError, connect, say

_FOLDER = Path(__file__).parent
_REGISTRY_BASE = f"python:{PYTHON[0]}.{PYTHON[1]}-slim-bookworm"
_BASE = "kaggle-bot-base"
_RELEASE = "bookworm"
_DEBIAN_PACKAGES = ("python3", "python3-pip", "ca-certificates", "gcc", "libc6-dev", "libgomp1", "procps")
PACKAGES = ("numpy", "pandas", "scikit-learn", "scipy", "pillow", "joblib")


def main() -> int:
    """Make the image; return the exit status."""
    try:
        with connect() as engine:
            _say(f"building {IMAGE}")
            _make(engine)
            size = engine.images.get(IMAGE).attrs["Size"]
    except (*ENGINE_FAILURES, subprocess.CalledProcessError) as error:
        _say(f"cannot build the image: {say(error)}")
        return 1
    _say(f"{IMAGE} is ready: {size / 1e6:.0f} MB")
    return 0


def _make(engine: DockerClient) -> None:
    """Build on the registry's Python, or, where no registry answers, on Debian's and without network in the build."""
    network = None
    try:
        engine.images.pull(_REGISTRY_BASE)
        base = _REGISTRY_BASE
    except DockerException as error:
        _say(f"cannot pull {_REGISTRY_BASE} ({say(error)}): building from Debian packages instead")
        base, network = _debian_base(engine), "none"
    with tempfile.TemporaryDirectory(prefix="bot-image-") as folder:
        _fetch_wheels(Path(folder) / "wheels")
        shutil.copy(_FOLDER / "Dockerfile", folder)
        _build(engine, Path(folder), base, network)


def _debian_base(engine: DockerClient) -> str:
    archive = debian_archive(_DEBIAN_PACKAGES)
    base = f"{_BASE}:{archive.stem}"
    try:
        engine.images.get(base)
    except ImageNotFound:
        _say(f"importing {base}")
        output = engine.api.import_image_from_file(str(archive), repository=_BASE, tag=archive.stem)
        if '"error"' in output:
            raise EngineError(output) from None
    return base


def _fetch_wheels(folder: Path) -> None:
    """Fetch the packages by this environment's own pip, in the versions that environments have."""
    folder.mkdir()
    names = folder / "image.txt"
    names.write_text("".join(f"{name}\n" for name in PACKAGES))
    options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder)]
    if sys.version_info[:2] != PYTHON:
        machine = os.uname().machine
        options += ["--python-version", ".".join(map(str, PYTHON))]
        options += [part for glibc in ("2014", "_2_28") for part in ("--platform", f"manylinux{glibc}_{machine}")]
    command = [sys.executable, "-m", "pip", "download", *options, "--constraint", str(VERSIONS), "-r", str(names)]
    subprocess.run(command, check=True)


def _build(engine: DockerClient, context: Path, base: str, network: str | None) -> None:
    """Build by the engine's classic builder, which every engine has, showing its output."""
    options = {"buildargs": {"BASE": base}, "network_mode": network}
    for line in engine.api.build(path=str(context), tag=IMAGE, rm=True, forcerm=True, decode=True, **options):
        if "error" in line:
            raise EngineError(line["error"])
        if text := line.get("stream", "").strip():
            _say(text)


def _say(text: str) -> None:
    print(text, flush=True)


def debian_archive(packages: Sequence[str]) -> Path:
    """Return the tar of a root folder with these packages, and what Debian cannot do without.

    Raises:
        EngineError: It is not in the cache, and cannot be made here.
        subprocess.CalledProcessError: debootstrap failed.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kaggle-bot" / "image"
    names = ",".join(packages)
    archive = cache / f"{_RELEASE}-{sha256(names.encode()).hexdigest()[:12]}.tar"
    if archive.is_file():
        return archive
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise EngineError(
            "Without a registry, building the base image requires root and the Debian package debootstrap."
        )
    cache.mkdir(parents=True, exist_ok=True)
    print("building a minimal Debian system: this takes one or two minutes the first time", flush=True)
    with tempfile.TemporaryDirectory(prefix="bot-image-", dir=cache) as folder:
        root = Path(folder) / "root"
        options = ["--variant=minbase", f"--include={names}", _RELEASE, str(root), *_package_source()]
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
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return next(([address] for address, codename in map(str.split, output.splitlines()) if codename == _RELEASE), [])


if __name__ == "__main__":
    sys.exit(main())
