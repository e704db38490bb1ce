"""The owner's coding agents: the tables `[coders.NAME]` of bot.toml, and presets for those that many people use."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from sandbox import SandboxDescription
from state.closed_model import ClosedModel
from state.errors import UsageError
from state.settings_paths import SettingsPath
from state.words import did_you_mean

if TYPE_CHECKING:
    from bot.models.settings import ModelChoice

Dialect = Literal["chat", "responses", "messages"]
"""The API of an agent's model; here, as reading bot.toml must not import the gateway."""
RESERVED = ("lab", "script")
"""Names that `--coder` has for coders of the bot's own."""
TASK = "/lab/TASK.md"
"""Where an agent finds its prompt."""
FOLDER, PROGRAM, MODEL = "CODER_FOLDER", "CODER_PROGRAM", "CODER_MODEL"
"""Variables that a command may use: where the agent is installed, its program, and the model's name."""


@dataclass(frozen=True)
class Preset:
    """How an agent is started: without questions, without a second sandbox, with nothing that its maker runs for it."""

    dialect: Dialect
    program: str
    """Where its program lies in its virtual environment or node_modules; `*` stands for a part of the machine's name.
    The last part is its command on PATH."""
    command: str
    install: str
    """A line that installs it on PATH."""
    environment: Mapping[str, str]


# Aider edits files and runs no command of its own accord: this loop runs or scores what it wrote, and hands it the answer.
_AIDER = """
touch solution.py
cp solution.py before.py
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  cp /lab/TASK.md message.txt
  [ ! -s said.txt ] || { printf '\\n\\n# What came of solution.py as it stands\\n'; tail -c 4000 said.txt; } >>message.txt
  "$CODER_FOLDER/bin/python3" -I "$CODER_PROGRAM" --model "openai/$CODER_MODEL" --message-file message.txt --yes-always \\
    --no-git --no-gitignore --no-check-update --analytics-disable --no-show-model-warnings --no-show-release-notes \\
    --no-detect-urls --disable-playwright --no-pretty --map-tokens 0 --edit-format diff solution.py </dev/null || exit
  # What it leaves as it is will not get better.
  ! cmp -s solution.py before.py || break
  cp solution.py before.py
  scored=1
  if [ -S /lab/.engine/socket ]; then
    set --
    [ ! -f infer.py ] || set -- --infer infer.py
    lab score solution.py "$@" --note "aider, round $round" >said.txt 2>&1 ||
      ! grep -q 'scripts are not scored' said.txt || scored=0
  else
    scored=0
  fi
  [ $scored = 1 ] || timeout 1800 python3 solution.py >said.txt 2>&1
  cat said.txt
done
[ ! -S /lab/.engine/socket ] || lab done said.txt || lab done </dev/null
"""

_OPENCODE = """
export OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_DEFAULT_PLUGINS=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1
export OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS=1800000
export OPENCODE_CONFIG_CONTENT='{"permission": "allow", "share": "disabled", "provider": {"gateway": {
  "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "'"$OPENAI_BASE_URL"'", "apiKey": "none"},
  "models": {"'"$CODER_MODEL"'": {}}}}}'
exec "$CODER_PROGRAM" run --model "gateway/$CODER_MODEL" </lab/TASK.md
"""

