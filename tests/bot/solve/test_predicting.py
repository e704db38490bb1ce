"""predict.py and the notebook of a blend, which are shipped as text, combine predictions as the run's own blend does."""

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.evaluation.answers.blends import COMBINED, BlendRecipe, combine_text, combining_facts, uncombined
from bot.evaluation.blending.spaces import combine, enter
from bot.notebooks.notebook import NotebookBlend
from bot.solve import tables
from bot.solve.package import _rows, predict_text
from scrapers.snapshots.card import MetricSpec, TaskCard
from state.clock import SystemClock


def card_of(metric, columns):
    now = SystemClock().now()
    spec = MetricSpec(name=metric, direction="minimize")
    return TaskCard(
        slug="own", title="own", category="", description="", metric=spec, id_column="id",
        prediction_columns=tuple(f"c{n}" for n in range(columns)), enabled_at=now, deadline=now,
    )  # fmt: skip


@pytest.fixture(scope="module")
def predicting(tmp_path_factory):
    """The functions of predict.py, as those of a package."""
    return package_of(tmp_path_factory.mktemp("solution"))


def package_of(folder, **facts):
    """The functions of predict.py, as those of a package with these facts."""
    script = folder / "predict.py"
    script.write_text(predict_text(), encoding="utf-8")
    written = {"keys": ["row"], "key": [], "columns": [], "next_id": 30, "has_header": True, "formats": {}}
    written |= {"imports": [], "is_constant": False, "cpus": 1, "stored": {}, "withheld": 0, **facts}
    (folder / "package.json").write_text(json.dumps(written), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(tables.__file__).parents[1])
        return runpy.run_path(str(script))


WAYS = [
    ("log_loss", 3, "mean", {"clip": [0.01]}),
    ("log_loss", 3, "logit", {"scale": [1.2], "offset": [0.1, 0.0, -0.1]}),
    ("log_loss", 1, "logit", {"scale": [0.8]}),
    ("roc_auc", 1, "rank", {}),
    ("rmse", 1, "mean", {"scale": [0.9], "offset": [0.3]}),
    ("rmsle", 1, "log", {"scale": [1.1]}),
    ("accuracy", 1, "vote", {}),
    ("quadratic_weighted_kappa", 1, "ordinal", {"levels": [0.0, 1.0, 2.0], "thresholds": [0.4, 1.6]}),
]
OWN = [0.1, 0.7, 0.3]
"""Weights of a script by column."""


def test_all_ways_are_tried_and_both_texts_hold_the_same_functions():
    assert {space for _, _, space, _ in WAYS} == COMBINED
    card = card_of("log_loss", 1)
    facts = combining_facts(card, BlendRecipe("mean", {1: 0.5, 2: 0.5}), {1: "a", 2: "b"})
    notebook = NotebookBlend({"a": "", "b": ""}, combine_text(), facts, "own", (), 60.0)
    assert combine_text() in predict_text()
    assert f"{combine_text()}\n" in notebook.cells()
    assert uncombined(card) is None
    assert uncombined(card_of("map_at_k", 1)) == "fusion"


@pytest.mark.parametrize(("metric", "columns", "space", "calibration"), WAYS)
@settings(max_examples=20)
@given(data=st.data())
def test_a_blend_of_new_rows_is_made_as_the_run_made_it(predicting, metric, columns, space, calibration, data):
    card = card_of(metric, columns)
    size = data.draw(st.integers(1, 6)) * columns
    cells = st.sampled_from(["0", "1", "2"]) if space in ("vote", "ordinal") else st.floats(0.001, 0.999)
    kind = object if space in ("vote", "ordinal") else float
    made = {
        node: np.array(data.draw(st.lists(cells, min_size=size, max_size=size)), kind).reshape(-1, columns)
        for node in (1, 2)
    }
    first = data.draw(st.floats(0.05, 0.95))
    apart = columns > 1 and "scale" not in calibration
    recipe = BlendRecipe(space, {1: first, 2: 1 - first}, calibration, {1: [first] * columns, 2: OWN} if apart else {})
    own = combine(recipe, lambda node, into: enter(into, made[node], card), card)
    facts = json.loads(json.dumps(combining_facts(card, recipe, {1: "a", 2: "b"})))
    theirs = predicting["combined"]({"a": made[1], "b": made[2]}, facts)
    if kind is object:
        assert theirs.tolist() == own.tolist()
    else:
        np.testing.assert_allclose(theirs, own, rtol=1e-9, atol=1e-12)


def test_new_rows_may_be_of_windows_with_decimal_commas(tmp_path):
    functions = package_of(tmp_path, features=["row", "Preis", "Größe"], formats={"Preis": [",", ".' "]})
    new = tmp_path / "new.csv"
    new.write_bytes("Größe;Preis\nL;1.234,50\nM;7\n".encode("cp1252"))
    assert functions["add_rows"](new, tmp_path)[0] == ["30", "31"]
    assert (tmp_path / "test.csv").read_text(encoding="utf-8") == "row,Preis,Größe\n30,1234.50,L\n31,7,M\n"


def test_a_file_of_new_rows_that_is_missing_is_named(tmp_path):
    with pytest.raises(SystemExit, match="no such file: nosuch"):
        package_of(tmp_path, features=["row"])["add_rows"](Path("nosuch.csv"), tmp_path)


