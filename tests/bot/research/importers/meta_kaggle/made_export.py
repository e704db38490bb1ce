"""Made-up tables in the form of Meta Kaggle: its columns, quotes, dates and line ends, as exports of 2025 have them."""

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

SCHEMA = {
    "Competitions": "Id Slug Title Subtitle HostSegmentTitle ForumId OrganizationId EnabledDate DeadlineDate "
    "ProhibitNewEntrantsDeadlineDate TeamMergerDeadlineDate TeamModelDeadlineDate "
    "ModelSubmissionDeadlineDate FinalLeaderboardHasBeenVerified HasKernels OnlyAllowKernelSubmissions "
    "HasLeaderboard LeaderboardPercentage ScoreTruncationNumDecimals EvaluationAlgorithmAbbreviation "
    "EvaluationAlgorithmName EvaluationAlgorithmDescription EvaluationAlgorithmIsMax MaxDailySubmissions "
    "NumScoredSubmissions MaxTeamSize BanTeamMergers EnableTeamModels RewardType RewardQuantity NumPrizes "
    "UserRankMultiplier CanQualifyTiers TotalTeams TotalCompetitors TotalSubmissions LicenseName Overview "
    "Rules DatasetDescription TotalCompressedBytes TotalUncompressedBytes ValidationSetName "
    "ValidationSetValue EnableSubmissionModelHashes EnableSubmissionModelAttachments HostName "
    "CompetitionTypeId",
    "ForumTopics": "Id ForumId KernelId LastForumMessageId FirstForumMessageId CreationDate LastCommentDate Title "
    "IsSticky TotalViews Score TotalMessages TotalReplies",
    "ForumMessages": "Id ForumTopicId PostUserId PostDate ReplyToForumMessageId Message RawMarkdown Medal MedalAwardDate",
    "ForumMessageVotes": "Id ForumMessageId FromUserId ToUserId VoteDate",
    "Kernels": "Id AuthorUserId CurrentKernelVersionId ForkParentKernelVersionId ForumTopicId FirstKernelVersionId "
    "CreationDate EvaluationDate MadePublicDate IsProjectLanguageTemplate CurrentUrlSlug Medal "
    "MedalAwardDate TotalViews TotalComments TotalVotes",
    "KernelVersions": "Id ScriptId ParentScriptVersionId ScriptLanguageId AuthorUserId CreationDate VersionNumber Title "
    "EvaluationDate IsChange TotalLines LinesInsertedFromPrevious LinesChangedFromPrevious "
    "LinesUnchangedFromPrevious LinesInsertedFromFork LinesDeletedFromFork LinesChangedFromFork "
    "LinesUnchangedFromFork TotalVotes IsInternetEnabled RunningTimeInMilliseconds AcceleratorTypeId "
    "DockerImage",
    "KernelVersionCompetitionSources": "Id KernelVersionId SourceCompetitionId",
    "KernelVotes": "Id UserId KernelVersionId VoteDate",
    "Teams": "Id CompetitionId TeamLeaderId TeamName ScoreFirstSubmittedDate LastSubmissionDate "
    "PublicLeaderboardSubmissionId PrivateLeaderboardSubmissionId IsBenchmark Medal MedalAwardDate "
    "PublicLeaderboardRank PrivateLeaderboardRank WriteUpForumTopicId",
    "TeamMemberships": "Id TeamId UserId RequestDate",
    "Submissions": "Id SubmittedUserId TeamId SourceKernelVersionId SubmissionDate ScoreDate IsAfterDeadline IsSelected "
    "PublicScoreLeaderboardDisplay PublicScoreFullPrecision PrivateScoreLeaderboardDisplay "
    "PrivateScoreFullPrecision",
    "Users": "Id UserName DisplayName RegisterDate PerformanceTier Country LocationSharingOptOut",
    "UserAchievements": "Id UserId AchievementType Tier TierAchievementDate Points CurrentRanking HighestRanking TotalGold "
    "TotalSilver TotalBronze",
}
Row = Mapping[str, object]
Tables = dict[str, list[dict[str, object]]]


def moment(time: datetime) -> str:
    """Write a time as the tables do."""
    return f"{time:%m/%d/%Y %H:%M:%S}"


def day(time: datetime) -> str:
    """Write a date as the tables do."""
    return f"{time:%m/%d/%Y}"


def write_table(
    folder: Path,
    name: str,
    rows: Sequence[Row],
    *,
    line_end: str = "\n",
    lacking: Sequence[str] = (),
    reverse: bool = False,
) -> None:
    """Write one table with all its columns but the `lacking` ones; each field is quoted, and null is an empty one.

    With `reverse` the columns are in the opposite order.
    """
    header = [column for column in SCHEMA[name].split() if column not in lacking][:: -1 if reverse else 1]

    def line(cells: Sequence[object]) -> str:
        texts = ("" if cell is None else str(cell) for cell in cells)
        return ",".join('"' + text.replace('"', '""') + '"' for text in texts) + line_end

    text = line(header) + "".join(line([row.get(column) for column in header]) for row in rows)
    (folder / f"{name}.csv").write_bytes(text.encode())


