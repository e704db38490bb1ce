"""The image that containers are made from: its variants, and which one is here."""

from docker import DockerClient
from docker.errors import ImageNotFound
from docker.models.images import Image

from sandbox.engine import EngineError

__all__ = ["REPOSITORY", "VARIANTS", "find_image"]

REPOSITORY = "kaggle-bot-sandbox"
VARIANTS = ("cuda", "cpu", "small")
"""Tags, the best first: with a GPU's libraries; without; and what the built-in recipe needs, made without a registry."""


def find_image(engine: DockerClient, name: str | None) -> Image:
    """Return the image of this name, or the best of our own variants.

    Raises:
        EngineError: It is not here, and the text says how to make it.
    """
    for candidate in [name] if name else [f"{REPOSITORY}:{variant}" for variant in VARIANTS]:
        try:
            return engine.images.get(candidate)
        except ImageNotFound:
            continue
    missing = f"The image {name} is not here" if name else f"There is no image {REPOSITORY} here"
    raise EngineError(f"{missing}: run `make image`.")
