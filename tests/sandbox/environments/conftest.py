"""A small environment, made once for all tests that need one."""

import pytest

from sandbox.environments import ScriptEnvironment
from sandbox.make_environment import Recipe, make_environment


@pytest.fixture(scope="session")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    """LightGBM and what it needs, in our versions."""
    requirements = tmp_path_factory.mktemp("recipe") / "requirements.txt"
    requirements.write_text("# boosting\nlightgbm\nscikit-learn\n")
    return Recipe((), cuda=False, requirements=requirements, installer="uv")


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory, recipe: Recipe) -> ScriptEnvironment:
    folder = tmp_path_factory.mktemp("environments")
    for part in (folder, *list(folder.parents)[:2]):
        part.chmod(0o755)  # scripts may run as another user
    return make_environment(folder, "default", recipe)
