"""The user's standing: by public score while the competition runs, by private score in the end."""

from datetime import datetime
from typing import Any

from bot.simulator.site.competition import SimulatedCompetition
from bot.simulator.site.site import Site


def result_of(site: Site, competition: SimulatedCompetition, now: datetime) -> dict[str, Any]:
    """Return the results of a competition so far, for a table or as JSON.

    Returns:
        `over`; `submissions` and how many of them were `scored` and `failed`; `pushes` of versions of how many
        `notebooks`; the best `public_score`, and `public_rank` among the `teams` that have arrived; once it is over
        `private_score`, `rank` among all real teams, `medal` and `win_rate`, else None; the numbers of `requests` and
        `faults` of the whole site.
    """
    submissions = competition.desk.all(now)
    best = competition.desk.best_public(now)
    board = competition.standings(now, private=False)
    pushed = [v for v in site.kernels.pushed() if competition.slug in v.competition_sources]
    final = competition.desk.final(now) if competition.over(now) else None
    score = final.private_score if final else None
    end = {"rank": None, "medal": None, "win_rate": None} if score is None else competition.board.final(score)
    return {
        "competition": competition.slug,
        "time": now.isoformat(),
        "over": competition.over(now),
        "submissions": len(submissions),
        "scored": sum(s.status == "COMPLETE" for s in submissions),
        "failed": sum(s.status == "ERROR" for s in submissions),
        "pushes": len(pushed),
        "notebooks": len({v.ref for v in pushed}),
        "public_score": best[0].public_score if best else None,
        "public_rank": next((rank for rank, team in enumerate(board, 1) if team.id == competition.team_id), None),
        "teams": len(board),
        "private_score": score,
        **end,
        "final_teams": len(competition.snapshot.leaderboard),
        "requests": sum(site.requests.values()),
        "faults": len(site.faults.injected),
    }
