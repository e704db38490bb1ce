"""Forty replies of a coder that works as coders do and meets all that can go wrong, and a life by them in any back end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.coder.lab import lab_setup
from bot.coder.lab.settings import LabSettings
from bot.engine.context import RunContext
from bot.models import CallLimits, Completion, Prompt
from sandbox import Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.docker import DockerSandbox
from sandbox.instance import instance_of
from tests.bot.coder.lab.scripted import AnswerT, Scripted, lived, sh, written
from tests.bot.replay.scripted_answers import FILES, PREDICT

WORK_BYTES = 30_000_000
_HANGS = "sleep 99"
COUNTED = 4
"""From this reply on each command leaves its number in turns.txt; before, all of work/ is removed."""


def _experiments(*strengths: float) -> str:
    """Return a reply with an experiment for each strength."""
    words = " ".join(map(str, strengths))
    return sh(f"for c in {words}; do python predict.py $c && lab log c$c {FILES} || exit; done; lab board")


def _logged(strength: float, then: str) -> str:
    return sh(f"python predict.py {strength}; {then}")


def _numbered(number: int, reply: str) -> str:
    count = f"```sh\necho {number} >> /lab/work/turns.txt\n"
    return reply.replace("```sh\n", count, 1) if number >= COUNTED else reply


_REPLIES = [
    sh("ls /lab /lab/data data; lab status; lab board; lab ideas; head -2 /lab/folds.csv"),
    "First I think for a while.",
    sh("echo x > x; rm -rf /lab/work; cd /; rm -rf /lab/work/*; ls -A /lab/work"),
    sh("pwd; cd /lab/work; head -1 data/train.csv"),
    written("predict.py", PREDICT, f"python predict.py 0.1 && lab log c0.1 {FILES} --note first"),
    _experiments(0.2, 0.3, 0.4, 0.5),
    _experiments(0.6, 0.7, 0.8, 0.9, 1.0),
    _experiments(1.1, 1.2, 1.3, 1.4, 1.5),
    _experiments(1.6, 1.7, 1.8, 1.9, 2.0),
    _logged(1.05, f"lab log best {FILES} --files predict.py --retrain 'python predict.py 1.05' --seconds 3"),
    _logged(1.05, f"lab log best {FILES}; cp predict.py best.py"),
    sh("(for i in 1 2 3; do sleep 0.1; echo step $i; done) > job.log & sleep 300 & echo $! > pid; echo started"),
    _logged(0.85, f"lab log stack {FILES} --uses c0.5 c1.0 --compare-to c0.5 --check"),
    sh("sleep 1; cat job.log; kill $(cat pid); sleep 0.3; echo ended"),
    _logged(0.75, f"lab log best {FILES}; lab log late {FILES.rpartition(' --test')[0]}; lab log late {FILES}"),
    written("broken.py", "import nothing_such", "python broken.py"),
    sh(f"lab log x {FILES} --files nowhere.py; lab score best.py; lab nonsense; lab log x --uses nobody {FILES}"),
    sh("exit 5"),
    sh("echo 'open"),
    sh(f"trap '' TERM INT HUP; timeout -s KILL 1 yes; {_HANGS}"),
    sh("echo alive > alive.txt; kill -9 $$"),
    sh("cat alive.txt"),
    sh("fallocate -l 20M a; fallocate -l 20M b; sleep 9"),
    sh("fallocate -l 20M c; rm -f a b"),
    sh("fallocate -l 20M d && rm -f c d && echo room"),
    sh("cd /tmp; echo kept > /lab/work/kept.txt; sleep 300 & kill -9 -1; sleep 9"),
    sh("pwd; cat kept.txt"),
    'sh({"command": "ls -',
    "",
    sh("python -c 'x = bytearray(2**45)'"),
    sh("python -c \"import socket; socket.create_connection(('1.1.1.1', 53), 2)\""),
    sh("cat /etc/shadow; ls /root /home; env | grep -i -c key"),
    sh("head -c 3000 /dev/urandom; printf 'a\\0b\\033[2J\\n'"),
    sh("touch $'a\\nb' -- --x; ls"),
    sh(
        "python -c \"import numpy as np; np.save('part', np.load('oof.npy')[:9])\"; "
        "lab log part --oof part.npy --validation validation.npy; lab log no --oof oof.npy --validation /etc/hostname"
    ),
    sh("lab note 'b helps'; lab ideas; lab status"),
    _logged(5.0, f"(sleep 1; lab log behind {FILES}) & echo typed on"),
    # Killed meanwhile, nobody logs it behind: logged again it is the same one.
    sh(f"for i in $(seq 50); do lab board --all | grep '^behind ' && break; sleep 0.1; done; lab log behind {FILES}"),
    _logged(0.1, f"lab log c0.1 {FILES} && cp best.py other.py"),
    sh("printf 'method: linear\\ncomponents: it works\\nlimitations: made so\\n' | lab done"),
]
REPLIES = [_numbered(number, reply) for number, reply in enumerate(_REPLIES, 1)]


def back_end(name: str, folder: Path) -> Sandbox:
    """Return a back end whose containers are known by the folder."""
    return DockerSandbox(instance_of(folder)) if name == "docker" else BubblewrapSandbox()


class Impatient(Scripted):
    """Gives the forty replies; the command that hangs has five seconds instead of a quarter of the lab's ten minutes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__(REPLIES)
        self._patch = patch
        patch.setattr(lab_setup, "_SHORTEST_COMMAND", 5.0)

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Give the next reply."""
        given = await super().complete(prompt, role=role, limits=limits)
        self._patch.setattr(lab_setup, "_COMMAND_SHARE", 0.0 if _HANGS in given.text else 0.25)
        return given


@asynccontextmanager
async def forty_turns(folder: Path, name: str) -> AsyncIterator[RunContext]:
    """Give a run after the lab with the forty replies has ended; one that is in the folder already goes on."""
    with pytest.MonkeyPatch.context() as patch:
        model, settings = Impatient(patch), LabSettings(work_bytes=WORK_BYTES)
        async with lived(folder, model, settings, sandbox=back_end(name, folder)) as context:
            yield context
