"""Names of views: what is one."""

import pytest

from bot.evaluation.view_names import view_kind
from state.errors import UsageError


@pytest.mark.parametrize("name", ["sample", "holdout", "full", "swap"])
def test_a_name_is_written_as_it_was_read(name: str) -> None:
    assert view_kind(name) == name


@pytest.mark.parametrize("name", ["", "fold", "Holdout", "holdout ", "../holdout", "fold 1/5"])
def test_anything_else_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="Unknown view"):
        view_kind(name)
