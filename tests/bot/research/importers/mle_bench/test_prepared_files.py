import os
from pathlib import Path

import pytest

from bot.research.importers.mle_bench.prepared_files import find_places, open_prepared, read_config
from state.errors import SnapshotError, UsageError
from tests.bot.research.importers.mle_bench.prepared_folder import numbers


def test_a_data_folder_a_competition_and_its_prepared_folder_all_lead_to_it(tmp_path: Path) -> None:
    numbers("one", tmp_path)
    numbers("two", tmp_path)
    package = tmp_path / "competitions"
    below = find_places([tmp_path / "data"], package)
    assert [place.slug for place in below] == ["one", "two"]
    assert find_places([tmp_path / "data/two", tmp_path / "data/one/prepared"], package) == below
    assert find_places([tmp_path / "data", tmp_path / "data/two"], package, ["two"]) == below[1:]


def test_the_packages_files_may_lie_beside_prepared(tmp_path: Path) -> None:
    folder = numbers("one", tmp_path)
    for file in (tmp_path / "competitions/one").iterdir():
        file.rename(folder / file.name)
    assert find_places([folder], None)[0].package == folder
    assert read_config(folder / "config.yaml").id == "one"


def test_other_folders_are_passed_over_and_the_same_id_twice_is_refused(tmp_path: Path) -> None:
    numbers("one", tmp_path)
    (tmp_path / "data/notes").mkdir()
    assert [place.slug for place in find_places([tmp_path / "data"], tmp_path / "competitions")] == ["one"]
    numbers("one", tmp_path / "again")
    with pytest.raises(UsageError, match="one is in both"):
        find_places([tmp_path / "data", tmp_path / "again/data"], tmp_path / "competitions")


def test_a_relative_folder_still_has_its_competitions_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(numbers("one", tmp_path) / "prepared")
    assert [place.slug for place in find_places([Path(os.curdir)], tmp_path / "competitions")] == ["one"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id: !!python/object/apply:os.getcwd []\n", "is not valid YAML"),
        ("- a list\n", "dictionary"),
        ("id: x\ndataset: {answers: a}\n", "field `dataset.sample_submission`: is missing"),
        ("\x00", "is not valid UTF-8 YAML"),
        ("id: !!timestamp x\n", "is not valid UTF-8 YAML"),
        ("id: !!int ''\n", "is not valid UTF-8 YAML"),
    ],
)
def test_a_configuration_that_cannot_be_used_says_why(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(SnapshotError, match=sentence):
        read_config(tmp_path / "config.yaml")


@pytest.mark.parametrize("path", ["one/prepared/private/../../../etc/passwd", "/etc/passwd", "one/raw/answers.csv"])
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, path: str) -> None:
    numbers("one", tmp_path)
    config = tmp_path / "competitions/one/config.yaml"
    config.write_text(config.read_text().replace("one/prepared/private/answers.csv", path))
    with pytest.raises(SnapshotError, match="is not in prepared/public or prepared/private"):
        open_prepared(find_places([tmp_path / "data"], tmp_path / "competitions")[0])
