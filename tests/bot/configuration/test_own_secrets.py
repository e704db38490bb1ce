"""The process's own secrets are found wherever it was given them, and no ordinary word is taken for one."""

from pathlib import Path

import pytest

from bot.configuration import Settings
from bot.configuration.own_secrets import collect_secrets, open_redactor
from state.redaction import MASK

SETTINGS = Settings.model_validate(
    {
        "models": {
            "base_url": "http://127.0.0.1:8000/v1",
            "model": "m",
            "fallback": [{"base_url": "http://127.0.0.1:8001/v1", "model": "n", "key": "SECOND_MODEL"}],
        },
        "notify": {"services": ["SLACK_URL", "MAIL_URL"]},
    }
)


def secrets(home: Path, **environment: str) -> dict[str, str]:
    return collect_secrets(SETTINGS, environment, home)


def test_without_any_there_are_none(tmp_path: Path) -> None:
    assert secrets(tmp_path, PATH="/usr/bin:/bin", HOME=str(tmp_path), LANG="C.UTF-8") == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KAGGLE_API_TOKEN", "KGAT_0123456789abcdef"),
        ("KAGGLE_KEY", "0123456789abcdef0123456789abcdef"),
        ("OPENAI_API_KEY", "sk-0123456789"),
        ("SECOND_MODEL", "hf_0123456789"),
        ("GITHUB_TOKEN", "ghp_0123456789"),
        ("DB_PASSWORD", "correct horse battery"),
    ],
)
def test_variables_that_are_named_like_a_secret_or_by_the_configuration_hold_one(
    tmp_path: Path, name: str, value: str
) -> None:
    assert list(secrets(tmp_path, **{name: value})) == [value]


def test_what_can_be_no_secret_is_left_out_and_the_others_carry_the_name_of_their_variable(tmp_path: Path) -> None:
    found = secrets(tmp_path, OPENAI_API_KEY="none", DB_PASSWORD="postgres", SLACK_URL="json://a/b")
    assert found == {"json://a/b": "SLACK_URL"}


def test_of_a_services_address_the_tokens_and_passwords_are_secrets_by_themselves(tmp_path: Path) -> None:
    slack = "https://hooks.slack.com/services/T0123ABCD/B0123ABCD/abcDEF123456"
    mail = "mailtos://bot:hunter2%2Fsecret@mail.example.org?to=ada@example.org&smtp=relay.example.org"
    found = secrets(tmp_path, SLACK_URL=slack, MAIL_URL=mail)
    assert {slack, mail, "T0123ABCD", "abcDEF123456", "hunter2%2Fsecret", "hunter2/secret"} <= found.keys()
    words = {"services", "hooks.slack.com", "mail.example.org", "ada@example.org", "relay.example.org"}
    assert words & found.keys() == set()


@pytest.mark.parametrize(
    ("address", "hidden"),
    [
        ("tgram://123456789:AAbbCCddEEff/12345", "123456789:AAbbCCddEEff"),
        ("json://ada:hunter2secret@host/path", "hunter2secret"),
        ("ntfys://tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2@ntfy.sh/topic", "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"),
        ("matrixs://host.example.org?token=s3cr3t-t0k3n", "s3cr3t-t0k3n"),
        ("discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js", "JHMHI8qBe7bk2ZwO5U711o3dV_js"),
    ],
)
def test_every_way_of_writing_an_address_gives_up_its_secret(tmp_path: Path, address: str, hidden: str) -> None:
    assert hidden in secrets(tmp_path, SLACK_URL=address)