def write_export(folder: Path, tables: Mapping[str, Sequence[Row]]) -> Path:
    """Write all tables; those that are not given have no rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in SCHEMA:
        write_table(folder, name, tables.get(name, ()))
    return folder


def rows(columns: str, *rows: Sequence[object]) -> list[dict[str, object]]:
    """Return rows by column; one may end before the last columns."""
    return [dict(zip(columns.split(), row, strict=False)) for row in rows]


def small_tables() -> Tables:
    """Return the tables of one competition, `tiny-cup`, from 10 January to 10 April 2024, with every quirk that is known."""
    return {
        "Competitions": rows(
            "Id Slug ForumId EnabledDate DeadlineDate EvaluationAlgorithmIsMax EvaluationAlgorithmName Title Subtitle Rules"
            " MaxDailySubmissions",
            (
                *(
                    7001,
                    "tiny-cup",
                    100,
                    "01/10/2024 10:00:00",
                    "04/10/2024 23:59:00",
                    "False",
                    "Root Mean Squared Error",
                ),
                *('The "Tiny", Cup', 'Two\nlines, and a "quote"', "mixed\r\nline\nends", 5),
            ),
            # Its start is a mistake, so that its first post stands in for it; its forum is that of the first.
            (7002, "old-cup", 100, "01/01/2000 00:00:00", "04/10/2024 23:59:00", "True", "AUC"),
            (7003, "endless-cup", 101, "01/10/2024 10:00:00", "01/01/2030 00:00:00", "True"),
            (7004, "backward-cup", 101, "03/10/2024 10:00:00", "02/01/2024 00:00:00", "True"),
        ),
        "ForumTopics": rows(  # not in the order of their ids
            "Id ForumId FirstForumMessageId CreationDate KernelId Title Score",
            (502, 100, 9004, "01/05/2024 08:00:00", "", "Welcome"),
            (501, 100, 9001, "02/01/2024 12:30:05", "", "1st place solution", 99),
            (503, 16860, 9006, "02/10/2024 09:00:00", 301),
            (504, 16860, 9007, "02/10/2024 09:00:00", 302),
            (505, 999, 9008, "02/10/2024 09:00:00"),
            (506, 100, 9999, "02/10/2024 09:00:00"),
            (507, 100, 9012, "05/01/2024 09:00:00"),
        ),
        "ForumMessages": rows(
            "Id ForumTopicId PostUserId PostDate ReplyToForumMessageId RawMarkdown Message Medal MedalAwardDate",
            (
                *(9002, 501, 22, "02/02/2024 01:02:03", 9001),
                'Thanks @ada_l, see https://www.kaggle.com/ada_l, write to ada@example.org!\nShe said "0.61"\r\n'
                "`@cache` and\n```python\n@property\nx@w.mean()\n```\nRegards, Ada Lovelace",
                "<p>ignored</p>",
            ),
            (
                *(9001, 501, 11, "02/01/2024 12:30:05", "", ""),
                '<p>Use the <b>log</b>, says <a href="/grace">@grace</a>.</p>\n<pre><code>a, "b"</code></pre>',
                *(1, "02/20/2024"),
            ),
            (
                *(9003, 501, 33, "02/03/2024 00:00:00", 123456),
                "Merged: see https://www.kaggle.com/c/tiny-cup/discussion/507",
            ),
            (9004, "5\x0002", 44, "01/05/2024\x00 08:00:00", "\x00", "Before the start\x00."),
            (9005, 501, 22, "02/05/2024 10:00:00"),
            (9006, 503, 55, "02/10/2024 09:00:00", "", "Nice notebook, Giulia and I saw it"),
            (9007, 504, 55, "02/10/2024 09:00:00", "", "On a private one"),
            (9008, 505, 55, "02/10/2024 09:00:00", "", "Of another competition"),
            (9009, 501, 11, "31/12/2024", "", "Undated"),
            (9010, 77777, 11, "02/10/2024 09:00:00", "", "Of no topic"),
            (9011, 501, "", "02/09/2024", 9012, "By nobody"),
            (9012, 507, 33, "05/01/2024 09:00:00", "", "The end"),
        ),
        "ForumMessageVotes": rows(
            "Id ForumMessageId FromUserId ToUserId VoteDate",
            (1, 9001, 22, 11, "02/01/2024"),
            (2, 9001, 33, 11, "02/03/2024"),
            (-1, 9001, -1, 11, "02/03/2024"),
            (-1, 9001, 33, 11, "02/07/2024"),
            (5, 9001, 44, 11, ""),
            (6, 9999, 44, 11, "02/03/2024"),
        ),
        "Kernels": rows(
            "Id AuthorUserId ForkParentKernelVersionId ForumTopicId CreationDate MadePublicDate CurrentKernelVersionId"
            " CurrentUrlSlug TotalVotes",
            (301, 55, "", 503, "02/01/2024 10:00:00", "02/04/2024", 4003, "ada-s-notebook", 50),
            (302, 55, "", 504, "02/01/2024 10:00:00"),
            (303, 22, 4001, "", "02/08/2024 10:00:00", "02/08/2024"),
            (304, 22, 888888, "", "02/08/2024 10:00:00", "02/08/2024"),
        ),
        "KernelVersions": rows(
            "Id ScriptId ScriptLanguageId AuthorUserId CreationDate VersionNumber Title TotalVotes",
            (4003, 301, 9, 55, "02/20/2024 10:00:00", 3, "Better, by Ada Lovelace"),
            (4001, 301, 9, 55, "02/01/2024 10:00:00", 1, 'First "look"', 40),
            (4002, 301, 9, 55, "02/02/2024 10:00:00", "", "interactive"),
            (4004, 302, 2, 55, "02/02/2024 10:00:00", 1),
            (1234005, 303, 2, 22, "02/08/2024 10:00:00", 1, "Fork"),
            (4006, 304, 11, 22, "02/08/2024 10:00:00", 1, "Orphan"),
        ),
        "KernelVersionCompetitionSources": [
            {"Id": number, "KernelVersionId": version, "SourceCompetitionId": 7001}
            for number, version in enumerate([4003, 4001, 4001, 4002, 4004, 1234005, 4006, 999999])
        ],
        "KernelVotes": rows(
            "Id UserId KernelVersionId VoteDate",
            (1, 11, 4001, "02/04/2024"),
            (2, 22, 4002, "02/15/2024"),
            (3, 33, 4003, "02/25/2024"),
            (4, -1, 4003, "02/25/2024"),
        ),
        "Teams": rows(
            "Id CompetitionId PrivateLeaderboardSubmissionId PrivateLeaderboardRank TeamName IsBenchmark",
            (601, 7001, 802, 2, "Ada and Grace"),
            (602, 7001, 804, 1),
            (603, 7001, 805, 3, "", "True"),
            (604, 7001),
        ),
        "TeamMemberships": rows("Id TeamId UserId", (1, 601, 66), (2, 601, 11), (3, 12345, 22)),
        "Submissions": [
            submission(801, 601, "02/01/2024", 0.70, 0.75),
            submission(802, 601, "02/10/2024", 0.60, 0.65, version=4001),
            submission(803, 601, "02/11/2024", 0.68, 0.61),
            submission(804, 602, "02/05/2024", 0.62, 0.55, scored="02/06/2024"),
            submission(805, 603, "02/05/2024", 0.10, 0.10),
            submission(806, 604, "02/05/2024", "", ""),
            submission(807, 604, "02/06/2024", "1.8e308", "1.8e308"),
            submission(808, 602, "05/01/2024", 0.01, 0.01, late=True),
            submission(809, 604, "02/07/2024", sys.float_info.max, sys.float_info.max),
            submission(810, 604, "02/07/2024", 0.01, 0.01, scored="31/12/2024"),
        ],
        "Users": rows(
            "Id UserName DisplayName PerformanceTier",
            (11, "ada_l", "Ada Lovelace", 4),
            (22, "deep", "Deep Learning"),
            (55, "jose", "José"),
            (66, "gr", "Giulia Rossi"),
        ),
        "UserAchievements": rows(
            "Id UserId AchievementType Tier TierAchievementDate",
            (1, 11, "Discussion", 3, "02/05/2024"),
            (2, 11, "Competitions", 2, "01/05/2024"),
            (3, 22, "Scripts", 2, "07/15/2016"),
            (4, 55, "Scripts", 1, "02/05/2024"),
        ),
    }


def submission(
    id: int,
    team: int,
    date: str,
    public: object,
    private: object,
    *,
    scored: str = "",
    version: object = "",
    late: bool = False,
) -> dict[str, object]:
    """Return a row of Submissions."""
    return {
        "Id": id,
        "TeamId": team,
        "SourceKernelVersionId": version,
        "SubmissionDate": date,
        "ScoreDate": scored,
        "IsAfterDeadline": late,
        "PublicScoreLeaderboardDisplay": public,
        "PublicScoreFullPrecision": public,
        "PrivateScoreLeaderboardDisplay": private,
        "PrivateScoreFullPrecision": private,
    }
