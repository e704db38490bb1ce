"""The table of experiments that a script of ours prints: read back from an attempt's output."""

import re
from dataclasses import dataclass

_ROW = re.compile(r"^(\w+(?: [\d.e+-]+)? on .+?)\s+(\d+\.\d+)\s+(\d+\.\d+)$", re.MULTILINE)
_SKIPPED = re.compile(r"^(\w+(?: [\d.e+-]+)? on .+?)\s+(?:skipped|given up): ", re.MULTILINE)
_KIND = re.compile(r"^task: kind=(\S+)", re.MULTILINE)
_BLEND = re.compile(r"^(?:blend|best): (\d+\.\d+) of (.+)$", re.MULTILINE)
_SCORE = re.compile(r"^cross-validated \S+: (\d+\.\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Printed:
    """What a run printed: the kind of data, (experiment, score, seconds) rows, what was skipped, and the blends."""

    kind: str
    rows: tuple[tuple[str, float, float], ...]
    skipped: tuple[str, ...]
    blends: tuple[tuple[float, str], ...]
    """Score and the chosen experiments, joined by ` + `; one a target."""
    score: float | None

    @property
    def chosen(self) -> str:
        """The names of all experiments that some blend chose."""
        return " + ".join(names for _, names in self.blends)


def printed(output: str) -> Printed:
    """Read the table; what is not there stays empty."""
    kind, score = _KIND.search(output), _SCORE.search(output)
    return Printed(
        kind=kind[1] if kind else "",
        rows=tuple((m[1], float(m[2]), float(m[3])) for m in _ROW.finditer(output)),
        skipped=tuple(m[1] for m in _SKIPPED.finditer(output)),
        blends=tuple((float(m[1]), m[2]) for m in _BLEND.finditer(output)),
        score=float(score[1]) if score else None,
    )
