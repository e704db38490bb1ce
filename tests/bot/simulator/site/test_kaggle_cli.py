"""The unmodified `kaggle` command against the site, whose address it has from its environment alone."""

import csv
import io
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.simulator.site.settings import SiteSettings
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.simulator.site.parts import TWIN, Served, both, served, tiny, truth_with
from tests.tiny_snapshot import SLUG

KAGGLE = Path(sysconfig.get_path("scripts")) / "kaggle"
"""The command of the package that the bot depends on."""
pytestmark = pytest.mark.integration


SDK = """
import json
from kaggle.api.kaggle_api_extended import KaggleApi
from kagglesdk.search.types.search_api_service import ListEntitiesFilters, ListEntitiesRequest
from kagglesdk.search.types.search_enums import DocumentType

api = KaggleApi()
api.authenticate()
request = ListEntitiesRequest()
request.filters = ListEntitiesFilters()
request.filters.query = "tiny"
request.filters.document_types = [DocumentType.TOPIC]
with api.build_kaggle_client() as kaggle:
    found = kaggle.search.search_api_client.list_entities(request)
limits = api.competition_get_submission_limits("tiny-table")
pages = api.competition_list_pages("tiny-table")
print(json.dumps({
    "documents": [(one.document_type.name, one.id, one.owner_user.tier.name) for one in found.documents],
    "allowed": limits.num_allowed_now,
    "pages": [page.name for page in pages],
}))
"""


