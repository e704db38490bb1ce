"""Checks of a fleet: each node's sandbox, packages, GPUs, disk, clock and versions, found out in a process on the node."""

import platform
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from importlib import metadata

from bot.doctor import Check
from sandbox import SandboxDescription
from sandbox.fleet.cluster import Cluster, FleetNode, SlotLost
from sandbox.fleet.leases import difference, plan_of
from sandbox.fleet.slot import SlotFacts
from sandbox.settings import FleetSettings, SandboxSettings
from state.errors import UsageError

_ANSWER = 90.0
"""Seconds in which a node must answer: it starts a process, and tries a sandbox out."""
_CLOCK = 5.0
"""Seconds by which a node's clock may differ."""


def check_fleet(fleet: FleetSettings, scripts: SandboxSettings, here: SandboxDescription) -> Iterator[Check]:
    """Check every node of a configured fleet.

    Args:
        fleet: the table `[fleet]`, with an address.
        scripts: the table `[sandbox]`.
        here: the sandbox of this machine, with the packages of its scripts.
    """
    try:
        cluster = Cluster.connect(fleet.address or "auto")
    except UsageError as error:
        yield Check("fleet", "fails", str(error), "docs/fleet.md says how to start one")
        return
    with closing(cluster):
        nodes = cluster.nodes()
        yield Check("fleet", "ok", f"{len(nodes)} node(s) at {fleet.address}")
        for node in nodes:
            if node.cpus == 0:
                yield Check("fleet node", "ok", f"{_name(node)}: runs no scripts, as it gives no cores away")
            else:
                yield _check_node(cluster, node, fleet, scripts, here)


def _check_node(
    cluster: Cluster, node: FleetNode, fleet: FleetSettings, scripts: SandboxSettings, here: SandboxDescription
) -> Check:
    visitor = cluster.visitor(plan_of(here, scripts, fleet, 1, min(1, node.gpus)), node.id)
    asked = datetime.now(UTC)
    try:
        facts: SlotFacts = cluster.get(cluster.begin(visitor), _ANSWER)
        # The first answer waits until a process has started there.
        asked = datetime.now(UTC)
        facts = cluster.get(cluster.begin(visitor), _ANSWER)
    except SlotLost as error:
        return Check("fleet node", "fails", f"{_name(node)}: no answer: {error}", "see that Ray runs there: ray status")
    finally:
        cluster.end(visitor)
    return node_check(node, facts, here, asked, datetime.now(UTC))


def node_check(
    node: FleetNode, facts: SlotFacts, here: SandboxDescription, asked: datetime, answered: datetime
) -> Check:
    """Return the check of a node by what it says of itself, asked and answered at these times."""
    gpus = f"{node.gpus} GPU(s)" + (f" ({', '.join(facts.models)})" if facts.models else "")
    name = facts.description.name if facts.description else "no sandbox"
    found = (
        f"{_name(node)}: {name}, {node.cpus} cores, {gpus}, {node.memory_bytes / 1024**3:.0f} GiB of memory, "
        f"{facts.free_bytes / 1e9:.0f} GB of disk free"
    )
    if facts.problem:
        return Check("fleet node", "warning", f"{found}; is not used: {facts.problem}", "mend that on the node")
    if other := difference(here, facts):
        return Check(
            "fleet node", "warning", f"{found}; is not used: {other}", "bot env create, with the same packages"
        )
    own = {
        "Python": platform.python_version(),
        "Ray": metadata.version("ray"),
        "kaggle-bot": metadata.version("kaggle-bot"),
    }
    if differing := [
        f"{key} {facts.versions[key]} (here {own[key]})" for key in own if facts.versions[key] != own[key]
    ]:
        return Check("fleet node", "warning", f"{found}; has {', '.join(differing)}", "install the same versions")
    early, late = (asked - facts.now).total_seconds(), (facts.now - answered).total_seconds()
    if max(early, late) > _CLOCK:
        return Check("fleet node", "warning", f"{found}; its clock is {max(early, late):.0f} s off", "set up NTP there")
    if node.gpus and not facts.models:
        return Check(
            "fleet node",
            "warning",
            f"{found}, which no driver lists",
            "install the NVIDIA driver, or ray start --num-gpus 0",
        )
    return Check("fleet node", "ok", found)


def _name(node: FleetNode) -> str:
    return f"{node.host} ({node.id[:8]})"
