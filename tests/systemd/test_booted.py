"""The service on a machine that systemd runs: installed by our own command, started, hung, killed, misconfigured, removed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.service.files import CONFIGURATION, CREDENTIALS, PRUNE, SERVICE, STATE, TIMER, UNITS
from tests import needs
from tests.systemd.container import ENGINE, PREFIX, SOURCE, Booted, booted

pytestmark = pytest.mark.integration

ONE = '[daemon]\ndir = "/var/lib/kaggle-bot"\n[competitions.titanic]\n'
"""A configuration that is right; Kaggle cannot be reached from here."""
QUICK = "[Service]\nWatchdogSec=6s\nRestartSec=1s\nTimeoutAbortSec=5s\n"
"""The unit's own times are right for a service, and too long for a test."""
BOT_TOML = CONFIGURATION / "bot.toml"
CACHE = Path("/var/cache/kaggle-bot")
TOKEN = "KGAT_token_that_only_the_service_may_read"
OTHER = "json://token-of-another-name@localhost"
LOOKING = f"""
import os
from pathlib import Path
folder = Path(os.environ["CREDENTIALS_DIRECTORY"])
print(", ".join(f"{{path.name}} {{path.stat().st_size}}" for path in sorted(folder.iterdir())))
try:
    print(list(Path("{CREDENTIALS}").iterdir()))
except OSError as error:
    print("no", type(error).__name__)
print(os.access("{STATE}", os.W_OK), os.access("{BOT_TOML}", os.W_OK), os.access("/root", os.R_OK))
"""
ENGINE_ANSWERS = """
from sandbox.image.engine import EngineError, connect
try:
    with connect() as engine:
        print("it answers" if engine.ping() else "it does not")
except EngineError as error:
    print(error)
"""
PROBE = """
import sys, tempfile
from pathlib import Path
from sandbox import ExecutionRequest, Limits
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.execution import execute
from sandbox.supervise import stop_signal
sandbox = BubblewrapSandbox()
assert sandbox.problem() is None, sandbox.problem()
SCRIPT = '''
import os, socket, threading
import numpy
threads = [threading.Thread(target=lambda: numpy.ones((200, 200)) @ numpy.ones((200, 200))) for _ in range(4)]
[one.start() for one in threads], [one.join() for one in threads]
print(len(threads), "threads, root", sorted(os.listdir("/")), "environment", sorted(os.environ))
'''
with tempfile.TemporaryDirectory() as folder, stop_signal() as stop:
    view = Path(folder, "view")
    view.mkdir()
    outcome = execute(sandbox, ExecutionRequest("one", SCRIPT, view, Path(folder, "out"), Limits(60)), stop)
print(outcome.reason, outcome.detail, outcome.output)
"""


@pytest.fixture(scope="module")
def fresh() -> Iterator[Booted]:
    """A machine, at first without the service."""
    needs.root()
    with booted() as machine:
        yield machine


@pytest.fixture
def machine(fresh: Booted) -> Booted:
    """A machine with the service as our command installs it, but for its times."""
    if fresh.run("test", "-f", UNITS / SERVICE, status=None).status != 0:
        fresh.write(CREDENTIALS / "KAGGLE_API_TOKEN", TOKEN)
        fresh.write(CREDENTIALS / "TEAMS_URL", OTHER)
        fresh.write(CONFIGURATION / "environment", f"PYTHONPATH={SOURCE}\n")
        fresh.bot("service", "install")
        fresh.write(UNITS / f"{SERVICE}.d" / "test.conf", QUICK)
        fresh.systemctl("daemon-reload")
    return fresh


@pytest.fixture
def running(machine: Booted) -> Booted:
    """The service runs."""
    machine.write(BOT_TOML, ONE)
    machine.systemctl("start", SERVICE)
    return machine


def process(machine: Booted) -> int:
    return int(machine.show(SERVICE, "MainPID"))


def restarts(machine: Booted) -> int:
    return int(machine.show(SERVICE, "NRestarts"))


def wait_for_restart(machine: Booted, before: int) -> None:
    """Wait until the service runs again that was this process before."""

    def runs_again() -> bool:
        return machine.show(SERVICE, "ActiveState") == "active" and process(machine) not in {0, before}

    machine.until(runs_again, "it has been restarted")


