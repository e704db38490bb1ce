"""How the stand-in site behaves where Kaggle's own behaviour is the owner's choice, or reports of it disagree."""

from typing import Annotated, Literal

from pydantic import Field

from state.closed_model import ClosedModel

DEFAULT_TOKEN = "KGAT_rehearsal"  # noqa: S105 - it opens nothing but a stand-in on loopback
CompetitionKind = Literal[
    "files", "notebooks", "simulation", "agents", "models", "hackathon", "judged", "two-stages", "huge-data"
]
Share = Annotated[float, Field(ge=0, le=1)]


class SiteSettings(ClosedModel):
    """All settings; the same settings, snapshot and requests give the same answers."""

    seed: int = 0
    user_name: str = "rehearsal"
    display_name: str = "Rehearsal Bot"
    token: str = DEFAULT_TOKEN
    """The token in `Authorization: Bearer`."""
    legacy_key: str = "0123456789abcdef0123456789abcdef"
    """The key for HTTP Basic."""

    error_shape: Literal["nested", "flat", "mixed"] = "mixed"
    """The gateway's shape, the legacy one, or either by seed; 401 is always nested."""
    unknown_fields: bool = True
    """Whether answers carry fields that no client knows."""
    unknown_enums: bool = True
    """Whether searches find a document whose type and tier no client knows."""

    kind: CompetitionKind = "files"
    """The kind of its competitions, whatever the snapshots are: how they look, not how files are graded."""
    entered: bool = True
    """Whether the user has joined the competition."""
    metric_shown: bool = True
    """Whether `evaluationMetric` is set."""
    daily_submissions: Annotated[int, Field(ge=0)] = 5
    """Used if the snapshot has no limit."""
    max_team_size: int = 5
    downloads: Literal["redirect", "address"] = "redirect"
    """Whether a download answers with a redirect, or with status 200 and `{"url": ...}`."""
    page_format: Literal["markdown", "html", "mixed"] = "mixed"

    opening_post: Literal["included", "left out"] = "included"
    """Whether a topic's messages include the one that opens it."""
    sticky_topics: Annotated[int, Field(ge=0)] = 1
    """How many of the earliest topics are sticky; snapshots do not record it."""
    raw_markdown: Share = 0.5
    """Share of the messages that have `rawMarkdown` beside their HTML."""
    reply_depth: Annotated[int, Field(ge=1)] = 4
    """Deeper replies are shown at this level."""

    public_share: Annotated[float, Field(gt=0, lt=1)] = 0.3
    """Of the test rows, if the answers do not mark the public ones."""
    grading_seconds: tuple[float, float] = (20.0, 120.0)
    """By the site's clock, from creation to a score: drawn for each submission; longer if grading takes longer."""
    board_noise: Share = 0.02
    """Standard deviation of other teams' public scores around their private ones, in quarter-to-quarter distances."""
    kernel_seconds: tuple[float, float] = (60.0, 600.0)
    """By the site's clock, that a pushed kernel is queued and runs."""
    public_test: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Share of the test rows that a competition for notebooks publishes, where notebooks are run."""
    run_seconds: Annotated[float, Field(gt=0)] = 9 * 3600.0
    """By a real clock, after which a notebook's run is ended."""
    input_layout: Literal["short", "long", "mixed"] = "mixed"
    """Whether runs find `/kaggle/input/NAME`, or `/kaggle/input/competitions/NAME` and `/kaggle/input/datasets/OWNER/NAME`."""
    dataset_seconds: tuple[float, float] = (20.0, 180.0)
    """By the site's clock, until a data set is ready."""
    gpu_hours: Annotated[float, Field(ge=0)] = 30.0
    """A week."""
    sessions_at_once: Annotated[int, Field(ge=1)] = 5
    """Runs of notebooks that may be queued or go on at a time."""
