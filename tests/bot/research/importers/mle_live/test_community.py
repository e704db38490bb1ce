"""The rows and files that are made of a folder's kernels and discussions."""

import json
from dataclasses import replace

from bot.research.importers.mle_live.community import FROM
from bot.research.importers.mle_live.importing import ImportRequest
from scrapers.snapshots.manifest import RowCounts
from tests.bot.research.importers.mle_live.conftest import only, rows
from tests.bot.research.importers.mle_live.hand_written import DISCUSSION_LIST, DISCUSSIONS, SLUG


def test_rows_hold_all_that_the_folder_holds(wanted: ImportRequest):
    only(wanted)
    topic = rows(wanted, "topics")[0]
    assert topic == {
        "id": "101",
        "title": "Scaling",
        "author": "Ann (A.)",
        "tier": "MASTER",
        "posted_at": "2020-01-05T10:00:00.123456Z",
        "votes": 5,
        "url": "https://www.kaggle.com/competitions/small/discussion/101",
        "source": FROM,
    }
    messages = {row["id"]: row for row in rows(wanted, "messages")}
    assert [row["parent_id"] for row in messages.values()] == [None, "101-0", "101-1", "101-0", None]
    assert messages["101-0"]["markdown"] == "Scale the columns:\n\n    + all of them"
    assert messages["101-0"]["votes"] == 5
    assert messages["101-2"]["markdown"] == "Trees do not care,\nothers do."
    assert messages["101-2"]["posted_at"] is messages["101-2"]["votes"] is None
    notebook, script = rows(wanted, "kernels")
    assert (notebook["votes"], notebook["public_score"]) == (7, 0.25)
    assert (script["title"], script["created_at"]) == ("Hello", "2020-03-05T10:00:00Z")
    community = wanted.out / SLUG / "community"
    assert (community / script["path"]).read_text() == "```\nimport os\nprint('hello')\n\n```\n"
    assert "```\nimport pandas as pd\n```" in (community / notebook["path"]).read_text()


def test_what_is_wrong_with_files_is_counted_and_named(wanted: ImportRequest):
    kernels, discussions = wanted.root / SLUG / "kernels", wanted.root / SLUG / "discussions"
    (kernels / "201.txt").unlink()
    (kernels / "202.txt").write_bytes(b"\xef\xbb\xbf```\r\nimport os\r\n\r\n```\r\n")
    (kernels / "203.txt").write_bytes("```\nimport os  # Grüße\n```\n".encode("cp1252"))
    (kernels / "204.txt").write_text("\n")
    (kernels / "205.txt").symlink_to("/etc/hostname")
    (kernels / "left.ipynb").write_text("{}")
    (discussions / "info.json").write_text("[" + json.dumps(DISCUSSION_LIST[0]))
    (discussions / "102.txt").write_text("# A title")
    counts = only(wanted).counts
    assert counts is not None
    assert counts.rows == RowCounts(topics=1, messages=4, kernels=2)
    assert sorted(map(str, counts.omitted)) == [
        "1 discussions with only a title (102)",
        "1 files in kernels/ that are not in MLE-Live's format (left.ipynb)",
        "1 kernels whose file is empty (204)",
        "1 kernels whose file is missing (201)",
        "1 kernels whose file is not a regular file in its folder (205)",
    ]
    assert sorted(map(str, counts.remarks)) == [
        "1 kernels whose text is not UTF-8 and was read as Windows-1252 (203)",
        "3 kernels without an entry in info.json, and so without a date or votes (203, 204, 205)",
    ]
    assert [str(one) for one in counts.broken] == [
        "1 list of discussions that is not a JSON list or object, so the discussions have no dates or votes "
        "(discussions/info.json)"
    ]
    community = wanted.out / SLUG / "community/kernels"
    assert (community / "202.md").read_text() == "```\nimport os\n\n```\n"
    assert (community / "203.md").read_text(encoding="utf-8") == "```\nimport os  # Grüße\n```\n"


def test_an_entry_that_contradicts_the_task_is_remarked_on(wanted: ImportRequest):
    info = {"201": {"is_lower_better": False}, "202": {"is_lower_better": True}}
    (wanted.root / SLUG / "kernels/info.json").write_text(json.dumps(info))
    counts = only(wanted).counts
    assert counts is not None
    assert "whose entry says that higher scores are better, which contradicts the task (201)" in str(counts.remarks[0])


def test_an_answer_is_never_older_than_its_topic(wanted: ImportRequest):
    late = DISCUSSION_LIST[0] | {"created_at": "2020-03-20T00:00:00Z"}
    (wanted.root / SLUG / "discussions/info.json").write_text(json.dumps([late]))
    only(replace(wanted, at_deadline=True))
    times = {row["id"]: row["posted_at"] for row in rows(wanted, "messages")}
    assert times["101-1"] == "2020-03-20T00:00:00Z"
    assert times["102-0"] == "2020-03-01T00:00:00Z"


def test_every_discussion_keeps_its_text(wanted: ImportRequest):
    only(wanted)
    kept = "\n".join(row["markdown"] for row in rows(wanted, "messages"))
    for word in ("all of them", "Why?", "others do.", "Thanks", "No."):
        assert word in kept
    assert len(DISCUSSIONS) == len(rows(wanted, "topics"))
