"""A repository with one of its projects, for one user; its live branch is never changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.base.errors import GitError
from bbops.compiler.check import CheckedProject
from bbops.compiler.compile.release import Cache, check
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops.language.project import Project
from bbops.language.resources.project import Engine
from bbops.source.git.address import require_branch
from bbops.source.git.command import run
from bbops.source.git.comparing import read_patch
from bbops.source.git.numbered_tags import read_series
from bbops.source.git.proposals import PREVIEW
from bbops.source.git.series import Series, Version
from bbops.source.git.store import GitTree, Store
from bbops.source.git.writing import BBOPS, Identity, make_commit
from bbops.source.tree import Tree

ReadLiveData = Callable[[Project], Mapping[str, Any]]
"""A function that returns the effects on the live data, as `bbops db plan --json` prints them."""

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._/-]{0,99}")
_RESERVED: Final = re.compile(
    rf"(refs|heads|tags|remotes|pull|for|bbops|snapshot|origin)(/.*)?|{PREVIEW}[0-9]+(/.*)?"
    r"|v[0-9]+|(fetch_|orig_|merge_|cherry_pick_)?head|[0-9a-f]{7,64}"
)
"""Names that are reserved, or that look like a tag, a version or a commit."""
DRAFT_HINT: Final = "name it like a branch: lowercase letters, digits, '-', '.', '_' and '/'"


@dataclass(frozen=True, slots=True)
class ProjectRepository:
    """A repository with one of its projects. Use it in ONE thread only, as a store.

    Attributes:
        live: the live branch of the project.
        folder: the project's folder in a repository of several projects; else empty.
        who: the author of new commits.
        taken: live branches of other projects.
        published: the live commit; empty if it is not known.
        elsewhere: the URL of the original repository, if this is only a copy of it.
        url: the URL of the project's API.
        read_live_data: None without live data.
        project: its name on the server; empty if it is not known.
        trailer: the last line of commit messages, such as `On-behalf-of: ada`; empty for none.
    """

    store: Store
    live: str
    folder: str = ""
    who: Identity = BBOPS
    taken: frozenset[str] = frozenset()
    published: str = ""
    elsewhere: str = ""
    url: str = ""
    engine: Engine = "sqlite"
    off: tuple[str, ...] = ()
    cache: Cache = field(default_factory=Cache)
    read_live_data: ReadLiveData | None = None
    project: str = ""
    trailer: str = ""

    def commit(self, tree: str, parent: str, message: str) -> str:
        """Write a commit that no branch holds yet; return its id."""
        text = f"{message}\n\n{self.trailer}" if self.trailer else message
        return make_commit(self.store.place, tree, [parent], text, self.who)

    @property
    def versions(self) -> tuple[Version, ...]:
        """The project's published versions, newest first. Raises: GitError: they cannot be read."""
        return read_series(self.store.place, Series(self.project, self.live, self.folder))

    # ---- commits
    @property
    def head(self) -> str:
        """The newest commit of the live branch. Raises: Refused: the branch has no commit."""
        commit = self.store.resolve(self.live)
        if commit is None:
            raise ToolError(f"the live branch '{self.live}' has no commit yet")
        return commit

    def find(self, draft: str) -> str:
        """Return the newest commit of a draft; without a name, of the live branch.

        Raises:
            Refused: there is no such draft.
        """
        if not draft or draft == self.live:
            return self.head
        commit = self.resolve(draft)
        if commit is None:
            near = suggest(draft, self.drafts())
            if self.elsewhere and not near:
                near = f"for {self.elsewhere}, only previewed branches are known here"
            call = NextCall("context_get", {}, "see which drafts there are")
            raise ToolError(f"there is no draft '{draft}'", hint=near, next=(call,))
        return commit

    def resolve(self, draft: str) -> str | None:
        """Return the newest commit of a draft, None without one. Raises: Refused: invalid name."""
        try:
            return self.store.resolve(require_branch(draft))
        except GitError as error:
            raise ToolError(error.message, hint=DRAFT_HINT) from None

    def drafts(self) -> dict[str, str]:
        """Return every branch that is not the live branch of a project, with its newest commit."""
        followed = {self.live, *self.taken}
        return {name: tip for name, tip in self.store.branches().items() if name not in followed}

    def fork(self, commit: str) -> str:
        """Return the commit at which a history left the live branch; the live head without one."""
        answer = run(self.store.place, ("merge-base", self.head, commit))
        commits = answer.output.decode(errors="replace").split()
        return commits[0] if answer.status == 0 and commits else self.head

    def diff(self, base: str, head: str) -> str:
        """Return the diff of two commits or trees, in the project's folder only.

        Raises:
            GitError: they cannot be read.
        """
        return read_patch(self.store.place, base, head, [self.folder] if self.folder else [])

    # ---- content of commits
    def tree(self, commit: str) -> GitTree:
        """Return the project's files in a commit, or in a tree of the whole repository."""
        return GitTree(self.store, commit, branch=self.live, under=self.folder)

    def check(self, tree: Tree) -> tuple[CheckedProject | None, tuple[Diagnostic, ...]]:
        """Return the project of a tree, and its diagnostics."""
        base = self.accepted
        return check(tree, self.cache, database=self.engine, off=self.off, base=base)

    @property
    def accepted(self) -> GitTree | None:
        """The live release, else the live branch: the base of every check."""
        commit = self.published
        if not commit or not self.store.has_commit(commit):
            commit = self.store.resolve(self.live) or ""
        return self.tree(commit) if commit else None

    def path(self, file: str) -> str:
        """Return the path of one of the project's files from the repository's root."""
        return f"{self.folder}/{file}" if self.folder else file

    # ---- permissions
    def require_own(self, draft: str) -> str:
        """Return the name of a draft that may be written.

        Raises:
            Refused: it is a live branch, or not a valid name.
        """
        self.require_here()
        if draft == self.live or draft in self.taken:
            raise ToolError(
                f"branch '{draft}' is live and cannot be written to",
                hint="commit to a draft, open its pull request, and ask to publish that",
                next=(NextCall("context_get", {}, "see which drafts there are"),),
            )
        return self.require_name(draft)

    def require_name(self, draft: str) -> str:
        """Return a valid name of a draft. Raises: Refused: the name is not valid."""
        if not _NAME.fullmatch(draft) or _RESERVED.fullmatch(draft):
            raise ToolError(f"'{draft[:100]}' cannot be a draft", hint=DRAFT_HINT)
        try:
            return require_branch(draft)
        except GitError as error:
            raise ToolError(error.message, hint=DRAFT_HINT) from None

    def require_free(self, draft: str) -> None:
        """Raises: Refused: git cannot create the branch, because it conflicts with another one."""
        for branch in self.store.branches():
            if branch.startswith(f"{draft}/") or draft.startswith(f"{branch}/"):
                raise ToolError(
                    f"draft '{draft}' conflicts with branch '{branch}'",
                    hint="git cannot have both 'a' and 'a/b': choose another name",
                )

    def require_here(self) -> None:
        """Raises: Refused: the repository is only a copy."""
        if self.elsewhere:
            raise ToolError(
                f"the repository is kept elsewhere: {self.elsewhere}; it cannot be "
                f"changed from here",
                hint="clone it, let 'bbops mcp serve --stdio' work there, and push the draft",
            )
