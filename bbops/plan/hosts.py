"""Say which servers a project reaches, as far as its files tell: a draft may reach no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bbops.addons._base import kind as addon_kind
from bbops.expressions.nodes import Index, Member
from bbops.expressions.values import Constant, Template, Value
from bbops.names import env_name
from bbops.plan.reach import ENV, host_of
from bbops.project import Project
from bbops.steps.http import Http


@dataclass(frozen=True, slots=True)
class Reaches:
    """Hosts that are reached; one that begins with `*.` stands for all below a name.

    Attributes:
        hosts: that stand in files.
        variables: of env, whose values begin with the address of one.
    """

    hosts: tuple[str, ...]
    variables: tuple[str, ...]


def find_hosts(project: Project) -> Reaches:
    """Return what a project's `http` steps, enabled addons and key sets reach. O(steps)."""
    hosts, variables = set[str](), set[str]()
    for function in project.functions.values():
        for step in function.model.every_step:
            if isinstance(step, Http):
                _take(_of_address(step.http.url), hosts, variables)
    for name, addon in project.addons.items():
        if addon.model.enabled:
            for one in _of_addon(name, addon.model):
                _take(one, hosts, variables)
    auth = project.settings.model.auth
    hosts |= {host_of(f"{key.jwks_url}/") for key in (auth.keys if auth else ()) if key.jwks_url}
    return Reaches(tuple(sorted(hosts)), tuple(sorted(variables)))


def _take(found: str, hosts: set[str], variables: set[str]) -> None:
    if found.startswith(ENV):
        variables.add(found.removeprefix(ENV))
    elif found:
        hosts.add(found)


def _of_address(url: Value) -> str:
    """Return the host of an address, or the variable that names it; empty where nobody knows."""
    if isinstance(url, Constant):
        return host_of(f"{url.value}/")
    first: Any = url.parts[0] if isinstance(url, Template) else getattr(url, "node", "")
    if isinstance(first, str):
        return host_of(first)
    match first:
        case Member(of=of, name=str(name)) if getattr(of, "name", "") == "env":
            return f"{ENV}{name}"
        case Index(of=of, key=key) if getattr(of, "name", "") == "env":
            return f"{ENV}{getattr(key, 'value', '')}"
    return ""


def _of_addon(name: str, model: Any) -> tuple[str, ...]:
    found = addon_kind(name)
    if found is None:
        return ()
    endpoint = getattr(model.config, "endpoint", None)
    if not endpoint:
        return found.hosts
    variable = env_name(endpoint)
    return (f"{ENV}{variable}" if variable else host_of(f"{endpoint}/"),)
