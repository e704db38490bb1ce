"""What a page shows of a competition at the site: its submissions, and how the leaderboard has moved."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlmodel import Session

from bot.engine.run_record import RunRecord
from bot.report.charts import Chart, Series, score_axis, time_axis, timed
from bot.status.submissions import NotSubmitted, SubmissionShown, not_submitted, shown_submissions
from bot.submission.notebook_lines import NotebookLine, notebook_lines
from state.series import history
from state.submissions import chosen_final

MOST_SUBMISSIONS = 12
MOST_MOVES = 8


@dataclass(frozen=True)
class Move:
    """One change of our standing."""

    at: datetime
    rank: int | None
    teams: int | None
    medal: str | None
    score: float | None
    by: int | None
    """Places won since the one before, below 0: lost; None: unknown."""


@dataclass(frozen=True)
class BoardView:
    """A competition at the site, ready to be shown."""

    held: tuple[SubmissionShown, ...]
    """Submissions that wait for the owner."""
    submissions: tuple[SubmissionShown, ...]
    """The newest first."""
    in_all: int
    may_count: tuple[SubmissionShown, ...]
    """Submissions that the site has taken, the newest first: two of them count in the end."""
    chosen: tuple[str, ...]
    """Tags of those that the owner wants to count."""
    proposed: tuple[str, ...]
    """Tags of those that were proposed last."""
    notebooks: tuple[NotebookLine, ...]
    """In a competition of notebooks: where each stands, the latest change first."""
    undecided: NotSubmitted | None
    """The last decision, if it made no submission."""
    ranks: Chart | None
    moves: tuple[Move, ...]
    """The newest first."""
    lines: Mapping[str, float]
    """Scores of the first team, of the last team with each medal, and the median."""


def board_view(session: Session, competition: str, run: RunRecord | None) -> BoardView:
    """Read a competition; `run` is its live run, None if there is none yet."""
    sent = [] if run is None else shown_submissions(session, run)
    known = [(row.at, _standing(row.data)) for row in history(session, competition, "watch") if row.sha256 is not None]
    ranks = [(at, float(standing["rank"])) for at, standing in known if standing.get("rank")]
    proposal = None if run is None else run.last_event("selection.proposed")
    return BoardView(
        held=tuple(one for one in sent if one.status == "held"),
        submissions=tuple(sent[: -MOST_SUBMISSIONS - 1 : -1]),
        in_all=len(sent),
        may_count=tuple(one for one in reversed(sent) if one.status == "confirmed"),
        chosen=() if run is None else chosen_final(session, run.id),
        proposed=() if proposal is None else tuple(proposal.data["tags"]),
        notebooks=() if run is None else tuple(notebook_lines(session, run.id)[: -MOST_SUBMISSIONS - 1 : -1]),
        undecided=None if run is None else not_submitted(run),
        ranks=_ranks(ranks) if len(ranks) > 1 else None,
        moves=tuple(reversed(_moves(known)))[:MOST_MOVES],
        lines=known[-1][1].get("lines") or {} if known else {},
    )


def _standing(data: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = data.get("standing", data)
    return found


def _ranks(ranks: list[tuple[datetime, float]]) -> Chart:
    points = timed(ranks, ranks[0][0])
    up = score_axis([rank for _, rank in ranks], [rank for _, rank in ranks[1:]], falling=True)
    up = replace(up, form="{:,.0f}".format, least_step=1.0)
    series = [Series("", "ours", points, "steps"), Series("", "good pale", points)]
    return Chart("Our rank over time (up is better)", time_axis(points[-1][0]), up, series, width=520)


def _moves(known: list[tuple[datetime, Mapping[str, Any]]]) -> list[Move]:
    """Return the changes of rank or medal; that teams have joined is none."""
    found, before = list[Move](), None
    for at, one in known:
        rank, medal = one.get("rank"), one.get("medal")
        if found and (found[-1].rank, found[-1].medal) == (rank, medal):
            continue
        by = before - rank if before and rank else None
        found.append(Move(at, rank, one.get("teams"), medal, one.get("score"), by))
        before = rank or before
    return found
