"""The methods for competitions themselves: lists, pages, files, the leaderboard."""

import base64
from datetime import datetime
from pathlib import PurePosixPath

from bot.rehearsal.board import Team, score_text, zipped
from bot.rehearsal.competition import Competition
from bot.rehearsal.competition_lists import listed_competition, other
from bot.rehearsal.site import Site
from bot.rehearsal.wire import Answer, Binary, Call, Json, Redirect, Refused, denied, listed, wire_time

_TABS = ("GENERAL", "ENTERED", "COMMUNITY", "HOSTED", "UNLAUNCHED", "UNLAUNCHED_COMMUNITY", "EVERYTHING")
_ORDERS = (
    *("GROUPED", "BEST", "PRIZE", "EARLIEST_DEADLINE", "LATEST_DEADLINE", "NUMBER_OF_TEAMS", "RELEVANCE"),
    "RECENTLY_CREATED",
)
_SEGMENTS = (
    *("UNSPECIFIED", "FEATURED", "RESEARCH", "RECRUITMENT", "", "GETTING_STARTED", "MASTERS", "", "PLAYGROUND"),
    *("", "COMMUNITY", "ANALYTICS"),
)
_COMPETITIONS_A_PAGE = 20


class CompetitionMethods:
    """Answers about the competitions that are played back."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def list_competitions(self, call: Call) -> Answer:
        """ListCompetitions: 20 a page whatever is requested, and no token if a page number is given."""
        tab = call.enum("group", "COMPETITION_LIST_TAB_", _TABS)
        order = call.enum("sortBy", "COMPETITION_SORT_BY_", _ORDERS)
        segment = call.enum("category", "HOST_SEGMENT_", _SEGMENTS)
        search = call.text("search").lower()
        found = [
            one
            for one in self._listed(tab, call.now)
            if search in f"{one['title']} {one['ref']}".lower()
            and segment in ("UNSPECIFIED", str(one["category"]).upper().replace(" ", "_"))
        ]
        keys = {"EARLIEST_DEADLINE": "deadline", "LATEST_DEADLINE": "deadline", "NUMBER_OF_TEAMS": "teamCount"}
        keys |= {"RECENTLY_CREATED": "dateCreated", "PRIZE": "reward"}
        if order in keys:
            found.sort(key=lambda one: one[keys[order]], reverse=order != "EARLIEST_DEADLINE")
        fixed = Call(dict(call.body) | {"pageSize": _COMPETITIONS_A_PAGE}, call.now, call.base_url)
        page, token = fixed.page(found)
        return listed("competitions", page, token)

    def get_competition(self, call: Call) -> Answer:
        """GetCompetition: also a made-up competition, which the user has not joined."""
        name = call.text("competitionName")
        made_up = next((one for one in self._site.others if one.slug == name), None)
        if made_up is not None:
            return other(made_up)
        played = next((one for one in self._site.competitions if one.slug == name), None)
        if played is None:
            raise denied("competitions.get")
        return self._played(played, call.now)

    def list_pages(self, call: Call) -> Answer:
        """ListCompetitionPages: all pages, or one by name."""
        competition = self._named(call)
        changed = competition.is_now("rules-changed", call.now)
        return {"pages": competition.pages.answer(call.text("pageName"), rules_changed=changed)}

    def list_files(self, call: Call) -> Answer:
        """ListDataFiles: names, sizes and times, at most 200 a page."""
        competition = self._named(call)
        page, token = call.page(list(competition.files.sizes), largest=200)
        files = [_file(competition, name) for name in page]
        if competition.is_now("unstable-lists", call.now) and not token:
            return self._unstable(files, first=not call.text("pageToken"))
        return listed("files", files, token)

    def summarise_files(self, call: Call) -> Answer:
        """GetCompetitionDataFilesSummary: numbers and sizes by extension."""
        competition = self._named(call)
        found: dict[str, list[int]] = {}
        for name, size in competition.sizes.items():
            found.setdefault(PurePosixPath(name).suffix, []).append(size)
        more = 1 if competition.is_now("data-changed", call.now) else 0
        types = [
            {"extension": one, "fileCount": len(sizes), "totalSize": sum(sizes) + more}
            for one, sizes in sorted(found.items())
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
        return listed("files", files, base64.urlsafe_b64encode(b"o:200").decode())

    def download_files(self, call: Call) -> Answer:
        """DownloadDataFiles: the address of one zip of all files."""
        place = f"archive/{self._joined(call).slug}.zip"
        return Redirect(self._site.storage.link(place, call.base_url, call.now))

    def download_file(self, call: Call) -> Answer:
        """DownloadDataFile: the address of one file; 404 for a file that is not listed."""
        competition = self._joined(call)
        name = call.text("fileName")
        if name not in competition.files.sizes:
            raise Refused(404, "Not found")
        return Redirect(self._site.storage.link(f"data/{competition.slug}/{name}", call.base_url, call.now))

    def get_leaderboard(self, call: Call) -> Answer:
        """GetLeaderboard: the public board while it runs, then the private one unless `overridePublic`."""
        competition = self._named(call)
        private = competition.over(call.now) and not call.flag("overridePublic")
        page, token = call.page(competition.standings(call.now, private=private), largest=200)
        return listed("submissions", [_entry(team, private=private) for team in page], token)

    def download_leaderboard(self, call: Call) -> Answer:
        """DownloadLeaderboard: a zip, without Last-Modified."""
        competition = self._named(call)
        private, slug = competition.over(call.now), competition.slug
        teams = competition.standings(call.now, private=private)
        disposition = {"content-disposition": f"attachment; filename={slug}.zip"}
        return Binary(zipped(teams, slug, call.now, private=private), "application/zip", disposition)

    def _listed(self, tab: str, now: datetime) -> list[Json]:
        played = [self._played(one, now) for one in self._site.competitions if one.begun(now)]
        others = [one for one in self._site.others if one.enabled_at <= now]
        if tab == "ENTERED":
            return [one for one in played if one["userHasEntered"]]
        if tab == "COMMUNITY":
            return [other(one) for one in others if one.category == "Community"]
        if tab in ("GENERAL", "EVERYTHING"):
            return played + [other(one) for one in others if tab == "EVERYTHING" or one.category != "Community"]
        return []

    def _played(self, one: Competition, now: datetime) -> Json:
        return listed_competition(one, now, len(self._site.kernels.of(one.slug, now)))

    def _named(self, call: Call) -> Competition:
        return self._site.competition(call.text("competitionName"))

    def _joined(self, call: Call) -> Competition:
        competition = self._named(call)
        if not competition.entered:
            raise Refused(403, "You must accept this competition's rules before you'll be able to download files.")
        return competition


def _file(competition: Competition, name: str) -> Json:
    return {
        "ref": name,
        "name": name,
        "totalBytes": competition.sizes[name],
        "url": f"https://www.kaggle.com/competitions/{competition.slug}/data?select={name}",
        "creationDate": wire_time(competition.files.made_at),
    }


def _entry(team: Team, *, private: bool) -> Json:
    return {
        "teamId": team.id,
        "teamName": team.name,
        "submissionDate": wire_time(team.at),
        "score": score_text(team.private if private else team.public),
    }