PRESETS: Mapping[str, Preset] = {
    "mini-swe-agent": Preset(
        "chat",
        "bin/mini",
        # Python without PYTHONPATH, which is that of scripts; they find it again, as the agent passes it on.
        'exec "$CODER_FOLDER/bin/python3" -I "$CODER_PROGRAM" --yolo --exit-immediately --cost-limit 0 '
        '--model "openai/$CODER_MODEL" --config mini.yaml --config environment.timeout=1800 '
        '--task "$(cat /lab/TASK.md)"',
        "pipx install mini-swe-agent",
        {"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    ),
    "codex": Preset(
        "responses",
        "@openai/codex-*/vendor/*/bin/codex",
        # In /tmp it makes no links to programs of its own, which edit files.
        'export CODEX_HOME=/dev/shm/codex; mkdir -p "$CODEX_HOME"; '
        'exec "$CODER_PROGRAM" exec --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check --color never '
        "--config web_search=disabled --config analytics.enabled=false --config check_for_update_on_startup=false "
        '--config "model_providers.gateway={name=\\"gateway\\", base_url=\\"$OPENAI_BASE_URL\\", '
        'wire_api=\\"responses\\", env_key=\\"OPENAI_API_KEY\\"}" '
        '--config model_provider=gateway --model "$CODER_MODEL" - </lab/TASK.md',
        "npm install --global @openai/codex",
        {},
    ),
    "claude-code": Preset(
        "messages",
        "@anthropic-ai/claude-code-*/claude",
        'export ANTHROPIC_DEFAULT_HAIKU_MODEL="$CODER_MODEL" ANTHROPIC_SMALL_FAST_MODEL="$CODER_MODEL"; '
        'exec "$CODER_PROGRAM" --print --verbose --dangerously-skip-permissions --disallowedTools WebSearch,WebFetch '
        '--model "$CODER_MODEL" --output-format stream-json </lab/TASK.md',
        "npm install --global @anthropic-ai/claude-code",
        {
            "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "BASH_DEFAULT_TIMEOUT_MS": "600000",
            "BASH_MAX_TIMEOUT_MS": "1800000",
        },
    ),
    "aider": Preset("chat", "bin/aider", _AIDER, "pipx install aider-chat", {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}),
    "opencode": Preset("chat", "opencode-linux-*/bin/opencode", _OPENCODE, "npm install --global opencode-ai", {}),
}
"""By name; such an agent needs no table if its command is on PATH."""


def _name(name: str) -> str:
    if name in RESERVED or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}", name):
        raise ValueError(f"must be a plain name other than {' or '.join(RESERVED)}")
    return name


CoderName = Annotated[str, AfterValidator(_name)]


class CoderSection(ClosedModel):
    """A table `[coders.NAME]` of bot.toml."""

    preset: Literal[tuple(PRESETS)] | None = Field(  # type: ignore[valid-type]
        default=None,
        description="built-in preset for command, dialect and variables (default: the preset with the table's name, if any)",
        examples=["codex"],
    )
    folder: SettingsPath | None = Field(
        default=None,
        description="folder in which the agent is installed; mounted read-only at the same path (default for a preset: the "
        "installation of its command on PATH)",
        examples=["/opt/coders/codex"],
    )
    files: tuple[SettingsPath, ...] = Field(
        default=(),
        description="other paths that the agent needs, such as the node program; mounted read-only at the same paths",
        examples=[["/usr/bin/node"]],
    )
    command: str | None = Field(
        default=None,
        min_length=1,
        description="bash command line that runs the agent to completion; it starts in /lab/work, with the prompt in "
        f"/lab/TASK.md and with ${FOLDER}, ${PROGRAM} (for a preset) and ${MODEL} set",
        examples=['exec "$CODER_FOLDER/bin/agent" --model "$CODER_MODEL" </lab/TASK.md'],
    )
    environment: dict[Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$")], str] = Field(
        default={},
        description="environment variables for the agent; do not include keys: the agent needs none, and could read them",
        examples=[{"AGENT_TELEMETRY": "off"}],
    )
    dialect: Dialect | None = Field(
        default=None,
        description="API that the agent uses: chat completions, responses or messages",
        examples=["chat"],
    )
    models: tuple[str, ...] = Field(
        default=(),
        description="other model names that the agent may request; the configured model answers these requests too",
        examples=[["small-model"]],
    )


class OwnCoder(ClosedModel):
    """A coding agent of the owner's, as a run starts it."""

    name: str
    model: str = Field(description="model name that the agent requests")
    command: str
    dialect: Dialect
    folder: Path | None = None
    program: str | None = None
    files: tuple[Path, ...] = ()
    environment: Mapping[str, str] = {}
    models: tuple[str, ...] = ()

    @property
    def in_place(self) -> tuple[Path, ...]:
        """Files of this machine that it needs: its installation, the Python that its environment is made of, and others."""
        folders = [] if self.folder is None else [self.folder, *_base_python(self.folder)]
        return tuple(dict.fromkeys((*folders, *self.files)))

    @property
    def variables(self) -> dict[str, str]:
        """The variables that its command finds, those of the gateway apart."""
        return {FOLDER: str(self.folder or ""), PROGRAM: self.program or "", MODEL: self.model, **self.environment}


class ChosenCoder(ClosedModel):
    """Who works on a run's drafts."""

    labs: bool = Field(default=False, description="work on drafts in labs instead of with single scripts")
    agent: OwnCoder | None = None
    """The owner's; None: the bot's shell coder."""


def choose_coder(
    name: str | None, sections: Mapping[str, CoderSection], choice: "ModelChoice", sandbox: SandboxDescription
) -> ChosenCoder:
    """Return who works on a run's drafts; a built-in model writes scripts alone, and a lab needs walls.

    Raises:
        UsageError: labs are needed and cannot be, or the coder is unknown or cannot be started.
    """
    is_builtin = choice.kind == "builtin"
    labs = not is_builtin and sandbox.isolation != "none"
    if name in (None, "script"):
        return ChosenCoder(labs=labs and name is None)
    if not labs:
        hint = "the built-in model cannot work in labs" if is_builtin else "use --sandbox bubblewrap or docker"
        raise UsageError(f"coder {name} works in labs, which require a language model and a sandbox: {hint}")
    return ChosenCoder(labs=True, agent=None if name == "lab" else own_coder(str(name), sections, choice))


def own_coder(name: str, sections: Mapping[str, CoderSection], choice: "ModelChoice") -> OwnCoder:
    """Return a preset or a coder of bot.toml by its name, to work with the model that is chosen for coders.

    Raises:
        UsageError: there is no such preset or table, it says too little to start the agent, the agent is not installed, or
            no endpoint answers it.
    """
    if choice.kind != "openai":
        raise UsageError(f"the coder {name} requires a model at an endpoint, not {choice.spec}")
    if name not in sections and name not in PRESETS:
        raise UsageError(
            f"unknown coder {name!r}: {did_you_mean(name, (*RESERVED, *PRESETS, *sections))} (define your own in a table "
            "[coders.NAME] in bot.toml)"
        )
    section = sections.get(name, CoderSection())
    preset = PRESETS.get(section.preset or name)
    command, dialect = section.command or (preset and preset.command), section.dialect or (preset and preset.dialect)
    if command is None or dialect is None:
        raise UsageError(f"[coders.{name}] needs a preset ({', '.join(PRESETS)}), or a command and a dialect")
    for path in (section.folder, *section.files):
        if path is not None and not path.exists():
            raise UsageError(f"[coders.{name}] names {path}, which does not exist")
    folder, program = section.folder, None
    if preset is not None and section.command is None:
        folder, program = _installation(name, preset, folder)
    return OwnCoder(
        name=name,
        model=choice.model_for("coder"),
        command=command,
        dialect=dialect,
        folder=folder,
        program=program,
        files=section.files,
        environment={**(preset.environment if preset else {}), **section.environment},
        models=section.models,
    )


def _installation(name: str, preset: Preset, folder: Path | None) -> tuple[Path, str]:
    """Return the folder and the program of a coder with a preset, in its own folder or around its command on PATH.

    Agents see the folder. Around a command it is a virtual environment or a node_modules, as any other may hold secrets.

    Raises:
        UsageError: it is not installed there; the message says how to install it.
    """
    command = Path(preset.program).name
    path = shutil.which(command)
    parents = Path(path).resolve().parents if path else ()
    places = [p for p in parents if (p / "pyvenv.cfg").exists()] + [p / "node_modules" for p in parents]
    for place in places if folder is None else (folder, folder / "node_modules"):
        if programs := sorted(place.glob(preset.program)):
            return place, str(programs[0])
    location = "on PATH" if folder is None else f"in {folder}"
    raise UsageError(f"coder {name}: {command} is not installed {location}; `{preset.install}` installs it on PATH")


def _base_python(folder: Path) -> list[Path]:
    """Return the Python that a virtual environment was made of, unless it is the system's, which sandboxes have."""
    file = folder / "pyvenv.cfg"
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    homes = [Path(value.strip()) for key, _, value in (line.partition("=") for line in lines) if key.strip() == "home"]
    return [home.resolve().parent for home in homes if home.resolve().parent not in (Path("/usr"), Path("/usr/local"))]
