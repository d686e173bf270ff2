"""Repositories are read by blobs and never checked out, whatever git holds."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bbops.base.errors import GitError
from bbops.source.git import command as command_module
from bbops.source.git import store as store_module
from bbops.source.git.store import GitTree, Store, commit, init
from bbops.source.tree import BlobId, FolderTree, blob_id
from tests.support.git_store import Git, clean_environment, git, head, repository

__all__ = ["clean_environment", "git", "repository"]


def kinds(store: Store, commit_id: str) -> dict[str, str]:
    return {entry.path: entry.kind for entry in store.entries(commit_id)}


def test_a_commit_lists_the_same_files_as_its_folder(repository: Path) -> None:
    store = Store.open(repository)
    tree = GitTree(store, head(store))
    assert tree.entries() == FolderTree(repository).entries()
    assert tree.revision == f"main@sha1:{head(store)}"


def test_bytes_are_read_exactly(repository: Path) -> None:
    store = Store.open(repository)
    missing = BlobId("0" * 40)
    wanted = [blob_id(b"c: 2\n\n"), blob_id(b"a: 1\n"), missing, BlobId("--help\n")]
    assert store.read(wanted) == {wanted[0]: b"c: 2\n\n", wanted[1]: b"a: 1\n"}
    assert store.read([]) == {}


def test_a_folder_of_a_commit_is_a_tree_of_its_own(repository: Path) -> None:
    store = Store.open(repository)
    paths = [entry.path for entry in GitTree(store, head(store), under="b/").entries()]
    assert paths == ["c.yaml"]
    assert GitTree(store, head(store), under="none").entries() == []


def test_folders_of_one_machine_are_left_out_of_a_commit(repository: Path) -> None:
    (repository / "node_modules").mkdir()
    (repository / "node_modules" / "x.yaml").write_bytes(b"")
    newest = commit(repository, "Add")
    paths = [entry.path for entry in GitTree(Store.open(repository), newest).entries()]
    assert paths == ["a.yaml", "b/c.yaml"]


def test_a_thousand_files_are_read_in_one_go(repository: Path) -> None:
    expected = {}
    for number in range(1000):
        data = f"number: {number}\n".encode() * 50
        (repository / f"f{number}.yaml").write_bytes(data)
        expected[blob_id(data)] = data
    store = Store.open(repository)
    newest = commit(repository, "Add many")
    blobs = [e.blob for e in store.entries(newest) if e.path.startswith("f")]
    assert store.read(blobs) == expected


def test_links_and_submodules_have_their_own_kinds(repository: Path, git: Git) -> None:
    (repository / "link").symlink_to("/etc/passwd")
    git(repository, "submodule", "add", "-q", str(repository), "module")
    store = Store.open(repository)
    found = kinds(store, commit(repository, "Add odd ones"))
    assert found["link"] == "symlink"
    assert found["module"] == "submodule"


@pytest.mark.parametrize("name", ["..", ".git", "a\\b", "a\x01b", "con\u202etrol"])
def test_dangerous_names_are_of_another_kind(repository: Path, git: Git, name: str) -> None:
    blob = git(repository, "rev-parse", "HEAD:a.yaml")
    inner = git(repository, "mktree", "-z", given=f"100644 blob {blob}\tx.yaml\0")
    tree = git(repository, "mktree", "-z", given=f"040000 tree {inner}\t{name}\0")
    made = git(repository, "commit-tree", tree, "-m", "crafted")
    assert kinds(Store.open(repository), made) == {f"{name}/x.yaml": "other"}


def test_a_name_that_is_not_utf8_is_of_another_kind(repository: Path) -> None:
    Path(os.fsdecode(bytes(repository) + b"/\xff.yaml")).write_bytes(b"")
    found = kinds(Store.open(repository), commit(repository, "Add"))
    assert found["\ufffd.yaml"] == "other"


@pytest.mark.parametrize("where", ["", ".git", "../bare", "../linked"])
def test_every_form_of_repository_opens(repository: Path, git: Git, where: str) -> None:
    git(repository.parent, "clone", "-q", "--bare", str(repository), "bare")
    git(repository, "worktree", "add", "-q", "../linked", "-b", "other")
    store = Store.open(repository / where)
    assert len(store.entries(head(store))) == 2
    stamp = store.ref_stamp("main")
    assert any(stamp)


def test_a_folder_below_a_repository_is_none(repository: Path) -> None:
    with pytest.raises(GitError, match="is not a git repository") as raised:
        Store.open(repository / "b")
    assert "git init" in raised.value.hint


@pytest.mark.parametrize("branch", ["none", "main~0", "main^{tree}", "-q", "", "a b", "m*", "\n"])
def test_what_is_no_branch_resolves_to_nothing(repository: Path, branch: str) -> None:
    assert Store.open(repository).resolve(branch) is None


def test_a_repository_without_commits_has_no_branch(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "empty")
    store = Store.open(tmp_path / "empty")
    assert store.resolve("main") is None
    store.ref_stamp("main")


def test_packed_branches_resolve_and_their_stamp_changes(repository: Path, git: Git) -> None:
    store = Store.open(repository)
    before, first = store.ref_stamp("main"), head(store)
    assert store.ref_stamp("main") == before
    git(repository, "pack-refs", "--all")
    packed = store.ref_stamp("main")
    assert packed != before
    assert head(store) == first
    (repository / "a.yaml").write_bytes(b"a: 2\n")
    newest = commit(repository, "Change")
    assert store.ref_stamp("main") != packed
    assert head(store) == newest


def test_history_is_told(repository: Path) -> None:
    store = Store.open(repository)
    first = head(store)
    (repository / "a.yaml").write_bytes(b"a: 2\n")
    second = commit(repository, "Say more: ü\n\nbody")
    assert (store.subject(first), store.author(first)) == ("First words", "Ann")
    assert (store.subject(second), store.author(second)) == ("Say more: ü", "bbops")
    assert store.parents(second) == (first,)
    assert store.parents(first) == ()
    assert store.is_ancestor(first, second)
    assert not store.is_ancestor(second, first)


def test_only_full_commit_ids_are_taken(repository: Path) -> None:
    store = Store.open(repository)
    for wrong in ("main", "--output=x", "", "0" * 39):
        with pytest.raises(GitError, match="is not a commit id"):
            store.entries(wrong)
    with pytest.raises(GitError, match="ls-tree failed"):
        store.entries("0" * 40)


def test_a_repository_that_vanishes_is_an_error_everywhere(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, git: Git
) -> None:
    git(tmp_path, "init", "-q", "elsewhere")
    monkeypatch.chdir(tmp_path / "elsewhere")
    store = Store.open(repository)
    newest = head(store)
    shutil.rmtree(repository)
    for ask in (store.resolve, store.ref_stamp, store.entries, store.subject):
        with pytest.raises(GitError):
            ask("main" if ask in {store.resolve, store.ref_stamp} else newest)
    with pytest.raises(GitError):
        store.read([BlobId("0" * 40)])


def test_the_environment_of_a_hook_does_not_leak_in(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE"):
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare'='maybe'")
    store = Store.open(repository)
    (repository / "new.yaml").write_bytes(b"")
    assert len(store.entries(commit(repository, "Add"))) == 3


def test_a_new_repository_holds_its_files(tmp_path: Path) -> None:
    path = tmp_path / "new" / "project"
    files = {"project.yaml": b"bbops: 1\n", ".gitignore": b"x\n", "a/x": b"kept\n"}
    made = init(path, files, message="Begin")
    store = Store.open(path)
    assert head(store) == made
    assert [e.path for e in store.entries(made)] == [".gitignore", "a/x", "project.yaml"]
    assert (store.author(made), store.subject(made)) == ("bbops", "Begin")


def test_a_new_repository_keeps_the_name_its_user_has_set(tmp_path: Path, git: Git) -> None:
    (tmp_path / "home").mkdir()
    git(tmp_path, "config", "--global", "user.name", "Bo")
    git(tmp_path, "config", "--global", "user.email", "bo@example.org")
    made = init(tmp_path / "new", {"a": b""}, message="Begin")
    assert Store.open(tmp_path / "new").author(made) == "Bo"


def test_a_folder_in_use_is_not_made_a_repository(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(GitError, match="is already a git repository"):
        init(repository, {}, message="Begin")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_bytes(b"")
    with pytest.raises(GitError, match="is not empty"):
        init(tmp_path / "full", {}, message="Begin")


def test_a_file_cannot_be_written_outside_a_new_repository(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="cannot be the path"):
        init(tmp_path / "new", {"../x": b""}, message="Begin")


def test_a_commit_of_nothing_is_refused(repository: Path) -> None:
    with pytest.raises(GitError, match="nothing has changed"):
        commit(repository, "Again")


def test_hooks_of_a_users_repository_run(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'error: not today' >&2\nexit 1\n")
    hook.chmod(0o755)
    (repository / "new").write_bytes(b"")
    with pytest.raises(GitError, match="not today"):
        commit(repository, "Add")


def test_a_command_that_hangs_is_ended(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexec sleep 20\n")
    hook.chmod(0o755)
    (repository / "new").write_bytes(b"")
    monkeypatch.setattr(command_module, "TIMEOUT_SECONDS", 0.5)
    with pytest.raises(GitError, match="did not finish within"):
        commit(repository, "Add")


@pytest.mark.parametrize(
    ("script", "words"), [("echo git version 2.37.1", "2.37 is too old"), (None, "not installed")]
)
def test_git_that_is_missing_or_old_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, words: str
) -> None:
    if script is not None:
        (tmp_path / "git").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    store_module.require_git.cache_clear()
    with pytest.raises(GitError, match=words) as raised:
        Store.open(tmp_path)
    assert "2.38" in raised.value.hint
    store_module.require_git.cache_clear()


def test_no_process_is_left_behind(repository: Path) -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = children.read_text() if children.exists() else ""  # a database of other tests
    store = Store.open(repository)
    store.read([blob_id(b"a: 1\n")])
    store.close()
    assert not children.exists() or children.read_text() == before


def test_credentials_never_reach_a_message() -> None:
    answer = command_module.Answer(128, b"", "fatal: no https://me:secret@host/x\n")
    assert "secret" not in str(command_module.failure(answer, ("fetch",)))
