"""A secret is taken out of a text in every form in which programs write it, and nothing else is."""

import base64
import html
import json
import random
import re
import string
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import escape
from sqlmodel import select

from state.backup import back_up
from state.community_rows import add_community
from state.redaction import MASK, SHORTEST, RedactedStream, Redactor, SecretPattern, can_be_secret
from state.series import last_reading, take_reading
from state.steering import add_note
from state.store import NO_RUN, Store, put_blob
from state.tables import Node, PostedMessage, Step
from tests.state.conftest import StandingClock

SECRET = "hunter2/secret+\"quoted\" ünd & 'more'"
secrets = st.text(st.characters(codec="utf-8", exclude_characters="[]"), min_size=SHORTEST, max_size=40).filter(
    can_be_secret
)


@settings(max_examples=30)
@given(secret=secrets, before=st.text(max_size=5), after=st.text(max_size=5))
def test_no_form_of_a_secret_is_left(secret: str, before: str, after: str) -> None:
    redactor = Redactor({secret: "KEY"})
    forms = [
        *(secret, quote(secret), quote(secret, safe=""), quote_plus(secret), html.escape(secret), str(escape(secret))),
        *(json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(json.dumps(secret))[3:-3]),
    ]
    for form in forms:
        assert form not in redactor.own(f"{before}{form}{after}")
        assert form.encode() not in redactor.own_bytes(f"{before}{form}{after}".encode())


@given(
    secret=st.binary(min_size=SHORTEST, max_size=40).map(bytes.hex).filter(can_be_secret),
    before=st.binary(max_size=7),
    after=st.binary(max_size=7),
    coded=st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]),
)
def test_a_secret_is_seen_in_base64_wherever_it_stands(secret, before, after, coded) -> None:
    text = coded(before + secret.encode() + after).decode()  # type: ignore[call-arg]
    left = Redactor({secret: "KEY"}).own(text)
    assert MASK in left
    # What is left are the characters beside it, and at each end one that holds bits of both.
    assert len(left) - len(MASK) <= len(text) - len(secret) * 8 // 6 + 2


@given(st.text())
def test_a_text_without_a_secret_stays_as_it_is(text: str) -> None:
    redactor = Redactor({"Zq9-never-generated-7Xv": "KEY"}, [SecretPattern(re.compile("KGAT_[a-z0-9]{8,}"))])
    assert redactor.text(text) == text


def test_a_redactor_that_knows_nothing_leaves_everything() -> None:
    redactor = Redactor()
    assert not redactor
    assert redactor.text(SECRET) == redactor.own(SECRET) == SECRET
    assert redactor.own_bytes(SECRET.encode()) == SECRET.encode()


def test_what_is_short_is_left_as_it_stands_in_many_texts() -> None:
    assert Redactor({"s3cre7x": "KEY"}).own("s3cre7x") == "s3cre7x"
    assert Redactor({"s3cre7xy": "KEY"}).own("s3cre7xy") == MASK


DUMMIES = """
x X EMPTY empty none None null token ollama sk-no-key-required no-key-required test dummy changeme
change-me lm-studio local placeholder not-needed fake-key your-api-key-here sk-xxx sk-test sk-1234
xxxxxxxxxxxxxxxx sk-xxxxxxxxxxxxxxxxxxxx 0000000000 1234567890 password YOUR_API_KEY api-key secret
token-abc123 vllm postgres llama.cpp sk-none test1234
"""
PROMPT = "Test the maximum of 1234567890 tokens: EMPTY cells are none, and a password of ollama is a dummy."


@given(
    dummy=st.sampled_from(DUMMIES.split()) | st.sampled_from(DUMMIES.upper().split()) | st.text("xX0-", max_size=30),
    before=st.text(max_size=20),
    after=st.text(max_size=20),
)
def test_a_dummy_key_changes_no_text(dummy: str, before: str, after: str) -> None:
    redactor = Redactor({dummy: "OPENAI_API_KEY"})
    for text in (f"{before}{dummy}{after}", PROMPT, f"{PROMPT} {dummy}"):
        assert redactor.own(text, "a prompt") == redactor.text(text) == text
        assert redactor.own_bytes(text.encode()) == text.encode()
    assert not can_be_secret(dummy)


_BASE62 = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_PREFIXES = " sk- sk-proj- sk-ant-api03- gsk_ hf_ ghp_ github_pat_ AIza xoxb- AKIA KGAT_"


def drawn(seed: int, prefix: str, alphabet: str) -> str:
    """Return a key as those who issue them draw it."""
    return prefix + "".join(random.Random(seed).choices(alphabet, k=32))


real_keys = st.builds(drawn, st.integers(), st.sampled_from(_PREFIXES.split(" ")), st.sampled_from((_BASE62, _HEX)))


@given(key=real_keys, before=st.text(max_size=20), after=st.text(max_size=20))
def test_a_real_looking_key_is_always_taken_out(key: str, before: str, after: str) -> None:
    assert can_be_secret(key)
    redactor = Redactor({key: "OPENAI_API_KEY"})
    for form in (key, quote(key, safe=""), json.dumps(key)):
        assert key not in redactor.own(f"{before}{form}{after}", "a prompt")
        assert redactor.own(f"{before}{form}{after}").count(MASK) >= 1


