"""A publication as frozen values: each stage takes one and returns the next, which holds more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.source.git.revisions import commit_of
from bbops_server.process.messages.builds import BuiltRelease
from bbops_server.process.messages.tables import Rehearsal
from bbops_server.publish.processes.link import Link

UNCHANGED: Final = Rehearsal(is_done=True, is_behind=False, switches=False, hidden=[])
"""What happens to the tables of a release that was live before."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A revision of the source, and what the build process needs to read it."""

    revision: str
    source: Mapping[str, Any]

    @property
    def commit(self) -> str:
        """The whole id of the commit; empty of a working tree."""
        return commit_of(self.revision)

    def built(self, facts: BuiltRelease) -> Built:
        """Return it with what the build process says of its release."""
        return Built(self.revision, self.source, facts)


@dataclass(frozen=True, slots=True)
class Built(Fetched):
    """Loaded, checked and compiled: `facts` names its artifact."""

    facts: BuiltRelease

    @property
    def release(self) -> str:
        """What answers carry: 12 hex digits of the commit, of the content in a working tree."""
        commit = self.revision.rpartition(":")[2]
        return commit[:12] if ":" in self.revision else f"dev-{self.facts.digest[:8]}"

    def prepared(self, env: Mapping[str, str | None]) -> Prepared:
        """Return it with the values of its environment."""
        return Prepared(self.revision, self.source, self.facts, env)


@dataclass(frozen=True, slots=True)
class Prepared(Built):
    """Tested where it asks for that, with a value for each variable. Its text shows none."""

    env: Mapping[str, str | None] = field(repr=False)

    def rehearsed(self, plan: Rehearsal) -> Rehearsed:
        """Return it with what happens to the tables."""
        return Rehearsed(self.revision, self.source, self.facts, self.env, plan)


@dataclass(frozen=True, slots=True)
class Rehearsed(Prepared):
    """Tried on empty tables as they will be."""

    plan: Rehearsal

    @property
    def is_about_tables(self) -> bool:
        """Whether tables change for it, or have still to be narrowed behind one before it."""
        return self.plan.is_behind or not self.plan.is_done

    @property
    def leaves_work(self) -> bool:
        """Whether something is left to do in the database once the release before has ended."""
        return self.is_about_tables or self.plan.listens

    def linked(self, link: Link) -> Linked:
        """Return it with what the data processes have linked."""
        return Linked(self.revision, self.source, self.facts, self.env, self.plan, link)


@dataclass(frozen=True, slots=True)
class Linked(Rehearsed):
    """Linked in every data process: a swap makes it answer."""

    link: Link

    def migrated(self, changes: list[str]) -> Migrated:
        """Return it with what was changed in the tables."""
        return Migrated(
            self.revision, self.source, self.facts, self.env, self.plan, self.link, changes
        )


@dataclass(frozen=True, slots=True)
class Migrated(Linked):
    """The tables are such that it and the release before can both live with them."""

    changes: list[str]
