"""The module `lab`, from Python, against the engine's end."""

import asyncio
import io
import math
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from bot.coder.lab.calls import BoardCommand, Fit, LabAnswer, Log, LogScore, NoteCommand, StatusCommand, Wait
from bot.coder.lab.server import LabServer
from sandbox.lab.client import LabError, board, fit, log, note, status, wait
from tests.bot.coder.lab.served import CLIENT, Ended, Remembering, ended

VALIDATION = np.array([0.25, 0.5], dtype=np.float32)


@pytest.fixture
def handler() -> Remembering:
    return Remembering()


@pytest.fixture
async def socket(tmp_path: Path, handler: Remembering, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Path]:
    path = tmp_path / "lab1" / "socket" / "socket"
    monkeypatch.setenv("LAB_SOCKET", str(path))
    async with LabServer(path, handler):
        yield path


async def sent(handler: Remembering, value: Any) -> bytes:
    """Log an array for validation rows, and return the file that came of it."""
    await asyncio.to_thread(log, "a", validation=value, files=[])
    return handler.files[-1]["validation"]


async def python(socket: Path, folder: Path, *words: str, stdin: int = DEVNULL, **variables: str) -> Ended:
    """Run Python in a folder with the module beside its packages, as in a lab."""
    modules = folder.parent / "modules"
    modules.mkdir(exist_ok=True)
    for name in ("lab", "lab_engine"):
        if not (modules / name).exists():
            (modules / name).symlink_to(CLIENT)
    environment = {**os.environ, "LAB_SOCKET": str(socket), "PYTHONPATH": str(modules), **variables}
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, cwd=folder, stdin=stdin, stdout=PIPE, stderr=PIPE, env=environment
    )
    return await ended(process)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A coder's folder, whose script logs an experiment; `v.npy` lies there, so that no array is made."""
    work = tmp_path / "work"
    (work / "parts").mkdir(parents=True)
    np.save(work / "v.npy", VALIDATION)
    (work / "fit.py").write_text(
        "import json, parts.b\nfrom lab import log\nprint(log('a', validation='v.npy').name)\n"
    )
    (work / "parts" / "b.py").write_text("pass")
    (work / "other.py").write_text("pass")
    return work


async def test_an_experiment_is_logged_and_its_score_returned(
    socket: Path, handler: Remembering, tmp_path: Path
) -> None:
    handler.answer = LabAnswer(0, "0.81 out of fold\n", LogScore("a-2", 0.81, 0.01, None))
    (tmp_path / "a.py").write_text("pass")
    oof, test = np.array([[1.0, np.nan], [3.0, 4.0]]), [[1, 2], [3, 4]]
    score = await asyncio.to_thread(
        log, "a", oof, VALIDATION, test, note="n", files=[tmp_path / "a.py"], uses="b", compare_to="c", seconds=2
    )
    assert (score.value, score.gain, score.name, str(score)) == (0.81, 0.01, "a-2", "0.81 out of fold")
    assert math.isnan(score.std_error)
    assert handler.calls[0].arguments == Log("a", "n", "", ("b",), "c", 2.0)
    arrays = {role: np.load(io.BytesIO(content)) for role, content in handler.files[0].items() if role != "a.py"}
    assert arrays.keys() == {"oof", "validation", "test"} and handler.files[0]["a.py"] == b"pass"
    np.testing.assert_array_equal(arrays["oof"], oof)
    assert (arrays["oof"].dtype, arrays["validation"].dtype, arrays["test"].dtype) == (np.float32, np.float32, np.int64)


async def test_an_experiment_takes_the_seconds_of_its_process(socket: Path, handler: Remembering, work: Path) -> None:
    lines = "import time", "time.sleep(0.5)", "from lab import log", *["log('a', validation='v.npy', files=[])"] * 2
    (work / "fit.py").write_text("\n".join(lines))
    assert (await python(socket, work, "fit.py")).status == 0
    first, second = (call.arguments.seconds for call in handler.calls)
    assert 0.5 <= first <= second < 60


