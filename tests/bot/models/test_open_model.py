"""The list of endpoints from bot.toml: who is asked in which order, with which key, and what is refused at the start."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlmodel import select

from bot.agents.builtin import BuiltinModel
from bot.configuration import read_settings
from bot.models import CallLimits, Usage
from bot.models.ask import Asker
from bot.models.endpoint import Endpoint
from bot.models.open_model import OpenedModel, endpoint_name, open_model, record_change
from bot.models.settings import DUMMY_KEY, Environment, ModelSettings
from state.errors import ModelMisconfigured, ModelUnavailable, UsageError
from state.steps import Steps
from state.tables import Event
from tests.bot.models.parts import GOOD, KEY, RUN, HurriedClock, Question, open_run
from tests.scripted_endpoint import Reply, ScriptedEndpoint, failure

OTHER_KEY = "other-4242424242424242"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that the machine's owner set is seen."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "OTHER_API_KEY", "CREDENTIALS_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)


def settings(folder: Path, text: str, url: str = "http://127.0.0.1:9/v1", key: str | None = KEY) -> ModelSettings:
    path = folder / "bot.toml"
    path.write_text(text)
    secret = None if key is None else SecretStr(key)
    return ModelSettings(Environment(openai_base_url=url, openai_api_key=secret), read_settings(path).models)


def fallback(url: str, more: str = "") -> str:
    return f'[models]\nmodel = "gpt-x"\nretries = 0\n[[models.fallback]]\nbase_url = "{url}"\n{more}\n'


def builtin() -> BuiltinModel:
    return BuiltinModel(1)


async def answered_by(found: ModelSettings, **options: float) -> tuple[str, OpenedModel]:
    clock = HurriedClock()
    cap = options.pop("max_cost", None)
    async with open_model(found.resolve(None), found, clock, builtin=builtin, max_cost=cap) as opened:
        got = await opened.model.complete(
            Question(f"is {KEY} or {OTHER_KEY} right?"), role="coder", limits=CallLimits()
        )
        return got.model, opened


@contextmanager
def two(first: Reply | str, second: Reply | str) -> Iterator[tuple[ScriptedEndpoint, ScriptedEndpoint]]:
    with ScriptedEndpoint([first]) as one, ScriptedEndpoint([second]) as other:
        yield one, other


async def test_a_fallback_has_its_own_address_model_and_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", OTHER_KEY)
    with two(failure(503, "down"), GOOD) as (first, second):
        text = fallback(second.url, 'model = "small"\nroles.coder = "big"\nkey = "OTHER_API_KEY"')
        assert (await answered_by(settings(tmp_path, text, first.url)))[0] == "big"
    assert first.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert second.requests[0].headers["authorization"] == f"Bearer {OTHER_KEY}"
    assert {r.last for r in (*first.requests, *second.requests)} == {"is [secret] or [secret] right?"}, (
        "of the other one too"
    )


async def test_the_first_ones_key_is_not_sent_to_another_address(tmp_path: Path) -> None:
    with two(failure(503, "down"), GOOD) as (first, second):
        await answered_by(settings(tmp_path, fallback(second.url), first.url))
    assert second.requests[0].headers["authorization"] == f"Bearer {DUMMY_KEY}"
    assert second.requests[0].body["model"] == "gpt-x", "named as at the first endpoint"


async def test_another_model_at_the_same_address_has_its_key(tmp_path: Path) -> None:
    text = '[models]\nmodel = "gpt-x"\nroles.coder = "gpt-xl"\n[[models.fallback]]\nmodel = "small"\n'
    bad = failure(404, "no such model", "model_not_found")
    with ScriptedEndpoint(lambda request: Reply(GOOD) if request.body["model"] == "small" else bad) as one:
        assert (await answered_by(settings(tmp_path, text, one.url)))[0] == "small"
    assert {r.headers["authorization"] for r in one.requests} == {f"Bearer {KEY}"}


async def test_the_built_in_model_is_last_only_where_it_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"^(?!.*builtin)"):
        await answered_by(settings(tmp_path, '[models]\nmodel = "gpt-x"\nretries = 0'))
    allowed = '[models]\nmodel = "gpt-x"\nretries = 0\nbuiltin_last = true'
    with pytest.raises(ModelUnavailable, match="builtin: the built-in model has no rule for the prompt 'question'"):
        await answered_by(settings(tmp_path, allowed))


async def test_advice_names_the_place_where_the_wrong_thing_is_set(tmp_path: Path) -> None:
    wrong = failure(401, "wrong key")
    with two(wrong, wrong) as (first, second):
        match = r"check OPENAI_API_KEY; fallback 1 \(gpt-x at .*check `key` of fallback 1 under \[models\]"
        with pytest.raises(ModelMisconfigured, match=match):
            await answered_by(settings(tmp_path, fallback(second.url), first.url))


async def test_unknown_price_of_any_refuses_to_start_under_a_cap(tmp_path: Path) -> None:
    prices = '[models.prices."gpt-x"]\ninput = 1\noutput = 10\n'
    with two(GOOD, GOOD) as (first, second):
        text = fallback(second.url, 'model = "made-up"')
        with pytest.raises(UsageError, match="price of made-up is unknown"):
            await answered_by(settings(tmp_path, text + prices, first.url), max_cost=1.0)
        own = 'model = "made-up"\nprices."made-up" = {input = 2, output = 20}'
        found = settings(tmp_path, fallback(second.url, own) + prices, first.url)
        _, opened = await answered_by(found, max_cost=1.0)
    assert opened.estimate("coder", Usage(0, 1_000_000)) == 20.0


def test_settings_that_a_fallback_leaves_out_are_the_first_ones(tmp_path: Path) -> None:
    text = '[models]\nmodel = "m"\ntimeout = 7\nretries = 3\nmax_tokens = 9\n[[models.fallback]]\nmodel = "n"\n'
    text += '[[models.fallback]]\nbase_url = "https://h/v1"\ntimeout = 1\nretries = 0\n'
    found = settings(tmp_path, text)
    one, two = (Endpoint.configured(found, found.resolve(None), n) for n in (1, 2))
    assert (one.timeout, one.retries, one.max_tokens, one.base_url) == (7.0, 3, 9, found.base_url)
    assert (two.timeout, two.retries, two.max_tokens, two.base_url) == (1.0, 0, 9, "https://h/v1")
    assert found.resolve("openai:x").spec == "openai:x"


def test_key_that_is_not_set_is_refused_where_it_would_be_needed(tmp_path: Path) -> None:
    found = settings(tmp_path, fallback("http://h/v1", 'key = "OTHER_API_KEY"'))
    for spec in (None, "openai:x"):
        with pytest.raises(
            UsageError, match=r"fallback 1 under .* reads its key from OTHER_API_KEY, which is not set: set it"
        ):
            found.resolve(spec)
    assert found.resolve("builtin").kind == "builtin"


def test_key_is_found_among_systemds_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / "other_api_key").write_text(f"{OTHER_KEY}\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    found = settings(tmp_path, fallback("http://h/v1", 'key = "OTHER_API_KEY"'))
    assert found.key_at(1).get_secret_value() == OTHER_KEY
    assert OTHER_KEY not in repr(found) + repr(Endpoint.configured(found, found.resolve(None), 1))


@pytest.mark.parametrize("content", ["", "\n"])
def test_a_credential_whose_file_is_empty_counts_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    folder = tmp_path / "credentials"
    folder.mkdir()
    for name in ("OPENAI_API_KEY", "OTHER_API_KEY"):
        (folder / name).write_text(content)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    assert Environment.read().openai_api_key is None
    assert Environment.read().key("OTHER_API_KEY") is None
    monkeypatch.setenv("OPENAI_API_KEY", "sk-42")
    found = Environment.read().openai_api_key
    assert found is not None
    assert found.get_secret_value() == "sk-42"


@pytest.mark.parametrize("value", ["sk\n42", "sk-ключ", " "])
def test_key_that_could_not_be_sent_is_refused_without_being_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", value)
    with pytest.raises(UsageError, match=r"^OTHER_API_KEY: .*is empty or contains invalid characters$"):
        settings(tmp_path, fallback("http://h/v1", 'key = "OTHER_API_KEY"')).resolve(None)
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(UsageError, match=r"^OPENAI_API_KEY: .*is empty or contains invalid characters$"):
        Environment.read()


def test_line_end_behind_a_key_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\r\n")
    found = Environment.read().openai_api_key
    assert found is not None and found.get_secret_value() == KEY


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ('base_url = "h/v1"', "4: models.fallback.1.base_url must start with http://"),
        ('base_url = "http:///v1"', "4: models.fallback.1.base_url must contain a host"),
        ('base_url = "http://h:99999/v1"', "4: models.fallback.1.base_url must contain a host; a port"),
        (
            'base_url = "http://h/v1"\nkey = "other-42"',
            r"5: models.fallback.1.key must be the name of an environment variable(?!.*42)",
        ),
        (
            'base_url = "http://h/v1"\nkey = "sk-s3cret"',
            r"5: models.fallback.1.key contains a model's API key(?!.*sk-s3cret)",
        ),
        ('base_url = "http://h/v1"\napi_key = "s"', r"5: unknown key 'api_key' in \[models\.fallback\.1\]"),
        ("timeout = 5", "3: models.fallback.1 repeats the first endpoint"),
        ('model = "n"\ntimeout = 0', "5: models.fallback.1.timeout must be greater than 0, not 0"),
    ],
)
def test_wrong_fallback_is_refused_with_what_is_wrong(tmp_path: Path, table: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        settings(tmp_path, f'[models]\nmodel = "m"\n[[models.fallback]]\n{table}')


def test_fallbacks_without_a_first_endpoint_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bot.toml"
    path.write_text('[[models.fallback]]\nbase_url = "http://h/v1"\nmodel = "m"')
    with pytest.raises(UsageError, match="no first endpoint: set OPENAI_API_KEY"):
        ModelSettings(Environment(), read_settings(path).models).resolve(None)


async def test_change_of_who_answers_is_a_line_and_an_event_of_the_run(tmp_path: Path) -> None:
    said: list[str] = []
    clock = HurriedClock()
    with open_run(tmp_path) as store, two(failure(503, "down"), GOOD) as (first, second):
        found = settings(tmp_path, fallback(second.url), first.url)
        told = record_change(store, RUN, said.append)
        async with open_model(
            found.resolve(None), found, clock, builtin=builtin, max_cost=None, on_change=told
        ) as opened:
            asker = Asker(opened.model, store, RUN, clock, Steps(store, RUN), estimate=opened.estimate)
            await asker.ask(Question(), role="coder", name="q")
        with store.read() as session:
            (event,) = session.exec(select(Event).where(Event.type == "model.changed")).all()
    before, after = f"gpt-x at {endpoint_name(first.url)}", f"fallback 1 (gpt-x at {endpoint_name(second.url)})"
    why = f"{before}: the endpoint returned status 503 for gpt-x: down (attempts: 1)"
    assert event.data == {"before": before, "after": after, "reason": why}
    assert said == [f"model: {after} replaces {before}: {why}"]


def test_an_endpoints_name_holds_no_password() -> None:
    assert endpoint_name("https://me:secret@h.example:8443/v1") == "h.example:8443"
    assert (endpoint_name("https://h.example/v1"), endpoint_name(None)) == ("h.example", "OpenAI")
