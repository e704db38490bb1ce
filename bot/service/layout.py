"""The paths of the service on a machine, or in a folder that stands for one."""

from dataclasses import dataclass
from pathlib import Path

USER = "kaggle-bot"
SERVICE = "kaggle-bot.service"
PRUNE = "kaggle-bot-prune.service"
TIMER = "kaggle-bot-prune.timer"
CREDENTIALS = ("KAGGLE_API_TOKEN", "OPENAI_API_KEY", "SLACK_URL", "MAIL_URL")
"""Names of the credentials that the unit loads by itself."""
PROGRAM = Path("/opt/kaggle-bot/bin/bot")
"""The program that the shipped units name, and the recommended place to install it."""


@dataclass(frozen=True)
class Layout:
    """All paths of the service."""

    root: Path = Path("/")
    """The machine's root, or a folder that a package is made from."""

    @property
    def is_machine(self) -> bool:
        """Whether this is the running machine."""
        return self.root == Path("/")

    def at(self, path: Path) -> Path:
        """Return a path of the machine below the root."""
        return self.root / path.relative_to("/")

    @property
    def units(self) -> Path:
        """Units that an administrator installs."""
        return self.at(Path("/etc/systemd/system"))

    @property
    def account(self) -> Path:
        """The file that defines the service's user."""
        return self.at(Path("/etc/sysusers.d/kaggle-bot.conf"))

    @property
    def configuration(self) -> Path:
        """The folder of bot.toml."""
        return self.at(Path("/etc/kaggle-bot"))

    @property
    def bot_toml(self) -> Path:
        """The configuration."""
        return self.configuration / "bot.toml"

    @property
    def environment(self) -> Path:
        """Variables of the service that are not secret."""
        return self.configuration / "environment"

    @property
    def credentials(self) -> Path:
        """A file for each secret, readable only by root."""
        return self.configuration / "credentials"

    @property
    def state(self) -> Path:
        """The database, the competitions' data and the runs."""
        return self.at(Path("/var/lib/kaggle-bot"))

    @property
    def cache(self) -> Path:
        """Files that may be lost."""
        return self.at(Path("/var/cache/kaggle-bot"))

    @property
    def timer_stamp(self) -> Path:
        """The file in which systemd keeps when the timer last ran."""
        return self.at(Path("/var/lib/systemd/timers/stamp-kaggle-bot-prune.timer"))
