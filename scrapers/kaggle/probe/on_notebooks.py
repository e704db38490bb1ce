"""Points on one's own notebooks and data sets; what a push shows, reading alone cannot."""

from scrapers.kaggle.datasets import OwnDataSets
from scrapers.kaggle.notebooks import Quotas
from scrapers.kaggle.probe.points import Finding, Point, Seen, told, unsure

_FIRST_PUSH = "a first notebook that the bot pushes: `bot logs` has the answers"


def _gpu_hours(seen: Seen) -> Finding:
    found = seen.read("gpu-hours", Quotas)
    if found is None:
        return seen.why_not("gpu-hours")
    if found.gpu_quota is None:
        return told(False, "it names no GPUs")
    hours = found.gpu_quota.total_time_allowed / 3600
    return told(1 <= hours <= 168, f"{hours:g} hours a week")


def _private_ones(seen: Seen) -> Finding:
    found = seen.read("own-data-sets", OwnDataSets)
    if found is None:
        return seen.why_not("own-data-sets")
    private = sum(one.is_private for one in found.datasets)
    return (
        told(True, f"{private} of {len(found.datasets)} are private") if private else unsure("no private one is listed")
    )


def _missing(seen: Seen) -> Finding:
    asked = seen.exchange("missing-data-set")
    if asked is None or asked.status is None or asked.status >= 500 or asked.status == 429:
        return seen.why_not("missing-data-set")
    return told(asked.status in (403, 404), f"it was answered with {asked.status}")


def _pushed(name: str, assumed: str) -> Point:
    return Point(name, assumed, lambda seen: unsure("only a push shows it"), _FIRST_PUSH)


POINTS: tuple[Point, ...] = (
    Point("gpu-hours", "The week's time on GPUs comes in seconds, such as 108000s.", _gpu_hours),
    Point("private-data-sets", "One's own data sets are listed, private ones too.", _private_ones, _FIRST_PUSH),
    Point("missing-data-set", "A data set that does not exist is refused with 403 or 404.", _missing),
    _pushed("licence", "A private data set may have the licence `other`."),
    _pushed("flat-files", "A data set keeps files under their names; only archives are unpacked."),
    _pushed(
        "titles",
        "A title that is in use is refused under status 200; a new notebook has the slug that its title makes.",
    ),
    _pushed("left-out", "A data set that is not ready keeps no notebook from running, and is named in the answer."),
    _pushed("push-again", "A pushed notebook is found by its reference at once, with the source as it was sent."),
    _pushed("mounts", "Data lies in /kaggle/input/NAME, or in competitions/NAME and datasets/OWNER/NAME below that."),
    _pushed("run-log", "The log of a run that failed can be read, as a JSON list of what was printed."),
    _pushed("session-id", "The search shows the session of one's own private notebook, by which it is cancelled."),
    _pushed(
        "rerun", "A submitted notebook is PENDING while it runs on hidden data, and says in a few words why it failed."
    ),
)
"""Every assumption on notebooks that is open."""