async def test_other_calls_return_the_text(socket: Path, handler: Remembering) -> None:
    for made, arguments in (
        ((status,), StatusCommand()),
        ((board, True), BoardCommand(all=True)),
        ((note, "x"), NoteCommand("x")),
        ((wait, "a"), Wait("a")),
    ):
        assert await asyncio.to_thread(*made) == "noted"  # type: ignore[arg-type]
        assert handler.calls[-1].arguments == arguments


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.float16).reshape(2, 3),
        np.array([True, False]),
        np.asfortranarray(np.arange(6, dtype=np.int8).reshape(2, 3)),
        np.arange(12, dtype=np.float32).reshape(4, 3)[::2, ::2],
        np.array([1.5, np.nan]),
        pd.Series([1.5, None]),
        pd.Series([1, None], dtype="Int64"),
        pd.DataFrame({"a": [0.5, 1.5], "b": [1, 2]}),
        scipy.sparse.csr_matrix([[0.0, 1.0], [0.0, 0.0]]),
        [[0.5, 1], [2, 3]],
        [0.5, None],
    ],
)
async def test_whatever_holds_numbers_is_sent_as_an_array(socket: Path, handler: Remembering, value: Any) -> None:
    array = np.load(io.BytesIO(await sent(handler, value)), allow_pickle=False)
    wanted = np.asarray(value.toarray() if hasattr(value, "toarray") else value)
    np.testing.assert_array_equal(array, wanted.astype(float) if wanted.dtype == object else wanted)


@pytest.mark.parametrize(
    ("number", "kind"),
    [(0.1, "float32"), (1 - 1e-9, "float64"), (1e-50, "float64"), (1e300, "float64"), (2.0**24 + 1, "float64")],
)
async def test_numbers_take_four_bytes_where_that_changes_none(
    socket: Path, handler: Remembering, number: float, kind: str
) -> None:
    array = np.load(io.BytesIO(await sent(handler, np.array([number, 0.3, np.nan]))))
    assert array.dtype == kind and array[0] == np.dtype(kind).type(number)


async def test_a_table_with_text_is_sent_as_csv(socket: Path, handler: Remembering) -> None:
    assert await sent(handler, pd.DataFrame({"id": [1, 2], "spans": ["0 3", "1 2"]})) == b"id,spans\n1,0 3\n2,1 2\n"


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (["cat", "dog"], "validation is an array of <U3, not of numbers"),
        ([[1], [2, 3]], "of numbers"),
        ([object()], "of numbers"),
        (np.array([1 + 2j]), "of numbers"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "of numbers"),
        (np.broadcast_to(np.int8(1), (600_000, 1000)), "the limit is 512000000"),
        (scipy.sparse.csr_matrix((10**6, 10**6)), "the limit is 512000000"),
        ("none.npy", "cannot read 'none.npy'"),
        (Path(os.devnull), "not a regular file"),
    ],
)
async def test_what_holds_no_numbers_is_refused_before_it_is_sent(
    socket: Path, handler: Remembering, value: Any, part: str
) -> None:
    with pytest.raises(LabError, match=part):
        await sent(handler, value)
    assert handler.calls == []


async def test_the_engines_refusal_is_an_error_with_its_sentence(socket: Path, handler: Remembering) -> None:
    handler.answer = LabAnswer(1, "validation has 3 rows, and 2 are expected\n")
    with pytest.raises(LabError, match=r"^validation has 3 rows, and 2 are expected$"):
        await asyncio.to_thread(log, "a", validation=VALIDATION, files=[])
    with pytest.raises(LabError, match="validation is missing"):
        await asyncio.to_thread(log, "a", oof=VALIDATION, files=[])


async def test_features_are_sent_dense_and_sparse(socket: Path, handler: Remembering) -> None:
    dense, sparse = np.arange(6.0).reshape(2, 3), scipy.sparse.coo_matrix([[0.0, 1.5]])
    assert await asyncio.to_thread(fit, "trees", dense, dense, sparse, categories=[2], encode="0", note="n") == "noted"
    assert handler.calls[0].arguments == Fit("trees", "n", ("2",), ("0",))
    with np.load(io.BytesIO(handler.files[0]["train"]), allow_pickle=False) as arrays:
        assert arrays.files == ["x"]
        np.testing.assert_array_equal(arrays["x"], dense)
    read = scipy.sparse.load_npz(io.BytesIO(handler.files[0]["test"]))
    np.testing.assert_array_equal(read.toarray(), sparse.toarray())


