"""Which model answers, from the environment and bot.toml."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.configuration import read_settings
from bot.models.endpoint import Endpoint
from bot.models.pricing import Price
from bot.models.settings import DUMMY_KEY, Environment, ModelSettings
from state.errors import UsageError

TOML = """
[models]
base_url = "http://127.0.0.1:8000/v1"
model = "small"
timeout = 60
max_tokens = 9000
retries = 2
roles.coder = "large"
[models.prices."large"]
input = 2.5
output = 10
cached = 0.25
"""


def environment(url: str | None = None, key: str | None = None, model: str | None = None) -> Environment:
    """Return variables as if these, and no others, were set."""
    secret = None if key is None else SecretStr(key)
    return Environment(openai_base_url=url, openai_api_key=secret, openai_model=model)


def settings(text: str | None, folder: Path, **variables: str) -> ModelSettings:
    path = folder / "bot.toml"
    if text is not None:
        path.write_text(text)
    return ModelSettings(environment(**variables), read_settings(path if text is not None else None).models)


def test_file_gives_models_per_role_prices_and_limits(tmp_path: Path) -> None:
    found = settings(TOML, tmp_path)
    choice = found.resolve(None)
    endpoint = Endpoint.configured(found, choice)
    assert choice.spec == "openai:small"
    assert (choice.model_for("coder"), choice.model_for("analyst")) == ("large", "small")
    assert choice.models == ("small", "large")
    assert found.section.prices == {"large": Price(input=2.5, output=10.0, cached=0.25)}
    assert (endpoint.base_url, endpoint.timeout, endpoint.max_tokens, endpoint.retries) == (
        "http://127.0.0.1:8000/v1",
        60.0,
        9000,
        2,
    )
    assert endpoint.key.get_secret_value() == DUMMY_KEY


def test_named_model_serves_every_role_and_needs_no_file(tmp_path: Path) -> None:
    choice = settings(None, tmp_path, key="k").resolve("openai:org/model:free")
    assert choice.name == choice.model_for("coder") == "org/model:free"
    assert settings(TOML, tmp_path).resolve("openai:x").model_for("coder") == "x"


def test_environment_goes_before_the_file(tmp_path: Path) -> None:
    found = settings(TOML, tmp_path, url="http://localhost:1/v1", model="other")
    assert found.base_url == "http://localhost:1/v1"
    assert found.resolve(None).name == "other"


def test_without_a_key_the_built_in_model_answers(tmp_path: Path) -> None:
    assert settings(None, tmp_path).resolve(None).kind == "builtin"
    assert settings(None, tmp_path, key="k").resolve("builtin").spec == "builtin"


def test_key_without_a_models_name_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--model openai:NAME"):
        settings(None, tmp_path, key="k").resolve(None)


def test_named_model_without_key_and_address_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        settings(None, tmp_path).resolve("openai:gpt-x")


def test_recording_is_a_folder_that_is_there(tmp_path: Path) -> None:
    choice = settings(None, tmp_path).resolve(f"recorded:{tmp_path}")
    assert (choice.kind, choice.folder) == ("recorded", tmp_path)
    with pytest.raises(UsageError, match="recording not found"):
        settings(None, tmp_path).resolve(f"recorded:{tmp_path / 'absent'}")


@pytest.mark.parametrize("spec", ["", "openai", "openai:", "recorded:", "gpt-4o", "builtin:x", "Builtin"])
def test_anything_else_is_no_model(tmp_path: Path, spec: str) -> None:
    with pytest.raises(UsageError, match="unknown model"):
        settings(None, tmp_path, key="k").resolve(spec)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[models]\ntemperature = 1", r"2: unknown key 'temperature' in \[models\]"),
        (
            '[models]\napi_key = "sk"',
            r"2: unknown key 'api_key' in \[models\]; secrets belong in environment variables",
        ),
        ("[models.prices.x]\ninput = 1\noutput = 1\nper = 1", r"4: unknown key 'per' in \[models.prices.x\]"),
        ("[models.prices.x]\ninput = 1", "1: models.prices.x.output is missing"),
        ("[models]\ntimeout = -1", "2: models.timeout must be greater than 0, not -1"),
        ('[models]\nbase_url = "localhost:8000"', "2: models.base_url must start with http://"),
        ("[model]\nx = 1", "1: unknown key 'model'; did you mean 'models'?"),
        ("[models", "1: column 8: invalid TOML"),
    ],
)
def test_wrong_file_is_refused_with_its_keys_name(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        settings(text, tmp_path)


def test_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_settings(tmp_path / "bot.toml")


def test_key_is_in_no_representation(tmp_path: Path) -> None:
    found = settings(None, tmp_path, key="sk-test-42")
    endpoint = Endpoint.configured(found, found.resolve("openai:x"))
    assert "sk-test-42" not in repr(found) + repr(endpoint) + str(found.environment.model_dump())


def test_variables_and_credentials_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "openai_api_key").write_text("from-systemd\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_MODEL", "")
    found = Environment.read()
    assert found.openai_api_key is not None and found.openai_api_key.get_secret_value() == "from-systemd"
    assert (found.openai_base_url, found.openai_model) == ("http://127.0.0.1:1/v1", None)
    monkeypatch.setenv("OPENAI_BASE_URL", "127.0.0.1")
    with pytest.raises(UsageError, match=r"OPENAI_BASE_URL: .*http://"):
        Environment.read()
