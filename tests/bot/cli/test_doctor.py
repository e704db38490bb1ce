"""`bot doctor`: one line a part, how to fix what fails, and an exit status."""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from bot.configuration import read_settings
from bot.doctor.machine import check_database, check_devices, check_disk, check_gpus, check_leases, check_toolkit
from bot.doctor.models import check_models
from bot.doctor.trial import Trial, attempt
from bot.execution.disk_space import DiskSettings
from bot.models.endpoint import Endpoint
from bot.models.settings import Environment, ModelChoice, ModelSettings
from sandbox.gpu import Gpus
from tests import needs
from tests.loopback import Loopback, body_of, http_server
from tests.sandbox.fake_nvml import FakeGpu, FakeNvml
from tests.scripted_endpoint import Reply, ScriptedEndpoint

KAGGLES = ("KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_CONFIG_DIR", "CREDENTIALS_DIRECTORY")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder, no key, and no Docker engine."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", *KAGGLES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    monkeypatch.chdir(tmp_path)


def doctor(*arguments: str) -> tuple[Result, dict[str, dict[str, str]]]:
    done = CliRunner().invoke(app, ["doctor", "--json", *arguments], catch_exceptions=False)
    return done, {check["part"]: check for check in json.loads(done.stdout)["checks"]}


def model_settings(path: Path | None = None) -> ModelSettings:
    return ModelSettings(Environment.read(), read_settings(path).models)


@contextmanager
def models_server(status: int, *names: str, answer: str | None = "```sh\necho alike\n```") -> Iterator[str]:
    def send(request: BaseHTTPRequestHandler, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def get(request: BaseHTTPRequestHandler) -> None:
        send(request, status, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})

    def post(request: BaseHTTPRequestHandler) -> None:
        body_of(request)
        usage = {"prompt_tokens": 3000, "completion_tokens": 120}
        send(request, 200, {"choices": [{"message": {"content": answer}}], "usage": usage})

    with Loopback(http_server(post=post, get=get)) as server:
        yield f"http://127.0.0.1:{server.port}/v1"


def test_every_part_is_checked_and_a_bare_machine_will_do(tmp_path: Path) -> None:
    done, checks = doctor()
    assert done.exit_code == 0, done.output
    assert {"machine", "environment", "bubblewrap", "Docker", "GPU", "model", "disk", "database", "leases"} <= set(
        checks
    )
    assert checks["Docker"]["status"] == "warning"
    assert "Cannot connect to a Docker engine" in checks["Docker"]["result"]
    assert checks["database"]["status"] == "ok"
    assert list(tmp_path.iterdir()) == [], "it leaves nothing behind"


def test_people_get_a_line_a_part_with_how_to_mend_it() -> None:
    done = CliRunner().invoke(app, ["doctor"], catch_exceptions=False)
    (line,) = [line for line in done.stdout.splitlines() if " Docker " in line]
    assert line.startswith("warning")
    assert "-> install and start Docker" in line


def test_without_any_sandbox_a_real_model_fails_and_the_built_in_one_is_warned_of(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "")
    done, checks = doctor()
    assert (done.exit_code, checks["isolation"]["status"]) == (0, "warning")
    with models_server(200, "gpt-x") as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_MODEL", "gpt-x")
        done, checks = doctor()
    assert (done.exit_code, checks["isolation"]["status"]) == (1, "fails")
    assert "bwrap is not installed" in checks["bubblewrap"]["result"]


def test_bubblewrap_that_works_is_ok() -> None:
    needs.bubblewrap()
    assert doctor()[1]["bubblewrap"]["status"] == "ok"


@pytest.mark.parametrize(
    ("status", "names", "verdict", "word"),
    [
        (200, ("gpt-x", "other"), "ok", "gpt-x at"),
        (200, ("other",), "warning", "does not list gpt-x"),
        (401, (), "fails", "rejects the key"),
        (404, (), "ok", "cannot list models: HTTP status"),
    ],
)
def test_the_models_endpoint_is_asked(monkeypatch, status, names, verdict, word) -> None:
    with models_server(status, *names) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_MODEL", "gpt-x")
        found = next(check_models(model_settings()))
    assert (found.status, word in found.result) == (verdict, True), found


@pytest.mark.parametrize(
    ("key", "noted"), [("EMPTY", True), ("sk-no-key-required", True), ("sk-4f9a1c77e2b05d38", False)]
)
def test_a_dummy_key_is_noted_and_fine_for_a_server_of_ones_own(monkeypatch, key, noted) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("OPENAI_MODEL", "gpt-x")
    with models_server(200, "gpt-x") as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        found = next(check_models(model_settings()))
    assert (found.status, "a dummy key" in found.result) == ("ok", noted), found


