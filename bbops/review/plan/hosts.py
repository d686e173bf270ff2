"""Find the servers that a project reaches, from its files: a draft may reach no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_snake

from bbops.base.names import env_name
from bbops.language.addons._base import kind as addon_kind
from bbops.language.project import Project
from bbops.language.resources._own_addon import ENDPOINT, OwnAddon
from bbops.language.resources._sign_in import Provider
from bbops.language.steps.http import Http
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
