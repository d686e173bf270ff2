"""Decorators for the routes of the control plane, which require a permission."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from litestar import get, post
from litestar.handlers import HTTPRouteHandler

from bbops_server.accounts.rules import Permission

PERMISSION: Final = "permission"
IS_FORM: Final = "is_form"

HAS_OWN_AUTH: Final = "has_own_auth"
"""Marks a route that authenticates and authorizes its requests by other means than `require`."""


RouteDecorator = Callable[[Callable[..., Any]], HTTPRouteHandler]


def page(path: str, permission: Permission) -> RouteDecorator:
    """Return a decorator for a page for people."""
    return get(path, include_in_schema=False, opt={PERMISSION: permission})


def form(path: str, permission: Permission) -> RouteDecorator:
    """Return a decorator for a form of a page, which needs its page's CSRF token."""
    opt = {PERMISSION: permission, IS_FORM: True}
    return post(path, include_in_schema=False, status_code=200, opt=opt)


def read(path: str, permission: Permission) -> RouteDecorator:
    """Return a decorator for an API call that changes nothing."""
    return get(path, opt={PERMISSION: permission})


def change(path: str, permission: Permission, *, status: int = 202) -> RouteDecorator:
    """Return a decorator for an API call that changes something."""
    return post(path, status_code=status, opt={PERMISSION: permission})
