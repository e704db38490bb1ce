"""The methods that submit files, and those that report on submissions."""

from datetime import datetime

from bot.simulator.site.board import score_text
from bot.simulator.site.competition import SimulatedCompetition
from bot.simulator.site.site import Site
from bot.simulator.site.submissions import SimulatedSubmission
from bot.simulator.site.wire import Answer, ApiError, Call, Json, denied, list_answer, precondition, wire_time
from scrapers.snapshots.tables import is_table


class SubmissionMethods:
    """Answers about the user's submissions."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def start_upload(self, call: Call) -> Answer:
        """StartSubmissionUpload: a token, and the address to PUT the file to; the competition is optional."""
        if call.text("competitionName"):
            self._joined(call)
        elif not any(c.entered for c in self._site.competitions):
            raise denied("competitions.participate")
        upload, place = self._site.uploads.start(call.text("fileName"), call.number("contentLength") or 0, call.now)
        return {"token": upload.token, "createUrl": f"{call.base_url}/upload/{place}"}

    def create(self, call: Call) -> Answer:
        """CreateSubmission: refused with Kaggle's own message, or accepted and graded."""
        competition = self._joined(call)
        card = competition.card
        if competition.takes_notebooks:
            raise precondition("Submission not allowed: This competition only accepts Submissions from Notebooks.")
        _may_submit(competition, call.now)
        upload = self._site.uploads.finished(call.text("blobFileTokens"), call.now)
        # Where tables are asked for, Kaggle takes them under any name.
        if upload.file_name != card.submission_file and not is_table(card.submission_file):
            raise ApiError(400, f'Submission files must be named "{card.submission_file}"')
        tag = call.text("submissionDescription")
        ref = competition.desk.take(bytes(upload.content), upload.file_name, tag, call.now)
        return {"message": f"Successfully submitted to {card.title}", "ref": ref}

    def allow(self, call: Call) -> SimulatedCompetition:
        """Return the competition if it takes a submission from a kernel now.

        Raises ApiError: the competition takes files, has ended, or the day's submissions are used up.
        """
        competition = self._joined(call)
        if not competition.takes_notebooks:
            raise precondition("Submission not allowed: This competition does not accept Submissions from Notebooks.")
        _may_submit(competition, call.now)
        return competition

    def list_submissions(self, call: Call) -> Answer:
        """ListSubmissions: newest first, whatever order is requested."""
        competition = self._joined(call)
        if not competition.begun(call.now):
            raise denied("competitions.participate")
        page, token = call.page(list(reversed(competition.desk.all(call.now))))
        return list_answer("submissions", [_as_json(s, competition, call.now) for s in page], token)

    def get(self, call: Call) -> Answer:
        """GetSubmission: a submission to any competition, by its number."""
        faults = self._site.faults
        for competition in self._site.competitions:
            submission = competition.desk.find(call.number("ref") or 0, call.now)
            if submission is None:
                continue
            if (call.now - submission.submitted_at).total_seconds() < faults.hidden_seconds(call.now):
                faults.note("GetSubmission", "submission-hidden", call.now)
                break
            return _as_json(submission, competition, call.now)
        raise ApiError(404, "Not found")

    def limits(self, call: Call) -> Answer:
        """GetSubmissionLimits: of the UTC day by the site's clock; all zero before the first submission makes a team."""
        competition = self._site.competition(call.text("competitionName"))
        if not competition.desk.all(call.now):
            return {}
        closed = not competition.begun(call.now) or competition.over(call.now) or not competition.entered
        limits = competition.desk.limits(call.now, closed=closed)
        return {"numToday": limits.today, "numTotal": limits.total, "numAllowedNow": limits.allowed}

    def _joined(self, call: Call) -> SimulatedCompetition:
        competition = self._site.competition(call.text("competitionName"))
        if not competition.entered:
            raise denied("competitions.participate")
        return competition


def _may_submit(competition: SimulatedCompetition, now: datetime) -> None:
    if not competition.begun(now):
        raise denied("competitions.participate")
    if competition.over(now):
        raise precondition("The deadline of this competition has passed: it no longer accepts Submissions.")
    if competition.desk.limits(now, closed=False).allowed == 0:
        raise precondition(
            f"Submission not allowed: Your team has used its daily Submission allowance ({competition.daily}) today, "
            "please try again tomorrow UTC."
        )


def _as_json(submission: SimulatedSubmission, competition: SimulatedCompetition, now: datetime) -> Json:
    settings = competition.settings
    return {
        "ref": submission.ref,
        "date": wire_time(submission.submitted_at),
        "status": submission.status,
        "publicScore": score_text(submission.public_score),
        "privateScore": score_text(submission.private_score) if competition.over(now) else "",
        "fileName": submission.file_name,
        "totalBytes": submission.size,
        "description": submission.tag,
        "errorDescription": submission.error,
        "submittedBy": settings.display_name,
        "submittedByRef": settings.user_name,
        "teamName": settings.display_name,
        "url": f"https://www.kaggle.com/submissions/{submission.ref}/{submission.ref}.raw",
    }
