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
from tests.support.packing import LEFT_OUT, PAGES, copy, git, packed, tracked

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


def test_the_wheel_has_the_pages_of_docs_in_one_archive(copy: Path, tracked: list[str]) -> None:
    built = next(WheelBuilder(str(copy)).build(directory=str(copy.parent / "dist")))
    with zipfile.ZipFile(built) as wheel, tarfile.open(fileobj=wheel.open(PAGES)) as archive:
        names = {f"docs/{name}" for name in archive.getnames()}
    docs = {name for name in tracked if name.startswith("docs/")}
    assert names == {name for name in docs if not name.startswith(LEFT_OUT)}
    assert {f"docs/{path}" for path in read_pages()} <= names


def test_dot_files_of_the_template_are_in_the_wheel(copy: Path) -> None:
    names = wheel_of(copy)
    assert "bbops/_assets/project-template/.gitignore" in names
    assert "bbops/_assets/project-template/.vscode/settings.json" in names


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
    (site / "schemas").mkdir()
    program = (
        "from bbops.base.assets import asset_folder\n"
        "from bbops.edit.authoring.topics import read_codes\n"
        "print((asset_folder('project-template') / '.gitignore').is_file())\n"
        "print(all(code.text for code in read_codes().values()), len(read_codes()) > 100)\n"
        "try: asset_folder('schemas')\n"
        "except Exception as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(site)}, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[:2] == ["True", "True True"]
    assert "it has no folder 'schemas'" in done.stdout
