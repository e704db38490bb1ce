"""Secrets are planted wherever one may come from; afterwards no file in the bot's folder holds one, in whatever form."""

import base64
import json
import sqlite3
import traceback
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from sqlmodel import select

from bot.configuration import Settings
from bot.configuration.own_secrets import open_redactor
from bot.logs import open_logging
from bot.models.ask import Asker
from bot.notify import Notice
from bot.notify.outbox import deliver, notify
from bot.notify.settings import NotifySection
from bot.report.export import calls, write_lines
from sandbox import ExecutionRequest, Limits
from sandbox.process import ProcessSandbox
from state.backup import back_up
from state.community_rows import add_community
from state.errors import NotificationFailed
from state.progress import create_node, end_execution, end_node, start_execution
from state.series import take_reading
from state.steering import add_note
from state.steps import StepKind, Steps
from state.store import Store, put_blob
from state.tables import KernelVersion, Letter, Notification, PostedMessage, Topic
from tests.bot.models.parts import CUTOFF, EARLIER, RUN, HurriedClock, Question, asker_of, model_at
from tests.scripted_endpoint import ScriptedEndpoint
from tests.state.rows import create_run

TOKEN = "KGAT_8f3b2c1d9e7a6054"
MODEL_KEY = "key+of/a=model 77"
HOOK = "https://hooks.slack.com/services/T0PL4NT3D/B0PL4NT3D/pl4nt3dT0k3nXYZ"
PASSWORD = "pl4nt&d/p@ss?w0rd"
ENVIRONMENT = {
    "KAGGLE_API_TOKEN": TOKEN,
    "OPENAI_API_KEY": MODEL_KEY,
    "SLACK_URL": HOOK,
    "MAIL_URL": f"mailtos://bot:{quote(PASSWORD, safe='')}@mail.example.org?to=ada@example.org",
}
SECRETS = (TOKEN, MODEL_KEY, HOOK, "pl4nt3dT0k3nXYZ", PASSWORD)
PLANTED = f"{TOKEN} | {MODEL_KEY} | {HOOK} | {PASSWORD}"
EVERY_FORM = "\n".join(
    [
        *(PLANTED, quote(PLANTED), quote_plus(PLANTED), quote(PLANTED, safe=""), json.dumps(PLANTED)),
        *(base64.b64encode(b"x" * before + PLANTED.encode()).decode() for before in range(3)),
        *(base64.b64encode(b"x" * n + one.encode() + b"y").decode() for one in SECRETS for n in range(3)),
        *(base64.urlsafe_b64encode(f"user:{one}".encode()).decode() for one in SECRETS),
    ]
)
RUN_ID = RUN
RULES = {"url": HOOK, "command": MODEL_KEY, "page": True, "silent": (), "note": ""}


@dataclass
class Leaky:
    """A service that says more than it should when it fails."""

    sent: list[Letter] = field(default_factory=list)

    async def send(self, letter: Letter) -> None:
        self.sent.append(letter)
        raise NotificationFailed(f"the service at {EVERY_FORM} did not answer")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    settings = Settings.model_validate({"notify": {"services": ["SLACK_URL", "MAIL_URL"]}})
    redactor = open_redactor(settings, {**ENVIRONMENT, "HOME": str(tmp_path)})
    with Store.open(tmp_path / "bot" / "bot.db", HurriedClock(), redactor=redactor) as store:
        with store.write() as tx:
            create_run(tx, RUN_ID, competition="spooky", agent="comind", model="gpt-x", seed=1, cutoff=CUTOFF)
        yield store


def needles() -> list[bytes]:
    """What must be nowhere: each secret as it is, in URLs, in JSON, and what base64 shows of it at any place."""
    found = []
    for one in SECRETS:
        found += [one, quote(one), quote(one, safe=""), quote_plus(one), json.dumps(one)[1:-1]]
        for before in range(3):
            coded = base64.b64encode(b"\0" * before + one.encode()).decode()
            inner = coded[4:-4] if before else coded[:-4]
            found += [inner, inner.replace("+", "-").replace("/", "_")]
    return [one.encode() for one in found]


