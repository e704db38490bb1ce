"""The methods that push kernels, report on their runs, and submit what they write.

With a sandbox they really run: when pushed on the public data, and when submitted again on the whole. Without one every
pushed kernel writes the sample submission.
"""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from bot.simulator.site.competition import SimulatedCompetition
from bot.simulator.site.datasets import DataSetMethods
from bot.simulator.site.hidden_test import SAMPLE
from bot.simulator.site.identity import wire_id
from bot.simulator.site.kernel_methods import KernelMethods
from bot.simulator.site.kernels import Version
from bot.simulator.site.rendering import share_of, slugified
from bot.simulator.site.running import NotebookOutput, NotebookRun
from bot.simulator.site.sessions import Sessions, gpu_quota
from bot.simulator.site.site import Site
from bot.simulator.site.submission_methods import SubmissionMethods
from bot.simulator.site.submissions import RerunFailed
from bot.simulator.site.wire import Answer, ApiError, Call, Json, denied, list_answer, precondition, wire_time


class KernelRuns:
    """Runs of kernels by the site's clock; runs of the snapshot's kernels have long ended."""

    def __init__(
        self, site: Site, notebooks: KernelMethods, submitting: SubmissionMethods, data_sets: DataSetMethods
    ) -> None:
        self._site = site
        self._notebooks = notebooks
        self._submitting = submitting
        self._data_sets = data_sets
        self._sessions = Sessions(site.settings)

    def save_kernel(self, call: Call) -> Answer:
        """SaveKernel: a new version that begins to run; a mistake is reported as `error` with status 200.

        Sources that are unknown, or not ready yet, keep no version from being made: it runs without them.
        """
        owner, _, slug = call.text("slug").rpartition("/")
        owner = owner or self._site.settings.user_name
        error = self._mistake(call, owner, slug) or self._sessions.refusal(call.now, gpu=_wants_gpu(call))
        slugs = {c.slug for c in self._site.competitions}
        unknown = {
            "invalidCompetitionSources": [name for name in _names(call, "competitionDataSources") if name not in slugs],
            "invalidDatasetSources": [
                name for name in _names(call, "datasetDataSources") if self._data_sets.folder(name, call.now) is None
            ],
        }
        if error:
            return {"error": error, **unknown}
        version = self._version(call, owner, slug)
        self._site.kernels.push(version)
        fails = self._site.faults.since("sessions-fail", call.now) is not None
        run = self._run(version, call.now, hidden=False, seconds=call.number("sessionTimeoutSeconds"))
        self._sessions.begin(version, call.now, run, fails=fails)
        return {
            "ref": version.ref,
            "url": f"https://www.kaggle.com/code/{version.ref}",
            "versionNumber": version.number,
            "kernelId": wire_id("kernel", version.ref),
            **unknown,
        }

    def status(self, call: Call) -> Answer:
        """GetKernelSessionStatus: of a version, or of the latest one."""
        session = self._sessions.find(self._notebooks.find(call))
        if session is None:
            return {"status": "COMPLETE"}
        status = session.status(call.now)
        message = session.run.future.result().error if status == "ERROR" and not session.fails else None
        return {"status": status, "failureMessage": message}

    def cancel(self, call: Call) -> Answer:
        """CancelKernelSession: of a session that the search names."""
        session = self._sessions.by_number(call.number("kernelSessionId") or 0)
        if session is None:
            raise denied("kernels.update")
        if session.ended(call.now):
            return {"errorMessage": "The session has already ended."}
        session.cancel()
        return {}

    def accelerator_quota(self, call: Call) -> Answer:
        """GetAcceleratorQuotaStatistics: the week's hours on GPUs, and none on TPUs."""
        used_seconds, reserved = self._sessions.gpu_seconds(call.now)
        return {
            "quotaRefreshTime": wire_time(self._sessions.refresh(call.now)),
            "gpuQuota": gpu_quota(used_seconds, reserved, self._site.settings.gpu_hours),
            "tpuQuota": gpu_quota(0, 0, 0),
        }

    def output(self, call: Call) -> Answer:
        """ListKernelSessionOutput: the files of a run that has ended, by signed addresses, and its log."""
        version = self._notebooks.find(call)
        session = self._sessions.find(version)
        outcome = session.outcome(call.now) if session else _published(version)
        files = {}
        for name, content in outcome.files.items():
            place = f"output/{version.ref}/v{version.number}/{name}"
            self._site.storage.add(place, content, version.run_at)
            files[name] = self._site.storage.link(place, call.base_url, call.now)
        page, token = call.page([{"url": url, "fileName": name} for name, url in files.items()])
        log = json.dumps([{"stream_name": "stdout", "time": 0.5, "data": outcome.log}]) if outcome.log else None
        return list_answer("files", page, token, log=log)

    def create_code_submission(self, call: Call) -> Answer:
        """CreateCodeSubmission: submits what a run wrote, or what it writes when it runs again on all rows."""
        competition = self._submitting.allow(call)
        version = self._submitted(call)
        session = self._sessions.find(version)
        if session is not None and session.status(call.now) != "COMPLETE":
            raise precondition("Submission not allowed: The Notebook version has not completed successfully.")
        if version.internet:
            raise precondition("Submission not allowed: Your Notebook cannot use internet access in this competition.")
        name = call.text("fileName")
        if name != competition.card.submission_file:
            raise ApiError(400, f'Submission files must be named "{competition.card.submission_file}"')
        content = session.outcome(call.now).files.get(name) if session else None
        if content is None:
            raise precondition(f"Submission not allowed: The Notebook has no output file {name}.")
        graded = content if self._site.runner is None else self._rerun(version, call.now, name)
        ref = competition.desk.take(graded, name, call.text("submissionDescription"), call.now)
        return {"message": f"Successfully submitted to {competition.card.title}", "ref": ref}

    def _rerun(self, version: Version, now: datetime, name: str) -> Callable[[], bytes]:
        run = self._run(version, now, hidden=True)

        def output_file() -> bytes:
            output = run.future.result()
            if output.error or name not in output.files:
                raise RerunFailed(output.error or "Submission CSV Not Found")
            return output.files[name]

        return output_file

    def _run(self, version: Version, now: datetime, *, hidden: bool, seconds: int | None = None) -> NotebookRun:
        competitions = [c for c in self._site.competitions if c.slug in version.competition_sources]
        if self._site.runner is None:
            return _sample(competitions)
        settings = self._site.settings
        is_long = share_of(settings.seed, "layout", version.ref, version.number, hidden) < 0.5
        long = settings.input_layout == "long" or (settings.input_layout == "mixed" and is_long)
        inputs: dict[str, Path] = {}
        for competition in competitions:
            inputs[f"competitions/{competition.slug}" if long else competition.slug] = (
                competition.snapshot.data if hidden else competition.data
            )
        for ref in version.dataset_sources:
            if folder := self._data_sets.folder(ref, now):
                inputs[f"datasets/{ref}" if long else ref.rpartition("/")[2]] = folder
        limit = min(seconds or settings.run_seconds, settings.run_seconds)
        keep = competitions[0].card.submission_file if competitions else "submission.csv"
        return self._site.runner.start(version.source, inputs, seconds=limit, keep=keep)

    def _submitted(self, call: Call) -> Version:
        number = call.number("kernelVersion")
        names: Json = {"userName": call.text("kernelOwner"), "kernelSlug": call.text("kernelSlug")}
        return self._notebooks.find(
            Call(names | ({"versionLabel": f"v{number}"} if number else {}), call.now, call.base_url)
        )

    def _mistake(self, call: Call, owner: str, slug: str) -> str | None:
        title = call.text("newTitle")
        if owner != self._site.settings.user_name:
            raise denied("kernels.update")
        if not slug and not slugified(title):
            return "A title must be specified"
        if call.text("kernelType") not in ("script", "notebook"):
            return "Kernel type must be script or notebook"
        if not call.text("text"):
            return "The kernel's source must be specified"
        own_kernels = [k for k in self._site.kernels.current(call.now) if k.owner == owner]
        if title and any(k.title == title and k.slug != slug for k in own_kernels):
            return f'The requested title "{title}" is already in use by a notebook. Please choose another title.'
        if call.text("kernelType") == "notebook":
            return _notebook_mistake(call.text("text"))
        return None

    def _version(self, call: Call, owner: str, slug: str) -> Version:
        title = call.text("newTitle")
        versions = self._site.kernels.versions(f"{owner}/{slug}", call.now)
        # A new kernel is named by its title, whatever slug was asked for.
        slug = slug if versions else slugified(title) or slug
        versions = versions or self._site.kernels.versions(f"{owner}/{slug}", call.now)
        return Version(
            owner=owner,
            slug=slug,
            number=versions[-1].number + 1 if versions else 1,
            title=title or (versions[-1].title if versions else slug),
            author=self._site.settings.display_name,
            language=call.text("language") or "python",
            kernel_type=call.text("kernelType"),
            run_at=call.now,
            source=call.text("text"),
            competition_sources=tuple(_names(call, "competitionDataSources")),
            dataset_sources=tuple(_names(call, "datasetDataSources")),
            kernel_sources=tuple(_names(call, "kernelDataSources")),
            model_sources=tuple(_names(call, "modelDataSources")),
            # Left out, they mean private and with internet, as on the real site.
            private=call.body.get("isPrivate") is not False,
            gpu=_wants_gpu(call),
            internet=call.body.get("enableInternet") is not False,
            image=call.text("dockerImage"),
            machine=call.text("machineShape"),
        )


