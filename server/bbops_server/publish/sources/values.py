"""Frozen values of a publication: each stage takes one and returns the next, with more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.base.errors import ServerError
from bbops.source.git.revisions import commit_of
from bbops_server.process.messages.builds import BuiltRelease
from bbops_server.process.messages.tables import Rehearsal
from bbops_server.publish.processes.link import Link

UNCHANGED: Final = Rehearsal(is_done=True, is_behind=False, switches=False, hidden=[])
"""The plan for a release that was live before: no changes."""


@dataclass(frozen=True, slots=True)
class FetchedRevision:
    """A revision of the source, with the fields that the build process reads it by."""

    revision: str
    source: Mapping[str, Any]

    @property
    def commit(self) -> str:
        """The full commit id; empty for a working tree."""
        return commit_of(self.revision)

    def with_facts(self, facts: BuiltRelease) -> BuiltRevision:
        """Return the built revision with its facts."""
        return BuiltRevision(self.revision, self.source, facts)


@dataclass(frozen=True, slots=True)
class BuiltRevision(FetchedRevision):
    """A revision that was loaded, checked and compiled; `facts` names its artifact."""

    facts: BuiltRelease

    @property
    def release(self) -> str:
        """The release name in responses: 12 hex digits of the commit, or of a tree's content."""
        commit = self.revision.rpartition(":")[2]
        return commit[:12] if ":" in self.revision else f"dev-{self.facts.digest[:8]}"

    def with_env(self, env: Mapping[str, str | None]) -> PreparedRevision:
        """Return the prepared revision with its env values."""
        return PreparedRevision(self.revision, self.source, self.facts, env)


@dataclass(frozen=True, slots=True)
class PreparedRevision(BuiltRevision):
    """A tested revision with a value for each variable. Its representation shows no values."""

    env: Mapping[str, str | None] = field(repr=False)

    def with_plan(self, plan: Rehearsal) -> RehearsedRevision:
        """Return the rehearsed revision with its migration plan."""
        return RehearsedRevision(self.revision, self.source, self.facts, self.env, plan)


@dataclass(frozen=True, slots=True)
class RehearsedRevision(PreparedRevision):
    """A revision whose release was tried on empty tables with the new schema."""

    plan: Rehearsal

    @property
    def is_about_tables(self) -> bool:
        """Whether tables change for it, or a previous migration is not finished."""
        return self.plan.is_behind or not self.plan.is_done

    @property
    def leaves_work(self) -> bool:
        """Whether the database needs work after the previous release has ended."""
        return self.is_about_tables or self.plan.listens

    def with_link(self, link: Link) -> LinkedRevision:
        """Return the linked revision with its link."""
        return LinkedRevision(self.revision, self.source, self.facts, self.env, self.plan, link)


@dataclass(frozen=True, slots=True)
class LinkedRevision(RehearsedRevision):
    """A revision that every data process has linked; a swap makes it live."""

    link: Link

    def with_changes(self, changes: list[str]) -> MigratedRevision:
        """Return the migrated revision with the changes of its tables."""
        return MigratedRevision(
            self.revision, self.source, self.facts, self.env, self.plan, self.link, changes
        )


@dataclass(frozen=True, slots=True)
class MigratedRevision(LinkedRevision):
    """A revision whose tables fit both it and the previous release."""

    changes: list[str]


# ---- Full ids of commits and plans, by which users approve them
# A decision names all digits: two commits whose ids begin with the same 12 digits can be made in
# minutes, so a shortened id does not show which of the two was read.


def is_full_id(named: str, expected: str, what: str = "commit") -> bool:
    """Return whether a user has named an object by its full id, in any case.

    Args:
        named: the id in the decision.
        expected: the full id of the object.
        what: the kind of the object, for errors.

    Raises:
        ServerError: it is the shortened id of the object.
    """
    if named.lower() == expected:
        return True
    if named and expected.startswith(named.lower()):
        raise ServerError(
            f"'{named}' is a shortened id, which another {what} can have, too",
            hint=f"compare all digits of {expected} with the {what} that you have read",
        )
    return False
