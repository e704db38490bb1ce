"""The methods that submit files, and those that tell what came of them."""

from datetime import datetime
from typing import TYPE_CHECKING

from bot.rehearsal.board import Team, score_text
from bot.rehearsal.identity import wire_id
from bot.rehearsal.submissions import Submission
from bot.rehearsal.wire import Answer, Call, Json, Refused, denied, listed, precondition, wire_time

if TYPE_CHECKING:
    from bot.rehearsal.site import Site


class Submitting:
    """Answers about the user's submissions."""

    def __init__(self, site: "Site") -> None:
        self._site = site

    def start_upload(self, call: Call) -> Answer:
        """StartSubmissionUpload: a token, and the address to PUT the file to."""
        self._site.check(call.text("competitionName") or self._site.card.slug)
        self._may_take_part()
        upload, place = self._site.uploads.start(call.text("fileName"), call.number("contentLength") or 0, call.now)
        return {"token": upload.token, "createUrl": f"{call.base_url}/upload/{place}"}

    def create(self, call: Call) -> Answer:
        """CreateSubmission: refused with Kaggle's own words, or taken and graded."""
        site = self._site
        site.check(call.text("competitionName"))
        self._may_take_part()
        if site.card.kind == "code":
            raise precondition("Submission not allowed: This competition only accepts Submissions from Notebooks.")
        self._may_submit(call.now)
        upload = site.uploads.finished(call.text("blobFileTokens"), call.now)
        if upload.file_name != site.card.submission_file:
            raise Refused(400, f'Submission files must be named "{site.card.submission_file}"')
        tag = call.text("submissionDescription")
        ref = site.desk.take(bytes(upload.content), upload.file_name, tag, call.now)
        return {"message": f"Successfully submitted to {site.card.title}", "ref": ref}

    def allow(self, call: Call) -> None:
        """Check that a submission from a kernel may be made now.

        Raises:
            Refused: the competition takes files, has ended, or the day's submissions are used up.
        """
        self._site.check(call.text("competitionName"))
        self._may_take_part()
        if self._site.card.kind != "code":
            raise precondition("Submission not allowed: This competition does not accept Submissions from Notebooks.")
        self._may_submit(call.now)

    def list_submissions(self, call: Call) -> Answer:
        """ListSubmissions: newest first unless another order is asked for."""
        site = self._site
        site.check(call.text("competitionName"))
        self._may_take_part()
        if call.now < site.card.enabled_at:
            raise denied("competitions.participate")
        names = ("DATE", "NAME", "PRIVATE_SCORE", "PUBLIC_SCORE")
        order = call.enum("sortBy", "SUBMISSION_SORT_BY_", names)
        group = call.enum("group", "SUBMISSION_GROUP_", ("ALL", "SUCCESSFUL", "SELECTED"))
        found = list(reversed(site.desk.all(call.now)))
        if group == "SUCCESSFUL":
            found = [one for one in found if one.status == "COMPLETE"]
        elif group == "SELECTED":
            chosen = {one.ref for one in site.desk.best_public(call.now, 2)}
            found = [one for one in found if one.ref in chosen]
        page, token = call.page(self._ordered(found, order, call.now))
        return listed("submissions", [self._shown(one, call.now) for one in page], token)

    def get(self, call: Call) -> Answer:
        """GetSubmission: one by its number."""
        found = self._site.desk.find(call.number("ref") or 0, call.now)
        hidden = found is not None and (call.now - found.at).total_seconds() < self._site.faults.hidden_seconds(
            call.now
        )
        if hidden:
            self._site.faults.note("GetSubmission", "submission-hidden", call.now)
        if found is None or hidden:
            raise Refused(404, "Not found")
        return self._shown(found, call.now)

    def limits(self, call: Call) -> Answer:
        """GetSubmissionLimits: of the UTC day by the site's clock."""
        site = self._site
        site.check(call.text("competitionName"))
        limits = site.desk.limits(call.now, closed=site.over(call.now) or not site.entered)
        return {"numToday": limits.today, "numTotal": limits.total, "numAllowedNow": limits.allowed}

    def _may_take_part(self) -> None:
        if not self._site.entered:
            raise denied("competitions.participate")

    def _may_submit(self, now: datetime) -> None:
        site = self._site
        if site.over(now):
            raise precondition("The deadline of this competition has passed: it no longer accepts Submissions.")
        if site.desk.limits(now, closed=False).allowed == 0:
            raise precondition(
                f"Submission not allowed: Your team has used its daily Submission allowance ({site.daily}) today, "
                "please try again tomorrow UTC."
            )

    def _ordered(self, found: list[Submission], order: str, now: datetime) -> list[Submission]:
        card, over = self._site.card, self._site.over(now)

        def worth(one: Submission) -> float:
            score = one.public_score if order == "PUBLIC_SCORE" else one.private_score if over else None
            return float("-inf") if score is None else card.oriented(score)

        if order == "NAME":
            return sorted(found, key=lambda one: one.file_name)
        return found if order == "DATE" else sorted(found, key=worth, reverse=True)

    def _shown(self, one: Submission, now: datetime) -> Json:
        site = self._site
        return {
            "ref": one.ref,
            "date": wire_time(one.at),
            "status": one.status,
            "publicScore": score_text(one.public_score),
            "privateScore": score_text(one.private_score) if site.over(now) else "",
            "fileName": one.file_name,
            "totalBytes": one.size,
            "description": one.tag,
            "errorDescription": one.error,
            "submittedBy": site.settings.display_name,
            "submittedByRef": site.settings.user_name,
            "teamName": site.settings.display_name,
            "url": f"https://www.kaggle.com/submissions/{one.ref}/{one.ref}.raw",
        }


def own_team(site: "Site", now: datetime) -> Team | None:
    """Return the user's own entry: its best public score, and in the end the private one that counts."""
    best = site.desk.best_public(now)
    final = site.desk.final(now)
    if not best or best[0].public_score is None or final is None or final.private_score is None:
        return None
    taken = site.desk.all(now)
    settings = site.settings
    last = max(one.at for one in taken)
    return Team(
        id=wire_id("team", f"{site.card.slug}/own"),
        name=settings.display_name,
        user=settings.user_name,
        at=last,
        public=best[0].public_score,
        private=final.private_score,
        submissions=len(taken),
    )