async def test_categories_of_data_frames_are_numbered_alike(socket: Path, handler: Remembering) -> None:
    train = pd.DataFrame({"size": [1, 2], "kind": ["b", None], "code": pd.Categorical([7, 8])})
    test = pd.DataFrame({"code": [9, 8], "kind": ["a", "b"], "size": [0.5, np.nan]})
    await asyncio.to_thread(fit, "trees", train, train, test)
    assert handler.calls[0].arguments == Fit("trees", "", ("1", "2")), "the engine knows columns by number"
    got = {}
    for role, content in handler.files[0].items():
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            assert arrays["columns"].tolist() == ["size", "kind", "code"]
            got[role] = arrays["x"]
    np.testing.assert_array_equal(got["train"], [[1, 1, 0], [2, np.nan, 1]])
    np.testing.assert_array_equal(got["test"], [[0.5, 0, 2], [np.nan, 1, 1]])
    with pytest.raises(LabError, match="no column 'kind'"):
        await asyncio.to_thread(fit, "trees", train, train, test.drop(columns="kind"))


async def test_a_script_is_sent_with_the_modules_of_its_folder(socket: Path, handler: Remembering, work: Path) -> None:
    run = await python(socket, work.parent, "work/fit.py")
    assert (run.status, "cannot read 'v.npy'" in run.err) == (1, True)
    run = await python(socket, work, "fit.py")
    assert (run.status, run.out) == (0, "a\n"), run.err
    assert handler.files[0].keys() == {"validation", "fit.py", "parts/b.py"}


@pytest.mark.integration
async def test_code_that_is_typed_is_sent_where_it_can_be_had(socket: Path, handler: Remembering, work: Path) -> None:
    code = "from lab import log; log('a', validation='v.npy')"
    assert (await python(socket, work, "-c", code)).status == 0
    with (work / "fit.py").open() as file:
        assert (await python(socket, work, "-", stdin=file.fileno())).status == 0
    reader, writer = os.pipe()
    os.write(writer, code.encode())
    os.close(writer)
    assert (await python(socket, work, "-", stdin=reader)).status == 0
    os.close(reader)
    assert [files.get("typed.py") for files in handler.files] == [code.encode(), (work / "fit.py").read_bytes(), None]


@pytest.mark.integration
async def test_a_folder_of_the_name_hides_nothing_and_beside_a_module_of_the_name_there_is_another(
    socket: Path, handler: Remembering, work: Path
) -> None:
    (work / "lab").mkdir()
    assert (await python(socket, work, "fit.py")).status == 0
    (work / "lab.py").write_text("def log(*_, **__): raise SystemExit('mine')")
    assert (await python(socket, work, "fit.py")).err == "mine\n"
    run = await python(socket, work, "-c", "from lab_engine import log; log('a', validation='v.npy', files=[])")
    assert run.status == 0, run.err
    assert len(handler.calls) == 2


async def test_where_a_command_is_run_again_its_predictions_are_kept_in_a_folder(
    socket: Path, handler: Remembering, work: Path, tmp_path: Path
) -> None:
    run = await python(socket, work, "fit.py", LAB_SEALED=str(tmp_path / "kept"))
    assert (run.status, run.out) == (0, "a\n"), run.err
    np.testing.assert_array_equal(np.load(tmp_path / "kept" / "a" / "validation.npy"), VALIDATION)
    assert handler.calls == []


async def test_the_module_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    (tmp_path / "lab").symlink_to(CLIENT)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import lab, lab.command; "
        "print(*sorted({name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names))"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", code, stdout=PIPE)
    out, _ = await process.communicate()
    assert set(out.decode().split()) <= {"__main__", "lab"}
