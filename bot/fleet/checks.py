"""Checks of a fleet: each node's sandbox, packages, GPUs, disk, clock and versions, found out in a process on the node."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from importlib import metadata
from platform import python_version

from bot.doctor import Finding
from bot.fleet.cluster import Cluster, FleetNode, SlotLost
from bot.fleet.leases import difference, plan_of
from bot.fleet.slot import SlotFacts
from sandbox import SandboxDescription
from sandbox.settings import FleetSettings, SandboxSettings
from state.errors import UsageError

_ANSWER = 90.0
"""Seconds in which a node must answer: it starts a process, and tries a sandbox out."""
_CLOCK = 5.0
"""Seconds by which a node's clock may differ."""


def check_fleet(fleet: FleetSettings, scripts: SandboxSettings, local: SandboxDescription) -> Iterator[Finding]:
    """Check every node of a configured fleet against `local`, the sandbox of this machine with its packages."""
    try:
        cluster = Cluster.connect(fleet.address or "auto")
    except UsageError as error:
        yield Finding("fleet", "fails", str(error), "to start one, see docs/fleet.md")
        return
    with closing(cluster):
        nodes = cluster.nodes()
        yield Finding("fleet", "ok", f"{len(nodes)} node(s) at {fleet.address}")
        for node in nodes:
            if node.cpus == 0:
                yield Finding("fleet node", "ok", f"{_name(node)}: runs no scripts because it offers no cores")
            else:
                yield _check_node(cluster, node, fleet, scripts, local)


def _check_node(
    cluster: Cluster, node: FleetNode, fleet: FleetSettings, scripts: SandboxSettings, local: SandboxDescription
) -> Finding:
    visitor = cluster.visitor(plan_of(local, scripts, fleet, 1, min(1, node.gpus)), node.id)
    try:
        cluster.get(cluster.begin(visitor), _ANSWER)  # waits until a process has started there
        start = datetime.now(UTC)
        facts: SlotFacts = cluster.get(cluster.begin(visitor), _ANSWER)
    except SlotLost as error:
        return Finding(
            "fleet node", "fails", f"{_name(node)}: no answer: {error}", "check that Ray runs there: ray status"
        )
    finally:
        cluster.end(visitor)
    clock_error = max((start - facts.now).total_seconds(), (facts.now - datetime.now(UTC)).total_seconds())
    problem, fix = next(_node_problems(node, facts, local, clock_error), ("", None))
    gpus = f"{node.gpus} GPU(s)" + (f" ({', '.join(facts.models)})" if facts.models else "")
    description = (
        f"{_name(node)}: {facts.description.name if facts.description else 'no sandbox'}, {node.cpus} cores, {gpus}, "
        f"{node.memory_bytes / 1024**3:.0f} GiB of memory, {facts.free_bytes / 1e9:.0f} GB of free disk space{problem}"
    )
    return Finding("fleet node", "warning" if problem else "ok", description, fix)


def _node_problems(
    node: FleetNode, facts: SlotFacts, local: SandboxDescription, clock_error: float
) -> Iterator[tuple[str, str]]:
    if facts.problem:
        yield f"; not used: {facts.problem}", "fix this on the node"
    if difference_found := difference(local, facts):
        yield f"; not used: {difference_found}", "run bot env create with the same packages"
    versions = {name: metadata.version(name.lower()) for name in ("Ray", "kaggle-bot")} | {"Python": python_version()}
    if differing := [
        f"{name} {facts.versions[name]} (here {versions[name]})"
        for name in versions
        if facts.versions[name] != versions[name]
    ]:
        yield f"; has {', '.join(differing)}", "install the same versions"
    if clock_error > _CLOCK:
        yield f"; its clock is {clock_error:.0f} s off", "set up NTP there"
    if node.gpus and not facts.models:
        yield "; no driver lists its GPUs", "install the NVIDIA driver, or run `ray start --num-gpus 0`"


def _name(node: FleetNode) -> str:
    return f"{node.host} ({node.id[:8]})"
