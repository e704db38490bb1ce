"""Redaction: how long a text takes that holds no secret, which is nearly every one, and what a database pays for it.

The secrets are a dozen such as a bot has: a token, a key, addresses of services, passwords. Texts are words, and base64,
whose characters begin every form of a secret now and then. Printed: milliseconds a megabyte of texts of others (`own`), of
our own (`text`, patterns too), and events a second with a redactor as a share of those without.
"""

import argparse
import random
import string
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bot.configuration.secret_texts import SECRET_PATTERNS
from state.clock import SystemClock
from state.redaction import Redactor
from state.store import Store

_MEGABYTE = 1_000_000


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=3_000, help="events that are written, ten a transaction")
    events: int = parser.parse_args().events
    chance = random.Random(1)
    redactor = Redactor(dict.fromkeys(_secrets(chance), "KEY"), SECRET_PATTERNS)
    for name, text in (("words", _words(chance)), ("base64", _characters(chance))):
        print(f"{name}: own {_took(redactor.own, text):.1f} ms/MB, text {_took(redactor.text, text):.1f} ms/MB")
    with tempfile.TemporaryDirectory() as folder:
        plain, guarded = (
            _events(Path(folder) / f"{n}.db", one, events) for n, one in enumerate((Redactor(), redactor))
        )
    print(f"events: {plain:.0f}/s without, {guarded:.0f}/s with, {guarded / plain:.0%}")


def _secrets(chance: random.Random) -> list[str]:
    letters = string.ascii_letters + string.digits + "-_"
    tokens = ["".join(chance.choices(letters, k=24)) for _ in range(9)]
    return [
        *tokens,
        f"KGAT_{tokens[0]}",
        f"https://hooks.slack.com/services/T0AAAAAAA/B0BBBBBBB/{tokens[1]}",
        f"mailtos://ada:{tokens[2]}%2F@mail.example.org?to=ada@example.org",
    ]


def _words(chance: random.Random) -> str:
    words = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 9))) for _ in range(5_000)]
    return " ".join(chance.choices(words, k=_MEGABYTE // 5))[:_MEGABYTE]


def _characters(chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_letters + string.digits + "+/", k=_MEGABYTE))


def _took(act: Callable[[str], str], text: str) -> float:
    began = time.perf_counter()
    act(text)
    return (time.perf_counter() - began) * 1e3


def _events(path: Path, redactor: Redactor, count: int) -> float:
    with Store.open(path, SystemClock(), redactor=redactor) as store:
        began = time.perf_counter()
        for number in range(count // 10):
            with store.write(durable=False) as tx:
                for _ in range(10):
                    tx.record("node.ended", run_id="a-run", node=number, status="valid", score=0.5, error="x" * 200)
        return count / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
