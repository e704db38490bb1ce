"""Tests of bot.toml as a whole: what it says is read, and all that is wrong with it is told at once, by line."""

import os
import tomllib
from pathlib import Path

import pytest

from bot.configuration import Settings, read_configuration, read_settings
from bot.configuration.mistakes import Mistake
from state.errors import ConfigurationError, UsageError


def mistakes(folder: Path, text: str | bytes) -> list[Mistake]:
    """Return what is wrong with a file that holds this."""
    file = folder / "bot.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigurationError) as error:
        read_settings(file)
    assert isinstance(error.value, UsageError)
    assert str(error.value) == "\n".join(map(str, error.value.problems))
    assert {one.file for one in error.value.problems} == {str(file)}
    return [one for one in error.value.problems if isinstance(one, Mistake)]


def told(folder: Path, text: str | bytes) -> list[tuple[int | None, str]]:
    return [(one.line, one.message) for one in mistakes(folder, text)]


def test_without_a_file_or_a_table_all_is_as_by_default(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text("")
    assert read_settings(None) == read_settings(tmp_path / "bot.toml") == Settings()


def test_every_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_bytes(
        b'[run.watch]\r\nsilent_minutes = 60\r\n[weights]\ndir = "/srv/w"\noffer = false\n'
        b"[competitions.spooky]\nsubmit = true\ndeadline = 2027-01-01T02:00:00+02:00\n"
    )
    found = read_configuration(tmp_path / "bot.toml")
    settings = found.settings
    assert (settings.run.watch.silent_minutes, settings.run.watch.free_disk_bytes) == (60.0, 500_000_000)
    assert (settings.weights.folder, settings.weights.offer) == (Path("/srv/w"), False)
    assert settings.competitions["spooky"].submit
    assert str(settings.competitions["spooky"].deadline) == "2027-01-01 00:00:00+00:00"
    assert found.lines.line_of["competitions", "spooky", "submit"] == 7


def test_a_relative_path_starts_at_the_folder_of_its_file_wherever_the_program_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "etc" / "bot.toml"
    file.parent.mkdir()
    file.write_text(
        '[daemon]\ndir = "../state"\n[weights]\ndir = "~/weights"\n'
        '[competitions.titanic]\nmetric = "graders/grade.py"\n[competitions.spooky]\nmetric = "log_loss"\n'
        '[competitions.nomad]\nmetric = "/srv/grade.py"\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    found = []
    for folder in (tmp_path, file.parent):
        monkeypatch.chdir(folder)
        found.append(read_settings(Path(os.path.relpath(file))))
    settings, same = found
    assert settings == same
    assert settings.daemon.folder == tmp_path / "state"
    assert settings.weights.folder == tmp_path / "home" / "weights"
    own = settings.competitions
    assert own["titanic"].grader == tmp_path / "etc" / "graders" / "grade.py"
    assert (own["spooky"].metric, own["nomad"].metric) == ("log_loss", "/srv/grade.py")


def test_all_mistakes_are_told_at_once_each_with_its_line_and_what_is_expected(tmp_path: Path) -> None:
    text = """
[run.watch]
silnt_minutes = 3
free_disk_bytes = -1
silent_minutes = "no"
[leases]
gpu_shares = true
[[models.fallback]]
model = "a"
[[models.fallback]]
model = "b"
retries = 21.5
prices.b = { input = 1 }
[competitions.spooky]
approve = "maybe"
metric_params = { eps = [] }
deadline = 2027-01-01T00:00:00
prediction_columns = []
"""
    assert [(line, sentence.split(" (")[0]) for line, sentence in told(tmp_path, text)] == [
        (3, "unknown key 'silnt_minutes' in [run.watch]; did you mean 'silent_minutes'?"),
        (4, "run.watch.free_disk_bytes must be at least 0, not -1"),
        (5, "run.watch.silent_minutes must be a number, not text"),
        (7, "leases.gpu_shares must be a whole number, not true"),
        (12, "models.fallback.2.retries must be a whole number, not 21.5"),
        (13, "models.fallback.2.prices.b.output is missing"),
        (15, 'competitions.spooky.approve must be "auto" or "ask"'),
        (16, "competitions.spooky.metric_params.eps must be a number, or true or false, or text in quotes, not a list"),
        (17, "competitions.spooky.deadline must be a time with a time zone, such as 2027-01-01T00:00:00Z"),
        (18, "competitions.spooky.prediction_columns must not be empty"),
    ]
    kinds = [one.kind for one in mistakes(tmp_path, text)]
    assert kinds == ["unknown", *["wrong"] * 4, "missing", *["wrong"] * 4]


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("[watcher]\nsilent_minutes = 1", 1, "unknown key 'watcher'; known keys: run, models"),
        ("[disk]\n\ngpu_shares = 2", 3, "unknown key 'gpu_shares' in [disk]; did you mean 'leases.gpu_shares'?"),
        ("[kaggle]\npace.per_minuet = 1", 2, "unknown key 'per_minuet' in [kaggle.pace]; did you mean 'per_minute'?"),
        ("[disk]\nzzz = 2", 2, "unknown key 'zzz' in [disk]; known keys: free_gb, keep_days"),
        ("[models.roles]\nanalist = 'm'", 2, "models.roles.analist is not a role; did you mean analyst?"),
        (
            "[kaggle]\npasword = 1\npassword = 2",
            3,
            "unknown key 'password' in [kaggle]; secrets belong in environment variables or systemd credentials",
        ),
    ],
)
def test_an_unknown_key_is_told_with_the_nearest_that_there_is(
    tmp_path: Path, text: str, line: int, sentence: str
) -> None:
    found = told(tmp_path, text)
    assert any(at == line and said.startswith(sentence) for at, said in found), found


