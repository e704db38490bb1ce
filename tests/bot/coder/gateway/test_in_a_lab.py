"""The gateway from inside a real sandbox: the one way out, by the command `gateway`."""

import asyncio
import contextlib
import json
import sys
import uuid
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.docker import DockerSandbox
from sandbox.lab import LabHandle, LabLimits, LabRequest
from tests import needs
from tests.bot.coder.gateway.answers import TEXT, USAGE, answering
from tests.bot.coder.gateway.parts import Scene, good, scene
from tests.bot.models.parts import KEY

FORWARDER = Path(__file__).parents[4] / "sandbox" / "lab" / "forwarder.py"

PROBE = """
import glob, json, os, socket, sys, urllib.error, urllib.request
body, upstream = json.loads(sys.argv[1]), sys.argv[2]
def ask(url, body, **headers):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()
    except OSError as error:
        return "unreachable"
base = os.environ["OPENAI_BASE_URL"]
seen = [open(path, "rb").read().decode(errors="replace") for path in glob.glob("/proc/[0-9]*/environ") if os.access(path, 4)]
try:
    os.remove("/lab/.engine/gateway")
    removed = True
except OSError:
    removed = False
print(json.dumps({
    "whole": ask(base + "/chat/completions", body),
    "stream": ask(base + "/chat/completions", {**body, "stream": True}),
    "other": ask(base + "/files", body),
    "large": ask(base + "/chat/completions", {**body, "x": "x" * 20_000_000}),
    "host": ask(base + "/chat/completions", body, Host="elsewhere.example"),
    "direct": ask(upstream + "/chat/completions", body),
    "outside": ask("http://1.1.1.1/", body),
    "environment": seen, "removed": removed,
}))
"""


@contextlib.asynccontextmanager
async def opened(name: str, it: Scene) -> AsyncIterator[LabHandle]:
    """Open a lab whose folder the gateway's socket is in."""
    folder = it.socket.parent.parent
    sandbox = BubblewrapSandbox() if name == "bubblewrap" else DockerSandbox(f"test-{uuid.uuid4().hex}")
    limits = LabLimits(memory_bytes=512 * 1024**2, disk_bytes=50_000_000)
    async with sandbox.open_lab(LabRequest("lab3", folder, {}, limits, environment=it.gateway.environment)) as lab:
        yield lab


@pytest.mark.parametrize("name", ["bubblewrap", pytest.param("docker", marks=pytest.mark.integration)])
async def test_from_inside_nothing_but_the_model_is_reached(tmp_path: Path, name: str) -> None:
    (needs.docker if name == "docker" else needs.bubblewrap)()
    tmp_path.chmod(0o700)
    async with scene(tmp_path, answering) as it, opened(name, it) as lab:
        (tmp_path / "lab3" / "work" / "probe.py").write_text(PROBE)
        probe = f"gateway python3 probe.py '{json.dumps(good('chat'))}' {it.upstream.url} > seen.json"
        words = f"{probe}; echo $?; gateway false; echo $?"
        result = await lab.run(1, words, seconds=60, cpus=())
        assert result.output.split() == ["0", "1"], result
        seen = json.loads((tmp_path / "lab3" / "work" / "seen.json").read_text())
        assert json.loads(seen["whole"])["choices"][0]["message"]["content"] == TEXT
        assert "data: [DONE]" in seen["stream"]
        assert "only POST /v1/chat/completions is available" in seen["other"]
        assert "is longer than" in seen["large"], "the answer is read though the request was not taken whole"
        assert "accepts only its own host name" in seen["host"]
        assert seen["direct"] == seen["outside"] == "unreachable" and not seen["removed"]
        assert KEY not in str(seen) and any("OPENAI_API_KEY=none" in one for one in seen["environment"])
        assert len(it.upstream.came) == 2 and it.ledger.prompt_tokens == 2 * USAGE.prompt_tokens


async def forwarded(it: Scene | None, *words: str, path: Path | None = None, port: str = "0") -> tuple[int, str, str]:
    """Run a command by the forwarder on the host."""
    environment = {"GATEWAY_SOCKET": str(path or (it and it.socket)), "GATEWAY_PORT": port, "PATH": "/usr/bin:/bin"}
    process = await create_subprocess_exec(
        sys.executable, "-I", str(FORWARDER), *words, stdout=PIPE, stderr=PIPE, env=environment
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_the_command_ends_as_what_it_runs_ends(tmp_path: Path) -> None:
    async with scene(tmp_path, answering) as it:
        assert await forwarded(it, "sh", "-c", "echo out; echo err >&2; exit 5") == (5, "out\n", "err\n")
        assert (await forwarded(it, "sh", "-c", "kill -9 $$"))[0] == 137
        assert await forwarded(it, "no-such-program") == (
            127,
            "",
            "gateway: cannot run no-such-program: No such file or directory\n",
        )
        assert (await forwarded(it))[0] == 64
        status, _, err = await forwarded(None, "true", path=tmp_path / "none")
        assert (status, err) == (69, "gateway: this lab has no gateway\n")


async def test_a_signal_is_passed_on(tmp_path: Path) -> None:
    waits = "trap 'echo told; exit 3' TERM; kill -TERM $PPID; for i in $(seq 200); do sleep 0.05; done"
    async with scene(tmp_path, answering) as it:
        assert await forwarded(it, "sh", "-c", waits) == (3, "told\n", "")
