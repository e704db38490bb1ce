"""Tests of presets and of the tables [coders.NAME]: what they may say, and what is made of them."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from bot.coder.coder_config import PRESETS, CoderSection, own_coder
from bot.configuration import read_settings
from bot.models.settings import ModelChoice
from state.errors import ConfigurationError, UsageError

CHOICE = ModelChoice("openai", "large", {"coder": "small"})
CODEX = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"


def put(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o755)


@pytest.mark.parametrize("modules", ["node_modules", "lib/node_modules/@openai/codex/node_modules"])
def test_a_preset_needs_its_folder_or_its_command_on_path(
    modules: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / modules
    script, program = tmp_path / "lib/node_modules/@openai/codex/bin/codex.js", folder / CODEX
    if modules == "node_modules":
        script = folder / "@openai/codex/bin/codex.js"
    put(script, program)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").symlink_to(script)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for sections in ({}, {"codex": CoderSection(folder=folder.parent)}):
        coder = own_coder("codex", sections, CHOICE)
        assert (coder.program, coder.model, coder.dialect) == (str(program), "small", "responses")
        assert coder.in_place == (folder,), "and nothing beside it"
        assert coder.variables["CODER_MODEL"] == "small"
        assert coder.variables["CODER_FOLDER"] == str(folder)


def test_a_program_on_path_outside_a_virtual_environment_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "bin" / "mini")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(UsageError, match="mini is not installed on PATH; `pipx install mini-swe-agent` installs it"):
        own_coder("mini-swe-agent", {}, CHOICE)
    put(tmp_path / "pyvenv.cfg")
    assert own_coder("mini-swe-agent", {}, CHOICE).in_place == (tmp_path,)


def test_a_virtual_environment_brings_the_python_that_it_was_made_of(tmp_path: Path) -> None:
    venv, base = tmp_path / "venv", tmp_path / "python"
    (base / "bin").mkdir(parents=True)
    put(venv / "bin" / "mini")
    (venv / "pyvenv.cfg").write_text(f"home = {base}/bin\nversion = 3.11.2\n")
    section = CoderSection(preset="mini-swe-agent", folder=venv, files=(Path("/etc/hostname"),))
    assert own_coder("mine", {"mine": section}, CHOICE).in_place == (venv, base, Path("/etc/hostname"))
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\n")
    assert own_coder("mine", {"mine": section}, CHOICE).in_place == (venv, Path("/etc/hostname"))


def test_a_command_of_ones_own_needs_a_dialect_and_no_preset(tmp_path: Path) -> None:
    section = CoderSection(command="exec agent", dialect="chat", environment={"A": "b"})
    coder = own_coder("mine", {"mine": section}, CHOICE)
    assert (coder.command, coder.program, coder.variables["A"]) == ("exec agent", None, "b")
    with pytest.raises(UsageError, match=r"needs a preset .* or a command and a dialect"):
        own_coder("mine", {"mine": section.model_copy(update={"dialect": None})}, CHOICE)


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_not_installed_is_named_with_the_line_that_installs_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"not installed on PATH; `(npm|pipx) install .*` installs it"):
        own_coder(name, {}, CHOICE)
    with pytest.raises(UsageError, match=f"names {tmp_path}/none, which does not exist"):
        own_coder(name, {name: CoderSection(folder=tmp_path / "none")}, CHOICE)
    with pytest.raises(UsageError, match=f"not installed in {tmp_path}; `.*` installs it on PATH"):
        own_coder(name, {name: CoderSection(folder=tmp_path)}, CHOICE)


def test_an_unknown_coder_and_a_model_without_an_endpoint_are_refused() -> None:
    with pytest.raises(UsageError, match="did you mean codex"):
        own_coder("codx", {}, CHOICE)
    with pytest.raises(UsageError, match="requires a model at an endpoint, not builtin"):
        own_coder("codex", {}, ModelChoice("builtin"))


def test_variables_must_be_named_as_variables_are() -> None:
    with pytest.raises(ValidationError, match="should match pattern"):
        CoderSection(environment={"A B": "c"})


def test_the_file_is_checked_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "bot.toml"
    file.write_text('[coders.codex]\nfolder = "codex"\n[competitions.titanic]\ncoder = "codex"\n')
    settings = read_settings(file)
    assert settings.coders["codex"].folder == tmp_path / "codex"
    file.write_text('[coders.lab]\nfolder = "codex"\n')
    with pytest.raises(ConfigurationError) as wrong:
        read_settings(file)
    assert "must be a plain name other than lab or script" in str(wrong.value)
