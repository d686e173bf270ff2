"""A repository on the bench: one project in it, for one person; its live branch stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.base.errors import GitError
from bbops.build.check import CheckedProject
from bbops.build.compile.release import Cache, check
from bbops.interfaces.mcp.tool import Call, Refused
from bbops.language.project import Project
from bbops.language.resources.project import Engine
from bbops.source.git.address import require_branch
from bbops.source.git.command import run
from bbops.source.git.comparing import read_patch
from bbops.source.git.proposals import PREVIEW
from bbops.source.git.series import Series, Version
from bbops.source.git.store import Store
from bbops.source.git.tree import GitTree
from bbops.source.git.versions import read_series
from bbops.source.git.writing import BBOPS, Identity
from bbops.source.tree import Tree

Weigh = Callable[[Project], Mapping[str, Any]]
"""Asks the live data what would become of it: as `bbops db plan --json` says it."""

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._/-]{0,99}")
_RESERVED: Final = re.compile(
    rf"(refs|heads|tags|remotes|pull|for|bbops|snapshot|origin)(/.*)?|{PREVIEW}[0-9]+(/.*)?"
    r"|v[0-9]+|(fetch_|orig_|merge_|cherry_pick_)?head|[0-9a-f]{7,64}"
)
"""What would be, or looks like, another thing than a branch of somebody's."""
DRAFT_HINT: Final = "name it like a branch: lowercase letters, digits, '-', '.', '_' and '/'"


@dataclass(frozen=True, slots=True)
class Bench:
    """What work is done with. To be used by ONE thread only, as a store is.

    Attributes:
        live: the branch that the project follows.
        folder: the project's in a repository of several; else empty.
        who: the author of what is committed.
        taken: branches that other projects follow.
        published: the commit that answers now; empty where nobody knows.
        elsewhere: where the repository is kept, if this is only a copy of it.
        url: where the project answers.
        weigh: None where there is no live data to ask.
        project: its name at the server; empty where nobody knows.
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
    weigh: Weigh | None = None
    project: str = ""

    @property
    def versions(self) -> tuple[Version, ...]:
        """What went live of the project, newest first. Raises: GitError: it cannot be read."""
        return read_series(self.store.place, Series(self.project, self.live, self.folder))

    # ---- commits
    @property
    def head(self) -> str:
        """The newest commit of the live branch. Raises: Refused: there is none."""
        found = self.store.resolve(self.live)
        if found is None:
            raise Refused(f"the live branch '{self.live}' has no commit yet")
        return found

    def find(self, draft: str) -> str:
        """Return the newest commit of a draft; of the live branch without a name.

        Raises:
            Refused: there is none.
        """
        if not draft or draft == self.live:
            return self.head
        found = self.resolve(draft)
        if found is None:
            near = suggest(draft, self.drafts())
            if self.elsewhere and not near:
                near = f"for {self.elsewhere}, only previewed branches are known here"
            call = Call("context_get", {}, "see which drafts there are")
            raise Refused(f"there is no draft '{draft}'", hint=near, next=(call,))
        return found

    def resolve(self, draft: str) -> str | None:
        """Return the newest commit of a draft, None without one. Raises: Refused: no such name."""
        try:
            return self.store.resolve(require_branch(draft))
        except GitError as error:
            raise Refused(error.message, hint=DRAFT_HINT) from None

    def drafts(self) -> dict[str, str]:
        """Return every branch that is no project's, with its newest commit."""
        own = {self.live, *self.taken}
        return {name: tip for name, tip in self.store.branches().items() if name not in own}

    def fork(self, commit: str) -> str:
        """Return the commit at which a history left the live branch; its head without one."""
        answer = run(self.store.place, ("merge-base", self.head, commit))
        found = answer.output.decode(errors="replace").split()
        return found[0] if answer.status == 0 and found else self.head

    def diff(self, base: str, head: str) -> str:
        """Return the difference of two commits or trees; only of the project's folder.

        Raises:
            GitError: they cannot be read.
        """
        return read_patch(self.store.place, base, head, [self.folder] if self.folder else [])

    # ---- what is in them
    def tree(self, commit: str) -> GitTree:
        """Return the project's files in a commit, or in a tree of the whole repository."""
        return GitTree(self.store, commit, branch=self.live, under=self.folder)

    def check(self, tree: Tree) -> tuple[CheckedProject | None, tuple[Diagnostic, ...]]:
        """Return the project of a tree, and what is wrong with it."""
        base = self.accepted
        return check(tree, self.cache, database=self.engine, off=self.off, base=base)

    @property
    def accepted(self) -> GitTree | None:
        """What is live, else what the live branch holds: a change is checked against it."""
        commit = self.published
        if not commit or not self.store.has_commit(commit):
            commit = self.store.resolve(self.live) or ""
        return self.tree(commit) if commit else None

    def path(self, file: str) -> str:
        """Return the path of one of the project's files from the repository's root."""
        return f"{self.folder}/{file}" if self.folder else file

    # ---- what may be written
    def require_own(self, draft: str) -> str:
        """Return the name of a draft that may be written.

        Raises:
            Refused: it is the live branch, or somebody else's to move, or no name for one.
        """
        self.require_here()
        if draft == self.live or draft in self.taken:
            raise Refused(
                f"branch '{draft}' is live and cannot be written to",
                hint="commit to a draft, open its pull request, and ask to publish that",
                next=(Call("context_get", {}, "see which drafts there are"),),
            )
        return self.require_name(draft)

    def require_name(self, draft: str) -> str:
        """Return what a draft may be called. Raises: Refused: this is no name of one."""
        if not _NAME.fullmatch(draft) or _RESERVED.fullmatch(draft):
            raise Refused(f"'{draft[:100]}' cannot be a draft", hint=DRAFT_HINT)
        try:
            return require_branch(draft)
        except GitError as error:
            raise Refused(error.message, hint=DRAFT_HINT) from None

    def require_free(self, draft: str) -> None:
        """Raises: Refused: git has no room for a new branch of this name: one is its folder."""
        for one in self.store.branches():
            if one.startswith(f"{draft}/") or draft.startswith(f"{one}/"):
                raise Refused(
                    f"draft '{draft}' conflicts with branch '{one}'",
                    hint="git cannot have both 'a' and 'a/b': choose another name",
                )

    def require_here(self) -> None:
        """Raises: Refused: this is only a copy of the repository."""
        if self.elsewhere:
            raise Refused(
                f"the repository is kept elsewhere: {self.elsewhere}; it cannot be "
                f"changed from here",
                hint="clone it, let 'bbops mcp serve --stdio' work there, and push the draft",
            )
