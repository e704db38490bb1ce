"""Grades a list by MLE-bench's own code; run by the Python of its checkout, not by ours.

Arguments: the list, the data folder, the folder of competitions with their leaderboards, and the folder for the report.
"""

import dataclasses
import sys
from pathlib import Path

from mlebench.grade import grade_jsonl
from mlebench.registry import Competition, Registry


class Local(Registry):
    """The registry as published, with leaderboards of our own where its are pointers."""

    def get_competition(self, competition_id: str) -> Competition:
        competition = super().get_competition(competition_id)
        return dataclasses.replace(competition, leaderboard=BOARDS / competition_id / "leaderboard.csv")


submissions, data, BOARDS, out = map(Path, sys.argv[1:])
if __name__ == "__main__":
    grade_jsonl(submissions, out, Local(data))
