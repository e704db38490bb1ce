"""How the stand-in site behaves where Kaggle's own behaviour is the owner's choice, or is reported both ways."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

DEFAULT_TOKEN = "KGAT_rehearsal"  # noqa: S105 - it opens nothing but a stand-in on loopback
Share = Annotated[float, Field(ge=0, le=1)]


class SiteSettings(BaseModel):
    """All settings; with the same ones, the same snapshot and the same requests the site answers the same."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = 0
    user_name: str = "rehearsal"
    display_name: str = "Rehearsal Bot"
    token: str = DEFAULT_TOKEN
    """What `Authorization: Bearer` must hold."""
    legacy_key: str = "0123456789abcdef0123456789abcdef"
    """The key of HTTP Basic."""
    api_version: str = "2.2.4"
    """In X-Kaggle-APIVersion; a newer one than the package's makes it warn on stdout."""

    error_shape: Literal["nested", "flat", "mixed"] = "mixed"
    """The gateway's shape, the legacy one, or either by seed; 401 is always nested."""
    unknown_fields: bool = True
    """Answers carry fields that no client knows."""
    unknown_enums: bool = True
    """Searches find a document whose type and tier no client knows."""

    entered: bool = True
    """Whether the user has joined the competition."""
    host_segment: str = "Playground"
    """Its `category`; what a snapshot calls so is the kind of task, and becomes a tag."""
    metric_shown: bool = True
    """Whether `evaluationMetric` is there."""
    daily_submissions: Annotated[int, Field(ge=0)] = 5
    """Where the snapshot does not say."""
    max_team_size: int = 5
    other_competitions: Annotated[int, Field(ge=0)] = 45
    """Made-up ones in the lists, which the user has not joined."""
    page_format: Literal["markdown", "html", "mixed"] = "mixed"

    opening_post: Literal["included", "left out"] = "included"
    """Whether a topic's messages include the one that opens it."""
    sticky_topics: Annotated[int, Field(ge=0)] = 1
    """How many of the earliest topics are sticky; snapshots do not know."""
    raw_markdown: Share = 0.5
    """Share of the messages that have `rawMarkdown` beside their HTML."""
    reply_depth: Annotated[int, Field(ge=1)] = 4
    """Deeper replies hang on the deepest level."""

    public_share: Annotated[float, Field(gt=0, lt=1)] = 0.3
    """Of the test rows, where the answers do not say which are public."""
    grading_seconds: tuple[float, float] = (20.0, 120.0)
    """Of the site's clock, from creation to a score: drawn for each submission; longer where grading takes longer."""
    board_noise: Share = 0.02
    """Standard deviation of other teams' public scores around their private ones, in quarter-to-quarter distances."""
    link_seconds: float = 7 * 86400.0
    """Of the site's clock, for which an upload or a download link is good."""
    largest_upload: int = 1 << 30
    """Bytes of one file."""
