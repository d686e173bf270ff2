"""Whose a version is: versions are annotated tags of what went live, a project's history.

Which project a tag belongs to stands in its message, never in its name alone: tags called `v7` and
`FOLDER/v7`, as they were once made, are versions of the project that followed their branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.address import is_branch
from bbops.source.git.revisions import commit_of, read_revision

TAG: Final = "bbops/{project}/v{number}"
"""What a version's tag is called, where a server's file names nothing else."""

_NUMBER: Final = "v{number}"
_PROJECT: Final = "{project}"
_ROOT: Final = "."
_SHORT: Final = re.compile(r"v?([0-9]{1,9})").fullmatch


@dataclass(frozen=True, slots=True)
class Version:
    """What a tag of ours names: a release that went live, or a frontend.

    Attributes:
        name: of the tag, `bbops/shop/v7`.
        commit: what went live.
        at: when, as ISO 8601.
        subject: the first line of its commit's message.
        facts: what else the tag says: Release, Revision, Project, Author, Proposal, Plan.
    """

    name: str
    number: int
    commit: str
    at: str
    subject: str
    facts: Mapping[str, str]

    @property
    def short(self) -> str:
        """What people call it within its project: `v7`."""
        return f"v{self.number}" if self.number else self.name


@dataclass(frozen=True, slots=True)
class Series:
    """The versions of one project.

    Attributes:
        project: its name; empty for whichever follows the branch.
        branch: which it follows.
        folder: of the project in a repository of several; else empty.
        tag: what its tags are called, as `TAG`.
    """

    project: str
    branch: str
    folder: str = ""
    tag: str = TAG

    @property
    def prefix(self) -> str:
        """What the names of its tags begin with, before `v7`."""
        return self.tag.removesuffix(_NUMBER).replace(_PROJECT, self.project)

    @property
    def facts(self) -> dict[str, str]:
        """What its tags say of where they belong, beside the revision."""
        return {"Project": self.project, "Folder": self.folder or _ROOT}

    def holds(self, version: Version) -> bool:
        """Return whether a version is one of this project, as its tag says."""
        owner = read_owner(version)
        names = {owner.project, self.project}
        is_same = owner.branch == self.branch and owner.folder == self.folder
        return is_same and (len(names) == 1 or "" in names)


def read_owner(version: Version) -> Series:
    """Return whose version a tag says it is; the project is empty in one that was made long ago."""
    folder = version.facts.get("Folder", _before(version.name) or _ROOT)
    branch = read_revision(version.facts.get("Revision")).branch
    return Series(version.facts.get("Project", ""), branch, "" if folder == _ROOT else folder)


def find_tag_mistake(tag: str) -> str:
    """Return what is wrong with a name of tags; empty where nothing is."""
    if not tag.endswith(_NUMBER) or tag.removesuffix(_NUMBER)[-1:] not in {"", "/"}:
        return f"expected a name that ends with '/{_NUMBER}', got '{tag}'"
    if tag.startswith(_PROJECT):
        return f"expected a name that begins with a word of its own, got '{tag}'"
    plain = tag.replace(_PROJECT, "p", 1).replace(_NUMBER, "v1")
    return "" if is_branch(plain) and "{" not in plain else f"'{tag}' cannot be the name of a tag"


def names_project(tag: str) -> bool:
    """Return whether two projects have names of their own by it."""
    return _PROJECT in tag


def find_refs(tag: str, folder: str) -> tuple[str, ...]:
    """Return the patterns of refs that hold a project's versions; each has one `*`.

    Args:
        tag: as in `Series`; of each project that it may name.
        folder: as in `Series`; its tags were once called by it.
    """
    now = f"{tag.partition('{')[0]}*"
    once = f"{folder}/v*" if folder else "v*"
    names = dict.fromkeys((now, once) if is_branch(folder or "v") else (now,))
    return tuple(f"refs/tags/{one}" for one in names)


def find_version(versions: Sequence[Version], name: str) -> Version:
    """Return a version of a project by the name of its tag, `v7`, or its number.

    Raises:
        GitError: there is none, or several; says which there are.
    """
    short = _SHORT(name)
    found = [one for one in versions if one.name == name]
    found = found or [one for one in versions if short and one.number == int(short[1])]
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(one.name for one in found)
        raise GitError(f"'{name}' is more than one version", hint=f"say {names}")
    hint = f"the newest is {versions[0].short}" if versions else "nothing has been published yet"
    raise GitError(f"there is no version '{name}'", hint=f"{hint}; 'bbops versions' lists them")


def choose_versions(
    versions: Iterable[Version], folder: str, *, branch: str = "", project: str = ""
) -> tuple[Version, ...]:
    """Return the versions of the one project that is meant, in a clone, where nobody says which.

    Args:
        versions: every one of the repository.
        folder: the project's; another's are never meant.
        branch: which is checked out; it decides where several projects share the folder.
        project: the name that was given.

    Raises:
        GitError: several may be meant, or none has the name.
    """
    here = [one for one in versions if read_owner(one).folder == folder]
    series = {Series(read_owner(one).project, read_owner(one).branch, folder) for one in here}
    named = {one for one in series if one.project} or series
    meant = {one for one in named if project in {"", one.project}}
    if len(meant) > 1:
        meant = {one for one in meant if one.branch == branch} or meant
    if len(meant) == 1:
        return tuple(filter(meant.pop().holds, here))
    if not series:
        return ()
    known = ", ".join(sorted({f"'{one.project}' of branch '{one.branch}'" for one in named}))
    if not meant:
        raise GitError(f"there are no versions of project '{project}'", hint=f"there are {known}")
    raise GitError(
        f"this repository has versions of several projects: {known}",
        hint="choose one with --project NAME, or check out its branch",
    )


def _before(name: str) -> str:
    return name.rpartition("/")[0]


def read_commit(version: Version) -> str:
    """Return the commit that a version says it is of."""
    return commit_of(version.facts.get("Revision"))
