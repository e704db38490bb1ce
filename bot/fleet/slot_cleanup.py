"""Clears up after a slot: waits until its standard input ends, as it does when the slot dies, and removes what it left.

A slot is killed with its engine, or by Ray; a container, or a folder that a script has filled, would stay.
"""

import os
import sys
from pathlib import Path


def main() -> None:
    """Wait, then remove what is left."""
    folder = Path(sys.argv[1])
    # Ray kills the children of a process with it, but not their orphans.
    if os.fork():
        return
    sys.stdin.buffer.read()
    # Only now, as a slot waits until this process is there, and it takes half a second to import them.
    from sandbox.leftovers import find_orphaned_resources
    from sandbox.workspace import remove_tree

    for orphan in find_orphaned_resources(folder):
        orphan.remove()
    remove_tree(folder)


if __name__ == "__main__":
    main()