CONSTANT = """import csv
rows = list(csv.DictReader(open("data/test.csv")))
with open("submission.csv", "w") as file:
    file.write("row,y\\n" + "".join(f"{row['row']},{VALUE}\\n" for row in rows))
"""


@pytest.mark.parametrize(
    ("new", "facts", "message"),
    [
        ("x\n" + "1\n" * 12, {}, "predicted the same for all rows"),
        ("x\n" + "1\n" * 12, {"value": "float(row['x']) + int(row['row'])"}, None),
        ("x\n1\n", {}, None),
        ("x\n", {}, "no rows"),
        ("z\n1\n", {}, "lacks the columns x"),
        ("x\nmany\n2\n3\n", {"formats": {"x": [".", ""]}}, "row 1 has 'many' in `x`"),
        ("x\n1\n", {"imports": ["no_such_package"]}, "packages are missing (no_such_package)"),
    ],
)
def test_new_rows_are_predicted_or_one_sentence_says_why_not(tmp_path, new, facts, message):
    value = facts.pop("value", "7")
    solution = tmp_path / "solution"
    (solution / "data").mkdir(parents=True)
    shutil.copytree(Path(tables.__file__).parent, solution / "tables")
    (solution / "predict.py").write_text(predict_text())
    (solution / "s.py").write_text(CONSTANT.replace("{VALUE}", "{" + value + "}"))
    written = {
        "keys": ["row"],
        "key": [],
        "columns": ["y"],
        "next_id": 0,
        "has_header": True,
        "formats": {},
        "imports": [],
    }
    written |= {
        "is_constant": False,
        "cpus": 1,
        "stored": {},
        "withheld": 0,
        "seconds": 20,
        "weights": {"s.py": 1.0},
        "space": "",
        "default": ["0"],
    }
    written |= {"features": ["row", "x"], "files": None, "numbers": True, **facts}
    (solution / "package.json").write_text(json.dumps(written))
    (tmp_path / "new.csv").write_text(new)
    command = [sys.executable, str(solution / "predict.py"), "new.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if message is None:
        assert done.returncode == 0, done.stderr
        assert len((tmp_path / "predictions.csv").read_text().splitlines()) == new.count("\n")
    else:
        assert done.returncode == 1 and message in done.stderr and not (tmp_path / "predictions.csv").exists()


def test_new_rows_are_predicted_with_what_a_script_stored(tmp_path):
    (tmp_path / "weights/s").mkdir(parents=True)
    (tmp_path / "weights/s/level").write_text("7.5")
    reads = 'import os\nlevel = open(os.environ["BOT_WEIGHTS"] + "/level").read()\n'
    (tmp_path / "predict_s.py").write_text(reads + CONSTANT.replace("{VALUE}", "{float(level) + float(row['x'])}"))
    facts = {"stored": {"s.py": "predict_s.py"}, "columns": ["y"], "features": ["row", "x"], "files": None}
    functions = package_of(tmp_path, **facts, numbers=True)
    (tmp_path / "new.csv").write_text("x\n1\n2\n")
    data = tmp_path / "place/data"
    data.mkdir(parents=True)
    ids, _ = functions["add_rows"](tmp_path / "new.csv", data)
    assert functions["run"]("s.py", tmp_path / "place", data, ids, 60.0).tolist() == [[8.5], [9.5]]


@pytest.mark.parametrize(("options", "value"), [((), 1.0), (("--retrain",), 2.0)])
def test_stored_models_of_one_table_are_trained_again_on_all_rows_where_that_is_asked_for(tmp_path, options, value):
    """They have not learned from the rows that were withheld to score them."""
    (tmp_path / "data").mkdir()
    shutil.copytree(Path(tables.__file__).parent, tmp_path / "tables")
    (tmp_path / "s.py").write_text(CONSTANT.replace("{VALUE}", "2"))
    (tmp_path / "predict_s.py").write_text(CONSTANT.replace("{VALUE}", "1").replace("data/", "{DATA}/", 1))
    text = (tmp_path / "predict_s.py").read_text().replace('"{DATA}/', 'os.environ["BOT_DATA"] + "/')
    (tmp_path / "predict_s.py").write_text(f"import os\n{text}")
    (tmp_path / "new.csv").write_text("x\n1\n")
    facts = {
        "stored": {"s.py": "predict_s.py"},
        "withheld": 12,
        "columns": ["y"],
        "features": ["row", "x"],
        "files": None,
    }
    package_of(tmp_path, **facts, numbers=True, weights={"s.py": 1.0}, space="", default=["0"], seconds=20)
    command = [sys.executable, str(tmp_path / "predict.py"), "new.csv", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float((tmp_path / "predictions.csv").read_text().splitlines()[1].split(",")[1]) == value


@pytest.mark.parametrize(("ids", "first"), [(["30", "31", "32"], 30), (["3", "9", "5"], 10), (["a", "b"], 0)])
def test_new_rows_are_numbered_as_the_test_rows_were_unless_these_have_gaps(ids, first, tmp_path):
    lines = "".join(f"{one},0\n" for one in ids)
    (tmp_path / "sample_submission.csv").write_text(f"id,c0\n{lines}", encoding="utf-8")
    (tmp_path / "test.csv").write_text("id,x\n", encoding="utf-8")
    assert _rows(tmp_path, card_of("rmse", 1))["next_id"] == first
