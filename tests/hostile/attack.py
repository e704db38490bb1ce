"""One attack: a script, what must come of each thing it tries, and the little language that scripts say it in.

A script says of each thing it tried what came of it, as a line `@ thing: word`, the word being `got` or the name of the
error. An attack passes if its script said exactly these things, each with an allowed word: one that fails early, or for
a reason that nobody foresaw, does not pass for contained.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Literal

from sandbox import ExecutionOutcome, ExitReason

BackEnd = Literal["bubblewrap", "docker"]
BACK_ENDS: tuple[BackEnd, ...] = ("bubblewrap", "docker")
Each = Mapping[BackEnd, str]
"""Another value under each back end."""

PRELUDE = '''
import ctypes, errno, json, os, signal, socket, stat, sys, time

HINTS = json.loads(os.environ["HINTS"])  # names and numbers that an attacker may have found out somehow
LIBC = ctypes.CDLL(None, use_errno=True)


def say(thing, word):
    """Print what came of a thing that was tried."""
    print(f"@ {thing}: {word}", flush=True)


def attempt(thing, call, *arguments):
    """Try it; say "got" and print what was got, or say the name of the error."""
    try:
        got = call(*arguments)
    except (OSError, ImportError, ValueError) as error:
        say(thing, errno.errorcode.get(getattr(error, "errno", None)) or type(error).__name__)
        return None
    say(thing, "got")
    print(repr(got)[:500], flush=True)
    return got


def read(path):
    with open(path, "rb") as file:
        return file.read(100_000)


def write(path, content=b"x"):
    with open(path, "ab") as file:
        file.write(content)


def libc(name, *arguments):
    """Call a function of libc, with its error as an exception."""
    ctypes.set_errno(0)
    result = getattr(LIBC, name)(*arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), name)
    return result


def system_call(name, *arguments):
    return libc("syscall", ctypes.c_long(HINTS["calls"][name]), *arguments)
'''
_ANSWER = re.compile(r"^@ ([\w ./-]+): (\w+)$", re.MULTILINE)


@dataclass(frozen=True)
class Trial:
    """An attack after it was made: what came of it, and where on the host it might have left something."""

    outcome: ExecutionOutcome
    out: Path
    place: Path


@dataclass(frozen=True)
class Attack:
    """A script and what must come of it."""

    name: str
    tries: str
    """What it tries, a sentence."""
    script: str
    answers: Mapping[str, str | Each] = field(default_factory=dict)
    """Each thing that the script tries, and the words, one of which must be what comes of it (`unsaid`: it is killed)."""
    ends: str | Each = "finished"
    """The exit reasons, one of which it must end with."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """What it may use, where that is other than usual."""
    kept: tuple[str, ...] | None = ()
    """The files that must be kept; none: `host` says."""
    notes: str | Each = ""
    """A pattern that the outcome's notes or its detail must hold."""
    open: tuple[str, ...] = ()
    """Of what it tries, the things that succeed without a sandbox, which shows that the script does what it says."""
    older: Mapping[str, str] = field(default_factory=dict)
    """Files that an earlier execution has left in the folder for what is kept."""
    earlier: str = ""
    """A script that runs before, in an execution of its own."""
    host: Callable[[Trial], Iterable[str]] | None = None
    """Looks for more that may be wrong on the host."""
    lab: bool = False
    """Whether it is made in a lab, with the engine's end of its socket, instead of in an execution."""
    at_server: bool = False
    """Whether it takes long, and is aimed at that end alone, which is the same in each back end: in docker it is a trial."""
    idle: bool = False
    """Whether it runs in idle time, with the least priority."""
    reduced: bool = False
    """Whether it belongs to the smaller set that is also run as an ordinary user."""

    def source(self, script: str | None = None) -> str:
        """Return the whole text that is run."""
        return PRELUDE + dedent(self.script if script is None else script)

    def problems(self, outcome: ExecutionOutcome, back_end: BackEnd) -> list[str]:
        """Return what came otherwise than it must; nothing if all is well."""
        found = []
        tail = outcome.output[-1500:]
        if outcome.reason not in {ExitReason(word) for word in under(back_end, self.ends).split()}:
            found.append(f"it ended as {outcome.reason} ({outcome.detail}):\n{tail}")
        said = answers_in(outcome.output)
        if said.keys() - self.answers.keys():
            found.append(f"it said {sorted(said)}, not {sorted(self.answers)}:\n{tail}")
        for thing, expected in self.answers.items():
            words = under(back_end, expected).split()
            if said.get(thing, "unsaid") not in words:
                found.append(f"{thing}: {said.get(thing, 'unsaid')}, not {' or '.join(words)}:\n{tail}")
        if self.kept is not None and sorted(outcome.files) != sorted(self.kept):
            found.append(f"kept {sorted(outcome.files)}, not {sorted(self.kept)}; {outcome.notes}")
        remarks = " ".join((outcome.detail or "", *outcome.notes))
        if not re.search(under(back_end, self.notes), remarks):
            found.append(f"no word of {under(back_end, self.notes)!r} in {remarks!r}")
        return found


@dataclass(frozen=True)
class Family:
    """Attacks of one kind, as the documents count them, and what each back end makes of them."""

    title: str
    attacks: tuple[Attack, ...]
    bubblewrap: str
    docker: str


def under(back_end: BackEnd, value: str | Each) -> str:
    """Return what holds under this back end."""
    return value if isinstance(value, str) else value[back_end]


def answers_in(output: str) -> dict[str, str]:
    """Return what the script said of each thing, the last word on each."""
    return {match[1]: match[2] for match in _ANSWER.finditer(output)}
