"""Pushes: a package becomes a data set and a private notebook at Kaggle, which runs there; one step a call, none taken twice."""

import asyncio
import shutil
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from bot.engine.context import RunContext
from bot.notebooks.package import Package
from bot.notify import Notice
from bot.notify.outbox import notify
from bot.submission.files import Files
from scrapers.kaggle.account import own_name
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.datasets import DataSets, DataSetStatus
from scrapers.kaggle.notebooks import Notebooks, PushedKernel, SessionStatus
from scrapers.kaggle.outputs import download_output
from state.errors import InvalidSubmission, KaggleError, NotEntered, NotFound, NotSent, SiteUnavailable
from state.notebooks import REMOVED, NotebookState, Stage, notebook_state, notebook_states, record_stage
from state.tables import Submission

_GRACE = timedelta(minutes=2)
"""Time in which Kaggle shows what was sent without an answer; after it, it is sent again."""
_SHARE = 0.1
"""The longer a notebook runs, the less often it is looked at: after this share of its time."""
_SOONEST, _LATEST = timedelta(minutes=1), timedelta(minutes=10)
_LARGEST = 1 << 30
"""Bytes of a notebook's submission."""
_MARGIN = 2.0
"""A notebook that needs an accelerator is pushed only if the week's quota has this many times the seconds of its check left."""
_NO_TIME = timedelta(hours=6)
"""After which the quota is asked again; people use it too."""
_MAX_LOG = 1_500
"""Characters of a log that the owner's notice shows, its last ones."""
_NAME, _HASH = 24, 12
"""Characters of a competition's name and of a package's hash in a notebook's."""


class NotebookRuns(NotSent):
    """A notebook is not ready to be submitted yet; nothing is wrong."""

    def __init__(self, sentence: str, next_check: datetime) -> None:
        self.next_check = next_check
        super().__init__(sentence)


