"""What a frontend has to know of its project: how people sign in, and where the API is."""

from __future__ import annotations

from typing import Any, Final

from bbops.language.project import Project
from bbops.review.contract.sessions import session

_ROUTES: Final = ("login", "signup", "refresh", "logout")


def describe_config(project: Project) -> dict[str, Any]:
    """Return what `/~config.json` says: how people sign in, each route by its path."""
    given = project.settings.model.session
    published = {
        one.name for one in project.endpoints.values() if one.model.docs_visibility != "hidden"
    }
    found = session(project, published)
    if found is None:
        return {"project": project.settings.model.name, "session": None}
    routes = {key: _find_route(project, getattr(given, key, None), published) for key in _ROUTES}
    cookie = found.cookie
    return {
        "project": project.settings.model.name,
        "session": {
            **routes, "tokenField": found.token_field, "refreshField": found.refresh_field,
            "header": found.header, "expiresIn": found.expires_in,
            "cookie": {"name": cookie.name, "path": cookie.path} if cookie else None,
            "csrfHeader": found.csrf_header,
        },
    }  # fmt: skip


def _find_route(project: Project, name: str | None, published: set[str]) -> dict[str, str] | None:
    route = next((one for one in project.routes if one.endpoint.name == name), None)
    if route is None or name not in published:
        return None
    return {"method": route.method, "path": route.path}


def find_api(project: Project) -> tuple[str, ...]:
    """Return where paths begin that are the API's, also where no route answers them."""
    found = set[str]()
    for route in project.routes:
        base = route.channel.model.base_path.rstrip("/") if route.channel else ""
        found.add(base or route.path.partition("/:")[0].rstrip("/"))
    return tuple(sorted(one for one in found if one))
