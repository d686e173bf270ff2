"""Warnings of a server about addons: files that others lack, and a browser that is not there."""

from __future__ import annotations

from bbops.compiler.compile.release import build
from bbops.source.tree import MemoryTree
from bbops_server.publish.build.warnings import warn_of_browser, warn_of_files
from tests.conftest import Files, sample

ADDON = {"addons/localStorage.yaml": "enabled: true\n"}


def codes(files: Files, *, stay_here: bool) -> list[str]:
    built = warn_of_files(build(MemoryTree(files)), stay_here=stay_here)
    return [
        f"{one.severity} {one.code}" for one in built.diagnostics if one.code.startswith("local-")
    ]


def test_files_that_other_servers_lack_are_a_warning() -> None:
    files = sample() | ADDON
    assert codes(files, stay_here=True) == ["warning local-storage-not-shared"]
    assert codes(files, stay_here=False) == []


def test_a_project_that_keeps_none_is_not_told_of_them() -> None:
    assert codes(sample(), stay_here=True) == []
    off = {"addons/localStorage.yaml": "enabled: false\n"}
    assert codes(sample() | off, stay_here=True) == []


def test_a_browser_that_cannot_print_is_a_warning_of_a_project_that_prints() -> None:
    def told(files: Files, trouble: str) -> list[str]:
        built = warn_of_browser(build(MemoryTree(files)), trouble)
        found = [one for one in built.diagnostics if one.code == "addon-needs"]
        return [f"{one.severity} {one.place.file}: {one.message}" for one in found]

    prints = sample() | {"addons/htmlToPdf.yaml": "enabled: true\n"}
    assert told(prints, "no browser") == ["warning addons/htmlToPdf.yaml: no browser"]
    assert told(prints, "") == told(sample(), "no browser") == []
