"""The methods that push kernels, report on their runs, and submit what they wrote.

The stand-in runs no code: every pushed kernel writes the sample submission.
"""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.rehearsal.identity import wire_id
from bot.rehearsal.kernel_methods import KernelMethods
from bot.rehearsal.kernels import Version
from bot.rehearsal.rendering import slugified
from bot.rehearsal.site import Site
from bot.rehearsal.submission_methods import SubmissionMethods
from bot.rehearsal.wire import Answer, Call, Json, Refused, denied, listed, precondition

SAMPLE = "sample_submission.csv"


@dataclass(frozen=True)
class Outcome:
    """What a kernel's run wrote."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    log: str = ""


@dataclass(frozen=True)
class _Session:
    runs_at: datetime
    ends_at: datetime
    outcome: Outcome


class KernelRuns:
    """Runs of kernels by the site's clock; runs of the snapshot's kernels have long ended."""

    def __init__(self, site: Site, notebooks: KernelMethods, submitting: SubmissionMethods) -> None:
        self._site = site
        self._notebooks = notebooks
        self._submitting = submitting
        self._rng = random.Random(f"{site.settings.seed}/sessions")  # noqa: S311 - nothing secret
        self._sessions: dict[tuple[str, int], _Session] = {}

    def save_kernel(self, call: Call) -> Answer:
        """SaveKernel: a new version that begins to run; a mistake is reported as `error` with status 200."""
        owner, _, slug = call.text("slug").rpartition("/")
        user = self._site.settings.user_name
        error = self._mistake(call, owner or user, slug)
        played = {one.slug for one in self._site.competitions}
        unknown = [name for name in _names(call, "competitionDataSources") if name not in played]
        if error:
            return {"error": error, "invalidCompetitionSources": unknown}
        version = self._version(call, owner or user, slug or slugified(call.text("newTitle")))
        self._site.kernels.push(version)
        queued, runs = (self._rng.uniform(*self._site.settings.kernel_seconds) / 2 for _ in range(2))
        starts = call.now + timedelta(seconds=queued)
        session = _Session(starts, starts + timedelta(seconds=runs), self._sample(version))
        self._sessions[version.ref, version.number] = session
        return {
            "ref": version.ref,
            "url": f"https://www.kaggle.com/code/{version.ref}",
            "versionNumber": version.number,
            "kernelId": wire_id("kernel", version.ref),
            "invalidCompetitionSources": unknown,
        }

    def status(self, call: Call) -> Answer:
        """GetKernelSessionStatus: of a version, or of the latest one."""
        version = self._notebooks.find(call)
        return {"status": self._status(version, call.now)[0]}

    def output(self, call: Call) -> Answer:
        """ListKernelSessionOutput: the files of a run that has ended, by signed addresses, and its log."""
        version = self._notebooks.find(call)
        status, session = self._status(version, call.now)
        outcome = session.outcome if session else _published(version)
        done = status == "COMPLETE"
        files = {}
        for name, content in outcome.files.items() if done else ():
            place = f"output/{version.ref}/v{version.number}/{name}"
            self._site.storage.add(place, content, version.at)
            files[name] = self._site.storage.link(place, call.base_url, call.now)
        page, token = call.page([{"url": url, "fileName": name} for name, url in files.items()])
        log = (
            json.dumps([{"stream_name": "stdout", "time": 0.5, "data": outcome.log}]) if done and outcome.log else None
        )
        return listed("files", page, token, log=log)

    def create_code_submission(self, call: Call) -> Answer:
        """CreateCodeSubmission: submits what a run wrote."""
        competition = self._submitting.allow(call)
        version = self._submitted(call)
        status, session = self._status(version, call.now)
        if status != "COMPLETE":
            raise precondition("Submission not allowed: The Notebook version has not completed successfully.")
        if version.internet:
            raise precondition("Submission not allowed: Your Notebook cannot use internet access in this competition.")
        name = call.text("fileName")
        content = session.outcome.files.get(name) if session else None
        if name != competition.card.submission_file:
            raise Refused(400, f'Submission files must be named "{competition.card.submission_file}"')
        if content is None:
            raise precondition(f"Submission not allowed: The Notebook has no output file {name}.")
        ref = competition.desk.take(content, name, call.text("submissionDescription"), call.now)
        return {"message": f"Successfully submitted to {competition.card.title}", "ref": ref}

    def _submitted(self, call: Call) -> Version:
        number = call.number("kernelVersion")
        named: Json = {"userName": call.text("kernelOwner"), "kernelSlug": call.text("kernelSlug")}
        return self._notebooks.find(
            Call(named | ({"versionLabel": f"v{number}"} if number else {}), call.now, call.base_url)
        )

    def _status(self, version: Version, now: datetime) -> tuple[str, _Session | None]:
        session = self._sessions.get((version.ref, version.number)) if version.row_id is None else None
        if session is None:
            return "COMPLETE", None
        if now < session.runs_at:
            return "QUEUED", session
        if now < session.ends_at:
            return "RUNNING", session
        return "COMPLETE", session

    def _mistake(self, call: Call, owner: str, slug: str) -> str | None:
        if owner != self._site.settings.user_name:
            raise denied("kernels.update")
        if not slug and not slugified(call.text("newTitle")):
            return "A title must be specified"
        if call.text("kernelType") not in ("script", "notebook"):
            return "Kernel type must be script or notebook"
        if not call.text("text"):
            return "The kernel's source must be specified"
        if call.text("kernelType") == "notebook":
            return _notebook_mistake(call.text("text"))
        return None

    def _version(self, call: Call, owner: str, slug: str) -> Version:
        versions = self._site.kernels.versions(f"{owner}/{slug}", call.now)
        return Version(
            owner=owner,
            slug=slug,
            number=versions[-1].number + 1 if versions else 1,
            title=call.text("newTitle") or (versions[-1].title if versions else slug),
            author=self._site.settings.display_name,
            language=call.text("language") or "python",
            kernel_type=call.text("kernelType"),
            at=call.now,
            source=call.text("text"),
            competition_sources=tuple(_names(call, "competitionDataSources")),
            dataset_sources=tuple(_names(call, "datasetDataSources")),
            kernel_sources=tuple(_names(call, "kernelDataSources")),
            model_sources=tuple(_names(call, "modelDataSources")),
            # Left out, they mean private and with internet, as on the real site.
            private=call.body.get("isPrivate") is not False,
            gpu=call.flag("enableGpu"),
            internet=call.body.get("enableInternet") is not False,
        )

    def _sample(self, version: Version) -> Outcome:
        """Return the sample submission of the first of the kernel's competitions that is played here and has one."""
        for competition in self._site.competitions:
            path = competition.snapshot.data / SAMPLE
            if competition.slug in version.competition_sources and path.is_file():
                files = {competition.card.submission_file: path.read_bytes()}
                return Outcome(files, "The stand-in runs no code: it wrote the sample submission.\n")
        return Outcome(log="The stand-in runs no code, and has no sample submission to write.\n")


def _published(version: Version) -> Outcome:
    """Return what is known of a published run: its source, and its submission if the snapshot has it."""
    name = "__notebook__.ipynb" if version.kernel_type == "notebook" else "__script__.txt"
    files = {name: version.source.encode()}
    if version.output is not None:
        files[version.output.name] = version.output.read_bytes()
    return Outcome(files, f"{version.title}: what the run printed was not kept.\n")


def _names(call: Call, name: str) -> list[str]:
    return [str(one) for one in call.many(name)]


def _notebook_mistake(text: str) -> str | None:
    try:
        cells = json.loads(text)["cells"]
        good = all(isinstance(cell.get("source", ""), str) for cell in cells)
    except (ValueError, KeyError, TypeError, AttributeError):
        return "The notebook's source is not valid JSON"
    return None if good else "The source of each notebook cell must be one string"