class Pushes:
    """Brings packages to Kaggle, each once: intent, act, look up, confirmation, each in the store before the next begins.

    Each name at Kaggle is made of the content's hash, so whether something is there can be asked before it is sent; a
    process that is killed at any point finds what it left. No call waits for Kaggle's work, which takes hours.
    """

    def __init__(self, context: RunContext, files: Files, client: KaggleClient) -> None:
        self._context, self._files, self._client = context, files, client
        self._data_sets, self._notebooks = DataSets(client), Notebooks(client)
        self._user = ""

    def state(self, row: Submission) -> NotebookState | None:
        """Return where a submission's package stands."""
        with self._context.store.read() as session:
            return notebook_state(session, row.run_id, str(row.file_sha))

    async def advance(self, row: Submission, file: Path) -> None:
        """Take the next steps with a package; returns once its notebook has run and its output is fine.

        Raises:
            NotebookRuns: Kaggle has work to do; call again later. NotSent: nothing can be done now.
            InvalidSubmission: the notebook failed, or its output is not valid: it is never submitted.
            SiteUnavailable, KaggleError: Kaggle cannot be asked, or refuses a step.
            OSError, InfrastructureFailure: the package is missing, or damaged.
        """
        notebook = self.state(row)
        if notebook is not None and notebook.removed:
            raise InvalidSubmission("its weights were removed from Kaggle because better submissions count instead")
        if notebook is not None and notebook.stage == "ran":
            return
        if notebook is not None and notebook.stage == "failed":
            raise InvalidSubmission(notebook.reason)
        file.stat()
        package = Package.open(file)
        self._user = self._user or await own_name(self._client)
        data_set = await self._uploaded(row, package, notebook)
        await self._check_run(row, await self._pushed(row, package, data_set))

    async def cancel(self, row: Submission) -> None:
        """End the run of a notebook that is not to be submitted; one that Kaggle does not end runs to its end in vain."""
        notebook = self.state(row)
        if notebook is not None and notebook.stage == "pushed":
            with suppress(KaggleError, SiteUnavailable):
                await self._notebooks.cancel(notebook.ref, notebook.ref.rpartition("/")[2])

    async def remove(self, in_use: Collection[str]) -> None:
        """Remove the weights of all packages of the run but the needed ones (their sha256) from Kaggle.

        Raises SiteUnavailable, KaggleError: Kaggle cannot be asked, or refuses it.
        """
        run_id = self._context.run_id
        with self._context.store.read() as session:
            states = notebook_states(session, run_id)
        data_sets = {notebook.data_set for package, notebook in states.items() if package in in_use}
        for package, notebook in states.items():
            if package in in_use or notebook.removed or not notebook.data_set or notebook.data_set in data_sets:
                continue
            with suppress(NotFound, NotEntered):  # removed before the process was killed, or by the owner
                await self._data_sets.remove(notebook.data_set)
            with self._context.store.write() as tx:
                tx.record(REMOVED, run_id=run_id, node=notebook.node, package=package)
            self._context.say(f"removed {notebook.data_set}, the weights of node {notebook.node}, from Kaggle")

    async def _uploaded(self, row: Submission, package: Package, notebook: NotebookState | None) -> str:
        """Return the name of the data set with the package's weights, once it can be used; empty if it needs none."""
        if not package.weights or (notebook is not None and notebook.version):
            return "" if notebook is None else notebook.data_set
        ref = f"{self._user}/{package.weights_slug}"
        status = await self._data_sets.status(ref)
        if status is None:
            if notebook is not None:
                self._ensure_shown(notebook)
            self._record(row, "uploading", data_set=ref)
            folder = package.path.with_suffix(".weights")
            try:
                files = await asyncio.to_thread(package.unpack_weights, folder)
                await self._data_sets.create(ref, package.weights_slug, files)
            finally:
                await asyncio.to_thread(shutil.rmtree, folder, True)
            notebook = self._record(row, "uploaded", data_set=ref)
            raise self._later("Kaggle is processing the weights", notebook.at)
        if status.failed:
            raise self._failed(row, f"Kaggle could not process the weights: {status.name.lower()}")
        if status is not DataSetStatus.READY:
            raise self._later(
                "Kaggle is processing the weights", notebook.at if notebook else self._context.clock.now()
            )
        return ref

    async def _pushed(self, row: Submission, package: Package, data_set: str) -> NotebookState:
        """Return the state of the package once Kaggle has its notebook."""
        notebook, sha, slug = self.state(row), str(row.file_sha), self._context.card.slug
        if notebook is not None and notebook.version:
            return notebook
        name = f"bot-{slug[:_NAME].strip('-')}-{sha[:_HASH]}".lower()  # at most 50 characters
        ref = f"{self._user}/{name}"
        # Asked even before the first push: a database restored from a backup may have forgotten one.
        source = await self._notebooks.source(ref)
        if source is not None:
            if source.blob is None or sha not in source.blob.source:
                raise self._failed(row, f"{ref} already exists on Kaggle as a different notebook")
            # Each package has a notebook of its own, so the version that runs is its first.
            return self._confirmed(row, ref, 1, data_set)
        if notebook is not None and notebook.stage == "pushing":
            self._ensure_shown(notebook)
        await self._ensure_time(package)
        self._record(row, "pushing", ref=ref, data_set=data_set)
        sources = (data_set,) if data_set else ()
        pushed = await self._notebooks.push(
            PushedKernel(ref, name, package.notebook(sha), slug, sources, package.accelerator, package.image)
        )
        if pushed.unknown_sources:
            raise self._failed(row, f"Kaggle does not know these inputs: {', '.join(pushed.unknown_sources)}")
        if not pushed.version_number:
            raise SiteUnavailable(f"Kaggle accepted {ref} but returned no version")
        return self._confirmed(row, ref, pushed.version_number, data_set)

    def _confirmed(self, row: Submission, ref: str, version: int, data_set: str) -> NotebookState:
        facts = {"ref": ref, "version": version, "data_set": data_set}
        facts_of_push = {"tag": row.tag, "node": row.node, "ref": ref, "version": version}
        with self._context.store.write() as tx:
            pushed = record_stage(tx, row.run_id, row.node, str(row.file_sha), "pushed", **facts)
            notify(tx, Notice("notebook.pushed", self._context.card.slug, facts_of_push), row.run_id)
        self._context.say(f"pushed node {row.node} to Kaggle as {ref}, version {version}")
        return pushed

    async def _check_run(self, row: Submission, notebook: NotebookState) -> None:
        """Return once the pushed notebook has run, and its output is fine."""
        try:
            session = await self._notebooks.session(notebook.ref, notebook.version)
        except (NotFound, NotEntered):  # Kaggle's "permission denied" is also its answer for what does not exist
            self._ensure_shown(notebook)
            raise
        if not session.status.ended:
            raise self._later(f"its notebook is running on Kaggle as {notebook.ref}", notebook.at)
        output = await self._notebooks.output(notebook.ref, notebook.version)
        if session.status is not SessionStatus.COMPLETE:
            reason = session.failure_message or "no reason given"
            raise self._failed(
                row, f"its notebook ended on Kaggle with status {session.status.name.lower()}: {reason}", output.log
            )
        name = self._context.card.submission_file
        url = next((file.url for file in output.files if file.file_name == name), None)
        if url is None:
            raise self._failed(row, f"its notebook wrote no {name} on Kaggle", output.log)
        output_file = self._files.output_path(str(row.file_sha))
        if not await download_output(self._client, url, output_file, _LARGEST):
            raise SiteUnavailable(f"cannot download {name} of {notebook.ref} from Kaggle")
        checked = await self._files.check(output_file)
        if reason := checked.invalid or checked.copied or "":
            raise self._failed(row, f"its notebook's output on Kaggle cannot be submitted: {reason}", output.log)
        self._record(row, "ran")

    async def _ensure_time(self, package: Package) -> None:
        """Make sure that the week's quota of accelerators has room for the notebook. Raises NotebookRuns."""
        if package.accelerator is None:
            return
        quotas = await self._notebooks.accelerator_quota()
        needed_seconds = _MARGIN * package.seconds
        quota = quotas.gpu_quota if package.accelerator.startswith("Nvidia") else quotas.tpu_quota
        if quota is not None and quota.remaining_seconds < needed_seconds:
            now, hours, needed_hours = self._context.clock.now(), quota.remaining_seconds / 3600, needed_seconds / 3600
            quota_words = (
                f"its notebook may need {needed_hours:.1f} h of accelerator time, but {hours:.1f} h are left this week"
            )
            raise NotebookRuns(quota_words, min(quotas.quota_refresh_time or now + _NO_TIME, now + _NO_TIME))

    def _ensure_shown(self, notebook: NotebookState) -> None:
        """Raise NotebookRuns if what was sent last may be there, though Kaggle does not show it yet."""
        if self._context.clock.now() < notebook.at + _GRACE:
            raise self._later("Kaggle does not show the notebook yet", notebook.at)

    def _record(self, row: Submission, stage: Stage, **facts: str) -> NotebookState:
        with self._context.store.write() as tx:
            return record_stage(tx, row.run_id, row.node, str(row.file_sha), stage, **facts)

    def _failed(self, row: Submission, reason: str, log: str = "") -> InvalidSubmission:
        facts = {"node": row.node, "why": reason, "log": log[-_MAX_LOG:]}
        with self._context.store.write() as tx:
            record_stage(tx, row.run_id, row.node, str(row.file_sha), "failed", reason=reason, log=log)
            notify(tx, Notice("notebook.failed", self._context.card.slug, facts), row.run_id)
        return InvalidSubmission(reason)

    def _later(self, reason: str, since: datetime) -> NotebookRuns:
        now = self._context.clock.now()
        return NotebookRuns(reason, now + min(max(_SOONEST, (now - since) * _SHARE), _LATEST))
