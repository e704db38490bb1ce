"""The command tree; each command lives in a file of its own."""

import typer

from bot.cli.approve import approve
from bot.cli.audit import audit
from bot.cli.config import config_app
from bot.cli.doctor import doctor
from bot.cli.env import env_app
from bot.cli.grade import grade
from bot.cli.knowledge import ideas, reports
from bot.cli.logs import logs
from bot.cli.notify import notify_app
from bot.cli.prune import prune
from bot.cli.rehearse import rehearse
from bot.cli.replay import replay
from bot.cli.restore import restore
from bot.cli.resume import resume
from bot.cli.run import run
from bot.cli.service import service_app
from bot.cli.snapshot import snapshot_app
from bot.cli.status import status
from bot.cli.steering import note, pause, stop, unpause
from bot.cli.submissions import submissions
from bot.cli.submit import submit
from bot.cli.weights import weights_app

app = typer.Typer(
    name="bot",
    help="A bot that competes on Kaggle by itself, and replays past competitions under a clock.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(run)
app.command()(replay)
app.command()(resume)
app.command()(grade)
app.command()(status)
app.command()(submissions)
app.command()(submit)
app.command()(approve)
app.command()(logs)
app.command()(note)
app.command()(pause)
app.command()(unpause)
app.command()(stop)
app.command()(ideas)
app.command()(reports)
app.command()(rehearse)
app.command()(audit)
app.command()(prune)
app.command()(restore)
app.command()(doctor)
app.add_typer(config_app)
app.add_typer(snapshot_app)
app.add_typer(env_app)
app.add_typer(weights_app)
app.add_typer(notify_app)
app.add_typer(service_app)
