"""The methods of the competition itself: lists, pages, files, the leaderboard."""

from datetime import datetime
from typing import TYPE_CHECKING

from bot.rehearsal.board import Team, score_text, zipped
from bot.rehearsal.competition import Standing, competition, other
from bot.rehearsal.wire import Answer, Binary, Call, Json, Redirect, Refused, denied, listed, wire_time

if TYPE_CHECKING:
    from bot.rehearsal.site import Site

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


class Competing:
    """Answers about the competition that is played back."""

    def __init__(self, site: "Site") -> None:
        self._site = site

    def list_competitions(self, call: Call) -> Answer:
        """ListCompetitions: 20 a page whatever is asked, and no token where a page number is given."""
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
        """GetCompetition: also those that are made up, which the user has not joined."""
        name = call.text("competitionName")
        made_up = next((one for one in self._site.others if one.slug == name), None)
        if made_up is not None:
            return other(made_up)
        if name != self._site.card.slug:
            raise denied("competitions.get")
        return self._own(call.now)

    def list_pages(self, call: Call) -> Answer:
        """ListCompetitionPages: all pages, or one by name."""
        self._site.check(call.text("competitionName"))
        changed = self._site.rules_changed(call.now)
        return {"pages": self._site.pages.answer(call.text("pageName"), rules_changed=changed)}

    def list_files(self, call: Call) -> Answer:
        """ListDataFiles: names, sizes and times, at most 200 a page."""
        self._site.check(call.text("competitionName"))
        page, token = call.page(list(self._site.storage.files), largest=200)
        return listed("files", [self._file(name) for name in page], token)

    def list_tree_files(self, call: Call) -> Answer:
        """ListDataTreeFiles: the files that lie in one folder."""
        self._site.check(call.text("competitionName"))
        folder = call.text("path").strip("/")
        inside = [name for name in self._site.storage.files if name.rpartition("/")[0] == folder]
        page, token = call.page(inside, largest=200)
        return listed("files", [self._file(name) for name in page], token)

    def download_files(self, call: Call) -> Answer:
        """DownloadDataFiles: the address of one zip of all files."""
        self._joined(call)
        place = f"archive/{self._site.card.slug}.zip"
        return Redirect(self._site.storage.link(place, call.base_url, call.now))

    def download_file(self, call: Call) -> Answer:
        """DownloadDataFile: the address of one file; 404 for whatever is not listed."""
        self._joined(call)
        name = call.text("fileName")
        if name not in self._site.storage.files:
            raise Refused(404, "Not found")
        return Redirect(self._site.storage.link(f"data/{name}", call.base_url, call.now))

    def get_leaderboard(self, call: Call) -> Answer:
        """GetLeaderboard: the public board while it runs, then the private one unless `overridePublic`."""
        self._site.check(call.text("competitionName"))
        private = self._site.over(call.now) and not call.flag("overridePublic")
        page, token = call.page(self._site.standings(call.now, private=private), largest=200)
        return listed("submissions", [_entry(team, private=private) for team in page], token)

    def download_leaderboard(self, call: Call) -> Answer:
        """DownloadLeaderboard: a zip, without Last-Modified."""
        self._site.check(call.text("competitionName"))
        private = self._site.over(call.now)
        teams = self._site.standings(call.now, private=private)
        slug = self._site.card.slug
        disposition = {"content-disposition": f"attachment; filename={slug}.zip"}
        return Binary(zipped(teams, slug, call.now, private=private), "application/zip", disposition)

    def _listed(self, tab: str, now: datetime) -> list[Json]:
        own = [self._own(now)] if self._site.card.enabled_at <= now else []
        others = [one for one in self._site.others if one.enabled_at <= now]
        if tab == "ENTERED":
            return own if self._site.entered else []
        if tab == "COMMUNITY":
            return [other(one) for one in others if one.category == "Community"]
        if tab in ("GENERAL", "EVERYTHING"):
            return own + [other(one) for one in others if tab == "EVERYTHING" or one.category != "Community"]
        return []

    def _own(self, now: datetime) -> Json:
        site = self._site
        teams = site.standings(now, private=site.over(now))
        rank = next((place for place, team in enumerate(teams, 1) if team.id == site.team_id), None)
        standing = Standing(
            deadline=site.deadline(now),
            closed=site.closed_early(now),
            entered=site.entered,
            teams=len(teams),
            kernels=len(site.kernels.current(now)),
            rank=rank,
        )
        return competition(site.card, site.settings, site.daily, standing)

    def _file(self, name: str) -> Json:
        return {
            "ref": name,
            "name": name,
            "totalBytes": self._site.storage.files[name],
            "url": f"https://www.kaggle.com/competitions/{self._site.card.slug}/data?select={name}",
            "creationDate": wire_time(self._site.card.enabled_at),
        }

    def _joined(self, call: Call) -> None:
        self._site.check(call.text("competitionName"))
        if not self._site.entered:
            raise Refused(403, "You must accept this competition's rules before you'll be able to download files.")


def _entry(team: Team, *, private: bool) -> Json:
    return {
        "teamId": team.id,
        "teamName": team.name,
        "submissionDate": wire_time(team.at),
        "score": score_text(team.private if private else team.public),
    }
