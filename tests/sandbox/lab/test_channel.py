"""Tests of an agent that is not ours any more: whatever it sends, the lab ends and the bot goes on."""

import asyncio
import os
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.lab import CommandResult, LabDied, LabRequest, agent
from sandbox.lab.channel import FrameReader, NotUnderstood
from sandbox.lab.session import SearchPaths, open_session
from sandbox.running import LocalProgram
from sandbox.tree import MARKER, MarkedTree
from sandbox.watcher import Watcher

HEAD = f"""
import os, struct, sys, time
def send(kind, number=0, content=b""):
    os.write(1, struct.pack({agent.HEADER.format!r}, kind, number, len(content)) + content)
def heard():
    os.read(0, 100_000)
"""


async def result_of(request: LabRequest, program: str) -> CommandResult:
    """Open a lab whose agent is this program, and run a command in it."""

    def start(request: LabRequest, work: Path, watcher: Watcher) -> LocalProgram:
        return LocalProgram(
            [sys.executable, "-c", HEAD + program],
            {MARKER: "foreign"},
            folder=work,
            cpus=sorted(os.sched_getaffinity(0)),
            make_tree=lambda pid: MarkedTree(pid, "foreign"),
            watcher=watcher,
            talks=True,
        )

    async with open_session(request, start, SearchPaths("/bin")) as lab:
        result = await asyncio.wait_for(lab.run(1, "true", seconds=5, cpus=()), 60)
        assert not lab.alive
        return result


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("sys.exit('it broke')", "it broke"),
        ("os.write(1, b'x' * 100)", "an invalid frame of kind 120"),
        ("os.write(1, struct.pack('!BII', 1, 1, 2**31)); time.sleep(9)", "2147483648 bytes"),
        (f"send({agent.EXITED}, 1, b'x'); time.sleep(9)", "it sent an unexpected answer"),
    ],
)
async def test_an_agent_that_says_nonsense_at_once_opens_no_lab(lab_request, program, why) -> None:
    with pytest.raises(LabDied, match=why):
        await result_of(lab_request, program)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("sys.exit('it broke')", "it broke"),
        (f"send({agent.OUTPUT}, 2, b'x'); time.sleep(9)", "it sent an unexpected answer"),
        (f"send({agent.READY}); time.sleep(9)", "it sent an unexpected answer"),
        (f"send({agent.ENDED}); time.sleep(9)", "it sent an unexpected answer"),
        (f"send({agent.IDLE}, 7); time.sleep(9)", "it sent an unexpected answer"),
        (f"send({agent.LEFT_OUT}, 1, b'-5'); time.sleep(9)", "an invalid count"),
        (f"send({agent.EXITED}, 1, b'[]'); time.sleep(9)", "errors in the exit record of a command"),
        (f'send({agent.EXITED}, 1, b\'{{"code": -1, "jobs": "0"}}\'); time.sleep(9)', "3 errors"),
        (f"while True: send({agent.OUTPUT}, 1, bytes(60_000))", "more output than requested"),
        (f"send({agent.CLOSED}, 1); send({agent.OUTPUT}, 1, b'x'); time.sleep(9)", "it sent an unexpected answer"),
    ],
)
async def test_an_agent_that_says_nonsense_later_ends_its_lab(lab_request: LabRequest, program: str, why: str) -> None:
    result = await result_of(lab_request, f"send({agent.READY}); heard()\n{program}")
    assert result.exit_code is None
    assert why in (result.notice or "")
    assert len(result.output) < 11_000


@given(st.binary(max_size=300), st.integers(1, 50))
def test_frames_are_the_same_however_they_are_cut(noise: bytes, size: int) -> None:
    whole = b"".join(struct.pack("!BII", kind, 7, len(noise)) + noise for kind in range(agent.ENDED + 1))
    reader = FrameReader()
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    frames = [frame for piece in pieces for frame in reader.feed(piece)]
    assert [(frame.kind, frame.number, frame.content) for frame in frames] == [
        (kind, 7, noise) for kind in range(agent.ENDED + 1)
    ]


@given(st.binary(min_size=9, max_size=200))
def test_noise_is_refused_or_waits_for_no_more_than_a_frame(noise: bytes) -> None:
    reader = FrameReader()
    try:
        list(reader.feed(noise))
    except NotUnderstood:
        return
    assert len(reader._received) <= agent.HEADER.size + agent.CHUNK
