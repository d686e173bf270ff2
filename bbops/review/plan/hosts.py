"""The servers that a project reaches, and its sign-in services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_snake

from bbops.base.names import env_name
from bbops.language.addons._base import kind as addon_kind
from bbops.language.project import Project, Resource
from bbops.language.resources._own_addon import ENDPOINT, OwnAddon
from bbops.language.resources._sign_in import Provider
from bbops.language.resources.project import Project as ProjectSettings
from bbops.language.steps.http import Http
from bbops.review.plan.codes import Finding, finding
from bbops.review.plan.reach import Server, host_of, server_of
from bbops.runtime.identities.kinds import KINDS


@dataclass(frozen=True, slots=True)
class Reaches:
    """The hosts that a project reaches; `*.` matches all names below a domain.

    Attributes:
        hosts: the hosts in files, each with its port: `name:443`.
        variables: the env variables with an address or a host; with a port (`NAME:80`) if the file
            gives one.
    """

    hosts: tuple[str, ...]
    variables: tuple[str, ...]


def find_hosts(project: Project) -> Reaches:
    """Return the hosts of a project's `http` steps, enabled addons and key sets. O(steps)."""
    found = [
        server_of(step.http.url)
        for function in project.functions.values()
        for step in function.model.every_step
        if isinstance(step, Http)
    ]
    for name, addon in project.addons.items():
        if addon.model.enabled:
            found += _of_addon(name, addon.model)
    auth = project.settings.model.auth
    found += [Server(f"{key.jwks_url}/") for key in (auth.keys if auth else ()) if key.jwks_url]
    found += _of_providers(auth.providers if auth else {})
    hosts = {host_of(server.address) for server in found} - {""}
    variables = {_with_port(server) for server in found if server.variable}
    return Reaches(tuple(sorted(hosts)), tuple(sorted(variables)))


def _of_providers(providers: Mapping[str, Provider]) -> Iterator[Server]:
    for name, provider in providers.items():
        yield Server(f"{provider.issuer_of(name)}/")
        yield from (Server(f"https://{host}/") for host in KINDS[provider.kind_of(name)].hosts)


def _with_port(server: Server) -> str:
    return f"{server.variable}:{server.port}" if server.port else server.variable


def _of_addon(name: str, model: Any) -> Iterator[Server]:
    if isinstance(model, OwnAddon):
        server = model.settings.get(ENDPOINT) or model.address
        yield Server(f"{server}/", env_name(server) or "")
        own = model.auth.client_credentials if model.auth else None
        yield from [Server(own.token_url)] if own else []
        return
    found = addon_kind(name)
    address = found and getattr(model.config, to_snake(found.address), None)
    if address:
        yield Server(f"{address}/", env_name(address) or "")
    elif found:
        yield from (Server(f"https://{host}/") for host in found.hosts)


_CODE = "sign-in-provider-added"


def find_added_providers(
    base: Resource[ProjectSettings], head: Resource[ProjectSettings]
) -> Iterator[Finding]:
    """Yield providers that are new or have another issuer, or that join more accounts."""
    old, new = base.model.auth, head.model.auth
    if new is None:
        return
    had = old.providers if old else {}
    for name, provider in new.providers.items():
        place, before = head.place("auth", "providers", name, key=True), had.get(name)
        issuer = provider.issuer_of(name)
        if before is None or before.issuer_of(name) != issuer:
            yield finding(_CODE, name, f"users can sign in at '{issuer}'", place)
        elif more := sorted(set(provider.domains) - set(before.domains)):
            message = f"it is believed whose mailboxes of {', '.join(more)} are"
            yield finding(_CODE, name, message, place)
    was = old.profile.email_verified if old else None
    now = new.profile.email_verified
    if had and new.providers and now is not None and now != was:
        message = f"an identity joins the account of its address where '{now}' says so"
        yield finding(_CODE, "profile", message, head.place("auth", "profile", "emailVerified"))
    blocked = old.profile.blocked if old else None
    if had and new.providers and blocked is not None and blocked != new.profile.blocked:
        message = f"accounts can sign in where '{blocked}' says that they may not"
        yield finding(_CODE, "profile", message, head.place("auth", "profile"))