def test_a_change_is_logged_once_with_the_place_and_the_name_and_never_the_value(caplog) -> None:
    redactor = Redactor({SECRET: "DB_PASSWORD"})
    for _ in range(3):
        redactor.own(f"the {SECRET}", "the prompt draft")
        redactor.own(f"the {SECRET}")
    redactor.own(SECRET, "a script's output")
    assert [record.getMessage() for record in caplog.records] == [
        f"the secret in DB_PASSWORD was found in the prompt draft and replaced with {MASK}",
        f"the secret in DB_PASSWORD was found in a script's output and replaced with {MASK}",
    ]
    assert {record.levelname for record in caplog.records} == {"WARNING"}


def test_of_two_secrets_the_longer_goes_as_a_whole() -> None:
    redactor = Redactor({"T0KENT0KEN": "A", "https://hooks.example.com/T0KENT0KEN/x": "B"})
    assert redactor.own("to https://hooks.example.com/T0KENT0KEN/x now") == f"to {MASK} now"
    assert redactor.own("T0KENT0KEN") == MASK


def test_a_long_text_is_redacted_like_a_short_one() -> None:
    redactor = Redactor({SECRET: "KEY"})
    long = "x" * 100_000
    assert redactor.own(long + SECRET + long) == long + MASK + long
    assert redactor.own_bytes((long + SECRET + long).encode()) == (long + MASK + long).encode()


def test_what_looks_like_a_secret_goes_from_our_texts_and_stays_in_those_of_others() -> None:
    redactor = Redactor(patterns=[SecretPattern(re.compile("KGAT_[a-z0-9]{8,}"), ("KGAT_",))])
    assert redactor.text("a KGAT_0123456789 b") == f"a {MASK} b"
    assert redactor.own("a KGAT_0123456789 b") == "a KGAT_0123456789 b"


def test_values_are_redacted_to_any_depth_and_keep_their_kinds() -> None:
    value = {"a": [SECRET, 1, None, True], f"k {SECRET}": {"b": (SECRET,)}}
    assert Redactor({SECRET: "KEY"}).value(value) == {"a": [MASK, 1, None, True], f"k {MASK}": {"b": [MASK]}}


def test_a_redactor_shows_no_secret_of_its_own() -> None:
    assert SECRET not in repr(Redactor({SECRET: "KEY"}))


@pytest.fixture
def guarded(tmp_path: Path, clock: StandingClock) -> Store:
    return Store.open(tmp_path / "state.db", clock, redactor=Redactor({SECRET: "KEY"}))


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_no_row_event_or_body_reaches_the_file_with_a_secret(guarded, tmp_path, clock) -> None:
    text = f"before {SECRET} after"
    with guarded as store:
        posts = [
            PostedMessage(competition="c", id=str(n), topic_id="1", markdown=text, posted_at=clock.now())
            for n in range(50)
        ]
        with store.write() as tx:
            tx.add(Node(run_id="r", id=1, action="draft", plan=text, error=text, created_at=tx.now()))
            tx.add(Step(run_id="r", name="s", result={"text": text, "more": [text]}, started_at=tx.now()))
            tx.connection.exec_driver_sql("CREATE TABLE t (x)")
            tx.connection.exec_driver_sql("INSERT INTO t VALUES (:x)", {"x": text})
            tx.connection.exec_driver_sql("INSERT INTO t VALUES (?)", [(text,), (quote(text),)])
            tx.record("x.y", run_id="r", text=text, many=[{"deep": text}])
            add_note(tx, "c", text)
            sha = put_blob(tx, text)
            assert put_blob(tx, text.encode()) == sha
            add_community(tx, "c", posts)
        assert store.blob(sha).decode() == f"before {MASK} after"
        (event,) = store.export_events("r")
        assert (event["text"], event["many"]) == (f"before {MASK} after", [{"deep": f"before {MASK} after"}])
        with store.read() as session:
            assert {one.markdown for one in session.exec(select(PostedMessage))} == {f"before {MASK} after"}
            redacted = {"text": f"before {MASK} after", "more": [f"before {MASK} after"]}
            assert session.get_one(Step, ("r", 0, "s", 0)).result == redacted
        assert next(iter(store.export_events(NO_RUN)))["type"] == "note.added"
        back_up(store)
        found = everything(tmp_path)
    for form in (SECRET, quote(SECRET), json.dumps(SECRET)[1:-1], "hunter2"):
        assert form.encode() not in found


def test_without_a_redactor_all_is_kept_as_it_is(store: Store) -> None:
    with store.write() as tx:
        tx.record("x.y", run_id="r", text=SECRET)
        sha = put_blob(tx, SECRET)
    assert store.blob(sha).decode() == SECRET
    assert next(iter(store.export_events("r")))["text"] == SECRET


def test_a_page_that_holds_a_secret_has_a_body_and_does_not_change_with_each_look(guarded: Store) -> None:
    with guarded as store:
        for new in (True, False):
            with store.write() as tx:
                assert take_reading(tx, "c", "page", "rules", {}, content=f"the rules: {SECRET}") is new
        with store.read() as session:
            reading = last_reading(session, "c", "page", "rules")
        assert reading is not None and reading.sha256 is not None
        assert store.blob(reading.sha256).decode() == f"the rules: {MASK}"


@given(st.lists(st.integers(1, 60), max_size=8))
def test_a_secret_is_taken_out_of_a_stream_wherever_its_pieces_end(cuts: list[int]) -> None:
    secret = "hf_a7Kq/92+xLmZ"
    redactor = Redactor({secret: "TOKEN"})
    whole = f"a {secret} b {secret[:7]} {secret}{secret} end {secret[:5]}".encode()
    stream, left, out = RedactedStream(redactor), whole, b""
    for cut in cuts:
        out += stream.pass_on(left[:cut])
        left = left[cut:]
    out += stream.pass_on(left, last=True)
    assert out == redactor.own_bytes(whole)
