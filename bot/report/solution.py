"""The solution folder: the script that made the submission, and how a person runs it."""

from pathlib import Path

from bot.engine.attempts import code
from bot.engine.context import RunContext
from bot.submission.handing_in import HandedIn

_README = """# Solution: node {node}

{made}

It starts in an empty folder that holds `data/`: the competition's files, and `validation.csv` with
`sample_validation.csv` (rows to predict besides the test rows; any few training rows without their labels will do).
The run's own folder has such a `data/` under `views/`: `views/full` for a refit, `views/holdout` for the scored run.

```sh
mkdir work && cd work
cp -r ../../views/{view} data
BOT_TIME_LIMIT={seconds} BOT_CPUS={cpus} BOT_GPUS=0 python ../solution.py
```

Python {python}; packages: {packages}.
"""


def write_solution(context: RunContext, handed: HandedIn, folder: Path) -> None:
    """Write solution.py and its README, even if the chosen node was not handed in; without one, write nothing."""
    if handed.node is None:
        return
    folder.mkdir(exist_ok=True)
    (folder / "solution.py").write_text(code(context, handed.node), encoding="utf-8")
    machine = context.machine
    text = _README.format(
        node=handed.node,
        made=_made(handed),
        view="full" if handed.how == "refit" else "holdout",
        seconds=round(context.budget.seconds),
        cpus=machine.cpus,
        python=machine.python,
        packages=", ".join(machine.packages),
    )
    (folder / "README.md").write_text(text, encoding="utf-8")


def _made(handed: HandedIn) -> str:
    if handed.how is None:
        return f"`solution.py` is the run's best script; {handed.note}."
    return f"`solution.py` made `submission.csv` ({handed.how}: {handed.note})."
