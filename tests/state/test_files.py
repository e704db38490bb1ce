"""Files appear whole or not at all."""

from pathlib import Path

import pytest

from state.files import replacing, write_whole


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("content", ["a\r\n\udc80", b"a\r\n?"])
def test_what_is_written_takes_the_place_of_what_was(tmp_path: Path, content: str | bytes, durable: bool) -> None:
    file = tmp_path / "log.txt"
    file.write_text("old")
    write_whole(file, content, durable=durable)
    assert file.read_bytes() == b"a\r\n?"
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_stays_as_it_was_until_all_is_written_and_if_that_fails(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    write_whole(file, "old")
    with pytest.raises(ValueError), replacing(file) as partial:
        partial.write_text("half")
        assert file.read_text() == "old"
        raise ValueError
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
