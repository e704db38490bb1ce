"""The image that containers are made from."""

from docker import DockerClient
from docker.errors import ImageNotFound
from docker.models.images import Image

from sandbox.environments import PYTHON
from sandbox.image.engine import EngineError

IMAGE = f"kaggle-bot-sandbox:python{PYTHON[0]}.{PYTHON[1]}"


def find_image(engine: DockerClient, name: str | None) -> Image:
    """Return the image of this name, or our own.

    Raises EngineError: it is not here; the text names the command that makes it.
    """
    try:
        return engine.images.get(name or IMAGE)
    except ImageNotFound:
        raise EngineError(f"Docker image {name or IMAGE} not found: run `make image`.") from None
