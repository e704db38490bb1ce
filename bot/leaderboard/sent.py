"""Our submissions as the site has them, from the readings that polling stored."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session

from state.series import last_of_each

__all__ = ["Sent", "best_of", "number", "sent_files"]


@dataclass(frozen=True)
class Sent:
    """One submission at the site; a score is None while the site does not tell it."""

    ref: str
    tag: str
    """Its description, by which it is ours."""
    at: str
    """ISO time of the site."""
    public: float | None
    private: float | None
    team: str
    """The name of the team."""


def sent_files(session: Session, competition: str) -> list[Sent]:
    """Return the team's submissions, the earliest first; those that failed have no score."""
    found = [
        Sent(
            ref=ref,
            tag=str(row.data.get("description") or ""),
            at=str(row.data.get("date") or ""),
            public=number(row.data.get("public_score")) if row.data.get("status") == "COMPLETE" else None,
            private=number(row.data.get("private_score")) if row.data.get("status") == "COMPLETE" else None,
            team=str(row.data.get("team_name") or ""),
        )
        for (_, ref), row in last_of_each(session, competition, "submission").items()
    ]
    return sorted(found, key=lambda one: (one.at, int(one.ref) if one.ref.isdecimal() else 0, one.ref))


def best_of(sent: Sequence[Sent], *, lower_is_better: bool) -> Sent | None:
    """Return the one with the best public score, the earliest of equals."""
    scored = [(one, one.public) for one in sent if one.public is not None]
    sign = -1.0 if lower_is_better else 1.0
    return max(scored, key=lambda pair: sign * pair[1])[0] if scored else None


def number(value: object) -> float | None:
    """Return a score as a site writes it, None where it is masked, missing or not finite."""
    try:
        score = float(str(value))
    except ValueError:
        return None
    return score if math.isfinite(score) else None
