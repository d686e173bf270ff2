"""The project's configuration for a frontend: sign-in and API paths."""

from __future__ import annotations

from typing import Any, Final

from bbops.language.project import Project
from bbops.review.contract.sessions import session

_ROUTES: Final = ("login", "signup", "refresh", "logout")


def describe_config(project: Project) -> dict[str, Any]:
    """Return the content of `/~config.json`: the session, with the path of each route."""
    settings = project.settings.model.session
    published = {
        endpoint.name for endpoint in project.endpoints.values()
        if endpoint.model.docs_visibility != "hidden"
    }  # fmt: skip
    contract = session(project, published)
    if contract is None:
        return {"project": project.settings.model.name, "session": None}
    routes = {key: _find_route(project, getattr(settings, key, None), published) for key in _ROUTES}
    cookie = contract.cookie
    return {
        "project": project.settings.model.name,
        "session": {
            **routes, "tokenField": contract.token_field, "refreshField": contract.refresh_field,
            "header": contract.header, "expiresIn": contract.expires_in,
            "cookie": {"name": cookie.name, "path": cookie.path} if cookie else None,
            "csrfHeader": contract.csrf_header,
        },
    }  # fmt: skip


def _find_route(project: Project, name: str | None, published: set[str]) -> dict[str, str] | None:
    route = next((each for each in project.routes if each.endpoint.name == name), None)
    if route is None or name not in published:
        return None
    return {"method": route.method, "path": route.path}


def find_api(project: Project) -> tuple[str, ...]:
    """Return the path prefixes of the API, also for paths without a route."""
    prefixes = set[str]()
    for route in project.routes:
        base = route.channel.model.base_path.rstrip("/") if route.channel else ""
        prefixes.add(base or route.path.partition("/:")[0].rstrip("/"))
    return tuple(sorted(prefix for prefix in prefixes if prefix))
