"""Outlines and files of commits, as the build process renders them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bbops.review.outline.outline import Outline
from bbops_server.process.messages.builds import ReadProjectFile, WriteOutline, WrittenOutline
from bbops_server.publish.build.contracts import MAX_FILE_BYTES, MAX_OUTLINES, OutlineRenderer
from bbops_server.publish.build.sources import OpenSources
from tests.support.served import git
from tests.support.small_project import FILES, hello, write_project


class Repository:
    """A repository of the small project, with a renderer of its commits."""

    def __init__(self, folder: Path) -> None:
        self.folder = write_project(folder)
        git(folder, "init", "-q", "-b", "main")
        self.renderer = OutlineRenderer(OpenSources())

    def commit(self, changes: dict[str, str] | None = None) -> str:
        """Commit changed files; return the commit."""
        write_project(self.folder, changes)
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", "Change", "--allow-empty")
        return git(self.folder, "rev-parse", "HEAD").strip()

    def source(self, commit: str) -> dict[str, str]:
        """Return the source of a commit."""
        place = str(self.folder / ".git")
        return {"kind": "git", "repository": place, "commit": commit, "branch": "main", "path": ""}

    def write(self, commit: str) -> WrittenOutline:
        """Return the outline of a commit."""
        return self.renderer.answer(WriteOutline(self.source(commit), "sqlite"))

    def read(self, commit: str, path: str) -> str | None:
        """Return the text of a file."""
        return self.renderer.read(ReadProjectFile(self.source(commit), path)).text


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "small")


def test_each_commit_has_its_outline(repository: Repository) -> None:
    first = repository.commit()
    second = repository.commit({"functions/more.yaml": FILES["functions/list.yaml"]})
    outlines = [
        msgspec.json.decode(repository.write(commit).text, type=Outline)
        for commit in (first, second)
    ]
    assert [outline.counts["functions"] for outline in outlines] == [4, 5]
    assert repository.write(first).commit == first
    assert repository.write(first).digest != repository.write(second).digest


def test_outline_of_a_commit_is_rendered_once(repository: Repository) -> None:
    commit = repository.commit()
    written = repository.write(commit)
    assert repository.write(commit) is written
    for version in range(MAX_OUTLINES):
        repository.write(repository.commit(hello(version + 2)))
    assert repository.write(commit) is not written


def test_commit_with_errors_has_diagnostics(repository: Repository) -> None:
    commit = repository.commit(
        {"functions/hello.yaml": "steps:\n  - return: { value: '${ vars.x }' }\n"}
    )
    written = repository.write(commit)
    assert written.text == ""
    assert [
        (found.file, found.line) for found in written.diagnostics if found.severity == "error"
    ] == [("functions/hello.yaml", 2)]


def test_folder_has_an_outline_of_its_files(tmp_path: Path) -> None:
    source = {"kind": "folder", "path": str(write_project(tmp_path))}
    renderer = OutlineRenderer(OpenSources())
    before = renderer.answer(WriteOutline(source, "sqlite"))
    write_project(tmp_path, {"functions/more.yaml": FILES["functions/list.yaml"]})
    after = renderer.answer(WriteOutline(source, "sqlite"))
    assert before.commit == ""
    assert before.digest != after.digest


def test_files_are_read_from_the_commit(repository: Repository) -> None:
    first = repository.commit()
    repository.commit(hello(2))
    assert repository.read(first, "functions/hello.yaml") == FILES["functions/hello.yaml"]


@pytest.mark.parametrize(
    "path", ["functions/none.yaml", "../small/project.yaml", ".git/config", ""]
)
def test_missing_files_have_no_text(repository: Repository, path: str) -> None:
    assert repository.read(repository.commit(), path) is None


def test_large_files_and_links_have_no_text(repository: Repository) -> None:
    (repository.folder / "link.yaml").symlink_to("/etc/hostname")
    commit = repository.commit({"docs/large.md": "x" * (MAX_FILE_BYTES + 1), "docs/most.md": "y"})
    assert repository.read(commit, "docs/large.md") is None
    assert repository.read(commit, "link.yaml") is None
    assert repository.read(commit, "docs/most.md") == "y"