@dataclass(frozen=True)
class CommandLine:
    """Runs the command with an environment in which nothing else can be reached."""

    home: Path
    it: Served

    def run(self, *arguments: str, legacy: bool = False) -> str:
        return self.execute(str(KAGGLE), *arguments, legacy=legacy)

    def execute(self, *command: str, legacy: bool = False) -> str:
        settings = self.it.site.settings
        known = {"KAGGLE_API_TOKEN": settings.token}
        if legacy:
            known = {"KAGGLE_USERNAME": settings.user_name, "KAGGLE_KEY": settings.legacy_key}
        environment = {
            "PATH": f"{KAGGLE.parent}:{os.defpath}",
            "HOME": str(self.home),
            "KAGGLE_CONFIG_DIR": str(self.home / "cfg"),
            "KAGGLE_API_ENVIRONMENT": "LOCALHOST",
            "http_proxy": self.it.client.url,
            "NO_PROXY": "",
            **known,
        }
        done = subprocess.run(
            command, env=environment, cwd=self.home, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def rows(self, *arguments: str, legacy: bool = False) -> list[dict[str, str]]:
        output = self.run(*arguments, "--csv", legacy=legacy)
        return list(csv.DictReader(line for line in output.splitlines() if not line.startswith("Next Page")))


@pytest.fixture
def command(snapshot: Snapshot, tmp_path: Path) -> Iterator[CommandLine]:
    with served(snapshot) as it:
        yield CommandLine(tmp_path, it)


def test_it_competes_in_two_competitions_of_one_site(tmp_path: Path) -> None:
    with served(both(tmp_path)) as it:
        command = CommandLine(tmp_path, it)
        entered = command.rows("competitions", "list", "--group", "entered")
        assert [row["ref"].rsplit("/", 1)[1] for row in entered] == [SLUG, TWIN]
        truth = tmp_path / "submission.csv"
        truth.write_bytes(truth_with(it.site.competition(TWIN).snapshot, 0.0))
        command.run("competitions", "submit", TWIN, "-f", str(truth), "-m", "a twin's")
        it.settle()
        [sent] = command.rows("competitions", "submissions", TWIN)
        assert (sent["description"], sent["publicScore"]) == ("a twin's", "0.10536")
        assert "a twin's" not in command.run("competitions", "submissions", SLUG)
        command.run("competitions", "download", TWIN, "-p", str(tmp_path / "down"))
        with zipfile.ZipFile(tmp_path / "down" / f"{TWIN}.zip") as archive:
            assert "train.csv" in archive.namelist()


def test_it_lists_competitions_and_files(command: CommandLine) -> None:
    entered = command.rows("competitions", "list", "--group", "entered")
    assert [(row["ref"].rsplit("/", 1)[1], row["userHasEntered"]) for row in entered] == [("tiny-table", "True")]
    files = command.rows("competitions", "files", "tiny-table")
    assert [row["name"] for row in files] == ["sample_submission.csv", "test.csv", "train.csv"]
    assert "outdated" not in command.run("competitions", "list")


def test_it_downloads_all_data_and_one_file(command: CommandLine) -> None:
    data = command.it.competition.snapshot.data
    command.run("competitions", "download", "tiny-table", "-p", "there")
    with zipfile.ZipFile(command.home / "there" / "tiny-table.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            path.name: path.read_bytes() for path in data.iterdir()
        }
    command.run("competitions", "download", "tiny-table", "-f", "train.csv")
    assert (command.home / "train.csv").read_bytes() == (data / "train.csv").read_bytes()


def test_it_submits_a_file_and_sees_its_score(command: CommandLine) -> None:
    file = command.home / "submission.csv"
    file.write_bytes(command.it.sample)
    assert "Successfully submitted" in command.run("competitions", "submit", "tiny-table", "-f", str(file), "-m", "r-1")
    [pending] = command.rows("competitions", "submissions", "tiny-table")
    assert (pending["status"], pending["publicScore"]) == ("SubmissionStatus.PENDING", "")
    command.it.settle()
    [scored] = command.rows("competitions", "submissions", "tiny-table", legacy=True)
    assert (scored["description"], scored["publicScore"], scored["privateScore"]) == ("r-1", "0.69315", "")
    assert scored["status"] == "SubmissionStatus.COMPLETE"


def test_it_shows_and_downloads_the_leaderboard(command: CommandLine) -> None:
    shown = command.rows("competitions", "leaderboard", "tiny-table", "--show")
    scores = [float(row["score"]) for row in shown]
    assert len(scores) > 3
    assert scores == sorted(scores)
    command.run("competitions", "leaderboard", "tiny-table", "--download")
    with zipfile.ZipFile(command.home / "tiny-table.zip") as archive:
        [name] = archive.namelist()
        text = archive.read(name)
    assert text.startswith(b"\xef\xbb\xbfRank,TeamId,TeamName,LastSubmissionDate,Score,SubmissionCount")
    rows = list(csv.DictReader(io.StringIO(text.decode("utf-8-sig"))))
    assert [row["TeamId"] for row in rows] == [row["teamId"] for row in shown]


def test_it_reads_the_forum(command: CommandLine) -> None:
    [topic] = command.rows("competitions", "topics", "list", "tiny-table")
    assert (topic["id"], topic["title"]) == ("1", "What works")
    messages = command.rows("competitions", "topic-messages", "tiny-table", "1")
    assert [row["id"] for row in messages] == ["11", "12"]
    assert "standardised columns" in messages[0]["content"]
    shown = command.run("competitions", "topics", "show", "tiny-table", "1")
    assert shown.index("standardised columns") < shown.index("\nComments:") < shown.index("Gradient boosting")


def test_it_lists_pulls_and_looks_at_kernels(command: CommandLine) -> None:
    [kernel] = command.rows("kernels", "list", "--competition", "tiny-table")
    assert (kernel["ref"], kernel["title"]) == ("ann/linear", "Linear")
    command.run("kernels", "pull", "ann/linear", "-p", "there", "-m")
    assert "C=1" in (command.home / "there" / "linear.py").read_text()
    assert "COMPLETE" in command.run("kernels", "status", "ann/linear")
    command.run("kernels", "output", "ann/linear", "-p", "out")
    assert "C=1" in (command.home / "out" / "__script__.txt").read_text()


def test_a_competition_for_notebooks_takes_a_kernel_that_was_pushed(tmp_path: Path) -> None:
    with served(tiny(tmp_path, kind="code")) as it:
        command = CommandLine(tmp_path, it)
        command.run("kernels", "init")
        metadata = (tmp_path / "kernel-metadata.json").read_text()
        for word, value in (
            *(("INSERT_KERNEL_SLUG_HERE", "my-first-try"), ("INSERT_TITLE_HERE", "My first try")),
            *(("INSERT_CODE_FILE_PATH_HERE", "try.py"), ('"enable_internet": "true"', '"enable_internet": "false"')),
            ('"competition_sources": []', '"competition_sources": ["tiny-table"]'),
        ):
            assert word in metadata
            metadata = metadata.replace(word, value)
        for field, value in (("language", "python"), ("kernel_type", "script")):
            before, after = metadata.split(f'"{field}": "', 1)
            metadata = f'{before}"{field}": "{value}"{after[after.index(chr(34)) + 1 :]}'
        (tmp_path / "kernel-metadata.json").write_text(metadata)
        (tmp_path / "try.py").write_text("print('hello')\n")
        assert "successfully pushed" in command.run("kernels", "push")
        it.clock.pass_by(hours=1)
        assert "COMPLETE" in command.run("kernels", "status", "rehearsal/my-first-try")
        output = command.run(
            *("competitions", "submit", "tiny-table", "-k", "rehearsal/my-first-try", "-v", "1"),
            *("-f", "submission.csv", "-m", "r-1"),
        )
        assert "Successfully submitted" in output
        it.settle()
        [scored] = command.rows("competitions", "submissions", "tiny-table")
        assert scored["publicScore"] == "0.69315"


def test_the_package_reads_what_the_command_does_not_ask_for(snapshot: Snapshot, tmp_path: Path) -> None:
    with served(snapshot, SiteSettings(unknown_enums=False)) as it:
        command = CommandLine(tmp_path, it)
        found = json.loads(command.execute(sys.executable, "-c", SDK).splitlines()[-1])
    assert found == {
        "documents": [["TOPIC", 1, "NOVICE"]],
        "allowed": 0,  # before the first submission
        "pages": ["description", "evaluation", "rules"],
    }
