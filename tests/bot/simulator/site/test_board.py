"""The leaderboard: who has arrived, the user's own place, the zip, public and private."""

import csv
import io
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.simulator.site.settings import SiteSettings
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.simulator.site.parts import COMPETITIONS, DEADLINE, START, Served, served, tiny, truth_with


def board(it: Served, **body: Any) -> list[dict[str, Any]]:
    return list(it.client.compete("GetLeaderboard", pageSize=200, **body).get("submissions", []))


def table(it: Served) -> tuple[str, bytes, list[dict[str, str]]]:
    content = it.client.post(f"{COMPETITIONS}/DownloadLeaderboard", competitionName=it.client.slug).content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        [name] = archive.namelist()
        text = archive.read(name)
    return name, text, list(csv.DictReader(io.StringIO(text.decode("utf-8-sig"))))


def test_teams_arrive_over_the_span_and_all_are_there_at_the_end(snapshot: Snapshot) -> None:
    counts = []
    for at in (snapshot.card.enabled_at, START, DEADLINE - timedelta(days=10), DEADLINE):
        with served(snapshot, at=at) as it:
            counts.append(len(board(it)))
            assert it.client.compete("GetCompetition").get("teamCount", 0) == counts[-1]
    assert counts[0] == 0
    assert counts == sorted(set(counts))
    assert counts[-1] == len(snapshot.leaderboard)


def test_a_team_arrives_when_its_row_says_so(tmp_path: Path) -> None:
    snapshot = tiny(tmp_path)
    (snapshot.path / "leaderboard.csv").write_text(
        "score,submitted_at\n0.3,2020-01-20T10:00:00Z\n0.4,2020-01-05T00:00:00Z\n0.5,2020-03-02T00:00:00Z\n"
    )
    with served(Snapshot.load(snapshot.path, {"log_loss": "minimize"})) as it:
        assert [entry["submissionDate"][:19] for entry in board(it)] == ["2020-01-05T00:00:00"]
        it.clock.time = datetime(2020, 1, 20, 10, tzinfo=UTC)
        assert len(board(it)) == 2
        it.clock.time = DEADLINE
        assert len(board(it)) == 3


def test_public_scores_are_near_the_private_ones_and_the_private_board_is_the_real_one(snapshot: Snapshot) -> None:
    with served(snapshot, at=DEADLINE) as it:
        public = {entry["teamId"]: float(entry["score"]) for entry in board(it)}
        it.clock.pass_by(seconds=1)
        private = {entry["teamId"]: float(entry["score"]) for entry in board(it)}
        assert list(private.values()) == snapshot.leaderboard
        assert public != private
        assert max(abs(public[team] - private[team]) for team in private) < 0.1
        assert [entry["teamId"] for entry in board(it, overridePublic=True)] == list(public)


def test_no_public_score_is_less_than_a_metric_can_give(tmp_path: Path) -> None:
    snapshot = tiny(tmp_path)
    (snapshot.path / "leaderboard.csv").write_text("score\n" + "0.001\n" * 20 + "1.0\n" * 20)
    loaded = Snapshot.load(snapshot.path, {"log_loss": "minimize"})
    with served(loaded, SiteSettings(board_noise=0.5), at=DEADLINE) as it:
        scores = [float(entry["score"]) for entry in board(it)]
    assert min(scores) == 0.0


def test_names_and_ids_say_nothing_of_the_final_rank(snapshot: Snapshot) -> None:
    with served(snapshot, at=DEADLINE + timedelta(seconds=1)) as it:
        entries = board(it)
        for key in ("teamId", "teamName"):
            values = [entry[key] for entry in entries]
            assert values not in (sorted(values), sorted(values, reverse=True))
        numbers = [int(entry["teamName"].rsplit(" ", 1)[1]) for entry in entries]
        assert numbers != sorted(numbers)


def test_the_own_team_stands_where_its_best_public_score_does(here: Served) -> None:
    assert "userRank" not in here.client.compete("GetCompetition")
    here.client.submit(truth_with(here.competition.snapshot, 1.0))
    here.client.submit(truth_with(here.competition.snapshot, 0.0))
    assert "Rehearsal Bot" not in [entry["teamName"] for entry in board(here)]
    here.settle()
    entries = board(here)
    assert (entries[0]["teamName"], entries[0]["score"]) == ("Rehearsal Bot", "0.10536")
    assert here.client.compete("GetCompetition")["userRank"] == 1
    name, text, rows = table(here)
    assert text.startswith(b"\xef\xbb\xbf")
    assert name.startswith("tiny-table-publicleaderboard-2020-01-10T12:10:00")
    assert [row["TeamId"] for row in rows] == [str(entry["teamId"]) for entry in entries]
    assert (rows[0]["SubmissionCount"], rows[0]["TeamMemberUserNames"], rows[0]["Rank"]) == ("2", "rehearsal", "1")


def test_in_the_end_the_better_of_the_two_best_public_ones_counts(here: Served) -> None:
    for wrong in (0.9, 0.1, 0.0):
        here.client.submit(truth_with(here.competition.snapshot, wrong))
    here.settle()
    final = here.competition.desk.final(here.clock.now())
    assert final.private_score == 0.10536
    here.clock.time = DEADLINE + timedelta(seconds=1)
    assert board(here)[0]["teamName"] == "Rehearsal Bot"
    assert table(here)[0].startswith("tiny-table-privateleaderboard-")


def test_a_board_is_paged_by_token(snapshot: Snapshot) -> None:
    with served(snapshot, at=DEADLINE) as it:
        seen: list[int] = []
        token = ""
        while True:
            answer = it.client.compete("GetLeaderboard", pageSize=15, pageToken=token)
            seen += [entry["teamId"] for entry in answer["submissions"]]
            if not (token := answer.get("nextPageToken", "")):
                break
        assert seen == [entry["teamId"] for entry in board(it)]


def test_a_seed_makes_the_same_board_again_and_another_another(snapshot: Snapshot) -> None:
    boards = []
    for seed in (1, 1, 2):
        with served(snapshot, SiteSettings(seed=seed)) as it:
            boards.append(board(it))
    assert boards[0] == boards[1]
    assert boards[0] != boards[2]
