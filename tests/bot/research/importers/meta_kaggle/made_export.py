"""Made-up tables in the form of Meta Kaggle: its columns, quotes, dates and line ends, as exports of 2025 have them."""

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


def small_tables() -> Tables:
    """Return the tables of one competition, `tiny-cup`, from 10 January to 10 April 2024, with every quirk that is known."""
    return {
        "Competitions": [
            {
                "Id": 7001,
                "Slug": "tiny-cup",
                "Title": 'The "Tiny", Cup',
                "Subtitle": 'Two\nlines, and a "quote"',
                "Rules": "mixed\r\nline\nends",
                "ForumId": 100,
                "EnabledDate": "01/10/2024 10:00:00",
                "DeadlineDate": "04/10/2024 23:59:00",
                "EvaluationAlgorithmName": "Root Mean Squared Error",
                "EvaluationAlgorithmIsMax": "False",
                "MaxDailySubmissions": 5,
            },
            # Its start is a mistake, so that its first post stands in for it; its forum is that of the first.
            {
                "Id": 7002,
                "Slug": "old-cup",
                "ForumId": 100,
                "EnabledDate": "01/01/2000 00:00:00",
                "DeadlineDate": "04/10/2024 23:59:00",
                "EvaluationAlgorithmName": "AUC",
                "EvaluationAlgorithmIsMax": "True",
            },
            {
                "Id": 7003,
                "Slug": "endless-cup",
                "ForumId": 101,
                "EnabledDate": "01/10/2024 10:00:00",
                "DeadlineDate": "01/01/2030 00:00:00",
                "EvaluationAlgorithmIsMax": "True",
            },
            {
                "Id": 7004,
                "Slug": "backward-cup",
                "ForumId": 101,
                "EnabledDate": "03/10/2024 10:00:00",
                "DeadlineDate": "02/01/2024 00:00:00",
                "EvaluationAlgorithmIsMax": "True",
            },
        ],
        "ForumTopics": [  # not in the order of their ids
            {
                "Id": 502,
                "ForumId": 100,
                "FirstForumMessageId": 9004,
                "CreationDate": "01/05/2024 08:00:00",
                "Title": "Welcome",
            },
            {
                "Id": 501,
                "ForumId": 100,
                "FirstForumMessageId": 9001,
                "CreationDate": "02/01/2024 12:30:05",
                "Title": "1st place solution",
                "Score": 99,
            },
            {
                "Id": 503,
                "ForumId": 16860,
                "KernelId": 301,
                "FirstForumMessageId": 9006,
                "CreationDate": "02/10/2024 09:00:00",
            },
            {
                "Id": 504,
                "ForumId": 16860,
                "KernelId": 302,
                "FirstForumMessageId": 9007,
                "CreationDate": "02/10/2024 09:00:00",
            },
            {"Id": 505, "ForumId": 999, "FirstForumMessageId": 9008, "CreationDate": "02/10/2024 09:00:00"},
            {"Id": 506, "ForumId": 100, "FirstForumMessageId": 9999, "CreationDate": "02/10/2024 09:00:00"},
            {"Id": 507, "ForumId": 100, "FirstForumMessageId": 9012, "CreationDate": "05/01/2024 09:00:00"},
        ],
        "ForumMessages": [
            {
                "Id": 9002,
                "ForumTopicId": 501,
                "PostUserId": 22,
                "PostDate": "02/02/2024 01:02:03",
                "ReplyToForumMessageId": 9001,
                "Message": "<p>ignored</p>",
                "RawMarkdown": 'Thanks @ada_l, see https://www.kaggle.com/ada_l, write to ada@example.org!\nShe said "0.61"\r\n'
                "`@cache` and\n```python\n@property\nx@w.mean()\n```\nRegards, Ada Lovelace",
            },
            {
                "Id": 9001,
                "ForumTopicId": 501,
                "PostUserId": 11,
                "PostDate": "02/01/2024 12:30:05",
                "Message": '<p>Use the <b>log</b>, says <a href="/grace">@grace</a>.</p>\n<pre><code>a, "b"</code></pre>',
                "Medal": 1,
                "MedalAwardDate": "02/20/2024",
            },
            {
                "Id": 9003,
                "ForumTopicId": 501,
                "PostUserId": 33,
                "PostDate": "02/03/2024 00:00:00",
                "ReplyToForumMessageId": 123456,
                "RawMarkdown": "Merged: see https://www.kaggle.com/c/tiny-cup/discussion/507",
            },
            {
                "Id": 9004,
                "ForumTopicId": 502,
                "PostUserId": 44,
                "PostDate": "01/05/2024 08:00:00",
                "RawMarkdown": "Before the start\x00.",
            },
            {
                "Id": 9005,
                "ForumTopicId": 501,
                "PostUserId": 22,
                "PostDate": "02/05/2024 10:00:00",
                "Message": "",
                "RawMarkdown": "",
            },
            {
                "Id": 9006,
                "ForumTopicId": 503,
                "PostUserId": 55,
                "PostDate": "02/10/2024 09:00:00",
                "RawMarkdown": "Nice notebook",
            },
            {
                "Id": 9007,
                "ForumTopicId": 504,
                "PostUserId": 55,
                "PostDate": "02/10/2024 09:00:00",
                "RawMarkdown": "On a private one",
            },
            {
                "Id": 9008,
                "ForumTopicId": 505,
                "PostUserId": 55,
                "PostDate": "02/10/2024 09:00:00",
                "RawMarkdown": "Of another competition",
            },
            {"Id": 9009, "ForumTopicId": 501, "PostUserId": 11, "PostDate": "31/12/2024", "RawMarkdown": "Undated"},
            {
                "Id": 9010,
                "ForumTopicId": 77777,
                "PostUserId": 11,
                "PostDate": "02/10/2024 09:00:00",
                "RawMarkdown": "Of no topic",
            },
            {
                "Id": 9011,
                "ForumTopicId": 501,
                "PostUserId": "",
                "PostDate": "02/09/2024",
                "ReplyToForumMessageId": 9012,
                "RawMarkdown": "By nobody",
            },
            {
                "Id": 9012,
                "ForumTopicId": 507,
                "PostUserId": 33,
                "PostDate": "05/01/2024 09:00:00",
                "RawMarkdown": "The end",
            },
        ],
        "ForumMessageVotes": [
            {"Id": 1, "ForumMessageId": 9001, "FromUserId": 22, "ToUserId": 11, "VoteDate": "02/01/2024"},
            {"Id": 2, "ForumMessageId": 9001, "FromUserId": 33, "ToUserId": 11, "VoteDate": "02/03/2024"},
            {"Id": -1, "ForumMessageId": 9001, "FromUserId": -1, "ToUserId": 11, "VoteDate": "02/03/2024"},
            {"Id": -1, "ForumMessageId": 9001, "FromUserId": 33, "ToUserId": 11, "VoteDate": "02/07/2024"},
            {"Id": 5, "ForumMessageId": 9001, "FromUserId": 44, "ToUserId": 11, "VoteDate": ""},
            {"Id": 6, "ForumMessageId": 9999, "FromUserId": 44, "ToUserId": 11, "VoteDate": "02/03/2024"},
        ],
        "Kernels": [
            {
                "Id": 301,
                "AuthorUserId": 55,
                "CurrentKernelVersionId": 4003,
                "ForumTopicId": 503,
                "CreationDate": "02/01/2024 10:00:00",
                "MadePublicDate": "02/04/2024",
                "CurrentUrlSlug": "ada-s-notebook",
                "TotalVotes": 50,
            },
            {"Id": 302, "AuthorUserId": 55, "ForumTopicId": 504, "CreationDate": "02/01/2024 10:00:00"},
            {
                "Id": 303,
                "AuthorUserId": 22,
                "ForkParentKernelVersionId": 4001,
                "CreationDate": "02/08/2024 10:00:00",
                "MadePublicDate": "02/08/2024",
            },
            {
                "Id": 304,
                "AuthorUserId": 22,
                "ForkParentKernelVersionId": 888888,
                "CreationDate": "02/08/2024 10:00:00",
                "MadePublicDate": "02/08/2024",
            },
        ],
        "KernelVersions": [
            {
                "Id": 4003,
                "ScriptId": 301,
                "ScriptLanguageId": 9,
                "AuthorUserId": 55,
                "CreationDate": "02/20/2024 10:00:00",
                "VersionNumber": 3,
                "Title": "Better, by Ada Lovelace",
            },
            {
                "Id": 4001,
                "ScriptId": 301,
                "ScriptLanguageId": 9,
                "AuthorUserId": 55,
                "CreationDate": "02/01/2024 10:00:00",
                "VersionNumber": 1,
                "Title": 'First "look"',
                "TotalVotes": 40,
            },
            {
                "Id": 4002,
                "ScriptId": 301,
                "ScriptLanguageId": 9,
                "AuthorUserId": 55,
                "CreationDate": "02/02/2024 10:00:00",
                "Title": "interactive",
            },
            {
                "Id": 4004,
                "ScriptId": 302,
                "ScriptLanguageId": 2,
                "AuthorUserId": 55,
                "CreationDate": "02/02/2024 10:00:00",
                "VersionNumber": 1,
            },
            {
                "Id": 1234005,
                "ScriptId": 303,
                "ScriptLanguageId": 2,
                "AuthorUserId": 22,
                "CreationDate": "02/08/2024 10:00:00",
                "VersionNumber": 1,
                "Title": "Fork",
            },
            {
                "Id": 4006,
                "ScriptId": 304,
                "ScriptLanguageId": 11,
                "AuthorUserId": 22,
                "CreationDate": "02/08/2024 10:00:00",
                "VersionNumber": 1,
                "Title": "Orphan",
            },
        ],
        "KernelVersionCompetitionSources": [
            {"Id": number, "KernelVersionId": version, "SourceCompetitionId": 7001}
            for number, version in enumerate([4003, 4001, 4001, 4002, 4004, 1234005, 4006, 999999])
        ],
        "KernelVotes": [
            {"Id": 1, "UserId": 11, "KernelVersionId": 4001, "VoteDate": "02/04/2024"},
            {"Id": 2, "UserId": 22, "KernelVersionId": 4002, "VoteDate": "02/15/2024"},
            {"Id": 3, "UserId": 33, "KernelVersionId": 4003, "VoteDate": "02/25/2024"},
            {"Id": 4, "UserId": -1, "KernelVersionId": 4003, "VoteDate": "02/25/2024"},
        ],
        "Teams": [
            {
                "Id": 601,
                "CompetitionId": 7001,
                "TeamName": "Ada and Grace",
                "PrivateLeaderboardSubmissionId": 802,
                "PrivateLeaderboardRank": 2,
            },
            {"Id": 602, "CompetitionId": 7001, "PrivateLeaderboardSubmissionId": 804, "PrivateLeaderboardRank": 1},
            {
                "Id": 603,
                "CompetitionId": 7001,
                "IsBenchmark": "True",
                "PrivateLeaderboardSubmissionId": 805,
                "PrivateLeaderboardRank": 3,
            },
            {"Id": 604, "CompetitionId": 7001},
        ],
        "Submissions": [
            submission(801, 601, "02/01/2024", 0.70, 0.75),
            submission(802, 601, "02/10/2024", 0.60, 0.65, version=4001),
            submission(803, 601, "02/11/2024", 0.68, 0.61),
            submission(804, 602, "02/05/2024", 0.62, 0.55, scored="02/06/2024"),
            submission(805, 603, "02/05/2024", 0.10, 0.10),
            submission(806, 604, "02/05/2024", "", ""),
            submission(807, 604, "02/06/2024", "1.8e308", "1.8e308"),
            submission(808, 602, "05/01/2024", 0.01, 0.01, late=True),
        ],
        "Users": [
            {"Id": 11, "UserName": "ada_l", "DisplayName": "Ada Lovelace", "PerformanceTier": 4},
            {"Id": 22, "UserName": "deep", "DisplayName": "Deep Learning"},
        ],
        "UserAchievements": [
            {"Id": 1, "UserId": 11, "AchievementType": "Discussion", "Tier": 3, "TierAchievementDate": "02/05/2024"},
            {"Id": 2, "UserId": 11, "AchievementType": "Competitions", "Tier": 2, "TierAchievementDate": "01/05/2024"},
            {"Id": 3, "UserId": 22, "AchievementType": "Scripts", "Tier": 2, "TierAchievementDate": "07/15/2016"},
            {"Id": 4, "UserId": 55, "AchievementType": "Scripts", "Tier": 1, "TierAchievementDate": "02/05/2024"},
        ],
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
