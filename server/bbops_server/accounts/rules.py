"""The permissions of each role: the one table that decides for every route and every token.

Pure: a request brings its `Caller`, as the database knew them a moment ago.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal


class Role(StrEnum):
    """A role in the workspace, or in one project; each has the permissions of those before it."""

    VIEWER = "viewer"
    DEVELOPER = "developer"
    MAINTAINER = "maintainer"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        """The place of the role: 1 has the fewest permissions, 4 all of them."""
        return tuple(Role).index(self) + 1


class Scope(StrEnum):
    """The purpose of a token: `deploy` includes `read`, `admin` both, `git` nothing else."""

    READ = "read"
    DEPLOY = "deploy"
    ADMIN = "admin"
    GIT = "git"


class GrantScope(StrEnum):
    """The purpose of an agent's grant. `project` is in every other."""

    PROJECT = "project"
    DATA = "data"
    BUILDER = "builder"
    API = "api"
    AI = "ai"


INCLUDED: Final[Mapping[Scope, frozenset[Scope]]] = {
    Scope.READ: frozenset({Scope.READ}),
    Scope.DEPLOY: frozenset({Scope.READ, Scope.DEPLOY}),
    Scope.ADMIN: frozenset({Scope.READ, Scope.DEPLOY, Scope.ADMIN}),
    Scope.GIT: frozenset({Scope.GIT}),
}


class Permission(StrEnum):
    """The right to do one thing; each route names exactly one."""

    BE_ANYBODY = "be anybody"
    KNOW_ONESELF = "know oneself"
    MANAGE_ONESELF = "manage oneself"
    READ_PROJECT = "read a project"
    READ_STATUS = "read the status of a project"
    READ_DRAFTS = "read the status of a project's drafts"
    READ_REQUESTS = "read a project's requests"
    RECONCILE = "have a project looked at now"
    ACCEPT = "accept a rewritten history"
    SUSPEND = "suspend publications, and resume them"
    ROLL_BACK = "roll back at once"
    PUBLISH_FRONTEND = "publish a frontend"
    OPEN_DRAFT = "open a draft"
    CALL_LIVE = "send requests to the live API"
    CHANGE_LIVE = "send requests that change live data"
    RENEW_DRAFT = "reset a draft to an empty database"
    COPY_ROWS = "copy live rows into a draft"
    ALLOW_HOSTS = "let a draft reach other servers"
    RUN_FORK = "run the code of a fork's pull request"
    MANAGE_KEYS = "issue, list and revoke the keys of a project's channels"
    TEST_ADDONS = "test the connections of a project's addons"
    READ_JOBS = "see a project's jobs and tasks"
    RETRY_JOBS = "run, retry and cancel a project's jobs"
    MANAGE_JOBS = "hold and release a project's jobs, and run its tasks"
    DECIDE_CALLS = "approve and reject calls of a project's agents"
    RUN_DRAFT_JOBS = "run a draft's jobs and tasks"
    MANAGE_DRAFT_KEYS = "issue, list and revoke the keys of a draft's channels"
    CLONE = "clone and fetch a project's repository"
    PUSH_DRAFT = "push to branches other than the live one"
    PUSH_MAIN = "push to the live branch"
    PROPOSE = "propose a change"
    REVIEW = "review a proposal"
    REPLAY = "replay recorded requests on a proposal's draft"
    MERGE = "merge a proposal"
    READ_SERVER = "read the server's settings"
    READ_METRICS = "read the server's metrics"
    READ_WORKSPACE = "read the workspace"
    CHANGE_WORKSPACE = "change the workspace"
    READ_PEOPLE = "read who is a member"
    MANAGE_PEOPLE = "invite people and change their roles"
    READ_AUDIT = "read the audit log"
    MANAGE_HOOKS = "see what webhooks were sent, test them and send again"


@dataclass(frozen=True, slots=True)
class Rule:
    """The requirements of a permission.

    Attributes:
        where: whose role counts; `person` takes nothing but an account.
        role: the least role, None where no role counts.
        scope: the scope a token needs, None where no token will do.
    """

    where: Literal["anybody", "person", "workspace", "project"]
    role: Role | None = None
    scope: Scope | None = None


