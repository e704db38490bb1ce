"""Two daemons on one account: one runs, and the other ends at once with a sentence, whatever their folders and users."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from bot.cli.run import EX_CONFIG
from tests import needs
from tests.bot.daemon.rehearsing import wait_for
from tests.source_tree import ROOT

NOBODY = 65534
# It may read what this user may, as the interpreter lies in no place that all can read; its user is another all the same.
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
READING = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "KAGGLE_API_TOKEN": "KGAT_" + "0a" * 16,
    }


def configure(file: Path, slugs: Sequence[str], port: int, more: str = "") -> Path:
    """Write a bot.toml whose site does not answer: a daemon waits for it, and works all the same."""
    tables = "".join(f'[competitions.{slug}]\nmodel = "builtin"\nmetric = "log_loss"\n' for slug in slugs)
    file.write_text(
        f'[run]\nsandbox = "process"\n[daemon]\n{more}[kaggle]\nurl = "http://127.0.0.1:{port}/v1"\n{tables}'
    )
    return file


@pytest.fixture
def port() -> Iterator[int]:
    """A port that nobody listens at, and no other process takes."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@contextmanager
def daemon(
    config: str | Path, folder: Path, slug: str, become: Sequence[str] = ()
) -> Iterator["subprocess.Popen[str]"]:
    """Have a daemon run that was started in a folder, the user's home; it works on a competition, and waits for the site."""
    log = folder / "log"
    with log.open("w") as stderr:
        command = [*become, sys.executable, "-m", "bot", "run", "--config", str(config)]
        process = subprocess.Popen(command, cwd=folder, env=environment(folder), stderr=stderr, text=True)
    try:
        wait_for(lambda: f'"competition": "{slug}"' in log.read_text(), 60, process)
        yield process
    finally:
        process.kill()
        process.wait()


def second(config: str | Path, folder: Path, become: Sequence[str] = ()) -> str:
    """Start another daemon, which must end at once; return its sentence."""
    command = [*become, sys.executable, "-m", "bot", "run", "--config", str(config)]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == EX_CONFIG, done.stderr
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.integration
def test_of_two_daemons_of_one_file_started_in_two_folders_one_runs(tmp_path: Path, port: int) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    configure(tmp_path / "shared.toml", ["titanic"], port, 'dir = "state"\n')
    with daemon("../shared.toml", one, "titanic"):
        assert second("../shared.toml", other) == (
            f"bot: another daemon is running in {tmp_path / 'state'}: stop it first, or set a different [daemon] dir"
        )
    assert (tmp_path / "state" / "bot.db").is_file()


@pytest.mark.integration
def test_of_two_daemons_of_two_users_one_runs(tmp_path_factory: pytest.TempPathFactory, port: int) -> None:
    needs.root()
    with ExitStack() as stack:
        own = tmp_path_factory.mktemp("own")
        theirs = Path(stack.enter_context(_everybodys_folder()))
        config = configure(theirs / "shared.toml", ["titanic"], port)
        config.chmod(0o644)
        become = (*AS_NOBODY, *READING)
        with daemon(config, theirs, "titanic", become):
            refusal = second(config, own)
            assert refusal.startswith("bot: another process is already working on titanic ")
        with daemon(config, own, "titanic"):
            assert second(config, theirs, become).startswith("bot: another process is already working on titanic ")


@pytest.mark.integration
def test_a_competition_that_is_added_while_another_daemon_works_on_it_is_left_alone_with_a_warning(tmp_path, port):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    configure(one / "bot.toml", ["titanic"], port)
    configure(other / "bot.toml", ["spooky"], port)
    with daemon("bot.toml", other, "spooky") as asked:
        with daemon("bot.toml", one, "titanic") as holder:
            configure(other / "bot.toml", ["spooky", "titanic"], port)
            asked.send_signal(signal.SIGHUP)
            left_alone = "skipped: another process is already working on titanic"
            wait_for(lambda: left_alone in (other / "log").read_text(), 60, asked)
            wait_for(lambda: "another process is already working on titanic" in _status(other), 60, asked)
            # A table that is gone lets others work on it.
            configure(one / "bot.toml", ["leaf"], port)
            holder.send_signal(signal.SIGHUP)
            wait_for(lambda: '"competition": "leaf"' in (one / "log").read_text(), 60, holder)
        asked.send_signal(signal.SIGHUP)
        wait_for(lambda: '"waiting: ' in (other / "log").read_text().rpartition(left_alone)[2], 60, asked)
        assert "works on titanic" not in _status(other)
        assert second("../other/bot.toml", one).startswith("bot: another process is already working on spooky ")
        assert "running since" in _status(other)
    assert "stopped unexpectedly" in _status(other)


def _status(folder: Path) -> str:
    command = [sys.executable, "-m", "bot", "status"]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=60)
    return " ".join(done.stdout.split())


@contextmanager
def _everybodys_folder() -> Iterator[str]:
    """Have a folder that belongs to nobody, and that all may reach."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chown(folder, NOBODY, NOBODY)
        yield folder
