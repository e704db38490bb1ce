"""The methods for competitions themselves: lists, pages, files, the leaderboard."""

import base64
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from bot.simulator.site.board import Team, score_text, zipped
from bot.simulator.site.competition import SimulatedCompetition
from bot.simulator.site.competition_kinds import NO_METRIC
from bot.simulator.site.competition_pages import metric_words
from bot.simulator.site.identity import wire_id
from bot.simulator.site.site import Site
from bot.simulator.site.wire import Answer, ApiError, Binary, Call, Json, Redirect, denied, list_answer, wire_time

_TABS = ("GENERAL", "ENTERED", "COMMUNITY", "HOSTED", "UNLAUNCHED", "UNLAUNCHED_COMMUNITY", "EVERYTHING")
_ADDRESS = "https://www.kaggle.com/competitions/"


class CompetitionMethods:
    """Answers about the competitions that are played back."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def list_competitions(self, call: Call) -> Answer:
        """ListCompetitions: those that have begun; no token if a page number is given."""
        tab = call.enum("group", "COMPETITION_LIST_TAB_", _TABS)
        search = call.text("search").lower()
        competitions = [
            self._competition(c, call.now)
            for c in self._site.competitions
            if c.begun(call.now)
            and (tab in ("GENERAL", "EVERYTHING") or (tab == "ENTERED" and c.entered))
            and search in f"{c.card.title} {c.slug}".lower()
        ]
        page, token = call.page(competitions)
        return list_answer("competitions", page, token)

    def get_competition(self, call: Call) -> Answer:
        """GetCompetition: also one that the user has not joined, or that has not begun."""
        competition = next((c for c in self._site.competitions if c.slug == call.text("competitionName")), None)
        if competition is None:
            raise denied("competitions.get")
        return self._competition(competition, call.now)

    def list_pages(self, call: Call) -> Answer:
        """ListCompetitionPages: all pages, or one by name."""
        competition = self._requested(call)
        changed = competition.is_now("rules-changed", call.now)
        return {"pages": competition.pages.answer(call.text("pageName"), rules_changed=changed)}

    def list_files(self, call: Call) -> Answer:
        """ListDataFiles: names, sizes and times, at most 200 a page."""
        competition = self._requested(call)
        page, token = call.page(list(competition.files.sizes), largest=200)
        files = [_file(competition, name) for name in page]
        if competition.is_now("unstable-lists", call.now) and not token:
            return self._unstable(files, first=not call.text("pageToken"))
        return list_answer("files", files, token)

    def summarise_files(self, call: Call) -> Answer:
        """GetCompetitionDataFilesSummary: numbers and sizes by extension."""
        competition = self._requested(call)
        sizes_by_suffix: dict[str, list[int]] = {}
        for name, size in competition.sizes.items():
            sizes_by_suffix.setdefault(PurePosixPath(name).suffix, []).append(size)
        added_bytes = 1 if competition.is_now("data-changed", call.now) else 0
        types = [
            {"extension": suffix, "fileCount": len(sizes), "totalSize": sum(sizes) + added_bytes}
            for suffix, sizes in sorted(sizes_by_suffix.items())
        ]
        return {"fileSummaryInfo": {"totalFileCount": len(competition.files.sizes), "fileTypes": types}}

    def _unstable(self, files: list[Json], *, first: bool) -> Answer:
        """Return a list as the real site gives it at times: one file is missing, another's size is a little off."""
        if not first or not files:
            return {}
        number = self._site.requests["ListDataFiles"]
        odd = files[number % len(files)]
        odd["totalBytes"] += number
        odd["creationDate"] = None
        del files[(number + 1) % len(files)]
        return list_answer("files", files, base64.urlsafe_b64encode(b"o:200").decode())

    def download_files(self, call: Call) -> Answer:
        """DownloadDataFiles: the address of one zip of all files."""
        place = f"archive/{self._joined(call).slug}.zip"
        return Redirect(self._site.storage.link(place, call.base_url, call.now))

    def download_file(self, call: Call) -> Answer:
        """DownloadDataFile: the address of one file; 404 for a file that is not listed."""
        competition = self._joined(call)
        name = call.text("fileName")
        if name not in competition.files.sizes:
            raise ApiError(404, "Not found")
        return Redirect(self._site.storage.link(f"data/{competition.slug}/{name}", call.base_url, call.now))

    def get_leaderboard(self, call: Call) -> Answer:
        """GetLeaderboard: the public board while it runs, then the private one unless `overridePublic`."""
        competition = self._requested(call)
        private = competition.over(call.now) and not call.flag("overridePublic")
        page, token = call.page(competition.standings(call.now, private=private), largest=200)
        return list_answer("submissions", [_entry(team, private=private) for team in page], token)

    def download_leaderboard(self, call: Call) -> Answer:
        """DownloadLeaderboard: a zip, without Last-Modified."""
        competition = self._requested(call)
        private, slug = competition.over(call.now), competition.slug
        teams = competition.standings(call.now, private=private)
        disposition = {"content-disposition": f"attachment; filename={slug}.zip"}
        return Binary(zipped(teams, slug, call.now, private=private), "application/zip", disposition)

    def _competition(self, competition: SimulatedCompetition, now: datetime) -> Json:
        """Return a Competition; `newEntrantDeadline` is absent, as it often is."""
        card, settings, deadline = competition.card, competition.settings, competition.deadline(now)
        teams = competition.standings(now, private=competition.over(now))
        merger = card.deadline - (card.deadline - card.enabled_at) / 10
        return {
            "id": wire_id("competition", card.slug),
            "ref": f"{_ADDRESS}{card.slug}",
            "url": f"{_ADDRESS}{card.slug}",
            "title": card.title,
            "organizationName": "The stand-in",
            "category": "Playground",  # a snapshot's `category` is the kind of task, and becomes a tag
            "reward": "Knowledge",
            "hostName": "The stand-in",
            "description": next((line for line in card.description.splitlines() if line and line[0] not in "#!|`"), ""),
            "tags": [
                {"ref": card.category, "name": card.category.replace("-", " "), "fullPath": f"task > {card.category}"}
            ],
            "deadline": wire_time(deadline),
            "mergerDeadline": wire_time(min(deadline, merger)),
            "enabledDate": wire_time(card.enabled_at),
            "dateCreated": wire_time(card.enabled_at - timedelta(days=3)),
            "kernelCount": len(self._site.kernels.of_competition(competition.slug, now)),
            "teamCount": len(teams),
            "userHasEntered": competition.entered,
            "userRank": next((rank for rank, team in enumerate(teams, 1) if team.id == competition.team_id), None),
            "maxDailySubmissions": competition.daily,
            "maxTeamSize": settings.max_team_size,
            "evaluationMetric": metric_words(card)
            if settings.metric_shown and settings.kind not in NO_METRIC
            else None,
            "isKernelsSubmissionsOnly": competition.takes_notebooks,
            "submissionsDisabled": competition.is_now("closed-early", now),
        }

    def _requested(self, call: Call) -> SimulatedCompetition:
        return self._site.competition(call.text("competitionName"))

    def _joined(self, call: Call) -> SimulatedCompetition:
        competition = self._requested(call)
        if not competition.entered:
            raise ApiError(403, "You must accept this competition's rules before you'll be able to download files.")
        return competition


def _file(competition: SimulatedCompetition, name: str) -> Json:
    return {
        "ref": name,
        "name": name,
        "totalBytes": competition.sizes[name],
        "url": f"{_ADDRESS}{competition.slug}/data?select={name}",
        "creationDate": wire_time(competition.files.made_at),
    }


def _entry(team: Team, *, private: bool) -> Json:
    return {
        "teamId": team.id,
        "teamName": team.name,
        "submissionDate": wire_time(team.last_submission_at),
        "score": score_text(team.private if private else team.public),
    }