@pytest.mark.parametrize("url", [None, "https://api.openai.com/v1"])
def test_a_dummy_key_is_wrong_for_openai(monkeypatch: pytest.MonkeyPatch, url: str | None) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("OPENAI_MODEL", "gpt-x")
    if url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    found = next(check_models(model_settings()))
    assert (found.status, found.result) == ("fails", "OPENAI_API_KEY contains a dummy key, which OpenAI rejects")


def test_the_built_in_rules_are_fine_where_every_table_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    found = {
        names: next(check_models(model_settings(), names)).status for names in (("builtin",), ("builtin", None), ())
    }
    assert found == {("builtin",): "ok", ("builtin", None): "warning", (): "warning"}


def test_a_model_is_tried_with_one_short_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    call = {"function": {"name": "sh", "arguments": '{"command": "echo alike"}'}}
    monkeypatch.setenv("OPENAI_MODEL", "gpt-x")
    (tmp_path / "bot.toml").write_text("[models.prices]\ngpt-x = { input = 1.0, output = 10.0 }\n")
    with ScriptedEndpoint([Reply(calls=[call], prompt_tokens=3000, completion_tokens=150, delay=0.2)]) as endpoint:
        trial = asyncio.run(attempt_at(endpoint.url, tmp_path / "bot.toml"))
    (request,) = endpoint.requests
    assert request.body["max_tokens"] <= 200
    assert 9_000 <= sum(len(message["content"]) for message in request.body["messages"]) <= 15_000
    assert 0 < trial.tokens_per_second <= 150 / 0.2
    assert trial.cost_of_hour == pytest.approx((3000 * 1.0 + 150 * 10.0) / 1e6 * 3600 * trial.tokens_per_second / 150)
    assert (trial.abilities.streams, trial.abilities.calls_tools, trial.notices) == (True, True, ())


async def attempt_at(url: str, file: Path) -> Trial:
    settings = ModelSettings(Environment(openai_base_url=url), read_settings(file).models)
    endpoint = Endpoint.configured(settings, ModelChoice("openai", "gpt-x"))
    return await attempt(endpoint, settings.pricing_at(0), "coder")


@pytest.mark.parametrize("answer", [None, "", "<think>hm"])
def test_a_model_without_a_usable_answer_fails(monkeypatch: pytest.MonkeyPatch, answer: str | None) -> None:
    monkeypatch.setenv("OPENAI_MODEL", "gpt-x")
    with models_server(200, "gpt-x", answer=answer) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert next(check_models(model_settings())).status == "fails"


def test_an_endpoint_that_nobody_serves_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_MODEL", "gpt-x")
    assert next(check_models(model_settings())).status == "fails"


def test_every_endpoint_of_the_list_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tables = '[[models.fallback]]\nbase_url = "{}"\nmodel = "small"\nkey = "OTHER_API_KEY"\n'
    monkeypatch.setenv("OPENAI_MODEL", "gpt-x")
    monkeypatch.setenv("OTHER_API_KEY", "other-42")
    with models_server(200, "gpt-x") as first, models_server(200, "small") as second, models_server(401) as third:
        monkeypatch.setenv("OPENAI_BASE_URL", first)
        addresses = (second, third, "http://127.0.0.1:9/v1")
        (tmp_path / "bot.toml").write_text("".join(tables.format(url) for url in addresses))
        done, checks = doctor()
    found = [checks[part] for part in ("model", "fallback 1", "fallback 2", "fallback 3")]
    assert [check["status"] for check in found] == ["ok", "ok", "fails", "fails"]
    assert (done.exit_code, found[2]["fix"]) == (1, "check OTHER_API_KEY")
    assert found[3]["fix"] == "check `base_url` of fallback 3 under [models] in bot.toml and that the server is up"


def test_a_fallback_whose_key_is_not_set_is_reported_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_MODEL", "gpt-x")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.delenv("OTHER_API_KEY", raising=False)
    path = tmp_path / "bot.toml"
    path.write_text('[[models.fallback]]\nbase_url = "http://127.0.0.1:9/v1"\nkey = "OTHER_API_KEY"\n')
    assert "OTHER_API_KEY, which is not set" in (next(check_models(model_settings(path))).fix or "")
    assert len(list(check_models(model_settings(path)))) == 1


