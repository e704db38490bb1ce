"""Claims: a competition belongs to one process of the machine for an account, as long as that works on it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.daemon.claims import Claims
from scrapers.kaggle.credentials import Credentials
from state.errors import UsageError

SITE = f"https://{os.getpid()}.example/v1"
"""Of this process of the tests alone: others may run beside it."""
HOLDER = """
import sys
from bot.daemon.claims import Claims
from scrapers.kaggle.credentials import Credentials

claims = Claims(sys.argv[1], lambda: Credentials("key", "anna"))
claims.take("titanic")
print("held", flush=True)
sys.stdin.read()
"""


def claims(user: str | None = "anna", key: str = "key", site: str = SITE) -> Claims:
    return Claims(site, lambda: Credentials(key, user))


@contextmanager
def another_process() -> Iterator["subprocess.Popen[str]"]:
    """Have another process work on titanic for anna."""
    command = [sys.executable, "-c", HOLDER, SITE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_what_another_process_works_on_is_refused_until_that_is_killed() -> None:
    with claims() as own:
        with another_process():
            for _ in range(3):
                refusal = r"another process is already working on titanic .* same Kaggle account: .* \[competitions\.titanic\]"
                with pytest.raises(UsageError, match=refusal):
                    own.take("titanic")
            own.take("spooky")
        own.take("titanic")
        own.take("titanic")


@pytest.mark.parametrize(
    "other",
    [claims("berta"), claims(None, "token"), claims(site="http://127.0.0.1:8899/v1")],
    ids=["another account", "a token", "a rehearsal"],
)
def test_another_account_and_a_rehearsal_do_not_clash(other: Claims) -> None:
    with claims() as own, other:
        own.take("titanic")
        other.take("titanic")


def test_the_same_account_is_known_by_its_name_or_else_by_its_token() -> None:
    with claims("anna", "old-key") as one, claims("anna", "new-key") as two:
        one.take("titanic")
        with pytest.raises(UsageError):
            two.take("titanic")
    with claims(None, "token") as one, claims(None, "token", SITE + "/") as two:
        one.take("titanic")
        with pytest.raises(UsageError):
            two.take("Titanic")


def test_what_is_released_may_be_taken_by_others() -> None:
    with claims() as one, claims() as two:
        one.take("titanic")
        one.take("spooky")
        one.release("titanic")
        one.release("titanic")
        two.take("titanic")
        with pytest.raises(UsageError, match="spooky"):
            two.take("spooky")


def test_a_key_that_is_found_later_or_changes_is_used_only_with_a_claim_for_its_account() -> None:
    found: list[Credentials] = []

    def find() -> Credentials:
        if not found:
            raise UsageError("No Kaggle key")
        return found[-1]

    with Claims(SITE, find) as late, claims("anna") as anna, claims("berta") as berta:
        late.take("titanic")
        anna.take("titanic")
        with pytest.raises(UsageError, match="No Kaggle key"):
            late.credentials()
        found.append(Credentials("key", "anna"))
        with pytest.raises(UsageError, match="working on titanic"):
            late.credentials()
        found.append(Credentials("key", "berta"))
        assert late.credentials().user == "berta"
        with pytest.raises(UsageError, match="working on titanic"):
            berta.take("titanic")