def once(machine: Booted, code: str, drop_in: str = "") -> str:
    """Run code once in place of the service, under all that its unit says; return what it printed."""
    name, file = "once.service", Path("/srv/once.py")
    machine.write(file, code)
    unit = machine.read(UNITS / SERVICE)
    kept = re.sub(r"^(Type|NotifyAccess|ExecStart|ExecReload|Watchdog|Restart)\S*=.*\n", "", unit, flags=re.MULTILINE)
    machine.write(UNITS / name, f"{kept}\n[Service]\nType=oneshot\nExecStart={PREFIX}/bin/python3 {file}\n")
    machine.write(UNITS / f"{name}.d" / "more.conf", drop_in)
    machine.systemctl("daemon-reload")
    machine.systemctl("start", name, status=None)
    said = machine.journal(name).rpartition(f"Starting {name}")[2]
    assert machine.show(name, "Result") == "success", said
    return said


def test_a_second_installation_changes_nothing(machine: Booted) -> None:
    def files() -> str:
        found = ("find", "/etc/systemd", CONFIGURATION, "-type", "f", "-exec", "sha256sum", "{}", "+")
        return machine.run(*found).stdout

    before = files()
    machine.bot("service", "install")
    assert files() == before
    assert machine.show(SERVICE, "UnitFileState") == "enabled"
    assert machine.show(TIMER, "ActiveState") == "active"
    assert machine.run("id", "kaggle-bot").stdout.startswith("uid=")


@pytest.mark.parametrize("unit", [SERVICE, PRUNE])
def test_systemd_says_of_the_loaded_unit_that_little_is_exposed(machine: Booted, unit: str) -> None:
    said = machine.run("systemd-analyze", "security", "--no-pager", unit).stdout
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", said)
    assert found, said
    assert float(found[1]) <= 3.0


def test_it_is_started_when_it_says_that_it_is_ready(running: Booted) -> None:
    assert running.show(SERVICE, "ActiveState") == "active"
    assert running.show(SERVICE, "StatusText").startswith("competitions: 1 ")
    owner = running.run("stat", "-c", "%U %a", STATE, STATE / "bot.db", CACHE).stdout.split("\n")
    assert owner[:3] == ["kaggle-bot 700", "kaggle-bot 600", "kaggle-bot 700"]
    shown = running.bot("service", "status").stdout
    assert f"Main PID: {process(running)} " in shown
    assert 'Status: "competitions: 1 ' in shown
    assert "problem: " not in shown


def test_its_watchdog_is_fed(running: Booted) -> None:
    seen = set()

    def fed() -> bool:
        seen.add(running.show(SERVICE, "WatchdogTimestampMonotonic"))
        return len(seen) > 3

    before = process(running)
    running.until(fed, "the watchdog is fed")
    assert process(running) == before


def test_a_new_configuration_is_read_without_a_restart(running: Booted) -> None:
    before = process(running)
    running.write(BOT_TOML, f"{ONE}[competitions.spooky]\n")
    running.systemctl("reload", SERVICE)
    running.until(lambda: running.show(SERVICE, "StatusText").startswith("competitions: 2 "), "it has read the file")
    assert process(running) == before


def test_one_that_hangs_is_ended_and_started_again(running: Booted) -> None:
    before, count = process(running), restarts(running)
    running.run("kill", "-STOP", str(before))
    wait_for_restart(running, before)
    assert restarts(running) == count + 1
    said = running.journal(SERVICE)
    assert "Watchdog timeout" in said
    assert "Fatal Python error: Aborted" in said  # where it hung


def test_one_that_is_killed_is_started_again(running: Booted) -> None:
    before, count = process(running), restarts(running)
    running.run("kill", "-KILL", str(before))
    wait_for_restart(running, before)
    assert restarts(running) == count + 1


def test_asked_to_stop_it_ends_in_order(running: Booted) -> None:
    running.systemctl("stop", SERVICE)
    assert running.show(SERVICE, "ActiveState") == "inactive", running.journal(SERVICE)[-2000:]
    assert running.show(SERVICE, "Result") == "success"
    assert running.show(SERVICE, "ExecMainStatus") == "0"


