"""Declare a route of the control plane, which cannot be done without the permission it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from litestar import get, post
from litestar.handlers import HTTPRouteHandler

from bbops_server.accounts.rules import Permission

PERMISSION: Final = "permission"
IS_FORM: Final = "is_form"

IS_DOOR: Final = "is_door"
"""Of a part that finds out by itself who asks, and what they may."""


class Tab(NamedTuple):
    """A page in the navigation of a project.

    Attributes:
        place: smaller ones come first.
        name: what the link says.
        path: behind `/projects/NAME`.
    """

    place: int
    name: str
    path: str


Declare = Callable[[Callable[..., Any]], HTTPRouteHandler]


def page(path: str, permission: Permission) -> Declare:
    """Return a decorator: a page for people."""
    return get(path, include_in_schema=False, opt={PERMISSION: permission})


def form(path: str, permission: Permission) -> Declare:
    """Return a decorator: a form of a page, which comes with its page's CSRF token."""
    opt = {PERMISSION: permission, IS_FORM: True}
    return post(path, include_in_schema=False, status_code=200, opt=opt)


def read(path: str, permission: Permission) -> Declare:
    """Return a decorator: a call of the API that changes nothing."""
    return get(path, opt={PERMISSION: permission})


def change(path: str, permission: Permission, *, status: int = 202) -> Declare:
    """Return a decorator: a call of the API that changes something."""
    return post(path, status_code=status, opt={PERMISSION: permission})
