"""The two trees that a change of a CI job is between: the tip of its target, and the merge result.

GitHub checks out the merge of a pull request; other systems check out its head, and the merge is
computed here. Nothing is checked out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bbops.base.errors import BbopsError, GitError
from bbops.interfaces.ci.run import CiRun
from bbops.source.git.comparing import find_around, find_base
from bbops.source.git.store import GitTree, Store
from bbops.source.git.writing import merge_trees
from bbops.source.tree import FolderTree, Tree

MAIN: Final = "main"
_ACTIONS: Final = "set 'fetch-depth: 0' for actions/checkout"
_DEEPEN: Final = {
    "github": _ACTIONS, "gitea": _ACTIONS, "forgejo": _ACTIONS,
    "gitlab": "set 'GIT_DEPTH: 0' under 'variables' in .gitlab-ci.yml",
    "jenkins": "turn off 'shallow' in the CloneOption of the checkout, and fetch the target branch",
}  # fmt: skip
_UNSHALLOW: Final = "git fetch --unshallow origin"
_FETCH: Final = "'git fetch origin', or choose another commit with '--base REV'"


@dataclass(frozen=True, slots=True)
class JobCheckout:
    """The repository of a CI job, with the project in it.

    Attributes:
        under: the project's folder, relative to the repository's root; empty for the root.
    """

    store: Store
    folder: Path
    under: str


@dataclass(frozen=True, slots=True)
class ChangeSides:
    """The two sides of a change.

    Attributes:
        base: the files before the change; None if there is no earlier commit.
        head: the files after it.
        commit: the commit of the change; empty for a folder with changes that are not committed.
        conflicts: the files that block the merge. If there are any, `base` is the merge base and
            `head` the commit alone.
    """

    base: Tree | None
    head: Tree
    commit: str
    conflicts: tuple[str, ...] = ()


def open_checkout(folder: Path) -> JobCheckout:
    """Return the repository around a project's folder.

    Raises:
        GitError: there is no repository.
    """
    around = find_around(folder)
    if around is None:
        hint = "'git init', then commit the current files"
        message = f"'{folder}' is in no git repository, so there is nothing to compare it with"
        raise GitError(message, hint=hint)
    top, under = around
    return JobCheckout(Store.open(top), folder, under)


def compare_change(
    run: CiRun, checkout: JobCheckout, *, base: str = "", commit: str = ""
) -> ChangeSides:
    """Return the two sides of the change that a CI job is about.

    Args:
        run: the run of the job.
        checkout: its repository.
        base: the revision that the user chose to compare with.
        commit: the revision of the change that the user chose.

    Raises:
        GitError: a commit is missing, which the hint explains, or the two have no common history.
    """
    store = checkout.store
    is_local = not run.is_ci or (not base and _is_elsewhere(run, store))
    if is_local and not commit:
        tip = base or _local_main(store)
        tree = _tree(checkout, _require(run, store, tip), tip)
        return ChangeSides(tree, FolderTree(checkout.folder), "")
    head = _require(run, store, commit or run.commit or "HEAD")
    before = base or (run.base if run.event == "push" else "")
    if before and (base or _is_known(store, before)):
        return _compare_with(run, checkout, before, head)
    target = run.target or run.default_branch or MAIN
    if not run.target and run.branch == target:
        return _compare_with_parent(run, checkout, head)
    return _merge(run, checkout, _find_tip(run, store, target, head), head)


def find_target(run: CiRun, folder: Path) -> Tree | None:
    """Return the project as the target of a change has it; None if no commit is known.

    Unlike `compare_change`, this accepts every checkout.
    """
    found = find_around(folder)
    if found is None or not run.is_ci:
        return find_base(folder)
    try:
        store = Store.open(found[0])
        for name in (run.base, *_remote_names(run.target)):
            if name and (commit := store.find_commit(name)):
                return GitTree(store, commit, branch=name, under=found[1])
    except GitError:
        return None
    return find_base(folder)


def _is_elsewhere(run: CiRun, store: Store) -> bool:
    """Return whether the job is about another repository: this one has none of its commits.

    A job may create a project of its own, for example. A shallow clone may lack the commits.
    """
    named = [commit for commit in (run.commit, run.base) if commit]
    return bool(named) and not store.is_shallow and not any(map(store.find_commit, named))


def _is_known(store: Store, commit: str) -> bool:
    """Return whether a commit is there; also if only a deeper clone would have it.

    The commit before a forced push is in no clone.
    """
    return store.is_shallow or store.find_commit(commit) is not None


def _compare_with(run: CiRun, checkout: JobCheckout, base: str, head: str) -> ChangeSides:
    before = _tree(checkout, _require(run, checkout.store, base), base)
    return ChangeSides(before, _tree(checkout, head, run.branch or head), head)


def _compare_with_parent(run: CiRun, checkout: JobCheckout, head: str) -> ChangeSides:
    """Compare a commit of the default branch, whose predecessor is not named, with its parent."""
    after = _tree(checkout, head, run.branch)
    if parents := checkout.store.parents(head):
        parent = _require(run, checkout.store, parents[0])
        return ChangeSides(_tree(checkout, parent, parent), after, head)
    if checkout.store.is_shallow:
        raise _missing(run, checkout.store, "the commit before this one")
    return ChangeSides(None, after, head)


def _merge(run: CiRun, checkout: JobCheckout, tip: tuple[str, str], head: str) -> ChangeSides:
    store, (name, onto) = checkout.store, tip
    before = _tree(checkout, onto, name)
    if merged := _find_merge(store, onto, head):
        return ChangeSides(before, _labelled(checkout, merged, run, head), head)
    common = store.merge_base(onto, head)
    if not common:
        if store.is_shallow:
            raise _missing(run, store, f"the common history with '{name}'")
        raise GitError(f"'{name}' and the change have no common history")
    result = merge_trees(store.place, onto, head)
    if result.conflicts:
        before = _tree(checkout, common, name)
        return ChangeSides(before, _labelled(checkout, head, run, head), head, result.conflicts)
    return ChangeSides(before, _labelled(checkout, result.tree, run, head), head)


def _find_merge(store: Store, onto: str, head: str) -> str:
    """Return the change if it contains the target, or HEAD if it is their merge; else nothing."""
    if store.is_ancestor(onto, head):
        return head
    current = store.find_commit("HEAD")
    is_merge = current and head in store.parents(current) and store.is_ancestor(onto, current)
    return current if current and is_merge else ""


def _find_tip(run: CiRun, store: Store, target: str, head: str) -> tuple[str, str]:
    """Return the name and the commit of the branch that a change is merged into."""
    names = [*_remote_names(target), run.base]
    if run.event == "queue":  # the target may lack the changes before this one
        names.reverse()
    for name in names:
        if name and (commit := store.find_commit(name)):
            return target, commit
    for parent in _other_parents(store, head):
        return target, parent
    raise _missing(run, store, f"branch '{target}'")


def _other_parents(store: Store, head: str) -> Iterator[str]:
    """Yield the target's side of HEAD, if HEAD is a merge of the target and the change."""
    current = store.find_commit("HEAD")
    parents = store.parents(current) if current else ()
    if len(parents) == 2 and parents[1] == head and store.has_commit(parents[0]):
        yield parents[0]


