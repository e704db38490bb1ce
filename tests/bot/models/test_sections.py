"""The table [models]: its roles are those that the engine asks in."""

import re

import pytest
from pydantic import ValidationError

from bot.models.sections import ROLES, ModelsSection
from tests.source_tree import ROOT, sources


def test_roles_are_those_that_something_is_asked_in() -> None:
    texts = (path.read_text(encoding="utf-8") for path in sources(ROOT) if path.is_relative_to(ROOT / "bot"))
    asked = {role for text in texts for role in re.findall(r'\brole ?= ?"([a-z]+)"', text)}
    assert asked - {"img"} == set(ROLES)  # an image's role is HTML's


def test_another_role_is_refused_with_the_nearest_that_there_is() -> None:
    assert ModelsSection(roles={"coder": "m"}).roles == {"coder": "m"}
    with pytest.raises(ValidationError, match=r"is not a role; did you mean reviewer\?"):
        ModelsSection(roles={"reviwer": "m"})
    with pytest.raises(ValidationError, match="is not a role; valid roles: analyst, proposer"):
        ModelsSection(roles={"zzz": "m"})