def test_an_unknown_table_is_told_all_that_there_are(tmp_path: Path) -> None:
    ((_, sentence),) = told(tmp_path, "[zygote]\n")
    assert sentence.endswith(f"known keys: {', '.join(Settings.model_fields)}")


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("[watch", 1, 7), ("\n[weights]\noffer = maybe\n", 3, 9), ("a = 1\n\nb = '", 3, 6), ("a = 1 b = 2", 1, 7)],
)
def test_what_is_no_toml_is_told_with_line_and_column(tmp_path: Path, text: str, line: int, column: int) -> None:
    (one,) = mistakes(tmp_path, text)
    assert (one.line, one.kind) == (line, "syntax")
    assert one.message.startswith(f"column {column}: invalid TOML: "), one


def test_what_stands_twice_is_told(tmp_path: Path) -> None:
    ((line, sentence),) = told(tmp_path, "[weights]\noffer = 3\noffer = true\n")
    assert line == 3 and "Cannot overwrite a value" in sentence


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.toml: cannot be read: No such file"):
        read_settings(tmp_path / "absent.toml")
    assert told(tmp_path, b"[weights]\noffer = true # \xff\n") == [(2, "must be UTF-8 text")]
    ((_, sentence),) = told(tmp_path, "a = " + "[" * 5000)
    assert "nested too deeply" in sentence


SECRETS = [
    ("sk-proj-4242424242", "a model's API key", "OPENAI_API_KEY"),
    ("KGAT_0123456789abcdef", "a Kaggle token", "~/.kaggle/access_token"),
    ("0123456789abcdef0123456789abcdef", "a legacy Kaggle key", "KAGGLE_USERNAME"),
    ("https://hooks.slack.com/services/T0/B0/XyZ123", "a webhook's secret URL", "systemd credential"),
    ("mailto://me:hunter22@mail.example", "a URL with a password", "systemd credential"),
    ("mailtos://mail.example?user=me&pass=hunter22", "a URL with a password", "systemd credential"),
    ("https://me:hunter22@h.example/v1", "a URL with a password", "systemd credential"),
    ("xoxb-1234567890-abcdef", "a token", "systemd credential"),
]


@pytest.mark.parametrize(("secret", "what", "place"), SECRETS)
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[models]\nbase_url = "{}"\n', 2),
        ('[models]\nmodel = """\n{}"""\n', 3),
        ('[[models.fallback]]\nmodel = "m"\nprices = {{ "{}" = {{ input = 1, output = 1 }} }}\n', 3),
        ('[weights]\noffer = "{}"\n', 2),
        ('[nothing]\ntoken = ["{}"]\n', 2),
        ("[watch]\n# was {}\n", 2),
        ("[watch\nx = {}\n", 2),
    ],
)
def test_a_secret_is_refused_wherever_it_hides_and_never_repeated(
    tmp_path: Path, text: str, line: int, secret: str, what: str, place: str
) -> None:
    found = mistakes(tmp_path, text.format(secret))
    one = next(one for one in found if one.kind == "secret")
    assert one.line == line
    assert f"{what}" in one.message and "do not belong in this file" in one.message
    assert place in one.message
    assert secret not in repr(found)
    assert "hunter22" not in repr(found)


def test_a_secret_behind_escapes_is_seen(tmp_path: Path) -> None:
    text = '[models]\nmodel = "\\u0073k-proj-4242424242"\n'
    assert tomllib.loads(text)["models"]["model"].startswith("sk-")
    ((line, sentence),) = told(tmp_path, text)
    assert (line, "models.model contains a model's API key" in sentence) == (2, True)


def test_names_and_digests_that_are_no_secrets_are_let_through(tmp_path: Path) -> None:
    digest = "a" * 64
    (tmp_path / "bot.toml").write_text(
        f'[sandbox]\nimage = "localhost:5000/risk-free-and-long:v1@sha256:{digest}"\n[models]\nmodel = "qwen3:8b"\n'
        'base_url = "http://127.0.0.1:8000/v1"\nroles.coder = "task-sk"\n[competitions.ask-me-anything-2020]\n'
    )
    assert read_settings(tmp_path / "bot.toml").models.model == "qwen3:8b"
