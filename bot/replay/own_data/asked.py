"""What a person may say of their own data; all else is found out."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Asked:
    """The options of `bot solve` that describe the data; None: find it out."""

    target: str | None = None
    metric: str | None = None
    id: str | None = None
    group: str | None = None
    """The column whose groups stay together where one table is parted; `none`: rows go one by one."""
    time: str | None = None
    """The column by which one table is parted: the latest rows become the test rows."""
    train: str | None = None
    test: str | None = None


@dataclass
class Found:
    """What was found, in the order in which it is shown."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    """A word for what it is, and the sentence."""

    def add(self, what: str, sentence: str) -> None:
        """Add a line."""
        self.lines.append((what, sentence))