RULES: Final[Mapping[Permission, Rule]] = {
    Permission.BE_ANYBODY: Rule("anybody"),
    Permission.KNOW_ONESELF: Rule("person", scope=Scope.READ),
    Permission.MANAGE_ONESELF: Rule("person"),
    Permission.READ_PROJECT: Rule("project", Role.VIEWER, Scope.READ),
    Permission.READ_STATUS: Rule("project", Role.VIEWER, Scope.READ),
    Permission.READ_DRAFTS: Rule("project", Role.VIEWER, Scope.READ),
    Permission.READ_REQUESTS: Rule("project", Role.DEVELOPER, Scope.READ),
    Permission.RECONCILE: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.ACCEPT: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.SUSPEND: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.ROLL_BACK: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.PUBLISH_FRONTEND: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.OPEN_DRAFT: Rule("project", Role.VIEWER, Scope.READ),
    Permission.CALL_LIVE: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.CHANGE_LIVE: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.RENEW_DRAFT: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.COPY_ROWS: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.ALLOW_HOSTS: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.RUN_FORK: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.MANAGE_KEYS: Rule("project", Role.MAINTAINER, Scope.ADMIN),
    Permission.TEST_ADDONS: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.READ_JOBS: Rule("project", Role.DEVELOPER, Scope.READ),
    Permission.RETRY_JOBS: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.MANAGE_JOBS: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.DECIDE_CALLS: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.RUN_DRAFT_JOBS: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.MANAGE_DRAFT_KEYS: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.CLONE: Rule("project", Role.VIEWER, Scope.GIT),
    Permission.PUSH_DRAFT: Rule("project", Role.DEVELOPER, Scope.GIT),
    Permission.PUSH_MAIN: Rule("project", Role.MAINTAINER, Scope.GIT),
    Permission.PROPOSE: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.REVIEW: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.REPLAY: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.MERGE: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.READ_SERVER: Rule("workspace", Role.MAINTAINER, Scope.READ),
    Permission.READ_METRICS: Rule("workspace", Role.MAINTAINER, Scope.READ),
    Permission.READ_WORKSPACE: Rule("workspace", Role.VIEWER, Scope.READ),
    Permission.CHANGE_WORKSPACE: Rule("workspace", Role.OWNER, Scope.ADMIN),
    Permission.READ_PEOPLE: Rule("workspace", Role.MAINTAINER, Scope.ADMIN),
    Permission.MANAGE_PEOPLE: Rule("workspace", Role.OWNER, Scope.ADMIN),
    Permission.READ_AUDIT: Rule("workspace", Role.OWNER, Scope.ADMIN),
    Permission.MANAGE_HOOKS: Rule("workspace", Role.OWNER, Scope.ADMIN),
}

GRANTED: Final[Mapping[GrantScope, frozenset[Permission]]] = {
    GrantScope.PROJECT: frozenset({
        Permission.KNOW_ONESELF, Permission.READ_PROJECT, Permission.READ_STATUS,
        Permission.READ_DRAFTS, Permission.OPEN_DRAFT, Permission.READ_WORKSPACE,
    }),
    GrantScope.DATA: frozenset({Permission.READ_REQUESTS, Permission.READ_JOBS}),
    GrantScope.BUILDER: frozenset({
        Permission.PROPOSE, Permission.REVIEW, Permission.MERGE, Permission.PUSH_DRAFT,
        Permission.RENEW_DRAFT, Permission.READ_JOBS, Permission.RUN_DRAFT_JOBS,
        Permission.RETRY_JOBS, Permission.TEST_ADDONS,
    }),
    GrantScope.API: frozenset(),
    GrantScope.AI: frozenset(),
}  # fmt: skip
"""The permissions of an agent by scope, within the role of its user: none publishes past a review,
and none is about people and keys."""

CI_PERMISSIONS: Final = frozenset({
    Permission.RECONCILE, Permission.READ_STATUS, Permission.READ_DRAFTS,
})  # fmt: skip
"""The permissions of a workflow's token in its project: all of them, without a role."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of a request, and the proof of it.

    Attributes:
        person: the id of the account; empty without one, as for the user of this machine.
        role: in the workspace, which counts in every project of it.
        projects: roles in single projects, which only add to that.
        key: the id of the session, token or grant; `ci` is the token of a workflow.
        scopes: of the token, empty otherwise.
        project: the only one the token or grant is good for; empty for all.
        granted: the scopes of an agent's grant, empty otherwise.
    """

    how: Literal["nobody", "session", "token", "grant", "local", "ci"] = "nobody"
    person: str = ""
    email: str = ""
    name: str = ""
    role: Role | None = None
    projects: Mapping[str, Role] = field(default_factory=dict)
    key: str = ""
    scopes: frozenset[Scope] = frozenset()
    project: str = ""
    granted: frozenset[GrantScope] = frozenset()


NOBODY: Final = Caller()
LOCAL: Final = Caller("local", email="local", name="this machine's user", role=Role.OWNER)
"""The owner of the server's state folder has every permission that needs no account."""


def may(caller: Caller, permission: Permission, project: str = "") -> bool:
    """Return whether a caller has a permission, in `project` if it is about one."""
    if caller.how == "ci":
        return permission in CI_PERMISSIONS and caller.project == project
    rule = RULES[permission]
    if rule.where == "anybody":
        return True
    if caller.how == "nobody" or not _is_in_scope(caller, permission, project):
        return False
    if rule.where == "person":
        return caller.how != "local" or rule.scope is not None
    role = role_in(caller, project) if rule.where == "project" else caller.role
    return role is not None and rule.role is not None and role.rank >= rule.role.rank


def role_in(caller: Caller, project: str) -> Role | None:
    """Return the role of a caller in a project: the higher of the workspace's and its own."""
    roles = [one for one in (caller.role, caller.projects.get(project)) if one is not None]
    return max(roles, key=lambda role: role.rank, default=None)


def complete(scopes: Iterable[GrantScope]) -> frozenset[GrantScope]:
    """Return scopes with what they take along: nothing can be done to what cannot be seen."""
    return frozenset({GrantScope.PROJECT, *scopes})


def _is_in_scope(caller: Caller, permission: Permission, project: str) -> bool:
    rule = RULES[permission]
    if caller.how == "grant":
        is_meant = any(permission in GRANTED[one] for one in caller.granted)
    elif caller.how == "token":
        is_meant = any(rule.scope in INCLUDED[one] for one in caller.scopes)
    else:
        return True
    is_there = not caller.project or rule.where == "person" or caller.project == project
    return is_meant and is_there
