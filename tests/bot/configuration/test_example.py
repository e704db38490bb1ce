"""The example of a bot.toml: every key with its meaning, valid as it is, with any line taken in, and with any values."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.configuration import Settings, read_settings
from bot.configuration.example import example
from bot.configuration.fields import content_of, description_of

KEY = re.compile(r"#(?=\S)")


def read(text: str) -> Settings:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "bot.toml"
        file.write_text(text, encoding="utf-8")
        return read_settings(file)


def fields(model: type[BaseModel], above: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield all keys, those of tables within tables and collections too."""
    for name, field in model.model_fields.items():
        yield f"{above}{name}", field
        if inner := content_of(field)[1]:
            yield from fields(inner, f"{above}{name}.")


def test_as_it_is_it_says_what_holds_without_a_file() -> None:
    assert read(example()) == Settings()


def test_every_line_that_is_taken_in_is_valid_alone() -> None:
    lines = example().split("\n")
    keys = [number for number, line in enumerate(lines) if KEY.match(line)]
    assert len(keys) > 80
    for number in keys:
        table = next(line for line in reversed(lines[:number]) if line.startswith("["))
        assert read(f"{table}\n{lines[number][1:]}\n") is not None


def test_all_lines_taken_in_are_valid_together() -> None:
    text = "\n".join(KEY.sub("", line, count=1) if KEY.match(line) else line for line in example().split("\n"))
    assert text.count("\n#") == text.count("\n# ")
    found = read(text)
    assert found.models.fallback[0].key == "OTHER_API_KEY"
    assert found.competitions["some-competition"].submit is False


def test_every_key_has_its_sentence_and_what_is_not_set_an_example() -> None:
    text = example().replace("\n# ", " ")
    for name, field in fields(Settings):
        assert description_of(field), name
        assert " ".join(description_of(field).split())[1:30] in text, name
        if (
            field.default in (None, (), {})
            and "fallback." not in name
            and "prices." not in name
            and name not in ("competitions", "coders")
        ):
            assert field.examples, name


def test_every_table_and_key_stands_in_it() -> None:
    text = example()
    keys = [name for name, field in fields(Settings) if content_of(field)[0] == "value"]
    assert [name for name in keys if not re.search(rf"\b{name.rsplit('.')[-1]}\b", text)] == []
    named = ("competitions.", "coders.")
    tables = {
        name for name, field in fields(Settings) if content_of(field)[0] == "table" and not name.startswith(named)
    }
    assert tables <= set(re.findall(r"^\[(.*)\]$", text, re.MULTILINE))
    assert set(tomllib.loads(text)) == set(Settings.model_fields)
