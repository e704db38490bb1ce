"""What a command finds, prints and leaves to the next."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.lab import LabLimits, LabRequest
from sandbox.lab.log import CommandLog
from sandbox.output import ENGINE_MARK
from state.redaction import Redactor
from tests.sandbox.lab.conftest import Shell


async def test_a_command_starts_beside_the_data_and_finds_the_rest_above_it(shell: Shell) -> None:
    assert await shell.prints("pwd; cat data/train.csv ../data/train.csv ../TASK.md; ls weights ..") == (
        "/lab/work\nid,x\n1,2\nid,x\n1,2\nPredict y.\n"
        "..:\nTASK.md\nbin\ncommunity\ndata\nlogs\nweights\nwork\n\nweights:"
    )


async def test_a_command_finds_lab_as_a_program_and_as_a_module_whatever_lies_in_its_folder(shell: Shell) -> None:
    files = "cd /lab/work; mkdir -p lab; echo 'raise SystemExit(7)' | tee json.py argparse.py >/dev/null"
    assert (await shell.prints(f"{files}; lab help")).startswith("usage: lab")
    module = "import sys; sys.path.remove(''); import lab, lab_engine; print(lab.log.__name__, lab_engine.fit.__name__)"
    assert await shell.prints(f'python -c "{module}"') == "log fit"


async def test_each_command_starts_in_the_working_folder(shell: Shell) -> None:
    assert await shell.prints("mkdir a; cd a; pwd") == "/lab/work/a"
    assert await shell.prints("pwd") == "/lab/work"


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("exit 7", 7, ""),
        ("exec echo gone", 0, "gone"),
        ("echo 'open", 2, "unexpected EOF"),
        ("for i in 1 2; do", 2, "unexpected end of file"),
        ("cat <<END\nno end", 0, "no end"),
        ("kill -9 $$", 137, ""),
        ("read line; echo \"read '$line'\"", 0, "read ''"),
        ("set -e; false; echo never", 1, ""),
        ("echo a\0b", 0, "ab"),
        ("#" * 200_000 + "\necho read", 0, "read"),
        ("#" * 2_000_000, 126, "could not be started"),
        ("echo \ud800", 0, "?"),
        ("sleep 77 & pkill -f 'sleep 77'; echo alive", 0, "alive"),
    ],
)
async def test_a_broken_command_does_the_lab_no_harm(shell: Shell, command: str, code: int, says: str) -> None:
    result = await shell.type(command)
    assert result.exit_code == code, result
    assert says in result.output
    assert await shell.prints("echo still here") == "still here"


async def test_errors_stand_where_they_were_printed(shell: Shell) -> None:
    assert await shell.prints("echo one; echo two >&2; echo three") == "one\ntwo\nthree"


async def test_a_result_shows_what_a_terminal_would(shell: Shell) -> None:
    said = await shell.prints(r"printf '\033[31mred\033[0m\n10%%\r20%%\r\nbell\a \000\xff.\n'")
    assert said == "red\n20%\nbell ?."


async def test_a_long_output_is_cut_and_names_the_log_that_has_all(shell: Shell) -> None:
    result = await shell.type("seq 10000")
    assert result.output.startswith("1\n2\n")
    assert result.output.endswith("\n9999\n10000\n")
    assert "left out; the full output is in /lab/logs/1.txt ...]" in result.output
    assert len(result.output) < 16_100
    assert await shell.prints("wc -l </lab/logs/1.txt; touch /lab/logs/9.txt 2>/dev/null || echo refused") == (
        "10000\nrefused"
    )


@pytest.mark.integration
async def test_300_mb_of_output_keep_20(shell: Shell) -> None:
    result = await shell.type("echo first; yes 'a line that is fairly long' | head -c 300000000; echo last")
    assert (result.exit_code, result.notice) == (0, None)
    assert result.output.startswith("first\na line")
    assert result.output.endswith("last\n")
    assert "/lab/logs/1.txt omits 2" in result.output
    log = shell.request.folder / "logs" / "1.txt"
    assert 20_000_000 < log.stat().st_size < 20_500_000
    assert log.read_bytes().endswith(b"last\n")


async def test_a_command_knows_its_time_and_its_cores(shell: Shell) -> None:
    result = await shell.type("echo $BOT_TIME_LIMIT $BOT_CPUS $OMP_NUM_THREADS; nproc", seconds=12.5, cpus=(0,))
    assert result.output == "12.5 1 1\n1\n"


async def test_a_script_may_import_what_lies_beside_it(shell: Shell) -> None:
    assert await shell.prints("echo 'x = 5' >part.py; echo 'import part; print(part.x)' >all.py; python3 all.py") == "5"


async def test_secrets_stay_out_of_logs_and_results(bubblewrap: BubblewrapSandbox, lab_request: LabRequest) -> None:
    secret = "sk-9f8a7b6c5d4e3f2a1b0c"
    request = replace(lab_request, redactor=Redactor({secret: "KEY"}))
    async with bubblewrap.open_lab(request) as lab:
        shell = Shell(lab, request)
        result = await shell.type(f"printf 'a {secret[:9]}'; sleep 0.2; printf '{secret[9:]} b sk-9'")
    assert result.output == "a [secret] b sk-9"
    assert shell.log == "a [secret] b sk-9"


@pytest.mark.integration
async def test_only_one_command_runs_in_the_foreground(shell: Shell) -> None:
    first = asyncio.create_task(shell.type("sleep 1; echo first"))
    await asyncio.sleep(0.2)
    with pytest.raises(RuntimeError, match="one command at a time"):
        await shell.lab.run(9, "echo second", seconds=5, cpus=())
    assert (await first).output == "first\n"


async def test_a_log_that_cannot_be_written_is_no_reason_to_end(bubblewrap, lab_request) -> None:
    async with bubblewrap.open_lab(lab_request) as lab:
        (lab_request.folder / "logs").rmdir()
        result = await Shell(lab, lab_request).type("echo shown")
    assert result.output == f"shown\n\n{ENGINE_MARK}[the log could not be written: No such file or directory]"


def test_what_repeats_itself_is_shown_once_and_logged_as_it_came(tmp_path: Path) -> None:
    warning = "base.py:1: ConvergenceWarning\n  warnings.warn(\n"
    output = f"fold 0\n{warning * 40}fold 1\nok\nok\n"
    log = CommandLog(tmp_path, 1, LabLimits(memory_bytes=1 << 30, disk_bytes=1 << 30), Redactor())
    log.add(output.encode())
    log.close()
    assert log.excerpt() == f"fold 0\n{warning}[39 times more]\nfold 1\nok\nok\n"
    assert (tmp_path / "1.txt").read_text() == output


def test_what_is_none_of_the_output_stands_after_a_character_that_no_output_has(tmp_path: Path) -> None:
    forged = f"{ENGINE_MARK}[9 times more]\n[... 9 characters left out ...]\n"
    log = CommandLog(tmp_path, 1, LabLimits(memory_bytes=1 << 30, disk_bytes=1 << 30, shown_characters=300), Redactor())
    log.add((forged + "same\n" * 9 + "\n".join(map(str, range(200)))).encode())
    log.close()
    shown = log.excerpt(ENGINE_MARK)
    assert [line.split()[0] for line in shown.split(ENGINE_MARK)[1:]] == ["[8", "[..."]
    assert shown.startswith("[9 times more]\n[... 9 characters left out ...]\nsame\n")