def _remote_names(branch: str) -> tuple[str, ...]:
    """Return the refs of a branch, which no tag of the same name can replace."""
    return (f"refs/remotes/origin/{branch}", f"refs/heads/{branch}") if branch else ()


def _local_main(store: Store) -> str:
    names = (MAIN, f"origin/{MAIN}")
    return next((name for name in names if store.find_commit(name)), MAIN)


def _require(run: CiRun, store: Store, revision: str) -> str:
    if revision.startswith("-"):
        raise BbopsError(f"'{revision}' is not a revision: it begins with '-'")
    commit = store.resolve(revision) or store.find_commit(revision)
    if commit is None:
        raise _missing(run, store, f"commit '{revision}'")
    return commit


def _missing(run: CiRun, store: Store, what: str) -> GitError:
    fetch = _UNSHALLOW if store.is_shallow else _FETCH
    return GitError(f"{what} is not in this clone", hint=_DEEPEN.get(run.forge, fetch))


def _tree(checkout: JobCheckout, commit: str, name: str) -> Tree:
    return GitTree(checkout.store, commit, branch=name, under=checkout.under)


def _labelled(checkout: JobCheckout, tree_or_commit: str, run: CiRun, head: str) -> Tree:
    """Return a tree under the name of the change, also if it is the result of a merge."""
    tree = _tree(checkout, tree_or_commit, "")
    tree.revision = _tree(checkout, head, run.branch or head).revision
    return tree
