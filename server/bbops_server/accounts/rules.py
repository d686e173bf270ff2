"""What each role may do: the one table that every route and every token is held against.

Pure: whoever asks brings a `Caller`, as the database knew them a moment ago.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal


class Role(StrEnum):
    """What somebody is in the workspace, or in one project; each may do what those before may."""

    VIEWER = "viewer"
    DEVELOPER = "developer"
    MAINTAINER = "maintainer"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        """How much it may: 1 to 4."""
        return tuple(Role).index(self) + 1


class Scope(StrEnum):
    """What a token is for: `deploy` includes `read`, `admin` both, `git` nothing else."""

    READ = "read"
    DEPLOY = "deploy"
    ADMIN = "admin"
    GIT = "git"


INCLUDED: Final[Mapping[Scope, frozenset[Scope]]] = {
    Scope.READ: frozenset({Scope.READ}),
    Scope.DEPLOY: frozenset({Scope.READ, Scope.DEPLOY}),
    Scope.ADMIN: frozenset({Scope.READ, Scope.DEPLOY, Scope.ADMIN}),
    Scope.GIT: frozenset({Scope.GIT}),
}


class Permission(StrEnum):
    """What a route lets somebody do; each names exactly one."""

    BE_ANYBODY = "be anybody"
    KNOW_ONESELF = "know oneself"
    MANAGE_ONESELF = "manage oneself"
    READ_PROJECT = "read a project"
    READ_REQUESTS = "read a project's requests"
    RECONCILE = "have a project looked at now"
    ACCEPT = "accept a rewritten history"
    SUSPEND = "suspend publications, and resume them"
    ROLL_BACK = "roll back at once"
    OPEN_DRAFT = "open a draft"
    RENEW_DRAFT = "let a draft begin anew"
    COPY_ROWS = "copy live rows into a draft"
    MANAGE_KEYS = "issue, list and revoke the keys of a project's channels"
    CLONE = "clone and fetch a project's repository"
    PUSH_DRAFT = "push a draft: any branch but the live one"
    PUSH_MAIN = "push to the live branch"
    PROPOSE = "propose a change"
    REVIEW = "review a proposal"
    MERGE = "merge a proposal"
    READ_SERVER = "read the server's settings"
    READ_WORKSPACE = "read the workspace"
    CHANGE_WORKSPACE = "change the workspace"
    READ_PEOPLE = "read who is a member"
    MANAGE_PEOPLE = "invite people and change their roles"
    READ_AUDIT = "read the audit log"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a permission takes.

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
    Permission.READ_REQUESTS: Rule("project", Role.DEVELOPER, Scope.READ),
    Permission.RECONCILE: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.ACCEPT: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.SUSPEND: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.ROLL_BACK: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.OPEN_DRAFT: Rule("project", Role.VIEWER, Scope.READ),
    Permission.RENEW_DRAFT: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.COPY_ROWS: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.MANAGE_KEYS: Rule("project", Role.MAINTAINER, Scope.ADMIN),
    Permission.CLONE: Rule("project", Role.VIEWER, Scope.GIT),
    Permission.PUSH_DRAFT: Rule("project", Role.DEVELOPER, Scope.GIT),
    Permission.PUSH_MAIN: Rule("project", Role.MAINTAINER, Scope.GIT),
    Permission.PROPOSE: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.REVIEW: Rule("project", Role.DEVELOPER, Scope.DEPLOY),
    Permission.MERGE: Rule("project", Role.MAINTAINER, Scope.DEPLOY),
    Permission.READ_SERVER: Rule("workspace", Role.MAINTAINER, Scope.READ),
    Permission.READ_WORKSPACE: Rule("workspace", Role.VIEWER, Scope.READ),
    Permission.CHANGE_WORKSPACE: Rule("workspace", Role.OWNER, Scope.ADMIN),
    Permission.READ_PEOPLE: Rule("workspace", Role.MAINTAINER, Scope.ADMIN),
    Permission.MANAGE_PEOPLE: Rule("workspace", Role.OWNER, Scope.ADMIN),
    Permission.READ_AUDIT: Rule("workspace", Role.OWNER, Scope.ADMIN),
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and by what they are known.

    Attributes:
        person: the id of their account; empty for nobody, and for the machine's own user.
        role: in the workspace, which counts in every project of it.
        projects: roles in single projects, which only add to that.
        key: the id of the session or token.
        scopes: of the token, empty otherwise.
        project: the only one the token is good for; empty for all.
    """

    how: Literal["nobody", "session", "token", "local"] = "nobody"
    person: str = ""
    email: str = ""
    name: str = ""
    role: Role | None = None
    projects: Mapping[str, Role] = field(default_factory=dict)
    key: str = ""
    scopes: frozenset[Scope] = frozenset()
    project: str = ""


NOBODY: Final = Caller()
LOCAL: Final = Caller("local", email="local", name="this machine's user", role=Role.OWNER)
"""Who owns the server's state folder may do everything that needs no account."""


def may(caller: Caller, permission: Permission, project: str = "") -> bool:
    """Return whether somebody may do something, to `project` where it is about one."""
    rule = RULES[permission]
    if rule.where == "anybody":
        return True
    if caller.how == "nobody" or not _is_in_scope(caller, rule, project):
        return False
    if rule.where == "person":
        return caller.how != "local" or rule.scope is not None
    role = role_in(caller, project) if rule.where == "project" else caller.role
    return role is not None and rule.role is not None and role.rank >= rule.role.rank


def role_in(caller: Caller, project: str) -> Role | None:
    """Return somebody's role in a project: the higher of the workspace's and its own."""
    roles = [one for one in (caller.role, caller.projects.get(project)) if one is not None]
    return max(roles, key=lambda role: role.rank, default=None)


def _is_in_scope(caller: Caller, rule: Rule, project: str) -> bool:
    if caller.how != "token":
        return True
    if rule.scope is None or not any(rule.scope in INCLUDED[one] for one in caller.scopes):
        return False
    return not caller.project or rule.where == "person" or caller.project == project
