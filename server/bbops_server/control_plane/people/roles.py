"""The page Roles: the caller's own roles, and the permissions of each role."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from litestar import Response
from litestar.params import FromQuery

from bbops_server.accounts.rules import RULES, Caller, Permission, Role
from bbops_server.control_plane.web.routes import page, read
from bbops_server.control_plane.web.visit import Here

_OPEN: Final = frozenset({Permission.BE_ANYBODY})
"""Permissions of everybody, which no role adds."""


class RolePermission(msgspec.Struct, frozen=True):
    """A permission that a role adds.

    Attributes:
        where: `project` or `workspace`: the role there counts; `account` needs no role.
        token: the scope that a token needs; null where no token is enough.
    """

    permission: str
    where: str
    token: str | None


class RoleDescription(msgspec.Struct, frozen=True):
    """A role with the permissions that it adds to the roles before it.

    Attributes:
        role: its name; empty for an account without a role.
    """

    role: str
    adds: list[RolePermission]


class Roles(msgspec.Struct, frozen=True):
    """The roles of the caller, and of all roles the permissions, from the least one on."""

    workspace: str | None
    projects: dict[str, str]
    roles: list[RoleDescription]


def describe_roles() -> list[RoleDescription]:
    """Return each role with the permissions that it adds, from the table of rules."""
    return [
        RoleDescription(role or "", [*_list_added(role)]) for role in (None, *Role)
    ]  # fmt: skip


def _list_added(role: Role | None) -> Sequence[RolePermission]:
    return [
        RolePermission(permission.value, "account" if role is None else rule.where, rule.scope)
        for permission, rule in RULES.items()
        if rule.role == role and permission not in _OPEN
    ]


def _describe_caller(caller: Caller) -> Roles:
    return Roles(caller.role, dict(caller.projects), describe_roles())


@page("/roles", Permission.KNOW_ONESELF)
async def show_roles(visit: Here, project: FromQuery[str] = "") -> Response[Any]:
    """Show the caller's roles and the permissions of each role; `project` marks the role there."""
    may_read = visit.may(Permission.READ_PROJECT, project)
    known = project if may_read and visit.control.project(project) is not None else ""
    return visit.page("roles", project=known, roles=describe_roles(), own=visit.role(known))


@read("/api/roles", Permission.KNOW_ONESELF)
async def list_roles(visit: Here) -> Roles:
    """The caller's roles in the workspace and its projects, and the permissions of each role."""
    return _describe_caller(visit.caller)


ROUTES = (show_roles, list_roles)
