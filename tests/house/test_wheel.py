"""The files of the wheel: those of git, and the islands, which `test_islands_build.py` adds."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from bbops.interfaces.mcp.handbook import read_pages
from tests.support.packing import ARCHIVES, copy, git, is_archived, packed, tracked

__all__ = ["copy", "tracked"]


@pytest.fixture(scope="module", autouse=True)
def no_islands() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BBOPS_ISLANDS", "off")
        yield


@pytest.fixture(scope="module")
def sdist(copy: Path) -> Path:
    return Path(next(SdistBuilder(str(copy)).build(directory=str(copy.parent / "dist"))))


def wheel_of(folder: Path, version: str = "standard") -> set[str]:
    """Build a wheel and return its files, without those that describe it."""
    built = WheelBuilder(str(folder)).build(
        directory=str(folder.parent / "dist"), versions=[version]
    )
    with zipfile.ZipFile(next(built)) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_is_what_git_tracks(copy: Path, tracked: list[str]) -> None:
    assert wheel_of(copy) == packed(tracked)


def test_the_wheel_has_docs_template_and_pages_as_archives(copy: Path, tracked: list[str]) -> None:
    built = next(WheelBuilder(str(copy)).build(directory=str(copy.parent / "dist")))
    names = set[str]()
    with zipfile.ZipFile(built) as wheel:
        for folder, target in ARCHIVES.items():
            with tarfile.open(fileobj=wheel.open(target)) as archive:
                names |= {f"{folder}{name}" for name in archive.getnames()}
    assert names == {name for name in tracked if is_archived(name)}
    assert {f"docs/{path}" for path in read_pages()} <= names
    assert {"project-template/.gitignore", "project-template/.vscode/settings.json"} <= names


@pytest.mark.long
def test_the_wheel_with_islands_is_below_three_megabytes(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BBOPS_ISLANDS", "need")
    built = next(WheelBuilder(str(copy)).build(directory=str(copy.parent / "dist")))
    assert Path(built).stat().st_size < 3_000_000


def test_the_source_archive_is_what_git_tracks(copy: Path, sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names - {"PKG-INFO"} == set(git(copy, "ls-files", "-z"))


@pytest.mark.long
def test_the_source_archive_builds_the_same_wheel(
    sdist: Path, tracked: list[str], tmp_path: Path
) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    assert wheel_of(unpacked) == packed(tracked)


def test_an_editable_install_names_folders_only(copy: Path) -> None:
    assert wheel_of(copy, "editable") == {"_bbops.pth"}


def test_assets_are_found_in_a_wheel_and_nothing_beside_it(copy: Path, tmp_path: Path) -> None:
    built = next(WheelBuilder(str(copy)).build(directory=str(tmp_path)))
    site = tmp_path / "site"
    with zipfile.ZipFile(built) as archive:
        archive.extractall(site)
    program = (
        "from bbops.base.assets import read_template\n"
        "from bbops.edit.authoring.topics import read_codes\n"
        "print('.gitignore' in read_template(), 'project.yaml' in read_template())\n"
        "print(all(code.text for code in read_codes().values()), len(read_codes()) > 100)\n"
        "from bbops_server.control_plane.web.view import _make_loader\n"
        "print('front.html' in _make_loader().list_templates())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(site)}, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["True True", "True True", "True"]