def assert_clean(folder: Path) -> None:
    """Look through all bytes of all files, and through the bodies that the database holds compressed."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    texts = {path.name: path.read_bytes() for path in files}
    for path in files:
        if path.suffix == ".db":
            with closing(sqlite3.connect(path)) as connection:
                for sha, data in connection.execute("SELECT sha256, data FROM blob"):
                    texts[f"{path.name}:{sha}"] = zlib.decompress(data)
    assert len(texts) > len(files)
    assert [(name, one) for name, text in texts.items() for one in needles() if one in text] == []


def test_the_needles_are_found_where_nothing_was_redacted(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(EVERY_FORM)
    text = (tmp_path / "x.log").read_bytes()
    assert [one for one in needles() if one not in text] == []


@pytest.mark.integration
async def test_nothing_that_was_planted_reaches_the_disk(store: Store) -> None:
    folder = store.path.parent
    with (folder / "bot.log").open("w") as log, open_logging("json", log, store.redactor) as logs:
        _plant_posts(store)
        await _plant_answers(store)
        await _plant_output(store, folder / "executions" / "n1-holdout-0")
        leaky = await _plant_notices(store)
        logs.log.warning("planted", text=EVERY_FORM, competition="spooky")
        try:
            raise ValueError(EVERY_FORM)
        except ValueError:
            logs.log.exception("it failed")
            with store.write() as tx:
                tx.record("worker.crashed", run_id=RUN_ID, traceback=traceback.format_exc())
                end_node(tx, RUN_ID, 1, "failed", error=EVERY_FORM)
    write_lines(folder / "events.jsonl", store.export_events(RUN_ID))
    write_lines(folder / "prompts.jsonl", calls(store, RUN_ID))
    back_up(store)
    assert [sent.title.partition(": ")[0] for sent in leaky.sent] == ["[secret] | [secret] | [secret] | [secret]"]
    assert_clean(folder)


def _plant_posts(store: Store) -> None:
    post = {"competition": "spooky", "author": PLANTED}
    rows = [
        Topic(id="1", title=PLANTED, posted_at=EARLIER, **post),
        PostedMessage(id="2", topic_id="1", markdown=EVERY_FORM, posted_at=EARLIER, **post),
    ]
    with store.write() as tx:
        raw = put_blob(tx, EVERY_FORM)
        kernel = KernelVersion(id="3", ref="a/b", text=EVERY_FORM, raw_sha=raw, created_at=EARLIER, **post)
        add_community(tx, "spooky", [*rows, kernel])
        take_reading(tx, "spooky", "page", "rules", {"by": PLANTED}, content=EVERY_FORM)
        add_note(tx, "spooky", PLANTED, author="ada")


async def _plant_answers(store: Store) -> None:
    """Have a model say secrets, in an answer that cannot be read and in one that can."""
    with ScriptedEndpoint([EVERY_FORM, f'{{"value": 7}}\n{EVERY_FORM}']) as endpoint:
        async with model_at(endpoint.url) as model:
            asker: Asker = asker_of(model, store)
            answer = await asker.ask(Question(f"which?\n{EVERY_FORM}"), role="coder", name="write", node=1)
    assert answer.value == 7
    sent = json.dumps([request.body for request in endpoint.requests])
    assert not any(one.decode() in sent for one in needles())


async def _plant_output(store: Store, out: Path) -> None:
    view = out.parent / "view"
    view.mkdir(parents=True)
    script = f"import base64\nprint(base64.b85decode({base64.b85encode(EVERY_FORM.encode())!r}).decode())"
    request = ExecutionRequest("n1-holdout-0", script, view, out, Limits(30.0), redactor=store.redactor)
    outcome = await ProcessSandbox().run(request)
    assert outcome.output.count("[secret]") > 10
    with store.write() as tx:
        create_node(tx, RUN_ID, action="draft", id=1, plan=PLANTED, code=EVERY_FORM)
        start_execution(tx, RUN_ID, "n1-holdout-0", node=1, view="holdout")
        end_execution(
            tx, RUN_ID, "n1-holdout-0", reason="finished", exit_code=0, seconds=1.0, log=outcome.output, notes=[PLANTED]
        )

    async def remember() -> dict[str, str]:
        return {"output": EVERY_FORM}

    await Steps(store, RUN_ID).once(StepKind("remember", dict[str, str]), remember)


async def _plant_notices(store: Store) -> Leaky:
    with store.write() as tx:
        # A kind whose key, title and text show what they are given, and cut none of it.
        notify(tx, Notice("problem.confirm", PLANTED, {**RULES, "lines": [EVERY_FORM, PLANTED]}))
    leaky = Leaky()
    await deliver(store, {"LEAKY": leaky}, store.clock, NotifySection())
    with store.read() as session:
        assert session.exec(select(Notification)).one().body.count("[secret]") > 10
        assert "[secret]" in str(session.exec(select(Letter)).one().last_error)
    return leaky
