"""Tests of limits: they end a lab's processes, and never the lab."""

import pytest

from tests.sandbox.lab.conftest import MB, Shell

HOG = "import os, time\nfor _ in range({n}):\n    if os.fork() == 0: break\nx = bytearray(b'x') * {size}\ntime.sleep(9)"


async def still_works(shell: Shell) -> None:
    result = await shell.type("echo works; ls >/dev/null")
    assert (result.output, result.exit_code, result.notice) == ("works\n", 0, None)


async def test_a_process_that_wants_too_much_memory_is_refused_it(shell: Shell) -> None:
    result = await shell.type("python3 -c 'x = bytearray(2**30)'")
    assert result.exit_code == 1
    assert "MemoryError" in result.output
    await still_works(shell)


async def test_processes_that_hold_too_much_memory_together_are_ended(contained: Shell) -> None:
    await contained.type("sleep 98 &")
    result = await contained.type(f'python3 -c "{HOG.format(n=6, size=80 * MB)}"')
    assert (result.exit_code, result.timed_out, result.jobs) == (None, False, 0)
    assert "bytes of memory" in (result.notice or "")
    await still_works(contained)


@pytest.mark.integration
async def test_in_a_container_the_kernel_kills_who_holds_too_much_memory(docker, lab_request) -> None:
    async with docker.open_lab(lab_request) as lab:
        shell = Shell(lab, lab_request)
        result = await shell.type(
            "python3 -c 'import mmap; x = mmap.mmap(-1, 2**30); [x.write(bytes(2**20)) for _ in range(1024)]'; exit $?"
        )
        assert result.exit_code == 137
        assert "killed a process for using too much memory" in (result.notice or "")
        await still_works(shell)


async def test_a_job_that_goes_over_a_limit_is_named_in_the_next_result(contained: Shell) -> None:
    await contained.type(f'python3 -c "{HOG.format(n=6, size=80 * MB)}" &')
    await contained.lab.wait_idle()
    result = await contained.type("echo here")
    assert (result.output, result.exit_code) == ("here\n", 0)
    assert "bytes of memory" in (result.notice or "")
    await still_works(contained)


@pytest.mark.integration
async def test_files_in_memory_that_take_all_of_it_are_removed(contained: Shell) -> None:
    result = await contained.type("for i in $(seq 30); do yes | head -c 19000000 >/dev/shm/$i; done; sleep 9")
    assert result.exit_code is None
    assert "/dev/shm and too deeply nested folders were removed" in (result.notice or "")
    assert await contained.prints("ls /dev/shm | wc -l") == "0"


async def test_too_many_processes_are_ended(contained: Shell) -> None:
    result = await contained.type("for i in $(seq 70); do sleep 98 & done; sleep 9")
    assert result.exit_code is None
    assert "more than 64 processes" in (result.notice or "")
    await still_works(contained)


async def test_a_file_beyond_the_limit_ends_who_writes_it(shell: Shell) -> None:
    result = await shell.type("head -c 90000000 /dev/urandom >big; echo after")
    assert "File size limit exceeded" in result.output
    assert "20971520 bytes of files" in (result.notice or "")


@pytest.mark.integration
async def test_a_full_work_folder_can_be_read_and_emptied_but_not_filled_further(shell: Shell) -> None:
    fill = "for i in $(seq 40); do head -c 4000000 /dev/urandom >{}$i; sleep 0.05; done; sleep 98"
    result = await shell.type(fill.format("a"))
    assert (result.exit_code, result.timed_out) == (None, False)
    assert "All processes in the lab were ended." in (result.notice or "")
    await still_works(shell)
    assert int(await shell.prints("sleep 0.6; cat a* | wc -c")) > shell.request.limits.disk_bytes
    again = await shell.type(fill.format("b"))
    assert (again.exit_code, again.timed_out) == (None, False)
    assert again.seconds < 60
    assert await shell.prints("rm a* b*; sleep 0.6; echo removed") == "removed"
    assert await shell.prints("head -c 15000000 /dev/urandom >c; sleep 0.6; ls") == "c\ndata\nweights"
    third = await shell.type(fill.format("d"))
    assert third.exit_code is None


async def test_a_quick_command_that_fills_the_disk_is_noticed_at_its_end(contained: Shell) -> None:
    result = await contained.type("sleep 98 & fallocate -l 15M a; fallocate -l 15M b")
    assert result.exit_code in {0, None}  # whether the first look came before
    assert "All processes" in (result.notice or "")
    await still_works(contained)


async def test_folders_nested_too_deep_are_removed(contained: Shell) -> None:
    await contained.type("echo kept >kept; for i in $(seq 100); do mkdir d; cd d; done; cd /lab/work; sleep 1")
    await still_works(contained)
    assert await contained.prints("cat kept; find . -type d -name d | wc -l") == "kept\n63"


@pytest.mark.integration
async def test_the_limit_of_a_work_folder_holds_over_ten_openings(isolated, lab_request) -> None:
    ended = []
    for number in range(10):
        async with isolated.open_lab(lab_request) as lab:
            fill = "; ".join(f"fallocate -l {size} {size}.{number}" for size in ("15M", "900K", "800K"))
            ended.append((await Shell(lab, lab_request).type(f"{fill}; true")).notice)
    assert ended[0] is None
    assert all("bytes of files" in (one or "") for one in ended[1:])
    size = sum(file.stat().st_size for file in (lab_request.folder / "work").iterdir())
    # One large file went over the limit before that was seen; small ones may, with each opening.
    assert lab_request.limits.disk_bytes < size < 50 * MB
    async with isolated.open_lab(lab_request) as lab:
        shell = Shell(lab, lab_request)
        await shell.prints("rm *.*")
        assert await shell.prints("fallocate -l 15M again && echo room") == "room"


@pytest.mark.parametrize("kind", ["sub", "main"])
async def test_removing_everything_leaves_the_data_and_a_lab_that_works(shell: Shell, kind: str) -> None:
    command = {"sub": "cd /; rm -rf /lab/work/* /lab/work/.*", "main": "rm -rf /lab/work /lab"}[kind]
    await shell.type(f"echo x >y; {command}")
    assert await shell.prints("pwd; cat /lab/work/data/train.csv; echo new >/lab/work/new; cat /lab/work/new") == (
        "/lab/work\nid,x\n1,2\nnew"
    )
