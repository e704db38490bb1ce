"""The engine's side of the command `lab`, for one lab."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from bot.coder.lab.calls import (
    INFER,
    SCRIPT,
    BoardCommand,
    DoneCommand,
    Fit,
    Ideas,
    LabAnswer,
    LabCall,
    Log,
    LogScore,
    NoteCommand,
    ScoreCommand,
    StatusCommand,
    Wait,
    Withdraw,
)
from bot.coder.lab.cards import answer, board, ensemble_line
from bot.coder.lab.leases import LabLease
from bot.coder.lab.scripts import ScoredScripts, ScriptRefused
from bot.engine.context import RunContext
from bot.engine.experiments import ROLES, STACK_SOURCE, LabPosition, Logged
from bot.engine.families import families_of
from bot.engine.results import present_ensemble
from bot.engine.sealed_runs import retrainable_members
from bot.evaluation.answers.board import thresholds
from bot.models import Item
from bot.models.quoting import in_quotes
from state.errors import BudgetExceeded, InfrastructureFailure, InvalidSubmission
from state.labs import add_note, keep_report, lab

_MOST_NOTES = 20
_MOST_MEMBERS = 8  # of the ensemble, in a status
_MOST_ANSWERS = 300
_RESERVED_SECONDS = 30.0
"""Seconds that a coder has left after waiting for fits."""


@dataclass
class Commands:
    """Answers one lab's calls."""

    context: RunContext
    number: int
    scripts: ScoredScripts
    seconds_left: Callable[[], float]
    """Returns the seconds that the lab has left."""
    turns_left: Callable[[], str]
    """Returns the remaining replies or requests, such as `3 replies`."""
    lease: LabLease
    ideas: Callable[[], Sequence[tuple[str, Item]]]
    """Returns the pool's ideas for this draft, as of the clock, a line each."""
    sync_work_folder: Callable[[], Awaitable[None]]
    """Copies work/ from the lab to this machine."""
    ideas_shown: list[Item] = field(default_factory=list)
    """Ideas that were shown since the last observation."""
    turn: int = 0
    done: bool = False
    """Whether the coder has ended its work."""
    news: list[str] = field(default_factory=list)
    """Answers for the next observation, as no client waited for them."""
    _asked_again: bool = False
    _answers: dict[str, bool] = field(default_factory=dict)
    """What was answered, as it is printed, and whether it stays true: a score does, what time is left does not."""

    async def __call__(self, call: LabCall) -> LabAnswer:
        """Answer a call; every failure is a sentence for the coder."""
        try:
            answer = await self._answer(call)
        except (ScriptRefused, InvalidSubmission, BudgetExceeded) as error:
            answer = LabAnswer(1, _sentence(str(error)))
        except InfrastructureFailure as error:
            answer = LabAnswer(1, _sentence(f"the engine failed; your file may be fine: {error}"))
        output = answer.text.rstrip("\n")
        self._answers[f"lab: {output}" if answer.status else output] = isinstance(call.arguments, Log | ScoreCommand)
        while len(self._answers) > _MOST_ANSWERS:
            del self._answers[next(iter(self._answers))]
        return answer

    async def _answer(self, call: LabCall) -> LabAnswer:
        arguments = call.arguments
        if isinstance(arguments, Log):
            return await self._log(call, arguments)
        if isinstance(arguments, ScoreCommand):
            return LabAnswer(0, await self._score(call, arguments))
        if isinstance(arguments, Ideas):
            ideas = self.ideas()
            self.ideas_shown += [item for _, item in ideas]
            return LabAnswer(0, "\n".join(text for text, _ in ideas) or "no ideas yet")
        if isinstance(arguments, StatusCommand):
            return LabAnswer(0, self.status())
        if isinstance(arguments, BoardCommand):
            return LabAnswer(0, "\n".join(board(self.context, arguments.all, with_kernels=True)))
        if isinstance(arguments, NoteCommand):
            return LabAnswer(0, self._note(arguments.text))
        if isinstance(arguments, Withdraw):
            return LabAnswer(0, self._withdraw(arguments))
        if isinstance(arguments, DoneCommand):
            return LabAnswer(0, self._end(arguments))
        if isinstance(arguments, Fit):
            return LabAnswer(0, await self._fit(call, arguments))
        if isinstance(arguments, Wait):
            return LabAnswer(0, await self._wait(arguments.name))
        raise TypeError(f"no answer to {type(arguments).__name__}")

    def status(self) -> str:
        """Return the remaining time, money and replies, and the state of the run."""
        context, log = self.context, self.context.experiments
        lines = [f"{self.seconds_left():.0f} s left; {self.turns_left()} left"]
        best = None if log is None else log.best()
        if best is not None:
            lines.append(f"best experiment: {best.name}, {best.shown_score} ({context.card.metric.direction})")
        if (blend := context.blend) is not None:
            lines.append(ensemble_line(context, blend))
        if members := retrainable_members(context):
            names = [m.name + (f" ({m.seconds:.0f} s when logged)" if m.seconds else "") for m in members]
            if len(names) > _MOST_MEMBERS:
                names[_MOST_MEMBERS:] = [f"{len(names) - _MOST_MEMBERS} more"]
            lines.append(f"retrained on all rows while you think, or after `lab done`: {', '.join(names)}")
        if places := context.executor.settings.board():
            medals = asdict(thresholds(places))
            lines.append(
                f"public leaderboard ({len(places)} teams, scored on test rows): "
                + ", ".join(f"{name} {score:.6g}" for name, score in medals.items())
            )
        return "\n".join([*lines, *(f"remaining: {reason}" for reason in context.remaining_lines[1:])])

    async def _log(self, call: LabCall, arguments: Log) -> LabAnswer:
        context = self.context
        if context.experiments is None:
            raise ScriptRefused(
                "experiments cannot be scored in this run because no labels could be withheld; use `lab score`"
            )
        if "validation" not in call.files:
            raise ScriptRefused(
                "predictions for the validation rows are missing; experiments are compared on them at the end"
            )
        texts = {name: call.text(name) for name in call.sources}
        sources = {name: text for name, text in texts.items() if text is not None}
        logged = Logged(
            name=arguments.name,
            files={role: call.files[role] for role in ROLES if role in call.files},
            note=arguments.note,
            uses=arguments.uses,
            sources=sources,
            retrain=arguments.retrain,
            seconds=arguments.seconds,
            compare_to=arguments.compare_to,
            check=arguments.check,
            families=families_of(sources),
        )
        ensemble = present_ensemble(context.steps, context.experiments.withdrawn())
        experiment = await context.experiments.log(logged, self._position, ensemble)
        context.say(f"lab {self.number}: {experiment.name} {experiment.shown_score}")
        text = answer(context, experiment, verbose=arguments.verbose, checked=arguments.check)
        if binary := sorted(texts.keys() - sources.keys()):
            names = ", ".join(map(repr, binary))
            text += f"\n{names}: not stored, because only text files are stored; `retrain` uses the files in work/"
        if experiment.kind == "stack" and not arguments.uses:
            files = ", ".join(in_quotes(name, 80) for name, source in sources.items() if STACK_SOURCE in source)
            text += f"\ncounted as a stack, not as a member of the ensemble, because of {STACK_SOURCE} in {files}"
        if not experiment.has_score:
            return LabAnswer(0, text, LogScore(experiment.name))
        gain = experiment.result.gain
        if gain is None:
            return LabAnswer(0, text, LogScore(experiment.name, experiment.result.score))
        return LabAnswer(0, text, LogScore(experiment.name, experiment.result.score, gain.value, gain.std_error))

    async def _fit(self, call: LabCall, arguments: Fit) -> str:
        if self.context.fits is None:
            raise ScriptRefused("this run cannot fit portfolios")
        return await self.context.fits.add(
            arguments.name,
            {str(role): path for role, path in call.files.items()},
            self._position,
            arguments.note,
            arguments.categories,
            arguments.encode,
        )

    async def _wait(self, name: str) -> str:
        """Wait for fits as long as the lab has time, and return their results."""
        context = self.context
        if context.fits is None or not any(name in ("", fit.name) for fit in context.fits.requests()):
            return "no fit has this name" if name else "no fit was requested"
        with suppress(TimeoutError):
            await context.fits.wait(name, max(0.0, self.seconds_left() - _RESERVED_SECONDS))
        lines = [line for line in board(context, everything=True) if "/" in line.partition(" ")[0]]
        model_lines = [line for line in lines if not name or line.startswith(f"{name}/")]
        return "\n".join(model_lines) or "no model finished in time"

    @property
    def _position(self) -> LabPosition:
        scripts = self.scripts
        return LabPosition(self.number, scripts.draft_id, scripts.parents, scripts.title, self.turn)

    async def _score(self, call: LabCall, arguments: ScoreCommand) -> str:
        context = self.context
        if not context.needs_scripts:
            raise ScriptRefused("scripts are not scored in this run: log predictions with `lab log`")
        script, infer = call.text(SCRIPT) or "", call.text(INFER)
        if infer is not None and not context.takes_notebooks:
            raise ScriptRefused("this competition accepts files, not notebooks: score the script without --infer")
        async with self.lease.hold() as lease:
            await self.sync_work_folder()
            own_lease = lease if self.lease.shared_with_scores else None
            return await self.scripts.score(script, arguments.note, own_lease, infer=infer)

    def _note(self, text: str) -> str:
        context = self.context
        row = lab(context.store, context.run_id, self.number)
        if row is not None and len(row.notes) >= _MOST_NOTES:
            raise InvalidSubmission(f"this lab has reached its limit of {_MOST_NOTES} notes")
        with context.store.write() as tx:
            add_note(tx, context.run_id, self.number, text)
        return "noted"

    def _withdraw(self, withdrawn: Withdraw) -> str:
        if self.context.experiments is None:
            raise ScriptRefused("this run logs no experiments")
        log, fits, name = self.context.experiments, self.context.fits, withdrawn.name
        if fits is not None and fits.withdraw(name):
            for experiment in log.all():
                if experiment.name.startswith(f"{name}/"):
                    log.withdraw(experiment.name, withdrawn.note)
            return f"{name} and all its models are withdrawn: no more will be fitted, and none will be submitted"
        log.withdraw(name, withdrawn.note)
        return f"{name} is withdrawn: it leaves the ensemble and will not be submitted"

    def _end(self, report: DoneCommand) -> str:
        if not self._asked_again and not self.scripts.nodes:
            self._asked_again = True
            raise ScriptRefused("this lab has no score yet; to end it anyway, run `lab done` again")
        with self.context.store.write() as tx:
            keep_report(tx, self.context.run_id, self.number, {k: v for k, v in asdict(report).items() if v})
        self.done = True
        return "this lab ends after this command; the remaining time goes to `retrain` commands or another lab"

    def take_news(self) -> list[str]:
        """Return the news since the last call."""
        news = list(self.news)
        self.news.clear()
        return news

    def take_answers(self) -> list[str]:
        """Return the answers since the last call, as they are printed, and earlier ones that stay true."""
        answers = self._answers
        self._answers = {answer: lasting for answer, lasting in answers.items() if lasting}
        return list(answers)

    def take_shown(self) -> list[Item]:
        """Return the ideas that were shown since the last call."""
        ideas, self.ideas_shown = self.ideas_shown, []
        return ideas


def _sentence(text: str) -> str:
    """Return a message, which may repeat text of a lab, as one line."""
    return " ".join(text.split())
