"""Tests of the list and the folder of weights, and of the commands."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from bot.weights.catalog import load_catalog
from bot.weights.folder import WeightsFolder, weights_line
from state.errors import UsageError
from tests.file_server import FileServer

FILES = {"config.json": b"{}", "model.bin": b"weights" * 1000}


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer(dict(FILES)) as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to start `bot` in, with a bot.toml that names the weights folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bot.toml").write_text('[weights]\ndir = "kept"\n')
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept"


def bot(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["weights", *arguments], catch_exceptions=True)


def listed(folder: Path, server: FileServer, released: str = "2020-05-01", *, wrong: bool = False) -> None:
    """Write an own list with one entry."""
    files = "".join(
        f'[[weights.files]]\nname = "{name}"\nurl = "{server.url(name)}"\nbytes = {len(content)}\n'
        f'sha256 = "{"0" * 64 if wrong else sha256(content).hexdigest()}"\n'
        for name, content in FILES.items()
    )
    (folder / "weights.toml").write_text(
        f'[[weights]]\nname = "tiny"\nreleased = {released}\nlicence = "MIT"\nload = "load(\'weights/tiny\')"\n{files}'
    )


def test_the_packages_list_is_sound() -> None:
    catalog = load_catalog(Path("/nowhere"))
    assert len(catalog) >= 5
    for weights in catalog:
        assert f"weights/{weights.name}" in weights.load, "a line must load it from where it lies"
        compile(weights.load, weights.name, "exec")
        for file in weights.files:
            assert file.url.startswith("https://")
            if match := re.search(r"-([0-9a-f]{8})\.pth$", file.url):
                assert file.sha256.startswith(match[1]), "torchvision's names begin with the hash's first digits"
            else:
                assert re.search(r"/resolve/[0-9a-f]{40}/", file.url), "an address that may change is no pin"


def test_weights_are_fetched_once_and_offered_to_runs_of_a_later_day(place: Path, server: FileServer) -> None:
    listed(place, server)
    assert WeightsFolder(place).available(datetime(2026, 1, 1, tzinfo=UTC)) == []
    done = bot("pull", "tiny", "--json")
    assert done.exit_code == 0, done.output
    (record,) = json.loads(done.stdout)["weights"]
    assert (record["name"], record["state"], record["error"]) == ("tiny", "here", None)
    asked = len(server.ranges)
    assert bot("pull", "tiny").exit_code == 0
    assert len(server.ranges) == asked, "what is there is not fetched again"
    folder = WeightsFolder(place)
    assert folder.available(datetime(2020, 5, 1, 23, tzinfo=UTC)) == [], "on the day itself it may not have been known"
    (weights,) = folder.available(datetime(2020, 5, 2, tzinfo=UTC))
    assert folder.mounts([weights]) == {"weights/tiny": place / "tiny"}
    assert weights_line(weights) == "tiny (0 MB, MIT). Load: load('weights/tiny')"


def test_a_file_that_was_changed_afterwards_is_no_longer_offered(place: Path, server: FileServer) -> None:
    listed(place, server)
    bot("pull", "tiny")
    (place / "tiny" / "model.bin").write_bytes(b"another")
    folder = WeightsFolder(place)
    assert folder.state(folder.find("tiny")) == "partial"
    assert folder.available(datetime(2026, 1, 1, tzinfo=UTC)) == []
    assert bot("pull", "tiny").exit_code == 0
    assert (place / "tiny" / "model.bin").read_bytes() == FILES["model.bin"]


def test_a_wrong_hash_fails_with_a_word_and_the_exit_status_one(place: Path, server: FileServer) -> None:
    listed(place, server, wrong=True)
    done = bot("pull", "tiny")
    assert done.exit_code == 1
    assert "is not the listed file" in done.stderr
    assert not (place / "tiny" / "config.json").exists()


def test_list_shows_what_is_there(place: Path, server: FileServer) -> None:
    listed(place, server)
    bot("pull", "tiny")
    shown = json.loads(bot("list", "--json").stdout)
    states = {weights["name"]: weights["state"] for weights in shown["weights"]}
    assert states.pop("tiny") == "here"
    assert set(states.values()) == {"absent"}
    assert shown["dir"] == str(place)
    assert "2020-05-01" in bot("list").stdout


@pytest.mark.parametrize("arguments", [("pull",), ("pull", "unknown"), ("pull", "resnet18", "--all")])
def test_wrong_use_is_told_before_anything_is_fetched(place: Path, arguments: tuple[str, ...]) -> None:
    assert isinstance(bot(*arguments).exception, UsageError)
    assert list(place.iterdir()) == []


ENTRY = """[[weights]]
name = "{name}"
released = 2023-01-01
licence = "MIT"
load = "x"
files = [{{ name = "x.bin", url = "{url}", bytes = 1, sha256 = "{hash}" }}]
"""


@pytest.mark.parametrize(
    "text",
    [
        "[[weights]]\nname = 'x'\n",
        "[[weights",
        "weight = 1\n",
        ENTRY.format(name="../up", url="https://example.org/x.bin", hash="0" * 64),
        ENTRY.format(name="mine", url="http://example.org/x.bin", hash="0" * 64),
        ENTRY.format(name="resnet18", url="https://example.org/x.bin", hash="0" * 64),
    ],
)
def test_a_list_that_cannot_be_read_is_named(place: Path, text: str) -> None:
    (place / "weights.toml").write_text(text)
    with pytest.raises(UsageError, match=r"weights\.toml"):
        load_catalog(place)
