"""A folder, a commit and a map of texts are the same tree to everybody above."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bbops.base.errors import BbopsError
from bbops.source.tree import BlobId, Entry, FolderTree, MemoryTree, blob_id, is_safe

pytestmark = pytest.mark.quick


def fill(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def listed(tree: FolderTree) -> list[str]:
    return [entry.path for entry in tree.entries()]


def test_a_folder_lists_its_files_by_path(tmp_path: Path) -> None:
    fill(tmp_path, {"b/c.yaml": b"x", "b.yaml": b"", "a.yaml": b"1"})
    tree = FolderTree(tmp_path)
    assert listed(tree) == ["a.yaml", "b.yaml", "b/c.yaml"]
    assert tree.revision == "working-tree"


def test_blob_ids_are_those_of_git(tmp_path: Path) -> None:
    fill(tmp_path, {"a": b"hello\n", "big": b"x" * 3_000_000})
    for entry in FolderTree(tmp_path).entries():
        made = subprocess.check_output(["git", "hash-object", tmp_path / entry.path], text=True)
        assert entry.blob == made.strip()


def test_folders_of_this_machine_are_left_out(tmp_path: Path) -> None:
    fill(tmp_path, {f"{name}/x": b"" for name in (".git", ".bbops", "a/node_modules", ".venv")})
    fill(tmp_path, {"a/__pycache__/x": b"", "a/y": b"", "worktree.yaml": b""})
    assert listed(FolderTree(tmp_path)) == ["a/y", "worktree.yaml"]


def test_ignored_files_are_listed(tmp_path: Path) -> None:
    fill(tmp_path, {".gitignore": b"*.yaml\n", "a.yaml": b""})
    assert "a.yaml" in listed(FolderTree(tmp_path))


def test_symlinks_are_not_followed(tmp_path: Path) -> None:
    root = fill(tmp_path / "root", {"a": b"1"})
    fill(tmp_path / "outside", {"secret": b"s"})
    (root / "file").symlink_to("../outside/secret")
    (root / "folder").symlink_to("../outside")
    tree = FolderTree(root)
    assert [(e.path, e.kind) for e in tree.entries()] == [
        ("a", "file"), ("file", "symlink"), ("folder", "symlink"),
    ]  # fmt: skip
    assert tree.read([e.blob for e in tree.entries()]) == {blob_id(b"1"): b"1"}


def test_a_repository_inside_is_a_submodule(tmp_path: Path) -> None:
    fill(tmp_path, {"lib/.git": b"gitdir: ../elsewhere\n", "lib/a": b""})
    assert FolderTree(tmp_path).entries() == [Entry("lib", BlobId(""), 0, "submodule")]  # type: ignore[arg-type]


def test_a_pipe_is_listed_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert [e.kind for e in FolderTree(tmp_path).entries()] == ["other"]


@pytest.mark.parametrize("name", [b"a\\b", b"a\nb", b"\xff\xfe", "a\u202eb".encode()])
def test_names_that_cannot_be_used_are_of_another_kind(tmp_path: Path, name: bytes) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).write_bytes(b"")
    (entry,) = FolderTree(tmp_path).entries()
    assert entry.kind == "other"
    entry.path.encode()


def test_only_changed_files_are_read_again(tmp_path: Path) -> None:
    fill(tmp_path, {"a": b"one", "b": b"two"})
    tree = FolderTree(tmp_path)
    before = tree.entries()
    stamp = (tmp_path / "a").stat().st_mtime_ns
    (tmp_path / "a").write_bytes(b"ONE")
    os.utime(tmp_path / "a", ns=(stamp, stamp))
    assert tree.entries() == before
    os.utime(tmp_path / "a", ns=(stamp, stamp + 1))
    assert tree.entries()[0].blob == blob_id(b"ONE")


def test_what_changed_after_the_listing_is_left_out(tmp_path: Path) -> None:
    fill(tmp_path, {"gone": b"1", "grown": b"2", "same": b"3"})
    tree = FolderTree(tmp_path)
    blobs = [entry.blob for entry in tree.entries()]
    (tmp_path / "gone").unlink()
    (tmp_path / "grown").write_bytes(b"22")
    assert tree.read(blobs) == {blob_id(b"3"): b"3"} | {blob_id(b"2"): b"2"}
    assert listed(tree) == ["grown", "same"]


def test_one_of_two_equal_files_is_enough(tmp_path: Path) -> None:
    fill(tmp_path, {"a": b"x", "b": b"x"})
    tree = FolderTree(tmp_path)
    tree.entries()
    (tmp_path / "a").unlink()
    assert tree.read([blob_id(b"x")]) == {blob_id(b"x"): b"x"}


def test_a_root_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(BbopsError, match="no such file") as raised:
        FolderTree(tmp_path / "none").entries()
    assert raised.value.hint


def test_a_tree_in_memory_reads_what_it_was_given() -> None:
    tree = MemoryTree({"b.yaml": "é", "a.yaml": b"1", "../x": ""})
    assert [(e.path, e.size_bytes, e.kind) for e in tree.entries()] == [
        ("../x", 0, "other"), ("a.yaml", 1, "file"), ("b.yaml", 2, "file"),
    ]  # fmt: skip
    assert tree.read([blob_id("é".encode()), BlobId("0" * 40)]) == {
        blob_id("é".encode()): "é".encode()
    }


@pytest.mark.parametrize("path", ["a/../b", "/a", "a//b", "a/.GIT/x", "a\\b", "a\x7f", ".", ""])
def test_unsafe_paths(path: str) -> None:
    assert not is_safe(path)


@pytest.mark.parametrize(
    "path", ["a/b.yaml", ".gitignore", "a b", "über/日本.yaml", "..a", "👨‍👩‍👧.png"]
)
def test_safe_paths(path: str) -> None:
    assert is_safe(path)
