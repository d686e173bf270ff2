"""The sources of the islands: no sink for HTML, and packages of exact versions."""

from __future__ import annotations

import json
import re

from tests.conftest import ROOT

FOLDER = ROOT / "server/dashboard"
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|srcdoc"
    r"|setHTMLUnsafe|\beval\(|new Function|setAttribute\(\s*[\"'](style|on\w+)[\"']|\.style\b"
)


def test_no_island_writes_html_or_inline_styles() -> None:
    sources = [*FOLDER.glob("islands/*.ts"), *FOLDER.glob("shared/*.ts")]
    assert len(sources) > 5
    found = {
        f"{path.name}:{number}: {line.strip()}"
        for path in sources
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if SINKS.search(line)
    }
    assert found == set()


def test_each_island_defines_one_element() -> None:
    for path in FOLDER.glob("islands/*.ts"):
        defined = re.findall(r'customElements\.define\("(bb-\w+)"', path.read_text())
        assert defined == [f"bb-{path.stem}"], path.name


def test_each_element_of_a_page_has_an_island() -> None:
    pages = ROOT / "server/bbops_server/control_plane/pages"
    text = "".join(path.read_text() for path in pages.glob("*.html"))
    islands = {path.stem for path in FOLDER.glob("islands/*.ts")}
    assert set(re.findall(r"<bb-(\w+)", text)) == islands
    assert set(re.findall(r'island\("(\w+)"\)', text)) == islands


def test_packages_have_exact_versions() -> None:
    package = json.loads((FOLDER / "package.json").read_text())
    versions = [*package["dependencies"].values(), *package["devDependencies"].values()]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions)


def test_lock_file_has_digests_and_no_addresses() -> None:
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    packages = [package for path, package in lock["packages"].items() if path]
    assert packages
    assert all(package["integrity"].startswith("sha512-") for package in packages)
    assert not [package for package in packages if "resolved" in package]
