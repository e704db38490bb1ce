"""A lab on a node: its socket leads to the engine, its files come home, and it is opened again where its node dies."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot.fleet.cluster import Cluster
from bot.fleet.fleet_sandbox import FleetSandbox
from bot.fleet.leases import Fleet
from sandbox import Lease
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.lab import LabDied, LabHandle, LabLimits, LabPlace, LabRequest
from sandbox.lab.lab_socket import Listener, receive
from sandbox.leases import Leases, leases_folder
from sandbox.settings import FleetSettings, SandboxSettings
from state.redaction import Redactor
from tests.bot.fleet.nodes import MEMORY, Nodes

pytestmark = pytest.mark.integration
SECRET = "sk-4f9aQz81LmXr02Tt"
ASKS = """
import socket
with socket.socket(socket.AF_UNIX) as engine:
    engine.connect("/lab/.engine/socket")
    engine.sendall(b"x" * 3_000_000 + b".")
    print(engine.recv(100).decode())
"""


@dataclass
class Place:
    """A fleet's sandbox and leases, and a lab's folder."""

    sandbox: FleetSandbox
    leases: Leases
    folder: Path
    place: LabPlace = field(default_factory=LabPlace)

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Lease]:
        async with self.leases.hold(1, 0, seconds=300, memory_bytes=MEMORY // 4, lab=self.place) as lease:
            yield lease

    @asynccontextmanager
    async def lab(self) -> AsyncIterator[tuple[LabHandle, Lease]]:
        lab = self.folder / "labs" / "lab"
        request = LabRequest(
            "lab",
            lab,
            {"data": self.folder / "view", "community": lab / "community"},
            LabLimits(MEMORY // 4, 100_000_000),
            redactor=Redactor({SECRET: "A_KEY"}),
        )
        async with self.lease() as lease, self.sandbox.open_lab(replace(request, lease=lease)) as opened:
            self.place.node = opened.node
            yield opened, lease


@pytest.fixture
def place(nodes: Nodes, tmp_path: Path) -> Iterator[Place]:
    tmp_path.chmod(0o755)
    (tmp_path / "view").mkdir()
    (tmp_path / "view" / "table.csv").write_text("a table of its own")
    (tmp_path / "labs" / "lab" / "community").mkdir(parents=True)
    (tmp_path / "labs" / "lab" / "work").mkdir()
    (tmp_path / "labs" / "lab" / "work" / "solution.py").write_text("print('inherited')")
    (tmp_path / "labs" / "lab" / "work" / "link").symlink_to("/etc/hostname")
    with closing(Cluster.connect(nodes.address)) as cluster:
        settings = FleetSettings(address="auto", free_gb=0.1)
        fleet = Fleet(cluster, settings, SandboxSettings(), Leases(leases_folder()))
        sandbox, leases = fleet.placing(BubblewrapSandbox())
        assert isinstance(sandbox, FleetSandbox)
        yield Place(sandbox, leases, tmp_path)


async def answered(connection: socket.socket) -> None:
    """Answer what ends with a dot by how long it is."""
    size = 0
    while part := await receive(connection, 1 << 18):
        size += len(part)
        if part.endswith(b"."):
            break
    await asyncio.get_running_loop().sock_sendall(connection, f"{size} bytes came".encode())


async def test_a_lab_on_a_node_is_as_one_here(place: Place, nodes: Nodes):
    folder = place.folder / "labs" / "lab"
    listener = Listener(folder / "socket" / "socket", answered, limit=4)
    async with listener, place.lab() as (lab, lease):
        cores = ",".join(map(str, lease.cpus))
        one = {"seconds": 60.0, "cpus": lease.cpus}
        looks = "cat data/table.csv; python solution.py; ls; taskset -cp $$ | sed 's/.*: //'"
        seen = (await lab.run(1, looks, **one)).output
        assert "a table of its own" in seen and "inherited" in seen and "link" not in seen
        assert len(lease.cpus) == 1 and seen.endswith(f"\n{cores}\n")

        # The socket leads to the engine, and what the engine writes is found.
        (folder / "community" / "news.md").write_text("something new")
        asks = f"cat > ask.py <<'EOF'{ASKS}EOF\npython ask.py; cat /lab/community/news.md; echo {SECRET} >&2; false"
        result = await lab.run(2, asks, **one)
        assert (result.exit_code, "3000001 bytes came\nsomething new" in result.output) == (1, True), result
        assert (folder / "logs" / "2.txt").read_text() == result.output.replace(SECRET, "[secret]")

        # Small files are at home after a command, large ones when they are asked for; what is removed is so here.
        makes = (
            "mkdir sub; echo note > sub/note; head -c 20000000 /dev/urandom > large; ln -s /etc/passwd away; rm ask.py"
        )
        await lab.run(3, makes, **one)
        assert sorted(p.name for p in (folder / "work").rglob("*") if p.is_file()) == ["note", "solution.py"]
        await lab.sync_work_folder()
        assert (folder / "work" / "large").stat().st_size == 20_000_000
        assert not (folder / "work" / "away").is_symlink()

        # Time and cancelling end a command, not the lab; what goes on in the background is waited for.
        assert (await lab.run(4, "sleep 60", seconds=1, cpus=lease.cpus)).timed_out
        sleeping = asyncio.create_task(lab.run(5, "touch begun; sleep 600", **one))
        while not list(nodes.folder.glob("n*/fleet/slots/*/labs/lab/work/begun")):
            await asyncio.sleep(0.1)
        sleeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeping
        assert (await lab.run(6, "(sleep 2; echo late > late) & true", **one)).jobs
        await asyncio.wait_for(lab.wait_idle(), 60)
        await lab.sync_work_folder()
        assert (folder / "work" / "late").read_text() == "late\n"
    assert not lab.alive
    with pytest.raises(LabDied):
        await lab.run(7, "true", **one)


async def test_a_lab_whose_node_dies_is_opened_again_elsewhere_with_what_was_brought_home(place: Place, nodes: Nodes):
    place.place.node = nodes.nodes["n1"].node_id
    folder = place.folder / "labs" / "lab"
    async with AsyncExitStack() as stack:
        lab, lease = await stack.enter_async_context(place.lab())
        await lab.run(1, "echo small > small; yes | head -c 5000000 > large", seconds=60, cpus=lease.cpus)
        await lab.sync_work_folder()
        running = asyncio.create_task(lab.run(2, "echo lost > lost; sleep 600", seconds=600, cpus=lease.cpus))
        while not list(nodes.folder.glob("n1/fleet/slots/*/labs/lab/work/lost")):
            await asyncio.sleep(0.1)
        nodes.kill("n1")
        with pytest.raises(LabDied, match="was lost"):
            await asyncio.wait_for(running, 120)
        assert not lab.alive
    async with place.lab() as (again, lease):
        assert again.node != lab.node
        seen = await again.run(3, "ls; cat /lab/logs/1.txt", seconds=60, cpus=lease.cpus)
    assert seen.output.split() == ["data", "large", "small", "solution.py"]
    assert (folder / "work" / "large").stat().st_size == 5_000_000
