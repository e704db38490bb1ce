"""Tests of the lists of packages that environments and the image are made from."""

import re
from pathlib import Path

from sandbox.environments import GROUPS, LISTS, VERSIONS
from sandbox.image.build import PACKAGES
from sandbox.make_environment import Recipe, constraints, estimate_gigabytes


def test_versions_are_pinned_without_addresses() -> None:
    pins = [line for line in VERSIONS.read_text().splitlines() if not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*==[0-9][0-9a-z.+]*", pin)] == []


def test_every_package_that_an_environment_or_the_image_shall_have_is_pinned() -> None:
    wanted = {name for group in GROUPS for name in (LISTS / f"{group}.in").read_text().split()}
    pinned = {line.partition("==")[0] for line in VERSIONS.read_text().splitlines()}
    assert (wanted | {"xgboost", "xgboost-cpu"} | set(PACKAGES)) - pinned == set()


def test_versions_that_the_owner_asks_for_go_before_ours(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("Scikit_Learn==1.5.0\n-r other.txt\nhttps://example.org/x.whl\nwheel @ https://example.org/y.whl\n")
    ours = constraints(Recipe(("tabular",), cuda=False, requirements=None, installer="uv"))
    theirs = constraints(Recipe(("tabular",), cuda=False, requirements=file, installer="uv"))
    assert [pin.partition("==")[0] for pin in ours if pin not in theirs] == ["scikit-learn"]


def test_the_estimate_grows_with_what_is_in_it() -> None:
    def of(*groups: str, cuda: bool = False) -> float:
        named = tuple(group for group in GROUPS if group in groups)
        return estimate_gigabytes(Recipe(named, cuda=cuda, requirements=None, installer="pip"))

    assert (
        of("tabular") < of("tabular", "text") < of("tabular", "text", "vision") < of(*GROUPS) < of(*GROUPS, cuda=True)
    )
