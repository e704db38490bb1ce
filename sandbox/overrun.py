"""The rule on projected overrun: a script that says itself how far it is, and cannot end in time at that pace."""

import re
from dataclasses import dataclass, field

_COUNTER = re.compile(
    r"\b(epoch|fold|iter|iteration|step|round|trial|seed|model)s?\b[\s:#(\[]{0,4}(\d{1,9})\s?(?:/|of)\s?(\d{1,9})\b",
    re.IGNORECASE,
)
_TIME_LEFT = (
    re.compile(r"\d\s?%\|[^|]*\|\s*\d+/\d+\s\[[\d:]+<(?:(?P<d>\d+) days?, )?(?:(?:(?P<h>\d+):)?(?P<m>\d+):)(?P<s>\d+)"),
    re.compile(
        r"\bremaining: (?=\d)(?:(?P<d>\d+)d ?)?(?:(?P<h>\d+)h ?)?(?:(?P<m>\d+)m(?!s) ?)?(?:(?P<s>\d+)(?:\.\d+)?s)?"
    ),
)
"""What tqdm and catboost say."""
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_ENDS_EARLY = re.compile(r"BOT_TIME_LIMIT|early.?stop|patience|time.?limit|deadline|budget|time.?left|\bbreak\b", re.I)
_EVIDENCE = 0.1
"""Share of the time limit that must have passed before anything is projected."""
_STEPS = 3
"""Projections in a row that must agree."""
_MOST_COUNTERS = 100


def ends_by_itself(script: str) -> bool:
    """Say whether a script seems to end before its last step: by the clock, or when it gains nothing more."""
    return _ENDS_EARLY.search(script) is not None


@dataclass
class _Counter:
    done: int
    at: float
    shortest: float | None = None
    """Fewest seconds that one step took: the rest can hardly be quicker."""

    def projected(self, done: int, total: int, now: float) -> float | None:
        """Take in a report; return when the last step would end, in seconds since the start, if that is known."""
        if done <= self.done:
            if done < self.done:
                self.done, self.at, self.shortest = done, now, None
            return None
        took = (now - self.at) / (done - self.done)
        self.shortest = took if self.shortest is None else min(self.shortest, took)
        self.done, self.at = done, now
        return now + max(0, total - done) * self.shortest


@dataclass
class OverrunRule:
    """A projection far beyond the limit must come again and again before it counts."""

    limit: float
    factor: float
    _counters: dict[tuple[str, int], _Counter] = field(default_factory=dict)
    _late: int = 0
    _why: str = ""

    def line(self, line: str, now: float) -> None:
        """Take in a line of output, `now` in seconds since the start."""
        for projected in self._projections(line, now):
            if now < _EVIDENCE * self.limit:
                continue
            late = projected > self.factor * self.limit
            self._late = self._late + 1 if late else 0
            self._why = (
                f"at its pace it would end after about {projected:.0f} s, {self.limit:.0f} s are allowed; "
                f"it said last: {line.strip()[:200]!r}"
            )

    def check(self) -> str | None:
        """Return why it must end, if it must."""
        return self._why if self._late >= _STEPS else None

    def _projections(self, line: str, now: float) -> list[float]:
        found = []
        for word, done, total in _COUNTER.findall(line):
            if len(self._counters) > _MOST_COUNTERS:
                self._counters.clear()
            counter = self._counters.setdefault((word.lower(), int(total)), _Counter(int(done), now))
            projected = counter.projected(int(done), int(total), now)
            if projected is not None:
                found.append(projected)
        for pattern in _TIME_LEFT:
            if match := pattern.search(line):
                left = sum(int(match[unit] or 0) * seconds for unit, seconds in _SECONDS.items())
                found.append(now + left)
        return found