def test_a_file_that_a_variable_names_holds_a_secret(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("slack://T0123ABCD/B0123ABCD/abcDEF123456\n")
    (tmp_path / "token").write_text("KGAT_0123456789abcdef\n")
    found = secrets(tmp_path, SLACK_URL_FILE=str(tmp_path / "url"), KAGGLE_API_TOKEN=str(tmp_path / "token"))
    assert {"slack://T0123ABCD/B0123ABCD/abcDEF123456", "abcDEF123456", "KGAT_0123456789abcdef"} <= found.keys()
    assert str(tmp_path / "token") not in found


def test_every_credential_of_systemd_is_a_secret(tmp_path: Path) -> None:
    (tmp_path / "openai_api_key").write_text("sk-0123456789\n")
    (tmp_path / "kaggle.json").write_text('{"username": "ada", "key": "0123456789abcdef"}')
    (tmp_path / "id").write_text("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n")
    (tmp_path / "no text").write_bytes(b"\xff\xfe")
    found = secrets(tmp_path / "none", CREDENTIALS_DIRECTORY=str(tmp_path))
    assert {"sk-0123456789", "0123456789abcdef", "MC4CAQAwBQYDK2VwBCIEIA=="} <= found.keys()
    assert "-----BEGIN PRIVATE KEY-----" not in found


def test_kaggles_key_in_the_users_folder_is_one(tmp_path: Path) -> None:
    (tmp_path / ".kaggle").mkdir()
    (tmp_path / ".kaggle" / "access_token").write_text("KGAT_0123456789abcdef\n")
    assert secrets(tmp_path) == {"KGAT_0123456789abcdef": "~/.kaggle/access_token"}


def test_a_password_in_any_address_of_the_environment_is_one(tmp_path: Path) -> None:
    assert secrets(tmp_path, HTTPS_PROXY="http://ada:hunter2%40home@proxy:3128") == {
        "hunter2%40home": "HTTPS_PROXY",
        "hunter2@home": "HTTPS_PROXY",
    }


def test_the_redactor_of_a_process_takes_out_its_own_and_what_looks_like_one(tmp_path: Path) -> None:
    redactor = open_redactor(SETTINGS, {"HOME": str(tmp_path), "OPENAI_API_KEY": "my-0wn-k3y"})
    assert redactor.text("my-0wn-k3y and KGAT_of_somebody_else") == f"{MASK} and {MASK}"
    digest = "0123456789abcdef0123456789abcdef"
    assert (
        redactor.text(f"the file {digest} at 12:30:01 by a@b.example")
        == f"the file {digest} at 12:30:01 by a@b.example"
    )


def test_a_parameter_of_an_address_that_lets_somebody_in_is_taken_out(tmp_path: Path) -> None:
    redactor = open_redactor(SETTINGS, {"HOME": str(tmp_path)})
    assert redactor.text("GET https://a.example/x?id=7&token=abc&n=1") == f"GET https://a.example/x?id=7&{MASK}&n=1"


def test_a_megabyte_without_a_secret_stays_as_it_is(tmp_path: Path) -> None:
    redactor = open_redactor(SETTINGS, {"HOME": str(tmp_path)})
    for text in ("a" * 1_000_000, "sk: " * 250_000, "eyJ." * 250_000, "https://a.example/x?id=7 12:30:01\n" * 30_000):
        # A pattern that begins anew at each letter would take minutes.
        assert redactor.text(text) == text


@pytest.mark.parametrize(
    "secret",
    [
        *(
            "KGAT_abcdefgh",
            "sk-abcdefgh1",
            "gsk_0123456789abcdef",
            "hf_0123456789abcdef",
            "xoxb-12345678",
            "xapp-12345678",
        ),
        *("AIza" + "x" * 32, "ghp_12345678", "github_pat_12345678", "glpat-12345678", "AKIA0123456789AB"),
        *("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMj", "HTTPS://HOOKS.SLACK.COM/services/a", "tgram://12345678:abc"),
        *("postgres://ada:pw@db/x", "mailto:ada:pw@example.org", "https://ptb.discord.com/api/webhooks/1/x"),
        "-----BEGIN RSA PRIVATE KEY-----\nMC4CAQ\nAwBQYDK2\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMC4CAQ",
    ],
)
def test_whatever_looks_like_a_secret_is_taken_out_whosever_it_is(tmp_path: Path, secret: str) -> None:
    redactor = open_redactor(SETTINGS, {"HOME": str(tmp_path)})
    assert redactor.text(f"see {secret}") == f"see {MASK}"
