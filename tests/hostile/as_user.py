"""The smaller set of attacks, made by whoever runs this: `python -m tests.hostile.as_user BACKEND FOLDER`.

It prints what is not as it must be, as JSON by attack; an ordinary user may run it without pytest or a checkout.
"""

import json
import sys
import tempfile
from pathlib import Path

from sandbox import Sandbox
from tests.hostile.attack import BackEnd
from tests.hostile.suite import ATTACKS
from tests.hostile.trial import make
from tests.hostile.world import plant


def attacks_of(back_end: BackEnd, sandbox: Sandbox, folder: Path) -> dict[str, list[str]]:
    """Make the attacks; return the problems of each."""
    with plant(folder) as world:
        return {attack.name: make(attack, sandbox, back_end, world) for attack in ATTACKS if attack.reduced}


def main(back_end: BackEnd, folder: Path) -> None:
    """Make the attacks in this back end."""
    tempfile.tempdir = str(folder)
    sandbox: Sandbox
    if back_end == "bubblewrap":
        from sandbox.bubblewrap import BubblewrapSandbox

        sandbox = BubblewrapSandbox()
    else:
        from sandbox.docker import DockerSandbox

        sandbox = DockerSandbox("hostile-user")
    print(json.dumps(attacks_of(back_end, sandbox, folder)))


if __name__ == "__main__":
    main("docker" if sys.argv[1] == "docker" else "bubblewrap", Path(sys.argv[2]))