def test_credentials_are_the_services_alone(running: Booted) -> None:
    folder = Path("/run/credentials") / SERVICE
    for name, text in {"KAGGLE_API_TOKEN": TOKEN, "TEAMS_URL": OTHER}.items():
        assert running.run("runuser", "-u", "kaggle-bot", "--", "cat", folder / name).stdout == text
        for place in (folder, CREDENTIALS):
            assert running.run("cat", place / name, user="nobody", status=1).stdout == ""
    assert TOKEN not in running.systemctl("show", SERVICE) + running.journal(SERVICE)


def test_the_service_sees_its_credentials_and_not_the_files_that_they_come_from(machine: Booted) -> None:
    said = once(machine, LOOKING)
    assert f"KAGGLE_API_TOKEN {len(TOKEN)}, MAIL_URL 0, OPENAI_API_KEY 0, SLACK_URL 0" in said
    assert "no PermissionError" in said
    assert "True False False" in said


def test_a_wrong_configuration_ends_it_once_with_78(machine: Booted) -> None:
    machine.systemctl("stop", SERVICE)
    machine.write(BOT_TOML, "[daemon]\nno_such_key = 1\n")
    machine.systemctl("start", SERVICE, status=1)
    assert machine.show(SERVICE, "ExecMainStatus") == "78"
    # One that is to be restarted is `activating (auto-restart)`.
    assert (machine.show(SERVICE, "ActiveState"), machine.show(SERVICE, "SubState")) == ("failed", "failed")
    assert machine.show(SERVICE, "NRestarts") == "0"
    assert "status=78" in machine.bot("service", "status", status=1).stdout
    assert "no_such_key" in machine.journal(SERVICE)


def test_a_credential_whose_file_is_gone_ends_it_once_and_installing_mends_it(machine: Booted) -> None:
    machine.systemctl("stop", SERVICE)
    machine.write(BOT_TOML, ONE)
    machine.run("rm", CREDENTIALS / "SLACK_URL")
    machine.systemctl("start", SERVICE, status=1)
    assert (machine.show(SERVICE, "ExecMainStatus"), machine.show(SERVICE, "SubState")) == ("243", "failed")
    machine.bot("service", "install")
    machine.systemctl("start", SERVICE)


def test_scripts_run_in_bubblewrap_below_the_service(machine: Booted) -> None:
    said = once(machine, PROBE)
    assert "finished None 4 threads" in said
    assert "TOKEN" not in said
    assert "root ['bin', 'dev', 'etc', 'lib', 'lib64', 'opt', 'proc', 'sbin', 'solution', 'tmp', 'usr']" in said


def test_the_docker_engine_answers_the_service_with_its_drop_in_alone(machine: Booted) -> None:
    group = machine.run("stat", "-c", "%g", ENGINE).stdout.strip()
    if group == "0":
        needs.missing("the engine's socket has no group of its own (docker)")
    machine.run("groupadd", "--gid", group, "docker")
    machine.bot("service", "install", "--docker")
    drop_in = machine.read(UNITS / f"{SERVICE}.d" / "docker.conf")
    address = f"[Service]\nEnvironment=DOCKER_HOST=unix://{ENGINE}\n"
    assert "this user may not use it" in once(machine, ENGINE_ANSWERS, address)
    assert "it answers" in once(machine, ENGINE_ANSWERS, drop_in + address)


def test_old_runs_are_pruned(machine: Booted) -> None:
    machine.write(BOT_TOML, ONE)
    runs = STATE / "runs" / "old"
    make = f"mkdir -p {runs}/views && cd {runs} && touch views/train.csv config.json && touch -d 2020-01-01 result.json"
    machine.run("runuser", "-u", "kaggle-bot", "--", "sh", "-c", make)
    machine.systemctl("start", PRUNE)
    assert machine.run("ls", runs).stdout.split() == ["config.json", "result.json"]
    assert f"removed {runs}/views" in machine.journal(PRUNE)


def test_uninstalled_it_leaves_configuration_and_state_alone(machine: Booted) -> None:
    machine.systemctl("start", SERVICE)
    machine.run("rm", UNITS / f"{SERVICE}.d" / "test.conf")
    machine.bot("service", "uninstall")
    assert machine.show(SERVICE, "ActiveState") == machine.show(TIMER, "ActiveState") == "inactive"
    assert machine.run("find", "/etc", "-name", "*kaggle-bot*").stdout.split() == [str(CONFIGURATION)]
    assert machine.run("test", "-f", STATE / "bot.db").status == 0
    machine.bot("service", "uninstall")
    assert "not installed" in machine.bot("service", "status", status=1).stdout