def test_every_mistake_of_the_configuration_fails_and_the_other_parts_are_checked_still(tmp_path: Path) -> None:
    assert doctor()[1]["configuration"]["result"] == "no bot.toml: all settings are at their defaults"
    (tmp_path / "bot.toml").write_text("[disk]\nfree = 1\n[weights]\noffer = 3\n")
    done = CliRunner().invoke(app, ["doctor", "--json"], catch_exceptions=False)
    checks = json.loads(done.stdout)["checks"]
    wrong = [check["result"] for check in checks if (check["part"], check["status"]) == ("configuration", "fails")]
    assert [found.split(" (")[0] for found in wrong] == [
        f"{tmp_path}/bot.toml:2: unknown key 'free' in [disk]; did you mean 'free_gb'?",
        f"{tmp_path}/bot.toml:4: weights.offer must be true or false, not 3",
    ]
    assert done.exit_code == 1
    assert {"Docker", "disk", "leases"} <= {check["part"] for check in checks}


def test_gpus_are_listed_with_their_driver() -> None:
    found, devices, toolkit = check_gpus(Gpus(FakeNvml(FakeGpu("GPU-a"))))
    assert (found.status, found.result) == ("ok", "driver 550.54.15: NVIDIA Fake 80 GiB (GPU-a)")
    assert (devices.part, toolkit.part) == ("GPU devices", "NVIDIA toolkit")
    assert [one.status for one in check_gpus(Gpus())] == ["ok"]
    assert [one.status for one in check_gpus(Gpus(FakeNvml(FakeGpu("GPU-a")), ""))] == ["warning"]


def test_the_device_files_must_be_there_for_everybody(tmp_path: Path) -> None:
    gpus = Gpus(FakeNvml(FakeGpu("GPU-a")))
    for name in ("nvidia0", "nvidiactl"):
        (tmp_path / name).touch(0o666)
        (tmp_path / name).chmod(0o666)
    assert next(check_devices(gpus, tmp_path)).result == "missing: nvidia-uvm"
    (tmp_path / "nvidia-uvm").touch()
    (tmp_path / "nvidia-uvm").chmod(0o660)
    assert next(check_devices(gpus, tmp_path)).result == "not readable and writable by all users: nvidia-uvm"
    (tmp_path / "nvidia-uvm").chmod(0o666)
    assert next(check_devices(gpus, tmp_path)).status == "ok"


@pytest.mark.parametrize(
    ("version", "runtimes", "status", "word"),
    [
        (None, None, "warning", "not installed"),
        ("1.17.7", ["runc", "nvidia"], "warning", "known container-escape vulnerability"),
        ("1.17.8", ["runc", "nvidia"], "ok", "1.17.8"),
        ("1.18.0", ["runc"], "warning", "not configured to use it"),
        ("1.18.0", None, "ok", "1.18.0"),
    ],
)
def test_the_container_toolkit_is_judged_by_its_version_and_by_what_the_engine_knows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str | None, runtimes, status: str, word: str
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    if version:
        (tmp_path / "nvidia-ctk").write_text(f"#!/bin/sh\necho 'NVIDIA Container Toolkit CLI version {version}'\n")
        (tmp_path / "nvidia-ctk").chmod(0o755)
    found = next(check_toolkit(runtimes))
    assert (found.status, word in found.result) == (status, True), found


def test_a_full_disk_and_a_folder_that_is_none_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert next(check_disk(tmp_path / "new" / "runs", DiskSettings(free_gb=1e9))).status == "fails"
    (tmp_path / "file").touch()
    assert next(check_database(tmp_path / "file")).status == "fails"
    monkeypatch.setenv("BOT_LEASES", str(tmp_path / "file" / "leases"))
    assert next(check_leases()).status == "fails"


def test_without_an_environment_it_says_what_scripts_lack_and_which_command_brings_it() -> None:
    _, checks = doctor()
    assert checks["environment"]["status"] == "warning"
    assert (
        "none: scripts use the bot's packages, which lack LightGBM, XGBoost, CatBoost and torch"
        in checks["environment"]["result"]
    )
    assert checks["environment"]["fix"].startswith("run bot env create")


def test_an_environment_that_is_configured_and_not_there_fails() -> None:
    Path("bot.toml").write_text('[sandbox]\nenvironment = "vision"\n')
    done, checks = doctor()
    assert done.exit_code == 1
    assert checks["environment"]["status"] == "fails"
    assert checks["environment"]["fix"].startswith("run bot env create vision")


def test_it_shows_what_a_script_may_use_and_warns_if_that_is_too_much() -> None:
    Path("bot.toml").write_text("[sandbox]\nmemory_gb = 1.5\ndisk_gb = 20\n")
    _, checks = doctor()
    assert checks["machine"]["status"] == "warning", "that is little"
    assert "each script may use 1.5 of" in checks["machine"]["result"]
    assert "write 20 GB" in checks["machine"]["result"]
    Path("bot.toml").write_text("[sandbox]\nmemory_gb = 1e6\n")
    assert "set memory_gb" in doctor()[1]["machine"]["fix"]
