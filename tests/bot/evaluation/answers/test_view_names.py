"""Names of views: what is one, and the folders that they lie in."""

import pytest

from bot.evaluation.answers.view_names import ViewName
from state.errors import UsageError


@pytest.mark.parametrize("name", ["sample", "holdout", "full", "swap", "fold 1/5", "fold 12/12"])
def test_a_name_is_written_as_it_was_read(name: str) -> None:
    assert str(ViewName.parse(name)) == name


def test_every_folder_is_a_single_plain_name() -> None:
    assert ViewName.parse("fold 2/5") == ViewName("fold", 2, 5)
    assert ViewName.parse("fold 2/5").folder == "fold-2-of-5"
    assert ViewName.parse("swap").folder == "swap"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "fold",
        "Holdout",
        "holdout ",
        "../holdout",
        "fold 0/5",
        "fold 6/5",
        "fold 1/1",
        "fold 1/101",
        "fold 01/5",
        "fold 1/5/",
    ],
)
def test_anything_else_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="There is no view"):
        ViewName.parse(name)