def _wants_gpu(call: Call) -> bool:
    return call.flag("enableGpu") or call.text("machineShape").startswith("Nvidia")


def _sample(competitions: list[SimulatedCompetition]) -> NotebookRun:
    """Return a run that wrote the sample submission of the first competition that has one, without any code."""
    run = NotebookRun()
    for competition in competitions:
        path = competition.snapshot.data / SAMPLE
        if path.is_file():
            files = {competition.card.submission_file: path.read_bytes()}
            run.future.set_result(NotebookOutput(files, "Simulated: no code ran; the sample submission was written.\n"))
            return run
    run.future.set_result(NotebookOutput(log="Simulated: no code ran, and there is no sample submission to write.\n"))
    return run


def _published(version: Version) -> NotebookOutput:
    """Return what is known of a published run: its source, and its submission if the snapshot has it."""
    name = "__notebook__.ipynb" if version.kernel_type == "notebook" else "__script__.txt"
    files = {name: version.source.encode()}
    if version.output is not None:
        files[version.output.name] = version.output.read_bytes()
    return NotebookOutput(files, f"{version.title}: the output of this run was not stored.\n")


def _names(call: Call, name: str) -> list[str]:
    return [str(name) for name in call.list_of(name)]


def _notebook_mistake(text: str) -> str | None:
    try:
        cells = json.loads(text)["cells"]
        good = all(isinstance(cell.get("source", ""), str) for cell in cells)
    except (ValueError, KeyError, TypeError, AttributeError):
        return "The notebook's source is not valid JSON"
    return None if good else "The source of each notebook cell must be one string"
