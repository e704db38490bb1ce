"""Makes an image that containers run in: `python -m sandbox.image.build [--variant small|cpu|cuda]`."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import DockerException, ImageNotFound

from sandbox.engine import ENGINE_FAILURES, EngineError, connect, say
from sandbox.image import REPOSITORY, VARIANTS
from sandbox.image.debian import RELEASE, debian_archive

__all__ = ["main"]

_HERE = Path(__file__).parent
_REGISTRY_BASE = "python:3.11-slim-bookworm"
_BASE = f"kaggle-bot-base:{RELEASE}"
_DEBIAN_PACKAGES = ("python3", "python3-pip", "ca-certificates")
_PYTHON = (3, 11)
"""Debian's of that release."""
SMALL = ("numpy", "pandas", "scikit-learn", "scipy", "pillow", "joblib", "ipykernel")


def main(arguments: list[str] | None = None) -> int:
    """Make one image; return the exit status."""
    parser = argparse.ArgumentParser(prog="make image", description=__doc__)
    parser.add_argument("--variant", choices=VARIANTS, help="default: cpu where a registry answers, else small")
    parser.add_argument("--torch-index", default="", help="address of torch's wheels for --variant cpu")
    chosen = parser.parse_args(arguments)
    try:
        with connect() as engine:
            variant = chosen.variant or ("cpu" if _registry_answers(engine) else "small")
            tag = f"{REPOSITORY}:{variant}"
            _say(f"making {tag}")
            if variant == "small":
                _make_small(engine, tag)
            else:
                options = {"VARIANT": variant, "TORCH_INDEX": chosen.torch_index}
                _build(engine, tag, _HERE, dockerfile="Dockerfile", buildargs=options, pull=True)
            size = engine.images.get(tag).attrs["Size"]
    except (*ENGINE_FAILURES, subprocess.CalledProcessError) as error:
        _say(f"no image was made: {say(error)}")
        return 1
    _say(f"{tag} is there: {size / 1e6:.0f} MB")
    return 0


def _registry_answers(engine: DockerClient) -> bool:
    try:
        engine.images.pull(_REGISTRY_BASE)
    except DockerException as error:
        _say(f"no registry answers ({say(error)}): making the small variant from Debian's packages")
        return False
    return True


def _make_small(engine: DockerClient, tag: str) -> None:
    """Build the small variant without a registry, and without network in the build."""
    try:
        engine.images.get(_BASE)
    except ImageNotFound:
        _say(f"importing {_BASE}")
        repository, _, release = _BASE.partition(":")
        said = engine.api.import_image_from_file(
            str(debian_archive(_DEBIAN_PACKAGES)), repository=repository, tag=release
        )
        if '"error"' in said:
            raise EngineError(said) from None
    with tempfile.TemporaryDirectory(prefix="bot-image-") as folder:
        wheels = Path(folder) / "wheels"
        _fetch_wheels(wheels)
        shutil.copy(_HERE / "small.Dockerfile", Path(folder) / "Dockerfile")
        _build(engine, tag, Path(folder), network_mode="none")


def _fetch_wheels(folder: Path) -> None:
    """Fetch the packages by this environment's own pip, in the versions of the bot's environment where it has them."""
    folder.mkdir()
    wanted = folder / "small.txt"
    wanted.write_text("".join(f"{_pinned(name)}\n" for name in SMALL))
    options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder)]
    if sys.version_info[:2] != _PYTHON:
        machine = os.uname().machine
        options += ["--python-version", ".".join(map(str, _PYTHON))]
        options += [part for glibc in ("2014", "_2_28") for part in ("--platform", f"manylinux{glibc}_{machine}")]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, "-r", str(wanted)], check=True)


def _pinned(name: str) -> str:
    try:
        return f"{name}=={metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return name


def _build(engine: DockerClient, tag: str, context: Path, **options: Any) -> None:
    """Build by the engine's classic builder, which every engine has, showing what it says."""
    for line in engine.api.build(path=str(context), tag=tag, rm=True, forcerm=True, decode=True, **options):
        if "error" in line:
            raise EngineError(line["error"])
        if text := line.get("stream", "").strip():
            _say(text)


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
